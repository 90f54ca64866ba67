"""Predictions and references out of files, brought together by id or by line."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from summarizer.columns import (
    DOCUMENT_COLUMNS,
    ID_COLUMNS,
    PREDICTION_COLUMNS,
    SUMMARY_COLUMNS,
    find_column,
    id_of,
    text_of,
)
from summarizer.files import InputError, Record, open_text, read_records, record_format

OnMismatch = Literal["error", "intersect"]
_NAMED = 3  # ids that an error names
_WHOLE_NUMBER = re.compile(r"\d+\.0")  # as some programs write a column of numbers into CSV


@dataclass(frozen=True)
class Columns:
    """Which columns hold what; None: found among the usual names."""

    prediction: str | None = None
    summary: str | None = None
    document: str | None = None


@dataclass(frozen=True)
class Example:
    """A prediction with its reference, and the document where the references file holds it."""

    id: str
    prediction: str  # "" for a failed document
    reference: str
    document: str | None = None
    failed: bool = False


@dataclass(frozen=True)
class Examples:
    """What is scored, in the order of the references, and how many ids of either file are left out."""

    examples: list[Example]
    predictions_left_out: int = 0
    references_left_out: int = 0


@dataclass(frozen=True)
class _Row:
    id: str | None
    location: str
    text: str
    document: str | None = None
    failed: bool = False


def read_examples(
    predictions_path: Path,
    references_path: Path,
    columns: Columns = Columns(),
    on_mismatch: OnMismatch = "error",
) -> Examples:
    """Read both files (JSONL, CSV or Parquet with ids; or text files, a summary a line) and pair their rows.

    Rows are paired by id, or by their order where neither file has ids or one is a text file. Raises InputError,
    naming the first few, for rows that cannot be read, ids that are missing, twice there or not in both files (unless
    `on_mismatch` is "intersect"), and for unequal numbers of rows that are paired by order.
    """
    predictions = _read_rows(predictions_path, columns.prediction, PREDICTION_COLUMNS, "prediction")
    references = _read_rows(references_path, columns.summary, SUMMARY_COLUMNS, "summary", columns.document)
    for path, rows in ((predictions_path, predictions), (references_path, references)):
        if not rows:
            raise InputError(f"{path}: holds no rows")
    text_file = None in (record_format(predictions_path), record_format(references_path))
    with_ids = [rows[0].id is not None for rows in (predictions, references)]
    if all(with_ids):
        return _pair_by_id(predictions_path, predictions, references_path, references, on_mismatch)
    if any(with_ids) and not text_file:
        path = references_path if with_ids[0] else predictions_path
        raise InputError(f"{path}: has no id column ({' or '.join(ID_COLUMNS)}), while the other file has one")
    if len(predictions) != len(references):
        raise InputError(
            f"{predictions_path} has {len(predictions)} summaries and {references_path} has {len(references)};"
            " without ids on both sides they are paired by their order, and must be as many"
        )
    pairs = zip(predictions, references, strict=True)
    return Examples([_example(*pair, position) for position, pair in enumerate(pairs, start=1)])


def _pair_by_id(
    predictions_path: Path,
    predictions: list[_Row],
    references_path: Path,
    references: list[_Row],
    on_mismatch: OnMismatch,
) -> Examples:
    by_id = _index(predictions_path, predictions)
    reference_ids = _index(references_path, references).keys()
    without_prediction = [row_id for row_id in reference_ids if row_id not in by_id]
    without_reference = [row_id for row_id in by_id if row_id not in reference_ids]
    shared = len(by_id) - len(without_reference)
    if on_mismatch == "error" and (without_prediction or without_reference):
        raise InputError(
            f"the ids of {predictions_path} and {references_path} differ: {shared} in both, {len(without_prediction)}"
            f" references without a prediction{_first(without_prediction)}, {len(without_reference)} predictions"
            f" without a reference{_first(without_reference)}; --on-mismatch intersect scores the shared ones"
        )
    if not shared:
        raise InputError(
            f"no id of {predictions_path}{_first(without_reference)} stands in {references_path}"
            f"{_first(without_prediction)}"
        )
    examples = [_example(by_id[row.id], row) for row in references if row.id in by_id]
    return Examples(examples, len(without_reference), len(without_prediction))


def _index(path: Path, rows: list[_Row]) -> dict[str | None, _Row]:
    counts = Counter(row.id for row in rows)
    if twice := [row_id for row_id, count in counts.items() if count > 1]:
        raise InputError(f"{path}: {len(twice)} ids stand there more than once{_first(twice)}")
    return {row.id: row for row in rows}


def _first(ids: Sequence[str | None]) -> str:
    """The first few ids, in brackets; nothing for none."""
    named = ", ".join(repr(row_id) for row_id in ids[:_NAMED])
    return f" ({named}{', …' if len(ids) > _NAMED else ''})" if ids else ""


def _example(prediction: _Row, reference: _Row, position: int | None = None) -> Example:
    row_id = reference.id or prediction.id or str(position)
    return Example(row_id, prediction.text, reference.text, reference.document, prediction.failed)


def _read_rows(
    path: Path, column: str | None, usual: tuple[str, ...], kind: str, document_column: str | None = None
) -> list[_Row]:
    if record_format(path) is None:
        return _read_lines(path)
    rows: list[_Row] = []
    for record in read_records(path):
        if record.error:
            raise InputError(f"{record.location}: {record.error}")
        text_column = find_column(record, column, usual, f"--{kind}-column")
        document = None
        if kind == "summary" and (document_column or not record.columns.keys().isdisjoint(DOCUMENT_COLUMNS)):
            name = find_column(record, document_column, DOCUMENT_COLUMNS, "--document-column")
            document = _as_text(record, name)
        failed = kind == "prediction" and record.columns.get("status") == "failed"
        text = "" if failed else _as_text(record, text_column)
        rows.append(_Row(id_of(record), record.location, text, document, failed))
        if (rows[-1].id is None) != (rows[0].id is None):
            raise InputError(f"{rows[-1 if rows[-1].id is None else 0].location}: has no id, while other rows have")
    if rows and all(row.id and _WHOLE_NUMBER.fullmatch(row.id) for row in rows):
        return [replace(row, id=str(row.id).removesuffix(".0")) for row in rows]
    return rows


def _read_lines(path: Path) -> list[_Row]:
    if path.suffix.lower() == ".json":
        raise InputError(f"{path}: expected JSON Lines (.jsonl, an object a line), .csv, .parquet or a text file")
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file in it, such as {path / 'summaries.jsonl'}")
    try:
        with open_text(path) as lines:
            rows = [_Row(None, f"{path}:{number}", line.rstrip("\n")) for number, line in enumerate(lines, start=1)]
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error})") from error
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    if rows and rows[0].text.startswith("{") and rows[0].text.endswith("}"):
        raise InputError(f"{path}: looks like JSON Lines; name it .jsonl, or it is read as text, a summary a line")
    return rows


def _as_text(record: Record, column: str) -> str:
    value = record.columns[column]
    if column == "references" and isinstance(value, list) and len(value) > 1:
        raise InputError(
            f"{record.location}: {len(value)} references; one a document is supported"
            " (name the column with --summary-column if they are the sentences of one)"
        )
    try:
        return text_of(value)
    except ValueError as error:
        raise InputError(f"{record.location}: '{column}' {error}") from error
