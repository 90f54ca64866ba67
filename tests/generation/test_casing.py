import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from summarizer.generation.restoring import Casing

DOCUMENT = """ABSTRACT OF THE ARTICLE
Colorectal cancer (CRC) is common. Aspirin and metformin were given at Yokohama City University by Dr. Smith.
The COX-2 inhibitors of the University of Bonn lower mRNA levels. May we say so? It may be. They asked O'Brien."""


@pytest.mark.parametrize(
    ("summary", "expected"),
    [
        ("colorectal cancer (crc) is common.", "Colorectal cancer (CRC) is common."),
        ("it lowers cox-2 mrna.", "It lowers COX-2 mRNA."),
        ("a city was in yokohama city.\nthe abstract.", "A City was in Yokohama City.\nThe abstract."),
        ("they asked dr. smith and o'brien.", "They asked Dr. Smith and O'Brien."),
        ("we may ask. may it help?", "We may ask. May it help?"),
        ("what it never says: zürich, 12.5%", "What it never says: zürich, 12.5%"),
        ("", ""),
    ],
)
def test_words_are_written_as_the_document_writes_them(summary, expected):
    assert Casing(DOCUMENT).restore(summary) == expected


def test_a_document_in_lower_case_keeps_its_summary_so():
    assert Casing("we looked at dna. it was long.").restore("it was dna. we looked.") == "it was dna. we looked."


def test_sentences_of_a_document_all_in_capitals_are_begun_with_one():
    assert Casing("THE DAM HELD.\nIT COST 5.").restore("the dam held. it cost 5.") == "The dam held. It cost 5."
    assert Casing("12, 13.\n14").restore("the dam") == "the dam"


def test_a_summary_that_is_cased_as_the_document_stays_the_same():
    body = DOCUMENT.split("\n", 1)[1]
    assert Casing(DOCUMENT).restore(body) == body


@pytest.mark.parametrize("first", ["ß", "ﬁ", "ŉ", "ΐ", "ᾳ", "µ", "ſ"])
def test_a_letter_without_a_capital_of_its_own_stays_at_the_start_of_a_sentence(first):
    assert Casing(DOCUMENT).restore(f"{first}eta. {first}eta.") == f"{first}eta. {first}eta."


def test_letters_written_in_two_parts_do_not_part_a_word():
    document = "We went to İstanbul and to the E\u0301cole E\u0301LAN."
    lowered = "we saw i\u0307stanbul and the e\u0301cole e\u0301lan."
    assert Casing(document).restore(lowered) == "We saw İstanbul and the E\u0301cole E\u0301LAN."


@given(document=st.text(), summary=st.text())
def test_nothing_but_the_case_of_letters_changes(document, summary):
    def folded(text):
        return re.sub("i\u0307", "İ", text).lower().replace("ς", "σ")

    assert folded(Casing(document).restore(summary)) == folded(summary)
