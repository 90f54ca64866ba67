"""Rows of predictions or references, with or without ids, out of files of records, text files and folders."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
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
from summarizer.files import InputError, Record, open_text, read_records, record_format

SEVERAL_REFERENCES_COLUMN = "references"  # whose lists are references of one document; other lists are its sentences

SUMMARY = "summary"  # the column of a bare text; of predictions and of references it is the first usual name


@dataclass(frozen=True)
class Columns:
    """Which columns hold what; None: found among the usual names."""

    prediction: str | None = None
    summary: str | None = None
    document: str | None = None


@dataclass(frozen=True)
class Row:
    """A prediction or a reference, as a file holds it."""

    id: str | None
    location: str
    text: str  # "" for a failed document
    other_texts: tuple[str, ...] = ()  # further references of the same document
    document: str | None = None
    failed: bool = False
    source_cut: bool | None = None  # whether the model read only a part of the document, where the record tells


def read_predictions(path: Path, columns: Columns) -> Iterator[Row]:
    """Stream the predictions of a file or a folder. Raises InputError for what cannot be read."""
    for record in _records(path):
        column = find_column(record, columns.prediction, PREDICTION_COLUMNS, "--prediction-column")
        failed = record.columns.get("status") == "failed"
        dropped = record.columns.get("dropped_tokens")
        yield Row(
            id_of(record),
            record.location,
            text="" if failed else _as_text(record, column, record.columns[column]),
            failed=failed,
            source_cut=dropped > 0 if isinstance(dropped, int) else None,
        )


def read_references(path: Path, columns: Columns) -> Iterator[Row]:
    """Stream the references of a file or a folder, with the documents that stand beside them."""
    for record in _records(path):
        column = find_column(record, columns.summary, SUMMARY_COLUMNS, "--summary-column")
        document = None
        if columns.document or not record.columns.keys().isdisjoint(DOCUMENT_COLUMNS):
            name = find_column(record, columns.document, DOCUMENT_COLUMNS, "--document-column")
            document = _as_text(record, name, record.columns[name])
        value = record.columns[column]
        several = column == SEVERAL_REFERENCES_COLUMN and isinstance(value, list) and value
        texts = [_as_text(record, column, each) for each in (value if several else [value])]
        yield Row(id_of(record), record.location, texts[0], tuple(texts[1:]), document)


def _records(path: Path) -> Iterator[Record]:
    """The rows as records: text becomes a column that both sides know by its usual name."""
    if path.is_dir():
        return _read_folder(path)
    if path.suffix.lower() == ".json":
        return _read_json(path)
    return _checked(read_records(path)) if record_format(path) else _read_lines(path)


def _checked(records: Iterator[Record]) -> Iterator[Record]:
    for record in records:
        if record.error:
            raise InputError(f"{record.location}: {record.error}")
        yield record


def _read_json(path: Path) -> Iterator[Record]:
    """A list of objects, or an object of ids to texts or to objects. The file is read whole."""
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
    if not isinstance(content, list) or not all(isinstance(columns, dict) for columns in content):
        raise InputError(f"{path}: expected a list of objects, or an object of ids to texts")
    for number, columns in enumerate(content, start=1):
        yield Record(f"{path}:{number}", columns)


def _read_folder(path: Path) -> Iterator[Record]:
    """The text files below a folder, each with its name in the folder as its id."""
    files = sorted(file for file in path.rglob("*.txt") if file.is_file())
    if not files:
        raise InputError(f"{path}: holds no .txt files; name a file of summaries, such as {path / 'summaries.jsonl'}")
    for file in files:
        name = file.relative_to(path).as_posix()
        yield Record(str(file), {"id": name, SUMMARY: "".join(_text_lines(file))})


def _read_lines(path: Path) -> Iterator[Record]:
    for number, line in enumerate(_text_lines(path), start=1):
        line = line.rstrip("\n")
        if number == 1 and line.startswith("{") and line.endswith("}"):
            raise InputError(f"{path}: looks like JSON Lines; name it .jsonl, or it is read as text, a summary a line")
        yield Record(f"{path}:{number}", {SUMMARY: line})


def _text_lines(path: Path) -> Iterator[str]:
    try:
        with open_text(path) as lines:
            yield from lines
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error})") from error
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error


def _as_text(record: Record, column: str, value: Any) -> str:
    try:
        return text_of(value)
    except ValueError as error:
        raise InputError(f"{record.location}: '{column}' {error}") from error
