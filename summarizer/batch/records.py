"""A record of each document's result, and files of records: JSONL, CSV and Parquet. No torch here."""

import csv
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from summarizer.columns import encodable
from summarizer.evidence import Evidence, SourceSpan
from summarizer.files import write_whole
from summarizer.outputs import Form
from summarizer.text import clean_text

RECORD_FILES = (".jsonl", ".csv", ".parquet")
_ROWS_AT_ONCE = 1024  # of Parquet
_MARKUP = re.compile(r"[\\`*_\[\]<>#|~&$]")
_NO_EVIDENCE = "(This model does not record evidence.)"
_BEFORE_LIST_MARK = re.compile(r"\A(?:\d+(?=[.)](?: |\Z))|(?=[-+]))")


@dataclass(frozen=True)
class SummaryRecord:
    """One line of summaries.jsonl. Its fields are a public format."""

    id: str
    path: str
    title: str | None
    status: Literal["ok", "empty", "failed"]
    summary: str | None
    error: str | None
    source_tokens: int  # read by the encoder
    dropped_tokens: int  # not read
    summary_tokens: int
    seconds: float  # of model time; documents of a batch share it equally
    candidates: list[str] | None = None  # if several were requested; the summary is the first
    evidence: Evidence | None = None  # for each line of the summary the passages it comes from; None: not known
    reader: str | None = None  # of the document; None if it could not be read
    notes: list[str] = field(default_factory=list)  # on the document: what was guessed, dropped or missing
    text: str | None = None  # that was read, if it was requested; the offsets of `evidence` count its characters

    def to_json(self) -> str:
        """The record as one line, without `candidates` and `text` if there are none."""
        left_out = [name for name in ("candidates", "text") if getattr(self, name) is None]
        return json.dumps(
            {name: value for name, value in vars(self).items() if name not in left_out}, ensure_ascii=False
        )


def read_records(path: Path) -> Iterator[SummaryRecord]:
    """The records of a .jsonl file as far as they can be read; none if there is no such file."""
    known = {field.name for field in fields(SummaryRecord)}
    try:
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                yield SummaryRecord(**{name: value for name, value in json.loads(line).items() if name in known})
    except (OSError, ValueError, TypeError, AttributeError):
        return


def record_form(path: Path) -> Form:
    """The form of a file of records with this suffix, of this version or an earlier one."""
    kinds: dict[str, Any] = {".csv": "csv", ".parquet": "parquet"}
    possible = frozenset(field.name for field in fields(SummaryRecord))
    required = frozenset(("id", "path", "status", "summary", "error"))
    return Form(kinds.get(path.suffix.lower(), "jsonl"), required, possible)


def write_records(path: Path, records: Iterable[SummaryRecord]) -> None:
    """Write records to `path`, whole or not at all, in the format of its suffix (one of RECORD_FILES)."""
    writers = {".csv": _write_csv, ".parquet": _write_parquet}
    writers.get(path.suffix.lower(), _write_jsonl)(path, records)


def _write_jsonl(path: Path, records: Iterable[SummaryRecord]) -> None:
    with write_whole(path) as file:
        for record in records:
            file.write(record.to_json() + "\n")


def _write_csv(path: Path, records: Iterable[SummaryRecord]) -> None:
    with write_whole(path) as file:
        writer = csv.DictWriter(file, [field.name for field in fields(SummaryRecord)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(_csv_row, records))


def _csv_row(record: SummaryRecord) -> dict[str, Any]:
    """The record with its lists as JSON."""
    values = vars(record).items()
    return {name: json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value for name, value in values}


def _write_parquet(path: Path, records: Iterable[SummaryRecord]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = pa.list_(pa.string())
    spans = pa.list_(pa.struct([("start", pa.int64()), ("end", pa.int64()), ("text", pa.string())]))
    kinds: dict[Any, Any] = {int: pa.int64(), float: pa.float64(), list[str] | None: texts, list[str]: texts}
    kinds[Evidence | None] = pa.list_(spans)
    schema = pa.schema([(field.name, kinds.get(field.type, pa.string())) for field in fields(SummaryRecord)])
    rows: Iterator[dict[str, Any]] = map(_without_surrogates, records)
    with write_whole(path, "wb") as file, pq.ParquetWriter(file, schema) as writer:
        while some := list(islice(rows, _ROWS_AT_ONCE)):
            writer.write_table(pa.Table.from_pylist(some, schema))


def _without_surrogates(record: SummaryRecord) -> dict[str, Any]:
    return {name: _encodable(value) for name, value in vars(record).items()}


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {name: _encodable(item) for name, item in value.items()}
    return list(map(_encodable, value)) if isinstance(value, list) else value


def bare_summary(record: SummaryRecord, with_evidence: bool = False) -> str:
    """The summary alone, or with the evidence of each line below it."""
    if not record.summary or not with_evidence:
        return record.summary or ""
    shown = [text for line, passages in _lines(record) for text in (line, *(f"    > {each}" for each in passages))]
    return "\n".join(shown if record.evidence is not None else [*shown, f"    {_NO_EVIDENCE}"])


def titled_summary(record: SummaryRecord, with_evidence: bool = False) -> str:
    """The summary under the id of its document, to be read by people."""
    return f"== {clean_text(record.id)} ==\n{bare_summary(record, with_evidence) or f'({record.status})'}\n"


def markdown_page(record: SummaryRecord, with_evidence: bool = False) -> str:
    """The summary as a page: title or id of the document, a paragraph for each line, and the path of the document.

    With evidence, the passages of each line are a quote below it.
    """
    title, path = (clean_text(text).replace("\n", " ") for text in (record.title or record.id, record.path))
    fence = "`" * (1 + max(map(len, re.findall("`+", path)), default=0))
    source = f"Source: {fence}{path}{fence}" if len(fence) == 1 else f"Source: {fence} {path} {fence}"
    parts = [f"# {_literal(title)}"]
    for line, passages in _lines(record):
        parts.append(_literal(line))
        if with_evidence and passages:
            parts.append("\n>\n".join(f"> {_literal(passage)}" for passage in passages))
    if with_evidence and record.summary and record.evidence is None:
        parts.append(f"> {_NO_EVIDENCE}")
    return "\n\n".join([*parts, source])


def _lines(record: SummaryRecord) -> Iterator[tuple[str, list[str]]]:
    """The lines of the summary without blank ones, each with its passages, as people read them."""
    lines = (record.summary or "").split("\n")
    evidence = [*(record.evidence or []), *([] for _ in lines)]  # one that ends early leaves lines without passages
    for line, spans in zip(lines, evidence, strict=False):
        if line := clean_text(line).replace("\n", " "):
            yield line, [_passage(span, line) for span in spans]


def _passage(span: SourceSpan, line: str) -> str:
    text = clean_text(span["text"]).replace("\n", " ")
    return f"{span['start']}–{span['end']}" + (" (the same sentence)" if text == line else f": {text}")


def _literal(line: str) -> str:
    """A line with all of Markdown's markup escaped."""
    return _BEFORE_LIST_MARK.sub(r"\g<0>\\", _MARKUP.sub(r"\\\g<0>", line))


def encoded(text: str) -> bytes:
    """UTF-8 like that of `write_whole`: a lone surrogate is escaped as in JSON."""
    return text.encode(errors="backslashreplace")
