from dataclasses import asdict

import pytest

from summarizer.evaluation.copied_spans import CopyFinder
from summarizer.evaluation.rouge import score_pair
from summarizer.evaluation.score_table import ScoreTable
from summarizer.evaluation.text_measures import TextMeasures, measure_text, names_in

DOCUMENT = "The trial of Dr Lee enrolled 1,040 patients in Oslo. Of them 42.5 % improved; no harm was seen."


def mean_measures(*measures: TextMeasures) -> dict[str, float]:
    table = ScoreTable(["rouge1"])
    for measure in measures:
        table.add({"": score_pair("a", "a")}, {"": measure})
    return table.mean_measures()[""]


def test_measures_are_the_ones_counted_by_hand():
    measures = measure_text("The cat sat, the cat sat.", "A cat.", "the cat sat on the mat and slept there too all day")
    assert asdict(measures) == pytest.approx(
        {
            "summary_words": 6,
            "reference_words": 2,
            "source_words": 12,
            "repeated_trigrams": 1 / 4,  # the cat sat | cat sat the | sat the cat | the cat sat
            "repeated_sentences": 0,
            "truncated": 0,
            "compression": 2,
            "novel_unigrams": 0,
            "novel_bigrams": 1 / 5,  # "sat the", once of five
            "novel_trigrams": 2 / 4,
            "coverage": 1,
            "density": (9 + 9) / 6,
            "longest_copy": 3,
            "supported_sentences": 0,
            "sentence_coverage": 4 / 6,  # the cat sat the
            "numbers_not_in_source": None,
            "names_not_in_source": None,
        }
    )


def test_an_extract_has_nothing_new_and_repeats_nothing():
    measures = measure_text("no harm was seen.", "x", DOCUMENT)
    assert (measures.novel_bigrams, measures.repeated_trigrams, measures.coverage, measures.density) == (0, 0, 1, 4)


def test_copied_spans_are_as_long_as_can_be_from_left_to_right():
    finder = CopyFinder(["a", "b", "c", ".", "x", "a", "b", "c", "d", "e"])
    assert finder.find(list("zabcdqcx")) == [(1, 5, 4), (6, 2, 1), (7, 4, 1)]
    assert finder.find(["z"]) == []


def test_a_sentence_said_twice_is_a_repeated_one():
    measures = measure_text("It works. It fails. It  works. It works.", "x")
    assert measures.repeated_sentences == pytest.approx(2 / 4)


@pytest.mark.parametrize(
    ("summary", "cut"), [("It works.", 0), ("It (works!)", 0), ('He said "yes."', 0), ("It wor", 1)]
)
def test_a_summary_without_final_punctuation_is_truncated(summary, cut):
    assert measure_text(summary, "x").truncated == cut


def test_numbers_that_the_source_has_not_are_told_however_they_are_written():
    assert measure_text("1040 of 1,040 improved by 42.5.", "x", DOCUMENT).numbers_not_in_source == 0
    assert measure_text("In 2019, 42.5 % of 99 improved.", "x", DOCUMENT).numbers_not_in_source == pytest.approx(2 / 3)


def test_names_are_capitalised_words_inside_sentences():
    assert names_in(["The trial of Dr Lee by IBM.", "Lee said A is iPhone."]) == ["dr", "lee", "ibm", "iphone"]
    assert measure_text("Patients of Lee in Bergen improved.", "x", DOCUMENT).names_not_in_source == pytest.approx(
        1 / 2
    )
    assert measure_text("patients improved.", "x", DOCUMENT).names_not_in_source is None


ARTICLE = """Methods of the first trial
The trial, which began in 2019, enrolled 40 patients in Oslo and Bergen.
Of them, 12 improved after the second dose."""


@pytest.mark.parametrize(
    ("summary", "supported", "coverage"),
    [
        ("The trial enrolled 40 patients in Bergen.", 1, 1),
        ("the TRIAL enrolled 40 patients -- in bergen", 1, 1),  # case and punctuation do not count
        ("The trial enrolled 12 patients in Bergen.", 0, 6 / 7),
        ("Patients enrolled in the trial.", 0, 2 / 5),
        ("The trial enrolled 40 patients. They all left Oslo.", 1 / 2, (1 + 1 / 4) / 2),
        ("The trial enrolled 40 patients. Bergen it was.", 1, 1),  # three words do not count
        ("Methods  of the first trial\nThe trial enrolled 40 patients.", 1, 1),  # nor does a heading of the document
        ("Results of the second trial\nThe trial enrolled 40 patients.", 1 / 2, (3 / 5 + 1) / 2),  # another does
        ("12 improved after the second dose of the trial.", 0, 6 / 9),  # not a sentence of the document alone
        ("It was a trial", 0, 1 / 4),
    ],
)
def test_a_sentence_is_supported_if_it_is_a_subsequence_of_one_of_the_document(summary, supported, coverage):
    measures = measure_text(summary, "x", ARTICLE)
    assert (measures.supported_sentences, measures.sentence_coverage) == pytest.approx((supported, coverage))


def test_support_splits_sentences_by_the_rules_of_the_language_of_the_document():
    document = "Die Brücke über den Fluss wurde am 3. Mai, wie geplant, von dem Minister eröffnet. Es regnete sehr."
    shorter = "Die Brücke wurde am 3. Mai von dem Minister eröffnet."
    without_the_number = "Die Brücke wurde am Mai von dem Minister eröffnet."
    assert measure_text(shorter, "x", document).supported_sentences == 1
    assert measure_text(without_the_number, "x", document).supported_sentences == 1


def test_support_is_absent_without_sentences_that_count_or_without_a_document():
    for measures in (measure_text("So it was.", "x", ARTICLE), measure_text("The trial enrolled 40 patients.", "x")):
        assert measures.supported_sentences is measures.sentence_coverage is None
    headings = "One line of words\nAnother line of words"
    assert measure_text("another line of words", "x", headings).supported_sentences == 1


def test_what_has_no_meaning_is_left_out_of_the_means():
    assert measure_text("", "a b", "c d") == TextMeasures(0, 2, 2)
    one = measure_text("one", "a b", "c d")
    assert (one.repeated_trigrams, one.compression, one.novel_bigrams) == (0, 2, 0)
    assert mean_measures(measure_text("", "a b"), measure_text("one two", "a b")) == {
        "empty": 0.5,
        "summary_words": 1,
        "reference_words": 2,
        "repeated_trigrams": 0,
        "repeated_sentences": 0,
        "truncated": 1,
    }


def test_measures_of_empty_summaries_alone_are_absent():
    found = mean_measures(measure_text("", "", "c"))
    assert found == {"empty": 1, "summary_words": 0, "reference_words": 0, "source_words": 1}
