import sys
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from summarizer.errors import InputError
from summarizer.evaluation.baselines import (
    document_sentences,
    fit_lead_k,
    is_heading,
    lead,
    lexrank,
    oracle,
    random_sentences,
)
from summarizer.evaluation.rouge import ROUGE_TYPES, RougeSettings, score_references
from summarizer.evaluation.rouge_tokens import make_tokenizer
from summarizer.text import split_sentences

SCORER = RougeScorer(["rouge1", "rouge2"], use_stemmer=True)
SENTENCES = [f"sentence number {number} ." for number in range(20)]

sentences = st.lists(st.lists(st.sampled_from("abcdef"), max_size=6).map(" ".join), max_size=7)


def naive_oracle(document: list[str], reference: list[str], k: int) -> list[str]:
    """Greedy choice that scores every candidate summary anew with rouge-score."""

    def score(chosen: list[int]) -> float:
        scores = SCORER.score("\n".join(reference), "\n".join(document[index] for index in chosen))
        return scores["rouge1"].fmeasure + scores["rouge2"].fmeasure

    chosen: list[int] = []
    while len(chosen) < k:
        additions = [sorted([*chosen, index]) for index in range(len(document)) if index not in chosen]
        best = max(additions, key=score, default=chosen)
        if score(best) <= score(chosen):
            break
        chosen = best
    return [document[index] for index in chosen]


def test_the_oracle_is_the_naive_one_on_real_documents(samples):
    for _, document, reference in samples[1:3]:
        found = document_sentences(document)[:25]
        expected = split_sentences(reference)
        assert oracle(found, expected, 20, make_tokenizer()) == naive_oracle(found, expected, 20)


@settings(max_examples=100, deadline=None)
@given(sentences, sentences, st.integers(1, 7))
def test_the_oracle_is_the_naive_one_on_any_text(document, reference, k):
    assert oracle(document, reference, k, make_tokenizer()) == naive_oracle(document, reference, k)


def test_the_oracle_of_a_document_that_holds_the_reference_is_the_reference():
    reference = ["the dose was low .", "no harm was seen ."]
    assert oracle([SENTENCES[0], *reference, SENTENCES[1]], reference, 9, make_tokenizer()) == reference


def test_the_oracle_takes_nothing_where_nothing_is_shared():
    assert oracle(SENTENCES, ["zebra"], 9, make_tokenizer()) == []
    assert oracle([], ["zebra"], 9, make_tokenizer()) == []


def test_lead_takes_the_first_sentences():
    assert lead(SENTENCES, 3) == SENTENCES[:3]
    assert lead(SENTENCES[:2], 3) == SENTENCES[:2]


def test_k_is_fitted_to_what_scores_best_and_the_smallest_of_equals():
    document = "\n".join(["one two three.", "four five six.", "seven eight nine.", *SENTENCES])
    assert fit_lead_k([(document, "One two three. Four five six.")], make_tokenizer()) == 2
    assert fit_lead_k([(document, "zebra")], make_tokenizer()) == 1
    assert fit_lead_k([("short text.", "short text.")] * 2, make_tokenizer(), max_k=3) == 1
    with pytest.raises(ValueError, match="no pairs"):
        fit_lead_k([], make_tokenizer())


def test_the_fitted_k_has_the_best_mean_score(samples):
    def score(k: int) -> float:
        found = []
        for _, document, reference in samples:
            scores = SCORER.score(reference, "\n".join(lead(document_sentences(document), k)))
            found.append(scores["rouge1"].fmeasure + scores["rouge2"].fmeasure)
        return fmean(found)

    pairs = [(document, reference) for _, document, reference in samples]
    assert fit_lead_k(pairs, make_tokenizer(), max_k=12) == max(range(1, 13), key=score)


def test_lexrank_takes_sentences_of_its_own_in_the_order_of_the_document(samples):
    found = document_sentences(samples[0][1])
    chosen = lexrank(found, 4, make_tokenizer())
    assert len(chosen) == 4
    assert chosen == sorted(chosen, key=found.index) != found[:4]
    assert lexrank([*found, "..."], 999, make_tokenizer()) == found
    assert lexrank([], 3, make_tokenizer()) == lexrank(["..."], 3, make_tokenizer()) == []


def test_lexrank_prefers_what_is_like_other_sentences():
    links = ["drug dose trial one .", "drug patients trial two .", "dose patients pain three .", "pain relief four ."]
    document = ["zebra stripes trial .", *links, "drug dose patients trial pain ."]
    assert "drug dose patients trial pain ." in lexrank(document, 1, make_tokenizer())


def test_without_sumy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sumy.summarizers.lex_rank", None)
    with pytest.raises(InputError, match=r"needs sumy: pip install .*\[baselines\]"):
        lexrank(["a b"], 1, make_tokenizer())


def test_random_sentences_keep_their_order_and_depend_on_seed_and_document_alone():
    drawn = random_sentences(SENTENCES, 5, seed=1, key="a")
    assert len(drawn) == 5
    assert drawn == sorted(drawn, key=SENTENCES.index)
    assert drawn == random_sentences(SENTENCES, 5, seed=1, key="a")
    assert drawn != random_sentences(SENTENCES, 5, seed=2, key="a")
    assert drawn != random_sentences(SENTENCES, 5, seed=1, key="b")
    assert random_sentences(SENTENCES, 99, seed=1, key="a") == SENTENCES
    assert random_sentences([], 5, seed=1, key="a") == []


@pytest.mark.parametrize("line", ["METHODS", "2.1 Study design", "conservation of the sin <dig> gene", "方法"])
def test_a_short_line_without_final_punctuation_is_a_heading(line):
    assert is_heading(line)


@pytest.mark.parametrize("line", ["It worked.", 'He said "no."', "Really?", "它有效。", "word " * 11, "字" * 101])
def test_a_sentence_is_no_heading(line):
    assert not is_heading(line)


def test_headings_are_skipped_unless_nothing_else_is_there():
    assert document_sentences("BACKGROUND\nIt rained. It poured.\n\nRESULTS\nFine.") == [
        "It rained.",
        "It poured.",
        "Fine.",
    ]
    assert document_sentences("no stop here") == ["no stop here"]
    assert document_sentences("") == []


def test_pubmed_baselines_are_near_the_published_numbers_of_the_corpus(pubmed):
    """Of another 300 test documents: Lead 44.86/13.19/41.67, random 47.00/13.80/43.40, oracle 68.23/35.08/63.43."""
    tokenizer = make_tokenizer()
    fmeasures: dict[str, list[list[float]]] = {"lead": [], "random": [], "oracle": []}
    for row in pubmed[:60]:
        found, reference = document_sentences(row["document"]), split_sentences(row["summary"])
        chosen = {
            "lead": lead(found, 15),
            "random": random_sentences(found, 15, 1, row["id"]),
            "oracle": oracle(found, reference, 40, tokenizer),
        }
        for name, summary in chosen.items():
            scores = score_references(summary, [row["summary"]], RougeSettings())
            fmeasures[name].append([scores[rouge_type].fmeasure for rouge_type in ROUGE_TYPES])
    expected = {"lead": (44.86, 13.19, 41.67), "random": (47.00, 13.80, 43.40), "oracle": (68.23, 35.08, 63.43)}
    for name, rows in fmeasures.items():
        rouge1, rouge2, _, rouge_lsum = (100 * fmean(column) for column in zip(*rows, strict=True))
        assert (rouge1, rouge2, rouge_lsum) == pytest.approx(expected[name], abs=2.5)
