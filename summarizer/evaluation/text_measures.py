"""What a summary is like, apart from its reference: length, compression, novelty, repetition."""

from collections.abc import Sequence
from dataclasses import dataclass

from summarizer.evaluation.rouge import count_ngrams
from summarizer.evaluation.statistics import mean
from summarizer.evaluation.tokenizers import make_tokenizer


@dataclass(frozen=True)
class TextMeasures:
    """Measures of one summary; None where they have no meaning: an empty summary, or no document given."""

    summary_words: int  # separated by white space, as everywhere here
    reference_words: int
    repeated_trigrams: float | None  # share of the summary's trigrams that stood in it before
    compression: float | None  # words of the document a word of the summary
    novel_bigrams: float | None  # share of the summary's bigrams that are not in the document


def measure_text(summary: str, reference: str, document: str | None = None) -> TextMeasures:
    """Measure one summary. n-grams are of lower-cased words of any script, not stemmed."""
    words = len(summary.split())
    tokenizer = make_tokenizer("unicode", stemmer=False)
    tokens = tokenizer.tokenize(summary)
    repeated = compression = novel = None
    if tokens:
        trigrams = count_ngrams(tokens, 3)
        repeated = 1 - len(trigrams) / trigrams.total() if trigrams else 0.0
        if document is not None:
            compression = len(document.split()) / words
            bigrams = count_ngrams(tokens, 2)
            known = set(count_ngrams(tokenizer.tokenize(document), 2))
            new = sum(count for bigram, count in bigrams.items() if bigram not in known)
            novel = new / bigrams.total() if bigrams else 0.0
    return TextMeasures(words, len(reference.split()), repeated, compression, novel)


def mean_measures(measures: Sequence[TextMeasures]) -> dict[str, float]:
    """Means over the summaries that have the measure, and `empty`, the share of summaries without a word."""
    means = {"empty": mean([measure.summary_words == 0 for measure in measures])}
    for name in ("summary_words", "reference_words", "repeated_trigrams", "compression", "novel_bigrams"):
        if values := [value for measure in measures if (value := getattr(measure, name)) is not None]:
            means[name] = mean(values)
    return means
