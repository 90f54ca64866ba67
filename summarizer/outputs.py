"""Which files and folders a command may replace: only its own earlier outputs, recognised by their form."""

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from summarizer.errors import UsageError
from summarizer.files import check_writable, write_whole

MARK = "fastformer-summarizer"  # in every picture and page that we write


@dataclass(frozen=True)
class Form:
    """What tells an output of a command from other files: the names in it.

    Names are the keys of JSON, of a line of JSON or of YAML, the columns of a table, or MARK in a picture or page. The
    keys of an object within JSON, or of the first object in a list, are names such as "settings.model".
    """

    kind: Literal["json", "jsonl", "csv", "parquet", "yaml", "marked"]
    required: frozenset[str] = frozenset({MARK})
    possible: frozenset[str] | None = None  # None: any other names

    def fits(self, path: Path) -> bool:
        """Whether a file is empty or has this form."""
        try:
            if not path.stat().st_size:
                return True
            found = set(_NAMES[self.kind](path))
        except Exception:  # what other files hold raises the errors of json, csv, pyarrow …
            return False
        return self.required <= found and (self.possible is None or found <= self.possible)


def form(kind: Literal["json", "jsonl", "csv", "parquet", "yaml"], *names: str) -> Form:
    """The form of files that have these names among others."""
    return Form(kind, frozenset(names))


MARKED = Form("marked")


def check_files(forms: Mapping[Path, Form], overwrite: bool) -> None:
    """Raise UsageError if a file cannot be written, or exists in another form and `overwrite` is false.

    To be called before long work. Nothing is written.
    """
    for path, wanted in forms.items():
        check_writable(path)
        if os.path.lexists(path) and not path.is_file():
            raise UsageError(f"{path}: is not a regular file; choose another name")
        if not overwrite and path.exists() and not wanted.fits(path):
            raise UsageError(
                f"{path}: exists and is not an earlier output of this command; "
                "choose another name, or pass --overwrite to replace it"
            )


def check_folder(folder: Path, forms: Mapping[str, Form], marks: Iterable[str], overwrite: bool) -> None:
    """Raise UsageError if files of these names cannot be written into a folder, or if it is not for this command.

    The folder must be new or empty, or hold one of the files `marks` in its form. Hidden files are not considered. With
    `overwrite`, only the kinds of files are checked.
    """
    if os.path.lexists(folder) and not folder.is_dir():
        raise UsageError(f"{folder}: is a file; name a folder")
    if not overwrite and folder.is_dir():
        others = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
        if others and not any((folder / name).is_file() and forms[name].fits(folder / name) for name in marks):
            named = ", ".join(others[:3]) + (", …" if len(others) > 3 else "")
            raise UsageError(
                f"{folder}: holds other files ({named}) and is not an earlier output of this command; "
                "choose a new folder, or pass --overwrite to write into this one"
            )
    check_files({folder / name: wanted for name, wanted in forms.items()}, overwrite)


def write_all(contents: Mapping[Path, str | bytes]) -> None:
    """Write several files, all or none. They take their names when all are written, the last one first."""
    with ExitStack() as stack:
        for path, content in contents.items():
            file = stack.enter_context(write_whole(path, "w" if isinstance(content, str) else "wb"))
            file.write(content)
            file.flush()


def png_of(figure: Any) -> bytes:
    """A figure of matplotlib as a PNG file with MARK in it."""
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=120, metadata={"Software": MARK})
    return content.getvalue()


def _json_names(path: Path) -> Iterable[str]:
    with path.open(encoding="utf-8") as file:
        content = json.load(file)
    content = content[0] if isinstance(content, list) else content
    yield from content.keys()
    for key, value in content.items():
        inner = value[0] if isinstance(value, list) and value else value
        if isinstance(inner, dict):
            yield from (f"{key}.{name}" for name in inner)


def _line_names(path: Path) -> Iterable[str]:
    with path.open(encoding="utf-8") as file:
        line = file.readline()
    try:
        return json.loads(line).keys()
    except ValueError:
        return re.findall(r'\A\{"(\w+)"', line)  # a run was killed while it wrote its first line


def _csv_names(path: Path) -> Iterable[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file))


def _parquet_names(path: Path) -> Iterable[str]:
    import pyarrow.parquet as pq

    return pq.read_schema(path).names


def _yaml_names(path: Path) -> Iterable[str]:
    return re.findall(r"(?m)^(\w+):", path.read_text(encoding="utf-8"))


def _marks(path: Path) -> Iterable[str]:
    return [MARK] if MARK.encode() in path.read_bytes() else []


_NAMES = {
    "json": _json_names,
    "jsonl": _line_names,
    "csv": _csv_names,
    "parquet": _parquet_names,
    "yaml": _yaml_names,
    "marked": _marks,
}
