import csv
import json

import pyarrow.parquet as pq
import pytest

from summarizer.batch.input_documents import InputDocument
from summarizer.batch.records import SummaryRecord
from summarizer.batch.resume import RecordSink

RECORDS = [
    SummaryRecord(
        "a", "a.txt", "A, “title”", "ok", "Two\nlines.", None, 9, 1, 3, 0.25, reader="plain", notes=["Guessed: “x”, y."]
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
    assert rows == [
        {name: "" if value is None else str(value) for name, value in vars(record).items() if name != "notes"}
        for record in RECORDS
    ]


def test_a_table_without_documents_has_its_columns(tmp_path):
    for suffix in (".csv", ".parquet"):
        sink = RecordSink(tmp_path / f"out{suffix}", {})
        sink.finish()
        sink.close()
    assert (tmp_path / "out.csv").read_text().splitlines() == [",".join(vars(RECORDS[0]))]
    assert pq.read_table(tmp_path / "out.parquet").column_names == list(vars(RECORDS[0]))


def test_lone_surrogates_do_not_stop_a_table(tmp_path):
    for suffix in (".csv", ".parquet"):
        sink = RecordSink(tmp_path / f"out{suffix}", {})
        record = SummaryRecord("a", "a\ud800", None, "ok", "S", None, 1, 0, 1, 0.0)
        sink.write(0, InputDocument("a", "a", "text"), record)
        sink.finish()
        sink.clear()
    assert pq.read_table(tmp_path / "out.parquet")["path"].to_pylist() == ["a?"]
