"""Rows of JSONL, CSV and Parquet files, one at a time; a broken row has an `error`."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TextIO

from summarizer.errors import InputError
from summarizer.files import is_gzipped, open_bytes, open_text, suffix_of
from summarizer.text import encoding_of_lines

ROW_SUFFIXES = (".jsonl", ".csv", ".parquet")
MAX_LINE = 2**28  # characters of a row: a small .gz file can unpack to an endless line
MAX_UNPACKED_PARQUET = 2**31  # bytes of a .parquet.gz, which is unpacked in memory


@dataclass(frozen=True)
class Row:
    """One row of a file: its columns or its error, and its location."""

    location: str  # "file.jsonl:17"
    columns: dict[str, Any]
    error: str | None = None


def row_format(path: Path) -> str | None:
    """The suffix among ROW_SUFFIXES that `path` has, also before .gz; None for other files."""
    return suffix if (suffix := suffix_of(path)) in ROW_SUFFIXES else None


def read_rows(path: Path) -> Iterator[Row]:
    """Stream the rows of a .jsonl, .csv or .parquet file, also of .gz, a bad row as a Row with an error.

    Raises InputError when the file itself cannot be read.
    """
    readers = {".jsonl": _read_jsonl, ".csv": _read_csv, ".parquet": _read_parquet}
    file_format = row_format(path)
    if file_format is None:
        raise InputError(f"{path}: not a file of rows; expected one of {', '.join(ROW_SUFFIXES)}")
    try:
        yield from readers[file_format](path)
    except InputError:
        raise
    except Exception as error:  # pyarrow's, csv's, zlib's and datetime's errors share no base class
        raise InputError(f"{path}: cannot be read: {error}") from error


def _open_rows(path: Path, newline: str | None = None) -> TextIO:
    """Open a file of rows in its encoding. Bytes that do not fit become lone surrogates: only their row is broken."""
    return open_text(path, encoding_of_lines, newline=newline, errors="surrogateescape")


def _lines(file: IO[str]) -> Iterator[str]:
    """Lines of a file; one longer than MAX_LINE comes as its first MAX_LINE + 1 characters.

    Byte-order marks are dropped from every line: files that were joined have one in the middle.
    """
    while line := file.readline(MAX_LINE + 1):
        yield line.lstrip("\ufeff")
        while len(line) > MAX_LINE and not line.endswith("\n"):
            line = file.readline(MAX_LINE + 1)


def _read_jsonl(path: Path) -> Iterator[Row]:
    with _open_rows(path) as lines:
        for number, line in enumerate(_lines(lines), start=1):
            if not line.strip():
                continue
            location = f"{path}:{number}"
            if len(line) > MAX_LINE:
                yield Row(location, {}, f"longer than the limit of {MAX_LINE:,} characters")
                continue
            if not _is_text(line):
                yield Row(location, {}, f"not {_encoding_of(lines)} text")
                continue
            try:
                columns = json.loads(line)
            except (ValueError, RecursionError) as error:  # broken, nested too deep, a number of thousands of digits
                yield Row(location, {}, f"broken JSON ({error})")
                continue
            if isinstance(columns, dict):
                yield Row(location, columns)
            else:
                yield Row(location, {}, f"expected a JSON object, found {type(columns).__name__}")


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


def _read_csv(path: Path) -> Iterator[Row]:
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
                yield Row(location, {}, "a quote is never closed, so the rows after it cannot be read")
            elif None in row or None in row.values():
                yield Row(location, {}, f"expected {len(reader.fieldnames or [])} fields, as in the header")
            elif not all(map(_is_text, row.values())):
                yield Row(location, {}, f"not {_encoding_of(lines)} text")
            else:
                yield Row(location, dict(row))


def _read_parquet(path: Path) -> Iterator[Row]:
    import pyarrow.parquet as pq

    content: Any = path
    if is_gzipped(path):
        with open_bytes(path) as packed:
            content = io.BytesIO(packed.read(MAX_UNPACKED_PARQUET + 1))
        if content.getbuffer().nbytes > MAX_UNPACKED_PARQUET:
            raise InputError(f"{path}: unpacks to more than {MAX_UNPACKED_PARQUET >> 30} GiB")
    with pq.ParquetFile(content) as file:
        number = 0
        for batch in file.iter_batches(batch_size=256):
            for row in range(len(batch)):
                number += 1
                try:
                    (columns,) = batch.slice(row, 1).to_pylist()
                except Exception as error:  # a date that Python does not support, bytes that are not text …
                    yield Row(f"{path}:{number}", {}, f"cannot be read ({error})")
                else:
                    yield Row(f"{path}:{number}", columns)
