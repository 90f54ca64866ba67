"""How summaries are written, and what comes of it. No torch here."""

import math
from dataclasses import dataclass, fields
from typing import Literal

from summarizer.files import InputError


@dataclass(frozen=True)
class SummarySettings:
    """How summaries are written; None leaves it to the model's own generation_config."""

    num_beams: int | None = None
    max_summary_tokens: int | None = None
    min_summary_tokens: int | None = None
    length_penalty: float | None = None
    no_repeat_ngram_size: int | None = None
    max_source_tokens: int | None = None  # special tokens included; None: the whole document, where the model can
    tokens_per_batch: int = 32_768  # source tokens, padding included
    do_sample: bool | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int = 1  # of sampling

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self)):
            if isinstance(value := getattr(self, name), float) and not math.isfinite(value):
                raise InputError(f"{name} must be a finite number, not {value}")
        for name in ("num_beams", "max_summary_tokens", "max_source_tokens", "tokens_per_batch"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise InputError(f"{name} must be at least 1, not {value}")
        for name in ("min_summary_tokens", "no_repeat_ngram_size", "seed"):
            if (value := getattr(self, name)) is not None and value < 0:
                raise InputError(f"{name} must not be negative, but is {value}")
        shortest, longest = self.min_summary_tokens, self.max_summary_tokens
        if shortest is not None and longest is not None and shortest > longest:
            raise InputError(f"min_summary_tokens={shortest} is more than max_summary_tokens={longest}")
        if self.temperature is not None and self.temperature <= 0:
            raise InputError(f"temperature must be positive, not {self.temperature}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise InputError(f"top_p must be in (0, 1], not {self.top_p}")


@dataclass(frozen=True)
class Summary:
    """A summary, and how much of its document it rests on (text tokens, special ones not counted)."""

    text: str
    source_tokens: int  # read by the encoder
    dropped_tokens: int  # of the document's end, not read
    summary_tokens: int
    status: Literal["ok", "empty", "failed"] = "ok"  # empty: there was no text to summarize
    error: str | None = None
    seconds: float = 0.0  # of the model's work; documents of one batch share its time equally
