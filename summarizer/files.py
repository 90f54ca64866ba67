"""Opening text, locks, hashes, and files that appear whole or not at all."""

import glob
import gzip
import hashlib
import io
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TextIO

from summarizer.errors import InputError, UsageError
from summarizer.text import marked_encoding

_ASIDE = re.compile(r"\.(.+)\.[a-z0-9_]{8}\.part")  # the name of a file until it is whole


def is_gzipped(path: Path) -> bool:
    """Whether the name of a file ends in .gz."""
    return path.suffix.lower() == ".gz"


def suffix_of(path: Path) -> str:
    """The suffix that tells the format of a file, in lower case and without .gz: ".csv" for "a.CSV.gz"."""
    return Path(path.stem if is_gzipped(path) else path.name).suffix.lower()


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file for reading; the content of a .gz file is unpacked."""
    return gzip.open(path) if is_gzipped(path) else path.open("rb")  # type: ignore[return-value]  # GzipFile is IO


def open_text(path: Path, find_encoding: Callable[[IO[bytes]], str] | None = None, **options: Any) -> TextIO:
    """Open a text file, also a .gz file, for reading, in the encoding of its byte-order mark or else in UTF-8.

    `find_encoding` may find the encoding in another way. `options` are those of `io.TextIOWrapper`.
    """
    file = open_bytes(path)
    try:
        encoding = find_encoding(file) if find_encoding else marked_encoding(file.read(4)) or "utf-8"
        file.seek(0)
        return io.TextIOWrapper(file, encoding=encoding, **options)
    except BaseException:
        file.close()
        raise


@contextmanager
def write_whole(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a file for writing that takes the name `path` only if the block ends without an error.

    Parent folders are made. The content is on disk before the rename: after a crash `path` holds either the old
    content or all of the new. Raises InputError that names `path` if it cannot be written.
    """
    with naming_written(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with _written_aside(path, mode) as file:
            yield file


@contextmanager
def naming_written(path: Path) -> Iterator[None]:
    """Raise InputError that names `path` where the system refuses to write it: most errors of a full disk name none."""
    try:
        yield
    except OSError as error:
        named = None if error.filename is None else Path(os.fsdecode(error.filename))
        if named in (None, path, path.parent) or named.name.startswith(f".{path.name}."):
            raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error
        raise


@contextmanager
def _written_aside(path: Path, mode: str) -> Iterator[IO[Any]]:
    descriptor, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(
            descriptor,
            mode,
            encoding=None if "b" in mode else "utf-8",
            errors=None if "b" in mode else "backslashreplace",
        ) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        Path(aside).chmod(0o666 & ~umask)  # mkstemp makes files private
        Path(aside).replace(path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


def lock_file(file: IO[Any], name: Path) -> None:
    """Lock an open file until it is closed or this process ends; where the file system has no locks, do nothing.

    Raises InputError, about the output `name`, if another process has locked it.
    """
    from filelock import lock_descriptor

    try:
        locked = lock_descriptor(file.fileno(), blocking=False)
    except OSError:  # a file system without locks
        return
    if not locked:
        raise InputError(f"{name}: another run is writing it; wait until it ends or name another output")


def remove_asides(path: Path) -> None:
    """Remove what a killed `write_whole` left of the file `path`, or of any file below the folder `path`.

    Only for the process that holds the lock of the output. Links are not followed.
    """
    left = path.rglob(".?*.part") if path.is_dir() else path.parent.glob(f".{glob.escape(path.name)}.*.part")
    for aside in left:
        name = _ASIDE.fullmatch(aside.name)
        if name and (path.is_dir() or name[1] == path.name) and aside.is_file():
            aside.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Raise UsageError if the file cannot be written: to be called before long work. Makes nothing."""
    if path.is_dir():
        raise UsageError(f"{path}: is a folder; name a file")
    folder = path.parent
    try:
        while not folder.exists():
            folder = folder.parent
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from error


def json_text(content: Any) -> str:
    """`content` as indented JSON. Raises ValueError for NaN, which JSON does not have."""
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_json(path: Path, content: Any) -> None:
    """Write `content` as indented JSON, whole or not at all. Raises ValueError for NaN."""
    text = json_text(content)
    with write_whole(path) as file:
        file.write(text)


def hash_of_file(path: Path) -> str:
    """SHA-256 of a file's content, hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
