"""Rows of JSONL, CSV, TSV and Parquet files, one at a time; a broken row has an `error`."""

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, TextIO

from summarizer.errors import InputError
from summarizer.files import is_gzipped, open_bytes, open_text, suffix_of
from summarizer.text import encoding_of_lines, guess_note

ROW_SUFFIXES = (".jsonl", ".csv", ".tsv", ".parquet")
DELIMITERS = ",;\t|"  # that are found
_NO_DELIMITER = "\x1f"  # a control character, which no text has
_FIRST_LINES = 10  # behind the header, by which the delimiter is found
MAX_LINE = 2**28  # characters of a row: a small .gz file can unpack to an endless line
MAX_UNPACKED_PARQUET = 2**31  # bytes of a .parquet.gz, which is unpacked in memory


@dataclass(frozen=True)
class Row:
    """One row of a file: its columns or its error, and its location."""

    location: str  # "file.jsonl:17"
    columns: dict[str, Any]
    error: str | None = None
    notes: tuple[str, ...] = ()  # on how the file was read


def row_format(path: Path) -> str | None:
    """The suffix among ROW_SUFFIXES that `path` has, also before .gz; None for other files."""
    return suffix if (suffix := suffix_of(path)) in ROW_SUFFIXES else None


def read_rows(path: Path, encoding: str | None = None, delimiter: str | None = None) -> Iterator[Row]:
    """Stream the rows of a .jsonl, .csv, .tsv or .parquet file, also of .gz, a bad row as a Row with an error.

    Without `encoding` and `delimiter`, those of a text file are found. Raises InputError when the file itself cannot be
    read.
    """
    file_format = row_format(path)
    if file_format is None:
        raise InputError(f"{path}: not a file of rows; expected one of {', '.join(ROW_SUFFIXES)}")
    try:
        if file_format == ".parquet":
            yield from _read_parquet(path)
            return
        with _open_rows(path, encoding) as lines:
            guessed = None if encoding or lines.encoding in _CERTAIN else guess_note(lines.encoding)
            rows = _read_jsonl(path, lines) if file_format == ".jsonl" else _read_csv(path, lines, delimiter)
            yield from rows if guessed is None else (replace(row, notes=(guessed,)) for row in rows)
    except InputError:
        raise
    except Exception as error:  # pyarrow's, csv's, zlib's and datetime's errors share no base class
        raise InputError(f"{path}: cannot be read: {error}") from error


_CERTAIN = ("utf-8", "utf-8-sig", "utf-16", "utf-32", "iso2022_jp")  # encodings that are never a guess


def _open_rows(path: Path, encoding: str | None) -> TextIO:
    """Open a file of rows in its encoding. Bytes that do not fit become lone surrogates: only their row is broken."""
    find = encoding_of_lines if encoding is None else lambda _: encoding
    newline = None if row_format(path) == ".jsonl" else ""
    return open_text(path, find, newline=newline, errors="surrogateescape")


def _lines(file: IO[str]) -> Iterator[str]:
    """Lines of a file; one longer than MAX_LINE comes as its first MAX_LINE + 1 characters.

    Byte-order marks are dropped from every line: files that were joined have one in the middle.
    """
    while line := file.readline(MAX_LINE + 1):
        yield line.lstrip("\ufeff")
        while len(line) > MAX_LINE and not line.endswith("\n"):
            line = file.readline(MAX_LINE + 1)


def _read_jsonl(path: Path, lines: TextIO) -> Iterator[Row]:
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


def _read_csv(path: Path, file: TextIO, delimiter: str | None) -> Iterator[Row]:
    csv.field_size_limit(MAX_LINE)  # a document is longer than the default limit of 128 KiB
    at_end = False
    lines = _lines(file)
    blank_lines, header = 0, next(lines, "")
    while header and not header.strip():
        blank_lines, header = blank_lines + 1, next(lines, "")
    if named := re.fullmatch(r"sep=(.)\s*", header):  # Excel's own way to tell the delimiter
        delimiter = delimiter or named[1]
        blank_lines, header = blank_lines + 1, next(lines, "")
    first = [header, *islice(lines, 0 if delimiter else _FIRST_LINES)]

    def until_the_end() -> Iterator[str]:
        nonlocal at_end
        yield from chain(first, lines)
        at_end = True  # asked for more: within quotes

    reader = csv.DictReader(until_the_end(), delimiter=delimiter or _find_delimiter(path, first))
    reader.fieldnames = [name.strip() for name in reader.fieldnames or ()]
    if reader.fieldnames and at_end:
        raise InputError(f"{path}: a quote in the header is never closed")
    for row in reader:
        location = f"{path}:{reader.line_num + blank_lines}"
        if not any(row.get(None, ())):  # as a delimiter at the end of the lines makes
            row.pop(None, None)
        if at_end:
            yield Row(location, {}, "a quote is never closed, so the rows after it cannot be read")
        elif None in row or None in row.values():
            yield Row(location, {}, f"expected {len(reader.fieldnames or [])} fields, as in the header")
        elif not all(map(_is_text, row.values())):
            yield Row(location, {}, f"not {_encoding_of(file)} text")
        else:
            yield Row(location, dict(row))


def _find_delimiter(path: Path, lines: Sequence[str]) -> str:
    """The delimiter that divides the header and most of the next lines into equally many columns, two or more.

    Without one, a line is one field.
    """
    usual = "\t" if row_format(path) == ".tsv" else ","
    best, best_score = _NO_DELIMITER, (0.0, 1)
    for each in dict.fromkeys((usual, *DELIMITERS)):
        num_columns, *others = [len(row) for row in csv.reader(lines, delimiter=each) if row] or [0]
        score = (sum(other == num_columns for other in others) / (len(others) or 1), num_columns)
        if num_columns > 1 and (best == _NO_DELIMITER or score > best_score):
            best, best_score = each, score
    return best


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
