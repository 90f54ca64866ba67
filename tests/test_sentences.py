import pytest
from sentencex import segment

from summarizer.languages import detect_language
from summarizer.text import split_sentences
from tests.evaluation.conftest import pubmed  # noqa: F401  (a fixture)

TEXT = "Dr. Smith et al. saw 3.5 mg (Fig. 2). It worked.\n\nA heading\nthird line.  lower case."


def test_auto_splits_each_line_further():
    expected = ["Dr. Smith et al. saw 3.5 mg (Fig. 2).", "It worked.", "A heading", "third line.", "lower case."]
    assert split_sentences(TEXT) == expected


def test_newline_takes_lines_as_they_are():
    expected = ["Dr. Smith et al. saw 3.5 mg (Fig. 2). It worked.", "A heading", "third line.  lower case."]
    assert split_sentences(TEXT, "newline") == expected


def test_sentencex_takes_line_breaks_as_spaces():
    assert split_sentences("A hard\nwrapped line. And\r\none more.", "sentencex") == [
        "A hard wrapped line.",
        "And one more.",
    ]


def test_sentences_end_at_the_full_stops_of_other_scripts():
    assert split_sentences("我喜欢猫。我也喜欢狗！") == ["我喜欢猫。", "我也喜欢狗！"]
    assert split_sentences("नमस्ते दुनिया। यह एक वाक्य है।") == ["नमस्ते दुनिया।", "यह एक वाक्य है।"]


def test_an_empty_text_has_no_sentences():
    for split in ("auto", "newline", "sentencex"):
        assert split_sentences(" \n ", split) == []


def test_lower_cased_references_are_found_again_without_their_newlines(pubmed):  # noqa: F811 (the fixture)
    found = sum(len(split_sentences(row["summary"].replace("\n", " "))) for row in pubmed)
    written = sum(len(row["summary"].split("\n")) for row in pubmed)
    assert abs(found - written) < 0.02 * written


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("de", ["Dort ging es um ca. 600 Mio. Euro.", "Am 31. August holte Dr. Meyer die Unterlagen gem. Abs. 4 ab."]),
        ("de", ["Der Ausweis Kl. B wird z. B. im 19. Jahrhundert verlangt.", "Das war damals so.", "Danach nicht."]),
        ("cs", ["Např. pan Ing. Novák přišel 3. května na nábřeží.", "Potom šel domů."]),
        ("hu", ["A 19. században dr. Kovács János pl. Budapesten élt.", "A díjról ősszel lesz szó."]),
        ("ru", ["Это было в т. ч. на ул. Ленина.", "И. Иванов пришёл весной.", "Потом ушёл."]),
        ("fr", ["Mme. Curie habite à Paris, cf. la p. 12.", "Elle est née à Varsovie."]),
    ],
)
def test_the_abbreviations_of_a_language_end_no_sentence(language, sentences):
    text = " ".join(sentences)
    assert split_sentences(text, language=language) == sentences
    assert split_sentences(text, "sentencex", language) == sentences
    assert detect_language(text) == language


def test_english_is_split_as_ever_whatever_follows(pubmed):  # noqa: F811 (the fixture)
    text = "The Fig. 3 of Dr. Meyer shows ca. 600 Mio. Euro. see Abs. 4 and so on."
    assert split_sentences(text) == [piece.strip() for piece in segment("en", text)]
    assert {detect_language(row["document"]) for row in pubmed} == {"en"}
    assert {detect_language(text) for text in ("", "123", "?!")} == {"en"}
