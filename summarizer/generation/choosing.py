"""Scores of sentences to an extract: the best ones up to a budget, without repeating what is chosen. No torch here."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from summarizer.text import statements

MOST_REPEATED = 0.2  # of a sentence's word trigrams


@dataclass(frozen=True)
class Budget:
    """The largest size of an extract: words (separated by spaces), sentences and tokens; None: no limit."""

    words: int | None = None
    sentences: int | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        for name in ("words", "sentences", "tokens"):
            limit = getattr(self, name)
            if limit is not None and limit < 1:
                raise ValueError(f"a budget of {name} must be at least 1, not {limit}")


def expected_words(sentences: Sequence[str], scores: Sequence[float]) -> int:
    """The expected number of words of the sentences that the labels select, at least 1.

    The scores are the log odds that a sentence is selected, as the training with cross-entropy leaves them.
    """
    expected = sum(
        len(text.split()) * (1 + math.tanh(score / 2)) / 2 for text, score in zip(sentences, scores, strict=True)
    )
    return max(1, round(expected))


def choose_sentences(
    sentences: Sequence[str],
    scores: Sequence[float],
    budget: Budget,
    num_tokens: Sequence[int] | None = None,
    most_repeated: float = MOST_REPEATED,
) -> list[int]:
    """The places of the chosen sentences, in the order of the document.

    Sentences are taken by score, the first of equal ones first. A sentence is skipped if more than `most_repeated` of
    its word trigrams are among those of the chosen ones, or if it does not fit the rest of the budget. If no sentence
    fits, the best one is chosen. Headings, fragments and labels are chosen only where nothing else is.
    A budget of tokens needs `num_tokens` of each sentence. Raises ValueError for a budget without any limit, or where
    lengths differ.
    """
    if budget == Budget():
        raise ValueError("the budget of an extract has no limit; set words, sentences or tokens")
    if len(scores) != len(sentences) or len(num_tokens or scores) != len(sentences):
        raise ValueError(f"{len(sentences)} sentences have {len(scores)} scores and {len(num_tokens or scores)} sizes")
    if budget.tokens is not None and num_tokens is None:
        raise ValueError("a budget of tokens needs the number of tokens of each sentence")
    ranked = sorted(statements(sentences), key=lambda index: -scores[index])
    words_left, sentences_left, tokens_left = budget.words, budget.sentences, budget.tokens
    chosen: list[int] = []
    seen: set[tuple[str, ...]] = set()
    for index in ranked:
        words = sentences[index].lower().split()
        trigrams = set(zip(words, words[1:], words[2:], strict=False))
        if len(trigrams & seen) > most_repeated * len(trigrams):
            continue
        sizes = (len(words), words_left), (1, sentences_left), (num_tokens[index] if num_tokens else 0, tokens_left)
        if any(left is not None and size > left for size, left in sizes):
            continue
        words_left, sentences_left, tokens_left = (None if left is None else left - size for size, left in sizes)
        chosen.append(index)
        seen |= trigrams
    return sorted(chosen) or ranked[:1]
