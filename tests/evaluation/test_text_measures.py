import pytest

from summarizer.evaluation.text_measures import TextMeasures, mean_measures, measure_text


def test_measures_are_the_ones_counted_by_hand():
    measures = measure_text("The cat sat, the cat sat.", "A cat.", "the cat sat on the mat and slept there too all day")
    assert measures.summary_words == 6
    assert measures.reference_words == 2
    assert measures.repeated_trigrams == pytest.approx(1 / 4)  # the cat sat | cat sat the | sat the cat | the cat sat
    assert measures.compression == 2
    assert measures.novel_bigrams == pytest.approx(1 / 5)  # "sat the", once of five


def test_an_extract_has_no_new_bigram_and_repeats_nothing():
    measures = measure_text("on the mat", "x", "The cat sat on the mat.")
    assert (measures.novel_bigrams, measures.repeated_trigrams) == (0, 0)


def test_what_has_no_meaning_is_left_out_of_the_means():
    assert measure_text("", "a b", "c d") == TextMeasures(0, 2, None, None, None)
    assert measure_text("one", "a b", "c d") == TextMeasures(1, 2, 0.0, 2.0, 0.0)
    means = mean_measures([measure_text("", "a b"), measure_text("one two", "a b")])
    assert means == {"empty": 0.5, "summary_words": 1, "reference_words": 2, "repeated_trigrams": 0}


def test_source_measures_of_empty_summaries_alone_are_absent():
    assert mean_measures([measure_text("", "", "c")]) == {"empty": 1, "summary_words": 0, "reference_words": 0}
