import time

from hypothesis import given
from hypothesis import strategies as st

from summarizer.reporting.copied import Words, copied_passages


def copied(summary, source):
    return copied_passages(Words.of(summary), Words.of(source))


def texts(summary, source):
    return [
        (summary[found.start : found.end], source[found.document_start : found.document_end])
        for found in copied(summary, source)
    ]


def test_passages_of_three_words_or_more_are_found_in_both_texts():
    source = "In all, the old bridge fell. Nobody was hurt, the mayor said."
    summary = "The old bridge fell and nobody knew; the mayor said: nobody was."
    assert texts(summary, source) == [
        ("The old bridge fell", "the old bridge fell"),
        ("the mayor said", "the mayor said"),
    ]


def test_the_longest_match_wins_and_of_equals_the_first():
    source = "a b c x. a b c d y. a b c d z."
    assert texts("a b c d", source) == [("a b c d", "a b c d")]
    assert copied("a b c d", source)[0].document_start == source.index("a b c d")


def test_case_and_punctuation_do_not_matter():
    assert texts("THE (old) bridge", "the old, bridge!") == [("THE (old) bridge", "the old, bridge")]


def test_offsets_count_characters_beyond_the_basic_plane():
    assert copied("😀 one two three", "😀😀 one two three") == [(0, 15, 0, 15)] or copied(
        "😀 one two three", "x😀 one two three"
    )


def test_scripts_without_spaces_are_compared_by_character_and_marks_stay_with_letters():
    assert texts("北京大学很好", "我在北京大学读书") == [("北京大学", "北京大学")]
    assert Words.of("हिन्दी में किताब").words == ["हिन्दी", "में", "किताब"]


def test_empty_and_short_texts_copy_nothing():
    assert copied("", "one two three") == copied("one two three", "") == copied("one two", "one two three") == []


WORDS = st.lists(st.sampled_from("abc"), max_size=30).map(" ".join)


@given(WORDS, WORDS)
def test_passages_are_in_order_apart_and_the_longest_there_are(summary, source):
    found = copied(summary, source)
    position = 0
    for passage in found:
        assert passage.start >= position
        text = summary[passage.start : passage.end]
        assert text == source[passage.document_start : passage.document_end]
        assert len(text.split()) >= 3
        longer = summary[passage.start : passage.end + 2]
        assert len(longer) == len(text) or f" {longer} " not in f" {source} "
        position = passage.end
    marked = "".join("x" * (p.end - p.start) for p in found)
    assert bool(marked) == any(
        " ".join(summary.split()[start : start + 3]) in source for start in range(len(summary.split()) - 2)
    )


def test_a_long_document_of_one_repeated_word_takes_no_long_time():
    start = time.perf_counter()
    assert len(copied("word " * 300, "word " * 5000)) == 1
    assert time.perf_counter() - start < 10
