"""What a compression leaves out of a sentence; {braces} mark each span that it may leave out."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from summarizer.generation.clauses import optional_spans

LEFT_OUT = [
    "{However,} the patients were treated for six weeks.",
    "{However,}{ in this study,} the patients were treated for six weeks.",
    "{To determine whether A or C matter,} we measured the pressure.",
    "{By comparing both groups,} we found a difference of five points.",
    "{As shown in Figure 3,} the results were the same in both groups.",
    "The results{ (Fig. 3)} were the same in both groups{ [12, 13]}.",
    "the results{ ( p < <dig> )} were the same in both groups .",
    "The protein{, which binds to DNA,} is found in both groups.",
    "Some proteins{, such as p53 and actin,} are found in both groups.",
    "Abscisic acid{, however,} has a clear role in ripening.",
    "It is{, therefore,} found in both groups.",
    "The results were the same in both groups{, suggesting that age does matter}.",
    "The results were the same in both groups{, whereas age differed{ (p < 0.05)}}.",
    "The results were the same in both groups{, both of which were small}.",
    "The results were the same in both groups{, and we measured them twice}.",
    "The results were the same in both groups{; this was found in mice too}.",
    '"The results were the same in both groups{, which surprised us}."',
]
KEPT = [
    "The effect was large (but not significant).",
    "The effect was larger (p > 0.05) in the second group.",
    "The effect was large, although it was not significant.",
    "The effect was large, which was never expected by us.",
    "It is as described in (Smith 2000) and in [12].",
    "The function f (x) is given by equation (3) and table 2.",
    "The gene(s) were found in poly(A) tails of (i) mice, (ii) rats.",
    "What I asked for [is] what they have.",
    "(All of them were treated for weeks.)",
    "If the dose is high, the patients are treated for six weeks.",
    "In patients with diabetes, the dose was high.",
    "To our knowledge, we are the first to treat them.",
    "First, second and third instars were counted.",
    "We found that the protein, which binds DNA, interacts with RNA.",
    "We had cells, which were lysed, were washed and were frozen.",
    "The incident, which saw it, did they really hear it?",
    "This gene, which is found in mice.",
    "There were three of them: mice, rats, including old ones.",
    "The funds, part of the budget, which they approved, were small in both groups.",
    "To pay for it, they gave a bonus, which did not help, and as humans, we have needs.",
    "It was A, on the one hand, and between B and C, on the other hand, was D.",
    "They are many; that is, for example, a patient has all of it.",
    "Not only were they treated for weeks; they were fed.",
    "A is B, however, the others are not in the groups.",
    "We measured the mice, the rats, and these proteins.",
    "We examined (the mice, which were old.",
]


def marked(sentence):
    spans = optional_spans(sentence)
    signs = sorted([(start, 1, "{") for start, _ in spans] + [(end, 0, "}") for _, end in spans], reverse=True)
    for place, _, sign in signs:
        sentence = sentence[:place] + sign + sentence[place:]
    return sentence


@pytest.mark.parametrize("sentence", LEFT_OUT)
def test_what_may_be_left_out(sentence):
    assert marked(sentence.replace("{", "").replace("}", "")) == sentence


@pytest.mark.parametrize("sentence", KEPT)
def test_what_must_stay(sentence):
    assert marked(sentence) == sentence


@pytest.mark.parametrize(
    "sentence", ["", " ", ".", ",", "()", "( , ) ; . ,", "However, ", ", which is, which is, was ."]
)
def test_odd_sentences_stay(sentence):
    assert marked(sentence) == sentence


PARTS = [*("however", "in this study", "to see", "we", "was", "is", "found that", "which", "whereas", "not", "12.5")]
PARTS += [
    *(",", ", ", ";", ":", ".", "(", ")", " [", "] ", '"', "–", " ", "the cells", "and", "suggesting", "p > 0.05")
]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=40), st.sampled_from(["", " "]))
def test_what_is_left_out_has_no_negation_and_leaves_words(parts, space):
    sentence = space.join(parts)
    spans = optional_spans(sentence)
    for start, end in spans:
        assert 0 <= start < end <= len(sentence)
        assert not re.search(r"\bnot\b|p > 0", sentence[start:end])
    places = {place for span in spans for place in range(*span)}
    rest = "".join(" " if place in places else sign for place, sign in enumerate(sentence))
    assert not spans or len(rest.split()) >= 3


@pytest.mark.parametrize("part", ["(a) ", "is, which is, ", "((((", "....", "in this study, ", "to be "])
def test_a_line_of_a_million_letters_takes_no_time(part):
    started = time.process_time()
    assert optional_spans(part * 200_000) == []
    optional_spans((part * 2000)[:1990])
    assert time.process_time() - started < 1
