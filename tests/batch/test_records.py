import csv
import json

import pyarrow.parquet as pq
import pytest

from summarizer.batch.input_documents import InputDocument
from summarizer.batch.records import SummaryRecord, record_form, write_records
from summarizer.batch.resume import RecordSink
from summarizer.evidence import read_evidence
from summarizer.rows import read_rows

EVIDENCE = [[{"start": 0, "end": 11, "text": "Two, “here”"}, {"start": 12, "end": 15, "text": "Or."}], []]
RECORDS = [
    SummaryRecord(
        *("a", "a.txt", "A, “title”", "ok", "Two\nlines.", None, 9, 1, 3, 0.25),
        evidence=EVIDENCE,
        reader="plain",
        notes=["Guessed: “x”, y."],
    ),
    SummaryRecord("b", "b.txt", None, "failed", None, "broken", 0, 0, 0, 0.0),
]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_holds_the_records_in_the_order_of_the_input(tmp_path, suffix):
    path = tmp_path / f"out{suffix}"
    sink = RecordSink(path, {})
    for position in (1, 0):
        sink.write(position, InputDocument("ab"[position], "path", "text"), RECORDS[position])
    sink.finish()
    sink.clear()
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    if suffix == ".parquet":
        assert pq.read_table(path).to_pylist() == list(map(vars, RECORDS))
        return
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [json.loads(row.pop("notes")) for row in rows] == [record.notes for record in RECORDS]
    assert json.loads(rows[0].pop("evidence")) == EVIDENCE
    assert rows[1].pop("evidence") == ""
    assert rows == [
        {name: "" if value is None else str(value) for name, value in vars(record).items() if name in rows[0]}
        for record in RECORDS
    ]


def test_a_table_without_documents_has_its_columns(tmp_path):
    for suffix in (".csv", ".parquet"):
        sink = RecordSink(tmp_path / f"out{suffix}", {})
        sink.finish()
        sink.close()
    assert (tmp_path / "out.csv").read_text().splitlines() == [",".join(vars(RECORDS[0]))]
    assert pq.read_table(tmp_path / "out.parquet").column_names == list(vars(RECORDS[0]))


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_the_evidence_of_a_record_is_read_back_from_every_format(tmp_path, suffix):
    write_records(tmp_path / f"out{suffix}", RECORDS)
    found = [read_evidence(row.columns["evidence"]) for row in read_rows(tmp_path / f"out{suffix}")]
    assert found == [EVIDENCE, None]


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "yes",
        "{",
        "[1]",
        3,
        [3],
        [["a"]],
        [[{"start": 0, "end": 1}]],
        '[[{"start": 2, "end": 1, "text": ""}]]',
    ],
)
def test_a_column_of_another_form_is_not_evidence(value):
    assert read_evidence(value) is None


def test_lone_surrogates_do_not_stop_a_table(tmp_path):
    for suffix in (".csv", ".parquet"):
        sink = RecordSink(tmp_path / f"out{suffix}", {})
        evidence = [[{"start": 0, "end": 1, "text": "\ud800"}]]
        record = SummaryRecord("a", "a\ud800", None, "ok", "S", None, 1, 0, 1, 0.0, ["\ud800"], evidence)
        sink.write(0, InputDocument("a", "a", "text"), record)
        sink.finish()
        sink.clear()
    (row,) = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert (row["path"], row["candidates"], row["evidence"][0][0]["text"]) == ("a?", ["?"], "?")


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv", "out.parquet"])
def test_a_file_of_records_is_known_by_its_form_and_one_with_a_column_of_someone_else_is_not(tmp_path, name):
    path = tmp_path / name
    record = SummaryRecord("a", "a.txt", None, "ok", "s", None, 9, 0, 3, 0.5, ["s", "t"])
    write_records(path, [record])
    assert record_form(path).fits(path)
    if name.endswith("parquet"):
        return
    first, *rest = path.read_text().splitlines()
    path.write_text("\n".join([first.replace("candidates", "my_rating"), *rest]))
    assert not record_form(path).fits(path)
