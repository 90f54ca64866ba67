"""The settings of `summarize` and of the library, and the summary of a document. No torch here."""

from dataclasses import dataclass, field
from typing import Literal

from summarizer.errors import InputError
from summarizer.generation_options import GenerationOptions
from summarizer.settings import setting

LENGTHS = {"short": (16, 64), "medium": (48, 160), "long": (128, 384)}  # minimum and maximum tokens of a summary


@dataclass(frozen=True)
class SummarySettings(GenerationOptions):
    """How summaries are written, and how documents are read and batched; None leaves it to the model."""

    length: Literal["short", "medium", "long"] | None = None  # LENGTHS; the two token limits override it
    numbers_from_document: bool | None = None  # no other numbers; None: where the tokenizer has a placeholder for them
    num_candidates: int = setting(1, "Summaries of each document, the best first.", at_least=1)
    max_source_tokens: int | None = setting(
        None, "Tokens of a document to read, special ones included. None: the whole document.", at_least=1
    )
    tokens_per_batch: int = setting(32_768, "Maximum source tokens in a batch, padding included.", at_least=1)
    seed: int = setting(1, "Random seed of sampling.", at_least=0)

    def __post_init__(self) -> None:
        if self.length is not None and self.length not in LENGTHS:
            raise InputError(f"unknown length '{self.length}'; choose from {', '.join(LENGTHS)}")
        super().__post_init__()

    @property
    def token_limits(self) -> tuple[int | None, int | None]:
        """Minimum and maximum summary length, in tokens: as given, or by `length` within the one that is given."""
        shortest, longest = self.min_summary_tokens, self.max_summary_tokens
        if self.length is None:
            return shortest, longest
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
