"""The spans that a summary copies from its document: the extractive fragments of Grusky et al. (2018)."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class CopiedSpan(NamedTuple):
    """A run of words in both texts, by the positions of its first word and its number of words."""

    start: int  # in the summary
    document_start: int
    length: int


class CopyFinder:
    """Indexes the words of a document once, and finds what summaries copy of it: spans of `shortest` words or more."""

    def __init__(self, document: Sequence[str], shortest: int = 1) -> None:
        self._document = document
        self._shortest = shortest
        self._places: dict[tuple[str, ...], list[int]] = {}
        for place, run in enumerate(self._runs(document)):
            self._places.setdefault(run, []).append(place)

    def find(self, summary: Sequence[str]) -> list[CopiedSpan]:
        """The copied spans of a summary from left to right, each the longest match at its start.

        Among equally long matches, the first in the document is taken.
        """
        spans = []
        end = 0
        for start, run in enumerate(self._runs(summary)):
            if start >= end and (places := self._places.get(run)):
                lengths = [self._shared_length(summary, start, place) for place in places]
                longest = max(lengths)
                spans.append(CopiedSpan(start, places[lengths.index(longest)], longest))
                end = start + longest
        return spans

    def _runs(self, words: Sequence[str]) -> Iterator[tuple[str, ...]]:
        return zip(*(words[start:] for start in range(self._shortest)), strict=False)

    def _shared_length(self, summary: Sequence[str], start: int, place: int) -> int:
        most = min(len(summary) - start, len(self._document) - place)
        for length in range(self._shortest, most):
            if summary[start + length] != self._document[place + length]:
                return length
        return most
