from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from summarizer.config import DataConfig
from summarizer.data import selection_labels
from summarizer.data.preparation import identical_documents, prepare
from summarizer.data.selection_labels import (
    greedy_labels,
    inverse_document_frequencies,
    line_break_id,
    prepare_labels,
    split_at_breaks,
)
from summarizer.data.source_tokens import encode_text
from summarizer.errors import InputError
from tests.corpus import pair_rows, tiny_tokenizer, write_jsonl

ROWS = pair_rows(30)


def naive_f1(lines, summary, order):
    def ngrams(each):
        return Counter(tuple(line[i : i + order]) for line in each for i in range(len(line) - order + 1))

    taken, wanted = ngrams(lines), ngrams(summary)
    hits = sum((taken & wanted).values())
    return 2 * hits / max(1, taken.total() + wanted.total())


def naive_labels(sentences, summary, most):
    """Scores every choice from scratch."""
    chosen, best = [], 0.0
    while len(chosen) < most:
        scores = {}
        for index in range(len(sentences)):
            if index not in chosen:
                lines = [sentences[other] for other in [*chosen, index]]
                scores[index] = naive_f1(lines, summary, 1) + naive_f1(lines, summary, 2)
        if not scores or max(scores.values()) <= best:
            break
        best = max(scores.values())
        chosen.append(next(index for index, score in scores.items() if score == best))
    return [int(index in chosen) for index in range(len(sentences))]


def arrays(lines):
    return [np.array(line, dtype=np.int64) for line in lines]


TEXTS = st.lists(st.lists(st.integers(0, 6), max_size=8), max_size=9)


@settings(max_examples=300, deadline=None)
@given(sentences=TEXTS, summary=TEXTS, most=st.integers(1, 9))
def test_the_labels_are_those_of_the_naive_greedy_choice(sentences, summary, most):
    assert greedy_labels(arrays(sentences), arrays(summary), most) == naive_labels(sentences, summary, most)


def test_large_token_ids_are_kept_apart():
    sentences = [[250_000, 3], [3, 250_000], [2, 1]]
    summary = [[3, 250_000]]
    assert greedy_labels(arrays(sentences), arrays(summary)) == [0, 1, 0]


def test_lines_are_split_at_breaks_without_special_tokens():
    lines = split_at_breaks(np.array([7, 8, 5, 9, 5, 5, 6, 3]), 5, frozenset({0, 3}))
    assert [line.tolist() for line in lines] == [[7, 8], [9], [], [6]]


@pytest.fixture
def config(tmp_path):
    return DataConfig(cache_dir=str(tmp_path / "cache"))


@pytest.fixture
def data(config, tmp_path):
    return prepare([str(write_jsonl(tmp_path / "train.jsonl", ROWS))], "train", config, tiny_tokenizer(), None)


def test_each_document_has_a_label_for_each_of_its_sentences(data):
    labelled = prepare_labels(data, tiny_tokenizer())
    assert len(labelled) == 30
    for row, pair, length in zip(labelled.rows, ROWS, labelled.target_lengths, strict=True):
        assert len(row["labels"]) == length == len(pair["document"].split("\n"))
        assert row["labels"] == [1] + [0] * (length - 1)  # the summary is the first sentence
        assert row["input_ids"] == [*encode_text(tiny_tokenizer(), pair["document"]), tiny_tokenizer().eos_token_id]
    assert labelled.source_lengths == data.source_lengths
    assert identical_documents(labelled, labelled) == [row["id"] for row in ROWS]


def test_inverse_document_frequencies_count_documents(data):
    labelled = prepare_labels(data, tiny_tokenizer())
    idf = inverse_document_frequencies(labelled)
    assert idf.shape == (len(tiny_tokenizer()),)
    documents = [set(row["input_ids"]) for row in data.rows]
    for token in (tiny_tokenizer().eos_token_id, tiny_tokenizer().mask_token_id, data.rows[0]["input_ids"][0]):
        count = sum(token in document for document in documents)
        assert idf[token] == pytest.approx(np.log(31 / (count + 1)))


def test_labels_are_made_once(data, monkeypatch):
    first = prepare_labels(data, tiny_tokenizer())
    monkeypatch.setattr(selection_labels, "greedy_labels", lambda *_: pytest.fail("labelled again"))
    second = prepare_labels(data, tiny_tokenizer())
    assert second.rows.to_list() == first.rows.to_list()
    assert second.report == first.report


def test_a_cut_document_has_labels_for_what_is_left(config, tmp_path):
    path = str(write_jsonl(tmp_path / "train.jsonl", ROWS))
    data = prepare([path], "train", replace(config, max_source_tokens=12), tiny_tokenizer(), None)
    for row in prepare_labels(data, tiny_tokenizer()).rows:
        assert len(row["labels"]) == row["input_ids"].count(line_break_id(tiny_tokenizer())) + 1


def test_a_tokenizer_without_line_breaks_is_an_error():
    class Tokenizer:
        unk_token_id = 1

        def convert_tokens_to_ids(self, _token):
            return 1

    with pytest.raises(InputError, match="no token for a line break"):
        line_break_id(Tokenizer())
