"""How summaries are written, and what comes of it. No torch here."""

import math
from dataclasses import dataclass, field, fields
from typing import Literal

from summarizer.errors import InputError

LENGTHS = {"short": (16, 64), "medium": (48, 160), "long": (128, 384)}  # fewest and most tokens of a summary


@dataclass(frozen=True)
class SummarySettings:
    """How summaries are written; None leaves it to the model's own generation_config."""

    num_beams: int | None = None
    max_summary_tokens: int | None = None
    min_summary_tokens: int | None = None
    length_penalty: float | None = None
    no_repeat_ngram_size: int | None = None  # in tokens, which may be parts of words
    no_repeat_words: int | None = None  # words in a row that must not come again; 0: any may
    numbers_from_document: bool | None = None  # no other ones; None: where the tokenizer has a placeholder for them
    length: Literal["short", "medium", "long"] | None = None  # LENGTHS, under the two limits above
    num_candidates: int = 1  # summaries of each document, the best first
    max_source_tokens: int | None = None  # special tokens included; None: the whole document, where the model can
    tokens_per_batch: int = 32_768  # source tokens, padding included
    do_sample: bool | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int = 1  # of sampling

    def __post_init__(self) -> None:
        for name in (each.name for each in fields(self)):
            if isinstance(value := getattr(self, name), float) and not math.isfinite(value):
                raise InputError(f"{name} must be a finite number, not {value}")
        for name in ("num_beams", "max_summary_tokens", "num_candidates", "max_source_tokens", "tokens_per_batch"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise InputError(f"{name} must be at least 1, not {value}")
        for name in ("min_summary_tokens", "no_repeat_ngram_size", "no_repeat_words", "seed"):
            if (value := getattr(self, name)) is not None and value < 0:
                raise InputError(f"{name} must not be negative, but is {value}")
        shortest, longest = self.token_limits
        if shortest is not None and longest is not None and shortest > longest:
            raise InputError(f"min_summary_tokens={shortest} is more than max_summary_tokens={longest}")
        if self.temperature is not None and self.temperature <= 0:
            raise InputError(f"temperature must be positive, not {self.temperature}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise InputError(f"top_p must be in (0, 1], not {self.top_p}")

    @property
    def token_limits(self) -> tuple[int | None, int | None]:
        """Fewest and most tokens of a summary: as they are named, or by `length` as far as the named one lets it."""
        shortest, longest = self.min_summary_tokens, self.max_summary_tokens
        if self.length is None:
            return shortest, longest
        if self.length not in LENGTHS:
            raise InputError(f"unknown length '{self.length}'; choose from {', '.join(LENGTHS)}")
        by_length = LENGTHS[self.length]
        if longest is None:
            longest = max(by_length[1], shortest or 0)
        return min(by_length[0], longest) if shortest is None else shortest, longest


@dataclass(frozen=True)
class Summary:
    """A summary, and how much of its document it rests on (text tokens, special ones not counted)."""

    text: str
    source_tokens: int  # read by the encoder
    dropped_tokens: int  # of the document's end, not read
    summary_tokens: int
    status: Literal["ok", "empty", "failed"] = "ok"  # empty: there was no text to summarize
    error: str | None = None
    candidates: tuple[str, ...] = ()  # where several were asked for, the summary first
    seconds: float = field(
        default=0.0, compare=False
    )  # of the model's work; documents of one batch share its time equally
