"""Which passages of its source a summary copied."""

import re
from dataclasses import dataclass
from typing import NamedTuple

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"  # Thai to Chinese
_PUNCTUATION = r"!-/:-@\[-`{-~\u00a0-\u00bf\u2000-\u206f\u3000-\u303f\uff00-\uff0f"
_WORD = re.compile(f"[{_UNSPACED}]|[^\\s{_PUNCTUATION}{_UNSPACED}]+")  # combining marks stay with their letter


class Passage(NamedTuple):
    """A run of words that a summary and its source share, as character offsets (ends excluded) in both."""

    start: int
    end: int
    source_start: int
    source_end: int


@dataclass(frozen=True)
class Words:
    """The words of a text for comparing, and where they stand in it."""

    words: list[str]
    spans: list[tuple[int, int]]

    @classmethod
    def of(cls, text: str) -> "Words":
        """Split `text`. Case and punctuation are dropped; in scripts without spaces a character is a word."""
        matches = list(_WORD.finditer(text))
        return cls([match.group().casefold() for match in matches], [match.span() for match in matches])

    def runs(self, length: int) -> list[tuple[str, ...]]:
        """All runs of `length` words, in order."""
        return list(zip(*(self.words[start:] for start in range(length)), strict=False))


def copied_passages(summary: Words, source: Words, shortest: int = 3) -> list[Passage]:
    """The summary's passages of at least `shortest` words that stand word for word in the source.

    Extractive fragments as of Grusky et al. (2018): from the left, each time the longest match; of equally long ones
    the first in the source.
    """
    runs = summary.runs(shortest)
    places: dict[tuple[str, ...], list[int]] = {run: [] for run in runs}
    for place, run in enumerate(source.runs(shortest)):
        if run in places:
            places[run].append(place)
    passages = []
    position = 0
    while position < len(runs):
        best_length = best_place = 0
        for place in places[runs[position]]:
            length = _shared_length(summary.words, position, source.words, place)
            if length > best_length:
                best_length, best_place = length, place
        if best_length:
            last, source_last = position + best_length - 1, best_place + best_length - 1
            source_ends = (source.spans[best_place][0], source.spans[source_last][1])
            passages.append(Passage(summary.spans[position][0], summary.spans[last][1], *source_ends))
        position += best_length or 1
    return passages


def _shared_length(words: list[str], position: int, source_words: list[str], place: int) -> int:
    most = min(len(words) - position, len(source_words) - place)
    for length in range(most):
        if words[position + length] != source_words[place + length]:
            return length
    return most
