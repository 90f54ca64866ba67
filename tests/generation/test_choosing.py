import pytest
from hypothesis import given
from hypothesis import strategies as st

from summarizer.generation.choosing import Budget, choose_sentences

SENTENCES = ["a b c d", "e f g", "a b c d e", "h i", "e f g x y z"]


def test_the_best_sentences_come_in_the_order_of_the_document():
    assert choose_sentences(SENTENCES, [0.1, 0.9, 0.2, 0.8, 0.0], Budget(sentences=2)) == [1, 3]
    assert choose_sentences(SENTENCES, [0.5, 0.5, 0.0, 0.5, 0.0], Budget(sentences=2)) == [0, 1]


def test_a_sentence_that_does_not_fit_the_rest_of_the_budget_is_skipped():
    scores = [0.9, 0.8, 0.0, 0.7, 0.0]
    assert choose_sentences(SENTENCES, scores, Budget(words=7)) == [0, 1]
    assert choose_sentences(SENTENCES, scores, Budget(words=6)) == [0, 3]
    assert choose_sentences(SENTENCES, scores, Budget(tokens=10), num_tokens=[6, 5, 9, 4, 9]) == [0, 3]
    assert choose_sentences(SENTENCES, scores, Budget(words=9, sentences=2)) == [0, 1]


def test_a_sentence_that_repeats_the_chosen_ones_is_skipped():
    scores = [0.9, 0.5, 0.8, 0.1, 0.2]
    assert choose_sentences(SENTENCES, scores, Budget(words=20)) == [0, 1, 3]  # 2 of 3 trigrams, then 1 of 4
    assert choose_sentences(SENTENCES, scores, Budget(words=20), most_repeated=0.25) == [0, 1, 3, 4]
    assert choose_sentences(SENTENCES, scores, Budget(words=20), most_repeated=1.0) == [0, 1, 2, 3, 4]
    assert choose_sentences(["A b c", "a B C"], [1, 2], Budget(words=20)) == [1]


def test_an_extract_is_never_empty_unless_the_document_is():
    assert choose_sentences(["a b c", "a b"], [0.1, 0.2], Budget(words=1)) == [1]
    assert choose_sentences([], [], Budget(words=1)) == []


def test_headings_are_chosen_only_where_nothing_else_is():
    lines = ["Methods", "We asked ten people.", "They answered as follows:", "Nine of them agreed.", "Fig. 1."]
    assert choose_sentences(lines, [0.9, 0.1, 0.8, 0.2, 0.7], Budget(sentences=3)) == [1, 3]
    assert choose_sentences(["Methods", "Results"], [0.1, 0.2], Budget(sentences=1)) == [1]


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="no limit; set words, sentences or tokens"):
        choose_sentences(["a"], [0.1], Budget())
    with pytest.raises(ValueError, match="1 sentences have 2 scores"):
        choose_sentences(["a"], [0.1, 0.2], Budget(words=1))
    with pytest.raises(ValueError, match="needs the number of tokens"):
        choose_sentences(["a"], [0.1], Budget(tokens=1))
    with pytest.raises(ValueError, match="a budget of words must be at least 1, not 0"):
        Budget(words=0)


@given(
    rows=st.lists(st.tuples(st.text("abc ", max_size=20), st.floats(0, 1)), min_size=1, max_size=12),
    words=st.integers(1, 20),
    count=st.integers(1, 5),
)
def test_the_budget_holds(rows, words, count):
    sentences, scores = zip(*rows, strict=True)
    chosen = choose_sentences(sentences, scores, Budget(words=words, sentences=count))
    total = sum(len(sentences[index].split()) for index in chosen)
    assert chosen == sorted(set(chosen))
    assert 1 <= len(chosen) <= count
    assert total <= words or len(chosen) == 1
