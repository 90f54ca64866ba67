"""Files in and out: opening text, and writing that appears whole or not at all."""

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

from summarizer.errors import InputError
from summarizer.text import marked_encoding

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


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
    """Open a file for writing that takes the name `path` only when the block ends without an error.

    Parent folders are made. The content is flushed to disk before the rename, so that after a crash the name
    holds either the old content or all of the new.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
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


def lock_file(file: IO[Any]) -> None:
    """Lock a file until it is closed or this process ends. Raises BlockingIOError if another process has."""
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:  # a file system without locks
        return


def remove_asides(path: Path) -> None:
    """Remove what `write_whole` of a killed process left beside `path`; only where no other process writes it."""
    for aside in path.parent.glob(f".{glob.escape(path.name)}.????????.part"):
        aside.unlink(missing_ok=True)


def remove_asides_below(folder: Path) -> None:
    """Like `remove_asides` for all files in a folder and below, links not followed."""
    for aside in folder.rglob(".?*.????????.part"):
        if aside.is_file() and re.fullmatch(r"\..+\.[a-z0-9_]{8}\.part", aside.name):
            aside.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Raise InputError if the file cannot be written, before long work whose result it is to hold; makes its folder."""
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error


def write_json(path: Path, content: Any) -> None:
    """Write `content` as indented JSON, whole or not at all. NaN is refused: it is not JSON."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    with write_whole(path) as file:
        file.write(text + "\n")


def hash_of_file(path: Path) -> str:
    """SHA-256 of a file's content, hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
