import pytest

from summarizer.inference.casing import Casing

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


def test_a_summary_that_is_cased_as_the_document_stays_the_same():
    body = DOCUMENT.split("\n", 1)[1]
    assert Casing(DOCUMENT).restore(body) == body
