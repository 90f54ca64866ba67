"""What a summary is like, apart from its reference: length, novelty, repetition, copying, what it makes up."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from summarizer.evaluation.rouge import count_ngrams
from summarizer.evaluation.rouge_tokens import make_tokenizer
from summarizer.text import ends_sentence, split_sentences

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_TOKENIZER = ("unicode", False)  # lower-cased words of any script, not stemmed


@dataclass(frozen=True)
class TextMeasures:
    """Measures of one summary; None where they have no meaning: an empty summary, or no document given."""

    summary_words: int  # separated by white space, as everywhere here
    reference_words: int
    source_words: int | None
    repeated_trigrams: float | None = None  # share of the summary's trigrams that stood in it before
    repeated_sentences: float | None = None  # the same of whole sentences
    truncated: float | None = None  # 1 where the summary ends without final punctuation
    compression: float | None = None  # words of the document a word of the summary
    novel_unigrams: float | None = None  # share of the summary's n-grams that are not in the document
    novel_bigrams: float | None = None
    novel_trigrams: float | None = None
    coverage: float | None = None  # share of the summary's words that lie in spans copied from the document
    density: float | None = None  # mean length, in words, of the copied span that a word lies in (Grusky et al., 2018)
    longest_copy: int | None = None  # words of the longest copied span
    numbers_not_in_source: float | None = None  # share of the summary's numbers that the document has nowhere
    names_not_in_source: float | None = None  # the same of capitalised words that open no sentence


MEASURE_NAMES = tuple(TextMeasures.__dataclass_fields__)


class Source:
    """A document, read once for all the summaries that are measured against it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.num_words = len(text.split())
        self.tokens = make_tokenizer(*_TOKENIZER).tokenize(text)

    @cached_property
    def positions(self) -> dict[str, list[int]]:
        """Where each token stands."""
        positions: dict[str, list[int]] = {}
        for position, token in enumerate(self.tokens):
            positions.setdefault(token, []).append(position)
        return positions

    @cached_property
    def ngrams(self) -> list[set[tuple[str, ...]]]:
        """The distinct 1-, 2- and 3-grams."""
        return [set(count_ngrams(self.tokens, order)) for order in (1, 2, 3)]

    @cached_property
    def numbers(self) -> set[str]:
        """All numbers, as `find_numbers` writes them."""
        return set(find_numbers(self.text))

    @cached_property
    def words(self) -> set[str]:
        """All words in lower case."""
        return {word.lower() for word in _WORD.findall(self.text)}


def measure_text(summary: str, reference: str, document: str | Source | None = None) -> TextMeasures:
    """Measure one summary."""
    source = Source(document) if isinstance(document, str) else document
    words = len(summary.split())
    lengths = (words, len(reference.split()), source.num_words if source else None)
    tokens = make_tokenizer(*_TOKENIZER).tokenize(summary)
    if not tokens:
        return TextMeasures(*lengths)
    sentences = split_sentences(summary)
    own = (
        _repeated(list(count_ngrams(tokens, 3).elements())),
        _repeated([" ".join(sentence.lower().split()) for sentence in sentences]),
        float(not ends_sentence(summary)),
    )
    if source is None:
        return TextMeasures(*lengths, *own)
    spans = copied_spans(tokens, source)
    copied = [length for _, length in spans]
    names = set(find_names(sentences))
    numbers = set(find_numbers(summary))
    return TextMeasures(
        *lengths,
        *own,
        source.num_words / words,
        _novel(tokens, 1, source),
        _novel(tokens, 2, source),
        _novel(tokens, 3, source),
        sum(copied) / len(tokens),
        sum(length**2 for length in copied) / len(tokens),
        max(copied, default=0),
        _share_missing(numbers, source.numbers),
        _share_missing(names, source.words),
    )


def copied_spans(tokens: Sequence[str], source: Source) -> list[tuple[int, int]]:
    """The (start, length) of the spans of `tokens` that stand in the source, each as long as can be, left to right.

    These are the extractive fragments of Grusky et al. (2018); a single shared word is one too.
    """
    spans = []
    start = 0
    while start < len(tokens):
        longest = 0
        for position in source.positions.get(tokens[start], ()):
            length = _shared_length(tokens, start, source.tokens, position)
            longest = max(longest, length)
        if longest:
            spans.append((start, longest))
        start += max(longest, 1)
    return spans


def find_numbers(text: str) -> list[str]:
    """The numbers in digits, without the commas between thousands."""
    return [re.sub(r",(?=\d{3}(?!\d))", "", number) for number in _NUMBER.findall(text)]


def find_names(sentences: Sequence[str]) -> list[str]:
    """Words that look like names, in lower case: with a capital, and not the first word of their sentence."""
    return [
        word.lower()
        for sentence in sentences
        for word in _WORD.findall(sentence)[1:]
        if any(character.isupper() for character in word) and len(word) > 1
    ]


def _shared_length(ours: Sequence[str], start: int, theirs: Sequence[str], position: int) -> int:
    length = 0
    while (
        start + length < len(ours)
        and position + length < len(theirs)
        and ours[start + length] == theirs[position + length]
    ):
        length += 1
    return length


def _repeated(items: Sequence[object]) -> float:
    return 1 - len(set(items)) / len(items) if items else 0.0


def _novel(tokens: Sequence[str], order: int, source: Source) -> float:
    ngrams, known = count_ngrams(tokens, order), source.ngrams[order - 1]
    new = sum(count for ngram, count in ngrams.items() if ngram not in known)
    return new / ngrams.total() if ngrams else 0.0


def _share_missing(wanted: set[str], present: set[str]) -> float | None:
    return len(wanted - present) / len(wanted) if wanted else None
