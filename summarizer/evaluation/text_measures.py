"""Measures of a summary that need no reference: length, novelty, repetition, copying, support."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from summarizer.evaluation.baselines import document_sentences, is_heading
from summarizer.evaluation.copied_spans import CopyFinder
from summarizer.evaluation.lcs import SentencesLcs
from summarizer.evaluation.rouge import count_ngrams
from summarizer.evaluation.rouge_tokens import make_tokenizer
from summarizer.languages import detect_language
from summarizer.text import ends_sentence, split_sentences

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
SHORTEST_SENTENCE = 4  # words; a shorter one says too little to be supported or not
_TOKENIZER = ("unicode", False)  # lower-cased words of any script, not stemmed


@dataclass(frozen=True)
class TextMeasures:
    """Measures of one summary; None where they have no meaning: an empty summary, or no document given."""

    summary_words: int  # separated by white space, as everywhere here
    reference_words: int
    source_words: int | None
    repeated_trigrams: float | None = None  # share of the summary's trigrams that occurred in it before
    repeated_sentences: float | None = None  # the same of whole sentences
    truncated: float | None = None  # 1 where the summary ends without final punctuation
    compression: float | None = None  # words of the document per word of the summary
    novel_unigrams: float | None = None  # share of the summary's n-grams that are not in the document
    novel_bigrams: float | None = None
    novel_trigrams: float | None = None
    coverage: float | None = None  # share of the summary's words that lie in spans copied from the document
    density: float | None = None  # mean length, in words, of the copied span that a word lies in (Grusky et al., 2018)
    longest_copy: int | None = None  # words of the longest copied span
    supported_sentences: float | None = None  # share of its sentences that are a subsequence of one in the document
    sentence_coverage: float | None = None  # mean share of a sentence's words that one sentence of the document has
    numbers_not_in_source: float | None = None  # share of the summary's numbers that do not occur in the document
    names_not_in_source: float | None = None  # the same of capitalised words that open no sentence


MEASURE_NAMES = tuple(TextMeasures.__dataclass_fields__)


class IndexedDocument:
    """A document, indexed once for all the summaries that are measured against it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.num_words = len(text.split())
        self.tokens = make_tokenizer(*_TOKENIZER).tokenize(text)

    @cached_property
    def copies(self) -> CopyFinder:
        """What summaries copy of it."""
        return CopyFinder(self.tokens)

    @cached_property
    def language(self) -> str:
        """The language by whose rules sentences are split, as `summarize` splits them."""
        return detect_language(self.text)

    @cached_property
    def sentences(self) -> SentencesLcs:
        """The words of its sentences without headings."""
        tokenizer = make_tokenizer(*_TOKENIZER)
        return SentencesLcs(map(tokenizer.tokenize, document_sentences(self.text, language=self.language)))

    @cached_property
    def headings(self) -> set[tuple[str, ...]]:
        """The words of each sentence in a heading; none where every line looks like a heading."""
        lines = [line for line in self.text.split("\n") if line.strip()]
        headings = [line for line in lines if is_heading(line)]
        if len(headings) == len(lines):
            return set()
        tokenizer = make_tokenizer(*_TOKENIZER)
        return {
            tuple(tokenizer.tokenize(sentence))
            for sentence in split_sentences("\n".join(headings), language=self.language)
        }

    @cached_property
    def ngrams(self) -> list[set[tuple[str, ...]]]:
        """The distinct 1-, 2- and 3-grams."""
        return [set(count_ngrams(self.tokens, order)) for order in (1, 2, 3)]

    @cached_property
    def numbers(self) -> set[str]:
        """All numbers, as `numbers_in` writes them."""
        return set(numbers_in(self.text))

    @cached_property
    def words(self) -> set[str]:
        """All words in lower case."""
        return {word.lower() for word in _WORD.findall(self.text)}


def measure_text(summary: str, reference: str, document: str | IndexedDocument | None = None) -> TextMeasures:
    """Measure one summary."""
    indexed = IndexedDocument(document) if isinstance(document, str) else document
    words = len(summary.split())
    lengths = (words, len(reference.split()), indexed.num_words if indexed else None)
    tokens = make_tokenizer(*_TOKENIZER).tokenize(summary)
    if not tokens:
        return TextMeasures(*lengths)
    sentences = split_sentences(summary)
    own = (
        _repeated(list(count_ngrams(tokens, 3).elements())),
        _repeated([" ".join(sentence.lower().split()) for sentence in sentences]),
        float(not ends_sentence(summary)),
    )
    if indexed is None:
        return TextMeasures(*lengths, *own)
    copied = [span.length for span in indexed.copies.find(tokens)]
    names = set(names_in(sentences))
    numbers = set(numbers_in(summary))
    return TextMeasures(
        *lengths,
        *own,
        indexed.num_words / words,
        _novel(tokens, 1, indexed),
        _novel(tokens, 2, indexed),
        _novel(tokens, 3, indexed),
        sum(copied) / len(tokens),
        sum(length**2 for length in copied) / len(tokens),
        max(copied, default=0),
        *_support(split_sentences(summary, language=indexed.language), indexed),
        _share_missing(numbers, indexed.numbers),
        _share_missing(names, indexed.words),
    )


def numbers_in(text: str) -> list[str]:
    """The numbers in digits, without the commas between thousands."""
    return [re.sub(r",(?=\d{3}(?!\d))", "", number) for number in _NUMBER.findall(text)]


def names_in(sentences: Sequence[str]) -> list[str]:
    """Words that look like names, in lower case: with a capital, and not the first word of their sentence."""
    return [
        word.lower()
        for sentence in sentences
        for word in _WORD.findall(sentence)[1:]
        if any(character.isupper() for character in word) and len(word) > 1
    ]


def _support(sentences: Sequence[str], document: IndexedDocument) -> tuple[float, float] | tuple[None, None]:
    """Share of supported sentences, and mean coverage by the best sentence of the document.

    Headings of the document and sentences of fewer than SHORTEST_SENTENCE words are left out.
    """
    tokenizer = make_tokenizer(*_TOKENIZER)
    counted = [
        words
        for words in map(tokenizer.tokenize, sentences)
        if len(words) >= SHORTEST_SENTENCE and tuple(words) not in document.headings
    ]
    coverages = [document.sentences.longest(words) / len(words) for words in counted]
    if not coverages:
        return None, None
    return sum(coverage == 1 for coverage in coverages) / len(coverages), fmean(coverages)


def _repeated(items: Sequence[object]) -> float:
    return 1 - len(set(items)) / len(items) if items else 0.0


def _novel(tokens: Sequence[str], order: int, document: IndexedDocument) -> float:
    ngrams, known = count_ngrams(tokens, order), document.ngrams[order - 1]
    new = sum(count for ngram, count in ngrams.items() if ngram not in known)
    return new / ngrams.total() if ngrams else 0.0


def _share_missing(wanted: set[str], present: set[str]) -> float | None:
    return len(wanted - present) / len(wanted) if wanted else None
