import gzip
import re

import pytest

from summarizer.evaluation.inputs import Columns, Example, read_examples
from summarizer.files import InputError


def predictions(*ids):
    return [{"id": row_id, "summary": f"summary {row_id}"} for row_id in ids]


def references(*ids):
    return [{"id": row_id, "abstract": f"abstract {row_id}"} for row_id in ids]


def test_rows_are_paired_by_id_in_the_order_of_the_references(write_jsonl):
    paired = read_examples(write_jsonl("p.jsonl", predictions("a", "b")), write_jsonl("r.jsonl", references("b", "a")))
    assert paired.examples == [Example("b", "summary b", "abstract b"), Example("a", "summary a", "abstract a")]
    assert (paired.predictions_left_out, paired.references_left_out) == (0, 0)


def test_csv_parquet_and_numeric_ids_are_paired_with_jsonl(write_jsonl, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "p.csv").write_text("id,prediction\n1,one\n2,\n", encoding="utf-8")
    with gzip.open(tmp_path / "p.csv.gz", "wt", encoding="utf-8") as file:
        file.write("id,prediction\n1,one\n2,\n")
    pq.write_table(pa.table({"id": [1, 2], "highlights": [["a .", "b ."], ["c ."]]}), tmp_path / "r.parquet")
    expected = [Example("1", "one", "a .\nb ."), Example("2", "", "c .")]
    for name in ("p.csv", "p.csv.gz"):
        assert read_examples(tmp_path / name, tmp_path / "r.parquet").examples == expected
    jsonl = write_jsonl("r.jsonl", [{"id": 1, "reference": "a .\nb ."}, {"id": 2, "reference": "c ."}])
    assert read_examples(tmp_path / "p.csv", jsonl).examples == expected


def test_the_original_pubmed_release_is_read(write_jsonl):
    row = {
        "article_id": "PMC1",
        "article_text": ["one .", "two ."],
        "abstract_text": ["<S> first . </S>", "<S> second . </S>"],
        "labels": None,
    }
    paired = read_examples(write_jsonl("p.jsonl", predictions("PMC1")), write_jsonl("r.jsonl", [row]))
    assert paired.examples == [Example("PMC1", "summary PMC1", "first .\nsecond .", "one .\ntwo .")]


def test_failed_and_null_summaries_are_empty_ones(write_jsonl):
    rows = [
        {"id": "a", "status": "failed", "summary": "half a", "error": "out of memory"},
        {"id": "b", "status": "empty", "summary": None},
    ]
    paired = read_examples(write_jsonl("p.jsonl", rows), write_jsonl("r.jsonl", references("a", "b")))
    assert [(example.prediction, example.failed) for example in paired.examples] == [("", True), ("", False)]


def test_text_files_are_paired_by_line_and_blank_lines_count(tmp_path):
    (tmp_path / "p.txt").write_text("one\n\nthree\u2028still three\n", encoding="utf-8")
    (tmp_path / "r.txt").write_text("\ufeffeins\r\nzwei\r\ndrei", encoding="utf-8")
    examples = read_examples(tmp_path / "p.txt", tmp_path / "r.txt").examples
    assert [(example.id, example.prediction, example.reference) for example in examples] == [
        ("1", "one", "eins"),
        ("2", "", "zwei"),
        ("3", "three\u2028still three", "drei"),
    ]


def test_a_text_file_takes_the_ids_of_the_records_beside_it(write_jsonl, tmp_path):
    (tmp_path / "p.txt").write_text("one\ntwo\n", encoding="utf-8")
    examples = read_examples(tmp_path / "p.txt", write_jsonl("r.jsonl", references("a", "b"))).examples
    assert [(example.id, example.prediction) for example in examples] == [("a", "one"), ("b", "two")]


def test_columns_can_be_named(write_jsonl):
    prediction_path = write_jsonl("p.jsonl", [{"id": 1, "prediction": "mine", "summary": "theirs"}])
    reference_path = write_jsonl("r.jsonl", [{"id": 1, "abstract": "a", "summary": "s", "paper": "d"}])
    columns = Columns(prediction="prediction", summary="summary", document="paper")
    assert read_examples(prediction_path, reference_path, columns).examples == [Example("1", "mine", "s", "d")]


def test_ids_in_one_file_alone_are_an_error_that_names_and_counts_them(write_jsonl):
    prediction_path = write_jsonl("p.jsonl", predictions("a", "x"))
    reference_path = write_jsonl("r.jsonl", references("a", "b", "c", "d", "e"))
    message = (
        "differ: 1 in both, 4 references without a prediction ('b', 'c', 'd', …), "
        "1 predictions without a reference ('x'); --on-mismatch intersect scores the shared ones"
    )
    with pytest.raises(InputError, match=re.escape(message)):
        read_examples(prediction_path, reference_path)
    shared = read_examples(prediction_path, reference_path, on_mismatch="intersect")
    assert [example.id for example in shared.examples] == ["a"]
    assert (shared.predictions_left_out, shared.references_left_out) == (1, 4)


REFUSED = {
    "no id shared": (predictions("a"), references("b"), "no id of .*p.jsonl \\('a'\\) stands in .*r.jsonl \\('b'\\)"),
    "twice": (predictions("a", "b", "a"), references("a", "b"), r"p.jsonl: 1 ids stand there more than once \('a'\)"),
    "empty file": ([], references("a"), "p.jsonl: holds no rows"),
    "no ids on one side": (predictions("a"), [{"summary": "s"}], "r.jsonl: has no id column"),
    "an id missing": ([*predictions("a"), {"summary": "s"}], references("a"), "p.jsonl:2: has no id, while other rows"),
    "unequal counts": ([{"summary": "s"}], [{"summary": "s"}] * 2, "has 1 summaries and .* has 2"),
    "no summary": (
        [{"id": 1, "title": "t"}],
        references(1),
        r"p.jsonl:1: no column summary or prediction .* there are: id, title",
    ),
    "several references": (predictions("a"), [{"id": "a", "references": ["x", "y"]}], "2 references; one a document"),
    "not text": ([{"id": "a", "summary": 3}], references("a"), "p.jsonl:1: 'summary' holds int, not text"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_rows_that_do_not_pair_are_refused_with_the_reason(write_jsonl, name):
    prediction_rows, reference_rows, message = REFUSED[name]
    with pytest.raises(InputError, match=message):
        read_examples(
            write_jsonl("p.jsonl", prediction_rows), write_jsonl("r.jsonl", reference_rows), on_mismatch="intersect"
        )


def test_files_that_cannot_be_read_are_refused_with_the_reason(write_jsonl, tmp_path):
    reference_path = write_jsonl("r.jsonl", references("a"))
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9\n")
    (tmp_path / "broken.jsonl").write_text('{"id": "a", "summary": "s"}\n{"id"\n', encoding="utf-8")
    (tmp_path / "lines.txt").write_text('{"id": "a", "summary": "s"}\n', encoding="utf-8")
    (tmp_path / "list.json").write_text("[]", encoding="utf-8")
    for name, message in {
        "latin.txt": "not UTF-8",
        "absent.txt": "cannot be read",
        "broken.jsonl": "broken.jsonl:2: broken JSON",
        "lines.txt": "looks like JSON Lines; name it .jsonl",
        "list.json": "expected JSON Lines",
        "": "is a folder",
    }.items():
        with pytest.raises(InputError, match=message):
            read_examples(tmp_path / name, reference_path)
    with pytest.raises(InputError, match=r"no column nope .* there are: id, abstract"):
        read_examples(write_jsonl("p.jsonl", predictions("a")), reference_path, Columns(summary="nope"))


def test_ids_that_are_whole_numbers_match_however_a_file_writes_them(write_jsonl, tmp_path):
    (tmp_path / "r.csv").write_text("id,summary\n1.0,x\n2.0,y\n", encoding="utf-8")
    floats = write_jsonl("f.jsonl", [{"id": 1.0, "summary": "x"}, {"id": 2.0, "summary": "y"}])
    for path in (tmp_path / "r.csv", floats):
        examples = read_examples(write_jsonl("p.jsonl", predictions("1", "2")), path).examples
        assert [example.id for example in examples] == ["1", "2"]
    versions = write_jsonl("v.jsonl", references("1.0", "1.1", "1"))
    assert len(read_examples(write_jsonl("p.jsonl", predictions("1", "1.0", "1.1")), versions).examples) == 3


def test_lone_surrogates_are_dropped_from_texts_and_replaced_in_ids(tmp_path):
    path = tmp_path / "both.jsonl"
    path.write_text(r'{"id": "a\ud800", "summary": "one \udfff", "document": ["x \ud800"]}')
    assert read_examples(path, path).examples == [Example("a?", "one ", "one ", "x")]
