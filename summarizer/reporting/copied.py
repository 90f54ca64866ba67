"""The passages that a summary copied from its document, as the page marks them."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from summarizer.evaluation.copied_spans import CopyFinder

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"  # Thai to Chinese
_PUNCTUATION = r"!-/:-@\[-`{-~\u00a0-\u00bf\u2000-\u206f\u3000-\u303f\uff00-\uff0f"
_WORD = re.compile(f"[{_UNSPACED}]|[^\\s{_PUNCTUATION}{_UNSPACED}]+")  # combining marks stay with their letter

SHORTEST = 3  # words of a passage


class Passage(NamedTuple):
    """A run of words that a summary and its document share, as character offsets (ends excluded) in both."""

    start: int
    end: int
    document_start: int
    document_end: int


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

    @cached_property
    def copies(self) -> CopyFinder:
        """Finds what summaries copy of this text: one index for all summaries."""
        return CopyFinder(self.words, SHORTEST)


def copied_passages(summary: Words, document: Words) -> list[Passage]:
    """The summary's passages of at least SHORTEST words that stand word for word in the document."""
    passages = []
    for start, document_start, length in document.copies.find(summary.words):
        passages.append(
            Passage(
                summary.spans[start][0],
                summary.spans[start + length - 1][1],
                document.spans[document_start][0],
                document.spans[document_start + length - 1][1],
            )
        )
    return passages
