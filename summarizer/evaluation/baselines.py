"""Extractive baselines: Lead-k, random-k, LexRank-k and the greedy oracle-k."""

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from rouge_score.tokenizers import Tokenizer

from summarizer.evaluation.rouge import count_ngrams, make_score, overlap
from summarizer.languages import DEFAULT_LANGUAGE
from summarizer.optional import import_optional
from summarizer.text import Split, ends_sentence, split_sentences

MAX_HEADING_WORDS = 10
MAX_HEADING_CHARACTERS = 100  # where words are not spaced apart

NGram = tuple[str, ...]


def is_heading(line: str) -> bool:
    """Whether a line is the heading of a section: short, without final punctuation."""
    return not ends_sentence(line) and len(line.split()) <= MAX_HEADING_WORDS and len(line) <= MAX_HEADING_CHARACTERS


def document_sentences(document: str, split: Split = "auto", language: str = DEFAULT_LANGUAGE) -> list[str]:
    """The sentences of a document without its headings. If every line looks like a heading, all lines are kept.

    With `split="sentencex"` line breaks are ignored, so headings are not recognized.
    """
    if split == "sentencex":
        return split_sentences(document, split, language)
    lines = [line for line in document.split("\n") if not is_heading(line)]
    return split_sentences("\n".join(lines) if lines else document, split, language)


def lead(sentences: Sequence[str], k: int) -> list[str]:
    """The first k sentences."""
    return list(sentences[:k])


def random_sentences(sentences: Sequence[str], k: int, seed: int, key: str) -> list[str]:
    """k random sentences in the order of the document. The choice depends only on `seed` and `key` (its id)."""
    generator = np.random.default_rng([seed, zlib.crc32(key.encode())])
    chosen = generator.permutation(len(sentences))[:k]
    return [sentences[index] for index in sorted(int(index) for index in chosen)]


class _Words:
    """sumy's interface to a tokenizer; its own would need nltk's data."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def to_words(self, sentence: str) -> tuple[str, ...]:
        return tuple(self._tokenizer.tokenize(sentence))


def lexrank(sentences: Sequence[str], k: int, tokenizer: Tokenizer) -> list[str]:
    """The k most central sentences in the order of the document, by LexRank with sumy's defaults.

    Its time grows with the square of the number of sentences: seconds for a long article. Raises InputError where
    sumy is not installed.
    """
    summarizers = import_optional("sumy.summarizers.lex_rank", "baselines", "the LexRank baseline")
    dom = import_optional("sumy.models.dom", "baselines", "the LexRank baseline")
    words = _Words(tokenizer)
    # Sentences without a word would divide by zero.
    elements = [dom.Sentence(sentence, words) for sentence in sentences if tokenizer.tokenize(sentence)]
    if not elements:
        return []
    document = dom.ObjectDocumentModel([dom.Paragraph(elements)])
    return [str(sentence) for sentence in summarizers.LexRankSummarizer()(document, k)]


def oracle(sentences: Sequence[str], reference: Sequence[str], k: int, tokenizer: Tokenizer) -> list[str]:
    """At most k sentences, chosen greedily: each step adds the sentence that raises ROUGE-1 + ROUGE-2 fmeasure most.

    It stops when no sentence raises the score. Ties go to the first sentence. The sentences are in the order of the
    document. Their score approximates that of the best extract of k sentences.
    """
    tokens = [tokenizer.tokenize(sentence) for sentence in sentences]
    expected = [token for sentence in reference for token in tokenizer.tokenize(sentence)]
    selection = _Selection(tokens, expected)
    while len(selection.chosen) < k and (index := selection.best_addition()) is not None:
        selection.add(index)
    return [sentences[index] for index in selection.chosen]


@dataclass
class _Tally:
    """n-grams of one order: how often each is wanted, how often it is there now, and the totals."""

    wanted: Counter[NGram]
    num_wanted: int
    present: Counter[NGram]
    num_present: int = 0
    num_hits: int = 0

    def hits_after(self, changes: dict[NGram, int]) -> int:
        """How many wanted n-grams are matched once `changes` are made to the counts."""
        hits = self.num_hits
        for ngram, change in changes.items():
            wanted, present = self.wanted[ngram], self.present.get(ngram, 0)
            hits += min(present + change, wanted) - min(present, wanted)
        return hits


class _Selection:
    """Chosen sentences of a document with their n-gram counts, so that adding a sentence costs only its own n-grams.

    Only n-grams of the reference are counted one by one; for the others a total is enough.
    """

    def __init__(self, tokens: list[list[str]], expected: list[str]) -> None:
        self.tokens = tokens
        self.chosen: list[int] = []
        self.unigrams = _Tally(count_ngrams(expected, 1), len(expected), Counter())
        self.bigrams = _Tally(count_ngrams(expected, 2), max(len(expected) - 1, 0), Counter())
        self.own_unigrams = [self._wanted(count_ngrams(sentence, 1), self.unigrams) for sentence in tokens]
        self.own_bigrams = [self._wanted(count_ngrams(sentence, 2), self.bigrams) for sentence in tokens]
        self.score = 0.0
        self.candidates = [index for index, own in enumerate(self.own_unigrams) if own]

    @staticmethod
    def _wanted(counts: Counter[NGram], tally: _Tally) -> dict[NGram, int]:
        return {ngram: count for ngram, count in counts.items() if ngram in tally.wanted}

    def best_addition(self) -> int | None:
        """The sentence that raises the score most, or None."""
        best, best_score = None, self.score
        for index in self.candidates:
            if (score := self._score_with(index)) > best_score:
                best, best_score = index, score
        return best

    def add(self, index: int) -> None:
        """Choose a sentence."""
        self.score = self._score_with(index)
        bigram_changes = self._bigram_changes(index)
        for tally, changes in ((self.unigrams, self.own_unigrams[index]), (self.bigrams, bigram_changes)):
            tally.num_hits = tally.hits_after(changes)
            for ngram, change in changes.items():
                tally.present[ngram] += change
        self.unigrams.num_present += len(self.tokens[index])
        self.bigrams.num_present = max(self.unigrams.num_present - 1, 0)
        self.chosen = sorted([*self.chosen, index])
        self.candidates.remove(index)

    def _score_with(self, index: int) -> float:
        length = self.unigrams.num_present + len(self.tokens[index])
        unigram_hits = self.unigrams.hits_after(self.own_unigrams[index])
        bigram_hits = self.bigrams.hits_after(self._bigram_changes(index))
        return (
            make_score(unigram_hits, length, self.unigrams.num_wanted).fmeasure
            + make_score(bigram_hits, length - 1, self.bigrams.num_wanted).fmeasure
        )

    def _bigram_changes(self, index: int) -> dict[NGram, int]:
        """Changes to the counts of reference bigrams if a sentence is added: its own, and those across its borders."""
        before = max((other for other in self.chosen if other < index), default=None)
        after = min((other for other in self.chosen if other > index), default=None)
        sentence = self.tokens[index]
        ends = [sentence[0], sentence[-1]]
        changes = dict(self.own_bigrams[index])
        borders = []
        if before is not None:
            borders.append(((self.tokens[before][-1], ends[0]), 1))
        if after is not None:
            borders.append(((ends[1], self.tokens[after][0]), 1))
        if before is not None and after is not None:
            borders.append(((self.tokens[before][-1], self.tokens[after][0]), -1))
        for bigram, change in borders:
            if bigram in self.bigrams.wanted:
                changes[bigram] = changes.get(bigram, 0) + change
        return changes


def fit_lead_k(pairs: Iterable[tuple[str, str]], tokenizer: Tokenizer, split: Split = "auto", max_k: int = 50) -> int:
    """The k for which the first k sentences score best: (document, reference) pairs, mean ROUGE-1 + ROUGE-2 fmeasure.

    Ties go to the smallest k. Raises ValueError if there are no pairs.
    """
    totals = np.zeros(max_k)
    num_pairs = 0
    for document, reference in pairs:
        num_pairs += 1
        sentences = [tokenizer.tokenize(sentence) for sentence in document_sentences(document, split)[:max_k]]
        expected = [token for sentence in split_sentences(reference, split) for token in tokenizer.tokenize(sentence)]
        wanted = [count_ngrams(expected, order) for order in (1, 2)]
        predicted: list[str] = []
        for k in range(max_k):
            predicted += sentences[k] if k < len(sentences) else []
            for order, expected_ngrams in enumerate(wanted, start=1):
                ngrams = count_ngrams(predicted, order)
                hits = overlap(ngrams, expected_ngrams)
                totals[k] += make_score(hits, ngrams.total(), expected_ngrams.total()).fmeasure
    if not num_pairs:
        raise ValueError("no pairs to fit k on")
    return int(totals.argmax()) + 1
