import gzip
import json
import re

import pytest

from summarizer.errors import InputError
from summarizer.evaluation.examples import Example, Policy, pair_examples
from summarizer.evaluation.files_of_texts import Columns


def read_examples(predictions_path, references_path, columns=Columns(), **policy):  # noqa: B008  (it is frozen)
    paired = pair_examples(predictions_path, references_path, columns, Policy(**policy))
    return list(paired), paired.counts, paired.notes


COUNTS = ("predictions_left_out", "references_left_out", "predictions_missing", "duplicates_left_out")


def predictions(*ids):
    return [{"id": row_id, "summary": f"summary {row_id}"} for row_id in ids]


def references(*ids):
    return [{"id": row_id, "abstract": f"abstract {row_id}"} for row_id in ids]


def test_rows_are_paired_by_id_in_the_order_of_the_references(write_jsonl):
    paired = read_examples(write_jsonl("p.jsonl", predictions("a", "b")), write_jsonl("r.jsonl", references("b", "a")))
    assert paired == (
        [Example("b", "summary b", "abstract b"), Example("a", "summary a", "abstract a")],
        dict.fromkeys(COUNTS, 0),
        [],
    )


def test_csv_parquet_and_numeric_ids_are_paired_with_jsonl(write_jsonl, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "p.csv").write_text("id,prediction\n1,one\n2,\n", encoding="utf-8")
    with gzip.open(tmp_path / "p.csv.gz", "wt", encoding="utf-8") as file:
        file.write("id,prediction\n1,one\n2,\n")
    pq.write_table(pa.table({"id": [1, 2], "highlights": [["a .", "b ."], ["c ."]]}), tmp_path / "r.parquet")
    expected = [Example("1", "one", "a .\nb ."), Example("2", "", "c .")]
    for name in ("p.csv", "p.csv.gz"):
        assert read_examples(tmp_path / name, tmp_path / "r.parquet")[0] == expected
    jsonl = write_jsonl("r.jsonl", [{"id": 1, "reference": "a .\nb ."}, {"id": 2, "reference": "c ."}])
    assert read_examples(tmp_path / "p.csv", jsonl)[0] == expected


def test_the_original_pubmed_release_is_read(write_jsonl):
    row = {
        "article_id": "PMC1",
        "article_text": ["one .", "two ."],
        "abstract_text": ["<S> first . </S>", "<S> second . </S>"],
        "labels": None,
    }
    paired = read_examples(write_jsonl("p.jsonl", predictions("PMC1")), write_jsonl("r.jsonl", [row]))
    assert paired[0] == [Example("PMC1", "summary PMC1", "first .\nsecond .", "one .\ntwo .")]


def test_failed_and_null_summaries_are_empty_ones(write_jsonl):
    rows = [
        {"id": "a", "status": "failed", "summary": "half a", "error": "out of memory"},
        {"id": "b", "status": "empty", "summary": None},
    ]
    paired = read_examples(write_jsonl("p.jsonl", rows), write_jsonl("r.jsonl", references("a", "b")))
    assert [(example.prediction, example.failed) for example in paired[0]] == [("", True), ("", False)]


def test_text_files_are_paired_by_line_and_blank_lines_count(tmp_path):
    (tmp_path / "p.txt").write_text("one\n\nthree\u2028still three\n", encoding="utf-8")
    (tmp_path / "r.txt").write_text("\ufeffeins\r\nzwei\r\ndrei", encoding="utf-8")
    examples = read_examples(tmp_path / "p.txt", tmp_path / "r.txt")[0]
    assert [(example.id, example.prediction, example.reference) for example in examples] == [
        ("1", "one", "eins"),
        ("2", "", "zwei"),
        ("3", "three\u2028still three", "drei"),
    ]


def test_a_text_file_takes_the_ids_of_the_records_beside_it(write_jsonl, tmp_path):
    (tmp_path / "p.txt").write_text("one\ntwo\n", encoding="utf-8")
    examples = read_examples(tmp_path / "p.txt", write_jsonl("r.jsonl", references("a", "b")))[0]
    assert [(example.id, example.prediction) for example in examples] == [("a", "one"), ("b", "two")]


def test_columns_can_be_named(write_jsonl):
    prediction_path = write_jsonl("p.jsonl", [{"id": 1, "prediction": "mine", "summary": "theirs"}])
    reference_path = write_jsonl("r.jsonl", [{"id": 1, "abstract": "a", "summary": "s", "paper": "d"}])
    columns = Columns(prediction="prediction", summary="summary", document="paper")
    assert read_examples(prediction_path, reference_path, columns)[0] == [Example("1", "mine", "s", "d")]


def test_ids_in_one_file_alone_are_an_error_that_names_and_counts_them(write_jsonl):
    prediction_path = write_jsonl("p.jsonl", predictions("a", "x"))
    reference_path = write_jsonl("r.jsonl", references("a", "b", "c", "d", "e"))
    message = (
        "differ: 1 in both, 4 references without a prediction ('b', 'c', 'd', …), "
        "1 predictions without a reference ('x'); --on-mismatch intersect scores the shared ones,"
        " zero scores missing ones 0"
    )
    with pytest.raises(InputError, match=re.escape(message)):
        read_examples(prediction_path, reference_path)
    shared, counts, notes = read_examples(prediction_path, reference_path, mismatch="intersect")
    assert [example.id for example in shared] == ["a"]
    assert counts == {**dict.fromkeys(COUNTS, 0), "predictions_left_out": 1, "references_left_out": 4}
    assert "4 references without a prediction ('b', 'c', 'd', …)" in notes[0]
    filled, counts, notes = read_examples(prediction_path, reference_path, mismatch="zero")
    assert [(example.id, example.prediction) for example in filled] == [
        ("a", "summary a"),
        *((row_id, "") for row_id in "bcde"),
    ]
    assert counts == {**dict.fromkeys(COUNTS, 0), "predictions_left_out": 1, "predictions_missing": 4}


def test_unequal_numbers_of_lines_are_an_error_or_the_first_ones_are_shared(tmp_path):
    (tmp_path / "p.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
    (tmp_path / "r.txt").write_text("one\ntwo\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"2 in both, 0 references .* 1 predictions without a reference \('3'\)"):
        read_examples(tmp_path / "p.txt", tmp_path / "r.txt")
    examples, counts, _ = read_examples(tmp_path / "p.txt", tmp_path / "r.txt", mismatch="intersect")
    assert [example.prediction for example in examples] == ["one", "two"]
    assert counts["predictions_left_out"] == 1


def test_of_ids_that_stand_twice_the_first_or_the_last_is_taken_on_request(write_jsonl):
    rows = [{"id": row_id, "summary": text} for row_id, text in [("a", "old"), ("b", "b"), ("a", "new")]]
    files = write_jsonl("p.jsonl", rows), write_jsonl("r.jsonl", references("a", "b"))
    for choice, expected in (("first", "old"), ("last", "new")):
        examples, counts, notes = read_examples(*files, duplicates=choice)
        assert [example.prediction for example in examples] == [expected, "b"]
        assert counts["duplicates_left_out"] == 1
        assert f"1 ids occur more than once ('a'): the {choice} of each is used" in notes[0]


def test_empty_texts_score_or_are_left_out_or_refused_and_are_named(write_jsonl):
    rows = [{"id": "a", "summary": " "}, {"id": "b", "status": "failed"}, *predictions("c", "d")]
    rows[1]["summary"] = None
    files = (
        write_jsonl("p.jsonl", rows),
        write_jsonl("r.jsonl", [*references("a", "b", "c"), {"id": "d", "abstract": ""}]),
    )
    named = ["2 predictions are empty ('a', 'b')", "1 references are empty ('d')"]
    examples, _, notes = read_examples(*files)
    assert len(examples) == 4
    assert notes == [f"{name}: scored 0" for name in named]
    examples, _, notes = read_examples(*files, empty="drop")
    assert [example.id for example in examples] == ["c"]
    assert notes == [f"{name}: left out" for name in named]
    with pytest.raises(InputError, match=re.escape(f"{named[0]}; --on-empty zero scores them 0")):
        read_examples(*files, empty="error")


def test_a_list_in_the_column_references_is_several_references_of_one_document(write_jsonl):
    rows = [{"id": "a", "references": ["x y", ["first .", "second ."]]}, {"id": "b", "references": "z"}]
    examples, _, _ = read_examples(write_jsonl("p.jsonl", predictions("a", "b")), write_jsonl("r.jsonl", rows))
    assert [example.references for example in examples] == [("x y", "first .\nsecond ."), ("z",)]


def test_json_holds_a_list_of_rows_or_texts_by_id(write_jsonl, tmp_path):
    reference_path = write_jsonl("r.jsonl", references("1", "2"))
    for content in (
        [{"id": 2, "summary": "two"}, {"id": 1, "summary": "one"}],
        {"2": "two", "1": "one"},
        {"2": {"summary": "two"}, "1": {"summary": "one"}},
    ):
        (tmp_path / "p.json").write_text(json.dumps(content), encoding="utf-8")
        examples, _, _ = read_examples(tmp_path / "p.json", reference_path)
        assert [example.prediction for example in examples] == ["one", "two"]


def test_folders_are_paired_by_the_names_of_their_files(tmp_path):
    for folder, texts in (("p", ("two\nlines\n", "other")), ("r", ("ref", "ref"))):
        (tmp_path / folder / "sub").mkdir(parents=True)
        for name, text in zip(("a.txt", "sub/b.txt"), texts, strict=True):
            (tmp_path / folder / name).write_text(text, encoding="utf-8")
    examples, _, _ = read_examples(tmp_path / "p", tmp_path / "r")
    assert [(example.id, example.prediction) for example in examples] == [
        ("a.txt", "two\nlines\n"),
        ("sub/b.txt", "other"),
    ]
    (tmp_path / "r/sub/b.txt").rename(tmp_path / "r/c.txt")
    with pytest.raises(InputError, match=r"without a prediction \('c.txt'\), .* without a reference \('sub/b.txt'\)"):
        read_examples(tmp_path / "p", tmp_path / "r")


def test_whether_a_document_was_cut_is_told_where_the_record_says_so(write_jsonl):
    rows = [{"id": "a", "summary": "s", "dropped_tokens": 5}, {"id": "b", "summary": "s", "dropped_tokens": 0}]
    examples, _, _ = read_examples(write_jsonl("p.jsonl", rows), write_jsonl("r.jsonl", references("a", "b")))
    assert [example.source_cut for example in examples] == [True, False]


def test_summaries_of_a_file_without_ids_pair_with_its_rows(write_jsonl):
    reference_path = write_jsonl("r.jsonl", [{"document": "d", "summary": text} for text in ("one", "two", "three")])
    rows = predictions("data/r.jsonl:3", "data/r.jsonl:1", "data/r.jsonl:2")
    examples, _, _ = read_examples(write_jsonl("p.jsonl", rows), reference_path)
    assert [(example.id, example.reference) for example in examples] == [
        ("data/r.jsonl:1", "one"),
        ("data/r.jsonl:2", "two"),
        ("data/r.jsonl:3", "three"),
    ]
    for other in (predictions("data/s.jsonl:1"), predictions("r.jsonl:1", "other/r.jsonl:2"), predictions("r.jsonl:x")):
        with pytest.raises(InputError, match="has no id column"):
            read_examples(write_jsonl("p.jsonl", other), reference_path, mismatch="intersect")


REFUSED = {
    "no id shared": (predictions("a"), references("b"), "0 in both, .*they have none in common"),
    "twice": (predictions("a", "b", "a"), references("a", "b"), r"p.jsonl: 1 ids occur more than once \('a'\)"),
    "empty file": ([], references("a"), "p.jsonl: holds no rows"),
    "no ids on one side": (predictions("a"), [{"summary": "s"}], "r.jsonl: has no id column"),
    "an id missing": ([*predictions("a"), {"summary": "s"}], references("a"), "p.jsonl:2: has no id, but other rows"),
    "no summary": (
        [{"id": 1, "title": "t"}],
        references(1),
        r"p.jsonl:1: no column summary or prediction .* there are: id, title",
    ),
    "not text": ([{"id": "a", "summary": 3}], references("a"), "p.jsonl:1: 'summary' holds int, not text"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_rows_that_do_not_pair_are_refused_with_the_reason(write_jsonl, name):
    prediction_rows, reference_rows, message = REFUSED[name]
    with pytest.raises(InputError, match=message):
        read_examples(
            write_jsonl("p.jsonl", prediction_rows), write_jsonl("r.jsonl", reference_rows), mismatch="intersect"
        )


def test_files_that_cannot_be_read_are_refused_with_the_reason(write_jsonl, tmp_path):
    reference_path = write_jsonl("r.jsonl", references("a"))
    (tmp_path / "empty").mkdir()
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9\n")
    (tmp_path / "broken.jsonl").write_text('{"id": "a", "summary": "s"}\n{"id"\n', encoding="utf-8")
    (tmp_path / "lines.txt").write_text('{"id": "a", "summary": "s"}\n', encoding="utf-8")
    (tmp_path / "list.json").write_text("[1]", encoding="utf-8")
    for name, message in {
        "latin.txt": "not UTF-8",
        "absent.txt": "cannot be read",
        "broken.jsonl": "broken.jsonl:2: broken JSON",
        "lines.txt": "looks like JSON Lines; rename it to end in .jsonl",
        "list.json": "expected a list of objects",
        "empty": "holds no .txt files",
    }.items():
        with pytest.raises(InputError, match=message):
            read_examples(tmp_path / name, reference_path)
    with pytest.raises(InputError, match=r"no column nope .* there are: id, abstract"):
        read_examples(write_jsonl("p.jsonl", predictions("a")), reference_path, Columns(summary="nope"))


def test_ids_that_are_whole_numbers_match_however_a_file_writes_them(write_jsonl, tmp_path):
    (tmp_path / "r.csv").write_text("id,summary\n1.0,x\n2.0,y\n", encoding="utf-8")
    floats = write_jsonl("f.jsonl", [{"id": 1.0, "summary": "x"}, {"id": 2.0, "summary": "y"}])
    for path in (tmp_path / "r.csv", floats):
        examples, _, _ = read_examples(write_jsonl("p.jsonl", predictions("1", "2")), path)
        assert [example.id for example in examples] == ["1", "2"]
    versions = write_jsonl("v.jsonl", references("1.0", "1.1", "1"))
    assert len(read_examples(write_jsonl("p.jsonl", predictions("1", "1.0", "1.1")), versions)[0]) == 3


def test_lone_surrogates_are_dropped_from_texts_and_replaced_in_ids(tmp_path):
    path = tmp_path / "both.jsonl"
    path.write_text(r'{"id": "a\ud800", "summary": "one \udfff", "document": ["x \ud800"]}')
    assert read_examples(path, path)[0] == [Example("a?", "one ", "one ", "x")]


def test_the_column_of_the_ids_can_be_named_for_either_file_or_both(write_jsonl):
    named = write_jsonl("r.jsonl", [{"paper": n, "id": "x", "summary": f"abstract {n}"} for n in "ba"])
    columns = Columns(id="paper")
    usual = write_jsonl("p.jsonl", predictions("a", "b"))
    for prediction_path in (usual, write_jsonl("q.jsonl", [{"paper": n, "summary": f"summary {n}"} for n in "ab"])):
        examples, _, _ = read_examples(prediction_path, named, columns)
        assert [(example.id, example.prediction) for example in examples] == [("b", "summary b"), ("a", "summary a")]
    with pytest.raises(InputError, match=r"r\.jsonl:1: no column papr \(set --id-column\); there are: paper, id"):
        read_examples(usual, named, Columns(id="papr"))


def test_rows_pair_in_order_when_asked_whatever_their_ids(write_jsonl):
    without = [{"summary": "one"}, {"summary": "two"}]
    for rows, names in (
        (references("a", "b"), ["a", "b"]),
        (references("a", "a"), ["x", "y"]),
        ([*references("a"), {"abstract": "abstract 2"}], ["x", "y"]),
    ):
        reference_path = write_jsonl("r.jsonl", rows)
        prediction_path = write_jsonl("p.jsonl", [{**row, "id": n} for row, n in zip(without, "xy", strict=True)])
        examples, _, _ = read_examples(prediction_path, reference_path, pair_by="line")
        assert [(example.id, example.prediction) for example in examples] == list(
            zip(names, ["one", "two"], strict=True)
        )
    examples, _, _ = read_examples(write_jsonl("p.jsonl", without), reference_path, pair_by="line")
    assert [example.id for example in examples] == ["1", "2"]
    with pytest.raises(InputError, match=r"p\.jsonl: has no id column .*; --id-column names .*, --pair-by line pairs"):
        read_examples(write_jsonl("p.jsonl", without), write_jsonl("r.jsonl", references("a", "b")))


def test_a_json_list_of_strings_is_a_list_of_summaries(write_jsonl, tmp_path):
    (tmp_path / "p.json").write_text('[ "one", "two"]', encoding="utf-8")
    examples, _, _ = read_examples(tmp_path / "p.json", write_jsonl("r.jsonl", references("a", "b")))
    assert [(example.id, example.prediction) for example in examples] == [("a", "one"), ("b", "two")]


def test_repeated_rows_are_several_references_when_asked(write_jsonl):
    rows = [{"id": n, "summary": text} for n, text in (("a", ""), ("b", "b"), ("a", "first"), ("a", "second"))]
    files = write_jsonl("p.jsonl", predictions("a", "b")), write_jsonl("r.jsonl", rows)
    with pytest.raises(InputError, match="and references scores against all rows of an id"):
        read_examples(*files)
    examples, counts, notes = read_examples(*files, duplicates="references")
    assert [example.references for example in examples] == [("", "first", "second"), ("b",)]
    assert counts["duplicates_left_out"] == 0
    assert notes == [f"{files[1]}: 1 ids occur more than once ('a'): their rows are several references"]
    with pytest.raises(InputError, match=r"p\.jsonl: 1 ids occur more than once"):
        read_examples(write_jsonl("p.jsonl", predictions("a", "b", "a")), files[1], duplicates="references")
