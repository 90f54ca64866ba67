"""Files in and out: records of JSONL, CSV and Parquet; writing that appears whole or not at all."""

import csv
import glob
import gzip
import hashlib
import io
import json
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TextIO

from summarizer.encodings import encoding_of_lines, marked_encoding

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

RECORD_SUFFIXES = (".jsonl", ".csv", ".parquet")
MAX_LINE = 2**28  # characters of a row; a packed file can hold one without end
MAX_UNPACKED_PARQUET = 2**31  # bytes of a .parquet.gz, which is read as a whole


class InputError(ValueError):
    """Something that the user gave cannot be used; the message is one line that says what and where."""


class StoppedError(Exception):
    """The work was stopped from outside and what is done is kept; the message says how to go on."""


@dataclass(frozen=True)
class Record:
    """One row of a file: its columns, or what is wrong with it (`error`), and where it stands."""

    location: str  # "file.jsonl:17"
    columns: dict[str, Any]
    error: str | None = None


def record_format(path: Path) -> str | None:
    """The suffix among RECORD_SUFFIXES that `path` has (also before .gz), or None."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    return suffixes[-1] if suffixes and suffixes[-1] in RECORD_SUFFIXES else None


def read_records(path: Path) -> Iterator[Record]:
    """Stream the rows of a .jsonl, .csv or .parquet file, also of .gz, a bad row as a Record with an error.

    Raises InputError when the file itself cannot be read.
    """
    readers = {".jsonl": _read_jsonl, ".csv": _read_csv, ".parquet": _read_parquet}
    file_format = record_format(path)
    if file_format is None:
        raise InputError(f"{path}: not a file of records; expected one of {', '.join(RECORD_SUFFIXES)}")
    try:
        yield from readers[file_format](path)
    except InputError:
        raise
    except Exception as error:  # pyarrow's, csv's, zlib's and datetime's errors share no base class
        raise InputError(f"{path}: cannot be read: {error}") from error


def open_text(path: Path) -> IO[str]:
    """Open a text file in UTF-8, or as its mark says; gzipped if its name ends in .gz. Marks are dropped."""
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    with opened(path, "rb") as file:
        encoding = marked_encoding(file.read(4)) or "utf-8"  # type: ignore[arg-type]  # a mode of bytes gives bytes
    return opened(path, "rt", encoding=encoding)  # type: ignore  # text mode gives text


def _open_rows(path: Path, newline: str | None = None) -> TextIO:
    """Open a file of rows in its encoding; bytes outside it become lone surrogates, which spoil their row alone."""
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    with opened(path, "rb") as file:
        encoding = encoding_of_lines(file)  # type: ignore[arg-type]  # a mode of bytes gives bytes
    return opened(path, "rt", encoding=encoding, newline=newline, errors="surrogateescape")  # type: ignore  # as above


def _lines(file: IO[str]) -> Iterator[str]:
    """Lines of a file; one longer than MAX_LINE comes as its first MAX_LINE + 1 characters.

    Byte-order marks are dropped, which stand at other lines, too, where files were joined.
    """
    while line := file.readline(MAX_LINE + 1):
        yield line.lstrip("\ufeff")
        while len(line) > MAX_LINE and not line.endswith("\n"):
            line = file.readline(MAX_LINE + 1)


def _read_jsonl(path: Path) -> Iterator[Record]:
    with _open_rows(path) as lines:
        for number, line in enumerate(_lines(lines), start=1):
            if not line.strip():
                continue
            location = f"{path}:{number}"
            if len(line) > MAX_LINE:
                yield Record(location, {}, f"longer than a row may be ({MAX_LINE:,} characters)")
                continue
            if not _is_text(line):
                yield Record(location, {}, f"not {_encoding_of(lines)} text")
                continue
            try:
                columns = json.loads(line)
            except (ValueError, RecursionError) as error:  # broken, a number of thousands of digits, nested too deep
                yield Record(location, {}, f"broken JSON ({error})")
                continue
            if isinstance(columns, dict):
                yield Record(location, columns)
            else:
                yield Record(location, {}, f"expected a JSON object, found {type(columns).__name__}")


def _is_text(line: str) -> bool:
    """Whether `surrogateescape` met no byte outside the encoding; by the codec, since lines are as long as articles."""
    try:
        line.encode()
    except UnicodeEncodeError:
        return False
    return True


def _encoding_of(file: TextIO) -> str:
    """The name of a text file's encoding, for people."""
    return file.encoding.upper() if file.encoding.startswith("utf") else file.encoding


def _read_csv(path: Path) -> Iterator[Record]:
    csv.field_size_limit(MAX_LINE)  # a document is longer than the default limit of 128 KiB
    with _open_rows(path, newline="") as lines:
        at_end = False

        def until_the_end() -> Iterator[str]:
            nonlocal at_end
            yield from _lines(lines)
            at_end = True  # asked for more: within quotes

        reader = csv.DictReader(until_the_end())
        while reader.fieldnames == []:  # a blank line before the header
            reader.fieldnames = None
        if at_end and reader.fieldnames:
            raise InputError(f"{path}: a quote in the header is never closed")
        for row in reader:
            location = f"{path}:{reader.line_num}"
            if at_end:
                yield Record(location, {}, "a quote is opened and never closed, and so what follows it is no row")
            elif None in row or None in row.values():
                yield Record(location, {}, f"expected {len(reader.fieldnames or [])} fields, as in the header")
            elif not all(map(_is_text, row.values())):
                yield Record(location, {}, f"not {_encoding_of(lines)} text")
            else:
                yield Record(location, dict(row))


def _read_parquet(path: Path) -> Iterator[Record]:
    import pyarrow.parquet as pq

    source: Any = path
    if path.suffix.lower() == ".gz":
        with gzip.open(path) as packed:
            source = io.BytesIO(packed.read(MAX_UNPACKED_PARQUET + 1))
        if source.getbuffer().nbytes > MAX_UNPACKED_PARQUET:
            raise InputError(f"{path}: unpacks to more than {MAX_UNPACKED_PARQUET >> 30} GiB")
    with pq.ParquetFile(source) as file:
        number = 0
        for batch in file.iter_batches(batch_size=256):
            for row in range(len(batch)):
                number += 1
                try:
                    (columns,) = batch.slice(row, 1).to_pylist()
                except Exception as error:  # a date that Python has not, bytes that are no text …
                    yield Record(f"{path}:{number}", {}, f"cannot be read ({error})")
                else:
                    yield Record(f"{path}:{number}", columns)


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
