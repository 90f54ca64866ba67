"""Rows of predictions or references, with or without ids, out of files of rows, text files and folders."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from summarizer.columns import (
    DOCUMENT_COLUMNS,
    PREDICTION_COLUMNS,
    SUMMARY_COLUMNS,
    find_column,
    id_of,
    text_of,
)
from summarizer.errors import InputError
from summarizer.evidence import Evidence, read_evidence
from summarizer.files import open_text, suffix_of
from summarizer.rows import Row, read_rows, row_format

SEVERAL_REFERENCES_COLUMN = "references"  # a list here holds references; in any other column it holds sentences

SUMMARY = "summary"  # the column of a bare text; of predictions and of references it is the first usual name


@dataclass(frozen=True)
class Columns:
    """Which columns hold what; None: found among the usual names."""

    prediction: str | None = None
    summary: str | None = None
    document: str | None = None
    id: str | None = None  # of either file; a file without it has its ids in a usual column


@dataclass(frozen=True, slots=True)
class TextRow:
    """A prediction or a reference, as a file holds it."""

    id: str | None
    location: str
    text: str  # "" for a failed document
    other_texts: tuple[str, ...] = ()  # further references of the same document
    document: str | None = None
    failed: bool = False
    source_cut: bool | None = None  # whether the model read only a part of the document, where the record tells
    evidence: Evidence | None = None  # of a prediction, if it was asked for and the record holds it


def read_predictions(path: Path, columns: Columns, with_evidence: bool = False) -> Iterator[TextRow]:
    """Stream the predictions of a file or a folder. Raises InputError for what cannot be read."""
    for row, row_id in _rows_with_ids(path, columns):
        column = find_column(row, columns.prediction, PREDICTION_COLUMNS, "--prediction-column")
        failed = row.columns.get("status") == "failed"
        dropped = row.columns.get("dropped_tokens")
        yield TextRow(
            row_id,
            row.location,
            text="" if failed else _as_text(row, column, row.columns[column]),
            failed=failed,
            source_cut=dropped > 0 if isinstance(dropped, int) else None,
            evidence=read_evidence(row.columns.get("evidence")) if with_evidence and not failed else None,
        )


def read_references(path: Path, columns: Columns) -> Iterator[TextRow]:
    """Stream the references of a file or a folder, with the documents of the same rows."""
    for row, row_id in _rows_with_ids(path, columns):
        column = find_column(row, columns.summary, SUMMARY_COLUMNS, "--summary-column")
        document = None
        if columns.document or not row.columns.keys().isdisjoint(DOCUMENT_COLUMNS):
            name = find_column(row, columns.document, DOCUMENT_COLUMNS, "--document-column")
            document = _as_text(row, name, row.columns[name])
        value = row.columns[column]
        several = column == SEVERAL_REFERENCES_COLUMN and isinstance(value, list) and value
        texts = [_as_text(row, column, each) for each in (value if several else [value])]
        yield TextRow(row_id, row.location, texts[0], tuple(texts[1:]), document)


def check_id_column(paths: Sequence[Path], columns: Columns) -> None:
    """Raise InputError if the column of the ids is named and no file has it."""
    if columns.id is None:
        return
    first = [row for path in paths for row in islice(_rows(path), 1)]
    if first and not any(columns.id in row.columns for row in first):
        find_column(first[-1], columns.id, (), "--id-column")


def is_list_of_texts(path: Path) -> bool:
    """Whether a file holds bare texts: one a line, or a JSON list of strings."""
    if not path.is_file() or row_format(path):
        return False
    if suffix_of(path) != ".json":
        return True
    with open_text(path, errors="replace") as file:
        return re.match(r'\s*\[\s*"', file.read(4096)) is not None


def _rows_with_ids(path: Path, columns: Columns) -> Iterator[tuple[Row, str | None]]:
    """Rows with their ids, in the column that was named if the first row has it."""
    column: str | None = None
    for number, row in enumerate(_rows(path)):
        if number == 0 and columns.id in row.columns:
            column = columns.id
        yield row, id_of(row, column)


def _rows(path: Path) -> Iterator[Row]:
    """Rows of any kind of file: text becomes a column that both sides know by its usual name."""
    if path.is_dir():
        return _read_folder(path)
    if suffix_of(path) == ".json":
        return _read_json(path)
    return _checked(read_rows(path)) if row_format(path) else _read_lines(path)


def _checked(rows: Iterator[Row]) -> Iterator[Row]:
    for row in rows:
        if row.error:
            raise InputError(f"{row.location}: {row.error}")
        yield row


def _read_json(path: Path) -> Iterator[Row]:
    """A list of objects or of texts, or an object of ids to texts or to objects. The file is read whole."""
    try:
        with open_text(path) as file:
            content = json.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    if isinstance(content, dict):
        content = [
            {"id": row_id, **value} if isinstance(value, dict) else {"id": row_id, SUMMARY: value}
            for row_id, value in content.items()
        ]
    if isinstance(content, list) and content and all(isinstance(text, str) for text in content):
        content = [{SUMMARY: text} for text in content]
    if not isinstance(content, list) or not all(isinstance(columns, dict) for columns in content):
        raise InputError(f"{path}: expected a list of objects or of texts, or an object of ids to texts")
    for number, columns in enumerate(content, start=1):
        yield Row(f"{path}:{number}", columns)


def text_files(folder: Path) -> list[Path]:
    """The text files below a folder, in order."""
    return sorted(file for file in folder.rglob("*.txt") if file.is_file())


def _read_folder(path: Path) -> Iterator[Row]:
    """The text files below a folder, each with its name in the folder as its id."""
    files = text_files(path)
    if not files:
        raise InputError(f"{path}: holds no .txt files; name a file of summaries, such as {path / 'summaries.jsonl'}")
    for file in files:
        name = file.relative_to(path).as_posix()
        yield Row(str(file), {"id": name, SUMMARY: "".join(_text_lines(file))})


def _read_lines(path: Path) -> Iterator[Row]:
    for number, line in enumerate(_text_lines(path), start=1):
        line = line.rstrip("\n")
        if number == 1 and line.startswith("{") and line.endswith("}"):
            raise InputError(f"{path}: looks like JSON Lines; rename it to end in .jsonl")
        yield Row(f"{path}:{number}", {SUMMARY: line})


def _text_lines(path: Path) -> Iterator[str]:
    try:
        with open_text(path) as lines:
            yield from lines
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error})") from error
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error


def _as_text(row: Row, column: str, value: Any) -> str:
    try:
        return text_of(value)
    except ValueError as error:
        raise InputError(f"{row.location}: '{column}' {error}") from error
