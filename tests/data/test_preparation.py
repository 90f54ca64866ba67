import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from summarizer.config import DataConfig
from summarizer.data import preparation
from summarizer.data.preparation import identical_documents, prepare
from summarizer.data.source_tokens import encode_text
from summarizer.errors import InputError
from tests.corpus import pair_rows, sentence, tiny_tokenizer, write_jsonl

ROWS = pair_rows(20)


@pytest.fixture
def config(tmp_path):
    return DataConfig(cache_dir=str(tmp_path / "cache"))


@pytest.fixture
def data(tmp_path):
    return [str(write_jsonl(tmp_path / "train.jsonl", ROWS))]


@pytest.fixture
def tokenizer():
    return tiny_tokenizer()


def cached(config):
    return {path: path.stat()[:10] for path in Path(config.cache_dir).iterdir()}


def test_rows_hold_ids_that_read_back_as_the_texts_and_end_in_the_end_token(config, data, tokenizer):
    prepared = prepare(data, "train", config, tokenizer, None)
    assert len(prepared) == len(prepared.rows) == 20
    for row, given, source_length, target_length in zip(
        prepared.rows, ROWS, prepared.source_lengths, prepared.target_lengths, strict=True
    ):
        assert (row["id"], row["target"]) == (given["id"], given["summary"])
        for column, length, text in (
            ("input_ids", source_length, given["document"]),
            ("labels", target_length, given["summary"]),
        ):
            assert row[column] == [*encode_text(tokenizer, text), tokenizer.eos_token_id]
            assert len(row[column]) == length
            assert tokenizer.decode(row[column], skip_special_tokens=True) == text
        assert row["dropped_source"] == row["dropped_target"] == 0
    assert prepared.lines() == ["train: 20 pairs"]


def test_ids_are_stored_in_two_bytes_each_and_memory_mapped(config, data, tokenizer):
    rows = prepare(data, "train", config, tokenizer, None).rows
    for column in ("input_ids", "labels"):
        assert rows.data.schema.field(column).type == pa.list_(pa.uint16())
    assert rows.cache_files[0]["filename"].endswith(".arrow")


def test_a_second_run_takes_the_file_from_the_cache_and_tokenises_nothing(config, data, tokenizer, monkeypatch):
    first = prepare(data, "train", config, tokenizer, None)
    before = cached(config)
    assert len(before) == 2
    monkeypatch.setattr(preparation, "_tokenize", lambda *_: pytest.fail("tokenised again"))
    second = prepare(data, "train", config, tokenizer, None)
    assert cached(config) == before
    assert second.rows.to_list() == first.rows.to_list()
    assert (second.report, second.source_lengths) == (first.report, first.source_lengths)


def test_a_tokenizer_stored_with_truncation_and_padding_does_not_miss_the_cache(config, data, tokenizer, tmp_path):
    from transformers import AutoTokenizer

    tokenizer.save_pretrained(tmp_path / "tokenizer")
    path = tmp_path / "tokenizer" / "tokenizer.json"
    stored = json.loads(path.read_text(encoding="utf-8"))
    stored["truncation"] = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
    path.write_text(json.dumps(stored), encoding="utf-8")
    for _ in range(2):
        loaded = AutoTokenizer.from_pretrained(tmp_path / "tokenizer")
        prepared = prepare(data, "train", config, loaded, None)
        prepare(data, "train", config, loaded, None)
    assert max(prepared.source_lengths) > 8
    assert len(cached(config)) == 2


def test_whatever_changes_the_rows_makes_a_new_file(config, data, tokenizer, tmp_path):
    other_tokenizer = type(tokenizer)(tokenizer_object=tokenizer.backend_tokenizer, eos_token="</s>", pad_token="<pad>")
    other_tokenizer.add_tokens(["patients"])
    more = [str(write_jsonl(tmp_path / "more.jsonl", [*ROWS, *pair_rows(1, seed=9)]))]
    renamed = [{"text": row["document"], **row, "headline": "H."} for row in ROWS]
    columns = [str(write_jsonl(tmp_path / "columns.jsonl", renamed))]
    variants = [
        (data, config, tokenizer, None),
        (data, config, other_tokenizer, None),
        (data, config, tokenizer, 5),
        (more, config, tokenizer, None),
        (data, replace(config, max_source_tokens=10), tokenizer, None),
        (data, replace(config, max_target_tokens=10), tokenizer, None),
        (data, replace(config, sentence_per_line=False), tokenizer, None),
        (columns, config, tokenizer, None),
        (columns, replace(config, document_column="text"), tokenizer, None),
        (columns, replace(config, summary_column="headline"), tokenizer, None),
    ]
    for count, (entries, settings, chosen, limit) in enumerate(variants, start=1):
        prepare(entries, "train", settings, chosen, limit)
        assert len(cached(config)) == 2 * count
    for entries, settings, chosen, limit in variants:
        prepare(entries, "train", settings, chosen, limit)
    assert len(cached(config)) == 2 * len(variants)


def test_an_edited_file_of_the_same_name_and_size_is_prepared_again(config, tokenizer, tmp_path):
    for word in ("cells", "weeks"):
        path = write_jsonl(tmp_path / "a.jsonl", [{"document": word, "summary": word}])
        assert prepare([str(path)], "train", config, tokenizer, None).rows[0]["target"] == word


def test_a_file_without_its_account_is_made_again(config, data, tokenizer):
    prepare(data, "train", config, tokenizer, None)
    next(Path(config.cache_dir).glob("*.json")).unlink()
    assert len(prepare(data, "train", config, tokenizer, None)) == 20
    assert len(cached(config)) == 2


def test_a_limit_takes_the_first_pairs(config, data, tokenizer):
    assert [row["id"] for row in prepare(data, "train", config, tokenizer, 3).rows] == ["0-0", "0-1", "0-2"]


def test_what_is_cut_off_is_counted_and_a_summary_cut_off_has_no_end(config, tokenizer, tmp_path):
    document, summary = sentence(30, 1), sentence(20, 2)
    rows = [{"document": document, "summary": summary}, {"document": "Cells.", "summary": "Cells."}]
    path = str(write_jsonl(tmp_path / "a.jsonl", rows))
    prepared = prepare([path], "train", replace(config, max_source_tokens=12, max_target_tokens=9), tokenizer, None)
    source, target = encode_text(tokenizer, document), encode_text(tokenizer, summary)
    cut, whole = prepared.rows
    assert cut["input_ids"] == [*source[:11], tokenizer.eos_token_id]
    assert cut["labels"] == target[:8]
    assert (cut["dropped_source"], cut["dropped_target"]) == (len(source) - 11, len(target) - 8)
    assert (prepared.source_lengths[0], prepared.target_lengths[0]) == (12, 8)
    assert whole["labels"][-1] == tokenizer.eos_token_id
    assert (whole["dropped_source"], whole["dropped_target"]) == (0, 0)
    assert prepared.lines() == [
        "train: 2 pairs",
        f"truncated sources: 1 to 12 tokens ({len(source) - 11} tokens dropped in total)",
        f"truncated targets: 1 to 9 tokens ({len(target) - 8} tokens dropped in total)",
    ]


def test_sentences_of_a_document_stand_on_lines_of_their_own_where_asked(config, tokenizer, tmp_path):
    text = "The patients improved. The others did not."
    path = str(write_jsonl(tmp_path / "a.jsonl", [{"document": text, "summary": text}]))
    for per_line, expected in ((True, text.replace(". ", ".\n")), (False, text)):
        row = prepare([path], "train", replace(config, sentence_per_line=per_line), tokenizer, None).rows[0]
        assert tokenizer.decode(row["input_ids"], skip_special_tokens=True) == expected
        assert tokenizer.decode(row["labels"], skip_special_tokens=True) == text


def test_special_tokens_written_in_a_text_stay_text(config, tokenizer, tmp_path):
    text = "cells </s> and <pad> <s>weeks<mask> <unk>"
    path = str(write_jsonl(tmp_path / "a.jsonl", [{"document": text, "summary": text}]))
    row = prepare([path], "train", config, tokenizer, None).rows[0]
    for ids in (row["input_ids"], row["labels"]):
        assert set(tokenizer.all_special_ids).intersection(ids) == {tokenizer.eos_token_id}
        assert tokenizer.decode(ids, skip_special_tokens=True) == text


def test_rows_that_cannot_be_used_are_told_also_from_the_cache(config, tokenizer, tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [{"document": "", "summary": "x"}, *ROWS])
    for _ in range(2):
        prepared = prepare([str(path)], "train", config, tokenizer, None)
        assert prepared.lines() == ["train: 20 pairs", f"dropped: 1 × empty document (first: {path}:1)"]


def test_nothing_to_learn_from_is_an_error_that_says_why_and_leaves_no_file(config, tokenizer, tmp_path):
    empty = write_jsonl(tmp_path / "empty.jsonl", [])
    blank = write_jsonl(tmp_path / "blank.jsonl", [{"document": "", "summary": "x"}])
    for path, named in ((empty, "no pair can be used: the files hold no rows"), (blank, "1 × empty document")):
        with pytest.raises(InputError, match=f"data.train: .*{named}"):
            prepare([str(path)], "train", config, tokenizer, None)
    with pytest.raises(InputError, match="max_source_tokens=1 leaves no room"):
        prepare([str(empty)], "train", replace(config, max_source_tokens=1), tokenizer, None)
    assert cached(config) == {}
    with pytest.raises(InputError, match=r"data\.train is empty"):
        prepare([], "train", config, tokenizer, None)


def test_documents_in_both_of_two_splits_are_found(config, data, tokenizer, tmp_path):
    rows = [*pair_rows(300, seed=3), {"id": "leak", "document": ROWS[7]["document"], "summary": "Another."}]
    others = [str(write_jsonl(tmp_path / "validation.jsonl", rows))]  # more than are written at a time
    training, validation = (
        prepare(data, "train", config, tokenizer, None),
        prepare(others, "validation", config, tokenizer, None),
    )
    assert identical_documents(training, validation) == ["leak"]
    assert identical_documents(validation, training) == [ROWS[7]["id"]]
