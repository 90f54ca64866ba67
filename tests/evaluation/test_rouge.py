import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from summarizer.evaluation.lcs import SentencesLcs, lcs_length
from summarizer.evaluation.rouge import (
    ROUGE_TYPES,
    RougeSettings,
    score_pair,
    score_references,
    score_texts,
)
from summarizer.evaluation.rouge_tokens import DefaultTokenizer, make_tokenizer
from summarizer.text import split_sentences

SCORER = RougeScorer(list(ROUGE_TYPES), use_stemmer=True)
LATIN_AND_NOT = {
    "English": "The cat sat. The dogs ran!",
    "Chinese": "我喜欢猫。我也喜欢狗！",
    "Japanese": "これは猫です。あれはカーテンです。",
    "Russian": "Привет, мир. Как дела?",
    "Hindi": "नमस्ते दुनिया। यह हिन्दी का एक वाक्य है।",
    "Thai": "สวัสดีชาวโลก",
    "Arabic": "مرحبا بالعالم. كيف حالك؟",
}

words = st.lists(st.sampled_from(["a", "b", "c", "running", "runs", "dogs"]), max_size=12)
sentences = st.lists(words.map(" ".join), max_size=4)


def test_real_texts_score_as_with_rouge_score_to_the_last_digit(samples):
    for _, document, reference in samples:
        prediction = "\n".join(split_sentences(document)[3:9])
        assert score_pair(prediction, reference, RougeSettings(split="newline")) == SCORER.score(reference, prediction)


def test_corpus_texts_score_as_with_rouge_score_to_the_last_digit(pubmed):
    for row in pubmed[:3]:
        prediction = "\n".join(row["document"].split("\n")[1:12])
        expected = SCORER.score(row["summary"], prediction)
        assert score_pair(prediction, row["summary"], RougeSettings(split="newline")) == expected


@given(sentences, sentences)
def test_any_texts_score_as_with_rouge_score(prediction, reference):
    expected = SCORER.score("\n".join(reference), "\n".join(prediction))
    assert score_references(prediction, ["\n".join(reference)], RougeSettings(split="newline")) == expected


# Recall, precision and F of ROUGE-1, -2 and -L that ROUGE-1.5.5 (`-n 2 -a -d`, with `-m` for stems) prints for the
# fourth to ninth sentence of a sample document against its reference, a sentence a line. Besides
# Porter's stems it has a table of irregular words (was: be), which rouge-score leaves out: with stems the first of the
# two texts has .57627 .25758 .35602 there in ROUGE-1.
PERL = {
    ("fishing_quota_ruling.txt", False): (".50847 .22727 .31413", ".20690 .09160 .12698", ".47458 .21212 .29319"),
    ("sleep_regularity_blood_pressure.txt", False): (
        *(".23853 .35616 .28571", ".05530 .08276 .06630", ".22018 .32877 .26373"),
    ),
    ("sleep_regularity_blood_pressure.txt", True): (
        *(".26147 .39041 .31319", ".05530 .08276 .06630", ".24312 .36301 .29121"),
    ),
}
# The same of the first text against its reference, sentences 2 to 3, and 11 to 22 of its document; -f A and -f B.
PERL_OF_SEVERAL = {
    "mean": (".36552 .26768 .30904", ".09756 .07125 .08235", ".32069 .23485 .27114"),
    "best": (".50847 .22727 .31413", ".20690 .09160 .12698", ".47458 .21212 .29319"),
}
# And of "police kill the gunman" against POLICE.
POLICE = ["police killed the gunman", "the gunman was shot dead by the police yesterday night", "police kill"]
PERL_OF_POLICE = {
    "mean": (".50000 .66667 .57143", ".23077 .33333 .27273", ".43750 .58333 .50000"),
    "best": ("1.00000 .50000 .66667", "1.00000 .33333 .50000", "1.00000 .50000 .66667"),
}


def assert_as_perl(scores, printed):
    for name, line in zip(("rouge1", "rouge2", "rougeLsum"), printed, strict=True):  # its ROUGE-L knows sentences
        recall, precision, fmeasure = map(float, line.split())
        assert scores[name] == pytest.approx((precision, recall, fmeasure), abs=1.1e-5)


@pytest.mark.parametrize(("name", "stemmer"), PERL)
def test_scores_are_those_of_rouge_155(samples, name, stemmer):
    document, reference = next(texts for sample, *texts in samples if sample == name)
    scores = score_references(split_sentences(document)[3:9], [reference], RougeSettings(stemmer=stemmer))
    assert_as_perl(scores, PERL[name, stemmer])


@pytest.mark.parametrize("way", ["best", "mean"])
def test_scores_against_several_references_are_those_of_rouge_155(samples, way):
    settings = RougeSettings(stemmer=False, references=way)
    document, reference = next(texts for sample, *texts in samples if sample == "fishing_quota_ruling.txt")
    sentences = split_sentences(document)
    references = [reference, "\n".join(sentences[1:3]), "\n".join(sentences[10:22])]
    assert_as_perl(score_references(sentences[3:9], references, settings), PERL_OF_SEVERAL[way])
    assert_as_perl(score_references(["police kill the gunman"], POLICE, settings), PERL_OF_POLICE[way])


@given(sentences, st.lists(sentences, min_size=1, max_size=4))
def test_the_best_f_of_several_references_is_that_of_rouge_score(prediction, references):
    texts = ["\n".join(reference) for reference in references]
    expected = SCORER.score_multi(texts, "\n".join(prediction))
    assert score_references(prediction, texts, RougeSettings(split="newline", references="best-f")) == expected


def test_an_unknown_way_with_references_is_refused():
    with pytest.raises(ValueError, match="'worst'; choose from best, best-f, mean"):
        score_references(["a"], ["a"], RougeSettings(references="worst"))  # type: ignore  # the mistake


def test_scores_of_a_small_pair_are_the_ones_worked_out_by_hand():
    scores = score_pair("the cat sat down.", "the cat is down here.")
    assert scores["rouge1"] == pytest.approx((3 / 4, 3 / 5, 2 / 3))
    assert scores["rouge2"] == pytest.approx((1 / 3, 1 / 4, 2 / 7))
    assert scores["rougeL"] == scores["rougeLsum"] == pytest.approx((3 / 4, 3 / 5, 2 / 3))


def test_the_longest_common_subsequence_is_longer_than_a_machine_word():
    tokens = [str(number) for number in range(200)]
    assert lcs_length(tokens, tokens[::2] + ["x"] * 70) == 100


@given(
    st.lists(st.lists(st.sampled_from("abcd"), max_size=9), max_size=5), st.lists(st.sampled_from("abcde"), max_size=9)
)
def test_the_longest_subsequence_shared_with_one_of_many_sentences_is_that_of_the_best_alone(sentences, tokens):
    index = SentencesLcs(sentences)
    expected = max((lcs_length(sentence, tokens) for sentence in sentences), default=0)
    assert [index.longest(tokens), index.longest(tokens)] == [expected, expected]


@pytest.mark.parametrize("stemmer", [True, False])
def test_the_default_tokens_are_those_of_rouge_score(samples, stemmer):
    theirs = RougeScorer(["rouge1"], use_stemmer=stemmer)._tokenizer
    for _, document, _ in samples:
        assert DefaultTokenizer(stemmer).tokenize(document) == theirs.tokenize(document)


def test_a_newline_between_sentences_changes_no_score():
    one_a_line = "The trial enrolled 40 patients.\nDr. Lee et al. saw no harm.\nlower case follows here."
    reference = "No harm was seen by Dr. Lee.\nForty patients were enrolled. lower case follows."
    for settings in (RougeSettings(), RougeSettings(split="sentencex")):
        expected = score_pair(one_a_line, reference, settings)
        assert score_pair(one_a_line.replace("\n", " "), reference, settings) == expected
        assert score_pair(one_a_line, reference.replace("\n", " "), settings) == expected


def test_without_newlines_rouge_lsum_is_rouge_l_only_when_sentences_are_split_at_newlines_alone(samples):
    for _, _, reference in samples:
        reversed_lines = "\n".join(reversed(reference.split("\n")))
        texts = reversed_lines.replace("\n", " "), reference.replace("\n", " ")
        unsplit = score_pair(*texts, RougeSettings(split="newline"))
        assert unsplit["rougeLsum"] == unsplit["rougeL"] != score_pair(reversed_lines, reference)["rougeLsum"]
        assert score_pair(*texts)["rougeLsum"].fmeasure == 1


@pytest.mark.parametrize("language", LATIN_AND_NOT)
def test_identical_text_scores_one_in_any_script_with_the_unicode_tokenizer(language):
    text = LATIN_AND_NOT[language]
    scores = score_pair(text, text, RougeSettings(tokenizer="unicode"))
    assert all(measure == 1 for score in scores.values() for measure in score)


def test_different_text_does_not_score_one_with_the_unicode_tokenizer():
    scores = score_pair(LATIN_AND_NOT["Chinese"], "我喜欢鱼。", RougeSettings(tokenizer="unicode"))
    assert 0 < scores["rouge1"].fmeasure < 1


def test_combining_marks_stay_with_their_word():
    assert make_tokenizer("unicode").tokenize("हिन्दी, Москва́ e\u0301te\u0301") == ["हिन्दी", "москва́", "été"]


def test_the_unicode_tokenizer_agrees_with_the_default_one_on_plain_english(samples):
    text = "".join(character for character in samples[0][1] if character.isascii())
    assert make_tokenizer("unicode").tokenize(text) == make_tokenizer().tokenize(text)


def test_an_empty_text_scores_zero_on_either_side():
    for pair in (("", "a b"), ("a b", ""), ("", ""), ("...", "a b")):
        assert all(measure == 0 for score in score_pair(*pair).values() for measure in score)


def test_mean_scores_are_the_same_with_two_processes(samples):
    predictions = [document[:400] for _, document, _ in samples]
    references = [reference for _, _, reference in samples]
    scores = score_texts(predictions, references)
    assert scores == score_texts(predictions, references, processes=2)
    pairs = zip(predictions, references, strict=True)
    fmeasures = [score_pair(prediction, reference)["rougeL"].fmeasure for prediction, reference in pairs]
    assert scores["rougeL"] == pytest.approx(sum(fmeasures) / len(fmeasures), abs=1e-15)


@pytest.mark.parametrize(
    ("predictions", "references", "message"),
    [(["a"], [], "1 predictions for 0 references"), ([], [], "no predictions")],
)
def test_texts_that_do_not_pair_are_refused(predictions, references, message):
    with pytest.raises(ValueError, match=message):
        score_texts(predictions, references)


def test_unknown_choices_are_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="unknown tokenizer 'word'; choose from default, unicode"):
        make_tokenizer("word")  # type: ignore  # the mistake
    with pytest.raises(ValueError, match="unknown sentence split 'nltk'; choose from auto, newline, sentencex"):
        split_sentences("a", "nltk")  # type: ignore  # the mistake
    with pytest.raises(ValueError, match="processes must be at least 1"):
        score_texts(["a"], ["a"], processes=0)
