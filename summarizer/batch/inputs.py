"""The files that the user named to be read. No torch here."""

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from summarizer.batch.output_files import RecordFiles
from summarizer.documents.read import document_format
from summarizer.errors import InputError
from summarizer.rows import row_format
from summarizer.text import decode_text

STDIN = "-"


@dataclass(frozen=True)
class SourceFile:
    """A file to read; its id is its path below the folder that was named."""

    path: Path
    id: str


@dataclass(frozen=True)
class Inputs:
    """The files to read, in order; what was skipped; and whether the user named a single document."""

    files: tuple[SourceFile, ...]
    skipped: tuple[Path, ...]
    is_one_document: bool


def find_inputs(inputs: Sequence[str], output: Path | None) -> Inputs:
    """Resolve files, folders (recursive, sorted, no hidden files), globs and "-"; `output` is never among them.

    Raises InputError for an input that does not exist or is the output, and when there is nothing to read.
    """
    files: list[SourceFile] = []
    skipped: list[Path] = []
    for given in inputs:
        try:
            files += _files_of(given, output, skipped)
        except OSError as error:  # a name that is too long, or a folder without permission
            raise InputError(f"{given[:100]}: cannot be read: {error.strerror}") from error
    once: dict[str, SourceFile] = {}
    for file in files:
        once.setdefault(str(file.path.absolute()), file)  # a path may be named twice; a link is another file
    files = list(once.values())
    if not files:
        kinds = f" (skipped: {', '.join(map(str, skipped[:3]))}{' …' if len(skipped) > 3 else ''})" if skipped else ""
        if not inputs:
            raise InputError("nothing to summarize; name files or folders, or - for standard input")
        raise InputError(f"nothing to summarize in {', '.join(inputs)}{kinds}")
    is_one = len(files) == 1 and files[0].path == Path(inputs[0]) and not row_format(files[0].path)
    return Inputs(tuple(files), tuple(skipped), is_one)


def read_list(path: Path) -> list[str]:
    """The inputs listed in a file, one a line. Raises InputError."""
    try:
        lines = decode_text(path.read_bytes()).splitlines()
    except (OSError, InputError) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    return [line for line in lines if line.strip()]


def _is_output(path: Path, output: Path | None) -> bool:
    """Whether `path` is the output, one of its side files, or in the output folder."""
    if output is None:
        return False
    real, out = Path(os.path.realpath(path)), Path(os.path.realpath(output))  # resolve would fail on circular links
    return RecordFiles(out).include(real) or out in real.parents


def _files_of(given: str, output: Path | None, skipped: list[Path]) -> Iterable[SourceFile]:
    path = Path(given)
    if given == STDIN:
        return [SourceFile(Path(STDIN), "stdin")]
    if not path.exists():
        return _matches(given, output, skipped)
    if _is_output(path, output):
        raise InputError(f"{given}: is the output or inside it; choose another output with -o")
    return _files_in(path, path, output, skipped) if path.is_dir() else [SourceFile(path, path.name)]


def _matches(pattern: str, output: Path | None, skipped: list[Path]) -> Iterator[SourceFile]:
    """The files that a glob matches, and those in matching folders; ids are paths below its part without wildcards."""
    found = [Path(match) for match in sorted(glob.glob(pattern, recursive=True))]  # noqa: PTH207 (absolute ones too)
    if not found:
        raise InputError(f"{pattern}: no such file or folder")
    parts = Path(pattern).parts
    fixed = next((i for i, part in enumerate(parts) if glob.has_magic(part)), len(parts) - 1)
    base = Path(*parts[:fixed])
    for path in found:
        if _is_output(path, output):
            continue
        if path.is_dir():
            if "**" not in parts:
                yield from _files_in(path, base, output, skipped)
        elif not path.is_file():  # a pipe, a socket or a broken link
            skipped.append(path)
        else:
            yield SourceFile(path, path.relative_to(base).as_posix())


def _files_in(
    folder: Path, base: Path, output: Path | None, skipped: list[Path], ancestors: tuple[Path, ...] = ()
) -> Iterator[SourceFile]:
    ancestors = (*ancestors, Path(os.path.realpath(folder)))
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        skipped.append(folder)
        return
    for path in entries:
        if path.name.startswith(".") or _is_output(path, output):
            continue
        if path.is_dir():
            if Path(os.path.realpath(path)) not in ancestors:  # a link to a parent folder would never end
                yield from _files_in(path, base, output, skipped, ancestors)
        elif path.is_file() and (document_format(path) or row_format(path)):
            yield SourceFile(path, path.relative_to(base).as_posix())
        else:
            skipped.append(path)
