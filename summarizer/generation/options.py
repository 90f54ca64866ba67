"""The settings of `summarize` and of the library, and the summary of a document. No torch here."""

from dataclasses import dataclass, field, fields
from typing import Literal

from summarizer.errors import InputError
from summarizer.evidence import Evidence
from summarizer.generation_options import GenerationOptions
from summarizer.languages import LANGUAGES
from summarizer.settings import setting

LENGTHS = {"short": (16, 64), "medium": (48, 160), "long": (128, 384)}  # minimum and maximum tokens of a summary


@dataclass(frozen=True)
class SummarySettings(GenerationOptions):
    """How summaries are written, and how documents are read and batched; None leaves it to the model."""

    method: Literal["extract", "write"] | None = setting(
        None,
        "extract: the best sentences of the document, word for word. write: the model writes the summary. Defaults to "
        "extract for models that select sentences, such as the default model, and to write for others, or if an option "
        "such as num_beams asks for it.",
    )
    grounded: bool | None = setting(
        None,
        "Hold each sentence that is written to a shortened form of one sentence of the document. On by default for "
        "models that copy, such as the default model.",
        option="--grounded/--no-grounded",
    )
    max_words: int | None = setting(
        None, "Maximum summary length in words, for extracts and grounded summaries.", at_least=1
    )
    max_sentences: int | None = setting(
        None, "Maximum summary length in sentences, for extracts and grounded summaries.", at_least=1
    )
    length: Literal["short", "medium", "long"] | None = setting(  # LENGTHS; the two token limits override it
        None, "Summary length: at most 64, 160 or 384 tokens."
    )
    numbers_from_document: bool | None = setting(
        None,
        "Allow only numbers that occur in the document. On by default for models with number placeholders, such as the "
        "default model.",
        option="--numbers-from-document/--any-numbers",
    )
    language: str | None = setting(
        None, "Language of the documents, such as de, by which sentences are split. By default, it is detected."
    )
    num_candidates: int = setting(
        1, "Number of summaries per document. Needs at least as many beams, or --do-sample.", at_least=1
    )
    max_source_tokens: int | None = setting(  # special ones included
        None,
        "Truncate documents to N tokens. Defaults to the whole document, or as much as the model can read.",
        at_least=1,
    )
    tokens_per_batch: int = setting(  # padding included
        32_768, "Maximum number of source tokens in a batch; lower it to use less memory.", at_least=1
    )
    seed: int = setting(1, "Random seed of --do-sample.", at_least=0)

    def __post_init__(self) -> None:
        if self.length is not None and self.length not in LENGTHS:
            raise InputError(f"unknown length '{self.length}'; choose from {', '.join(LENGTHS)}")
        if self.language is not None and self.language not in LANGUAGES:
            raise InputError(f"unknown language '{self.language}'; choose from {', '.join(LANGUAGES)}")
        super().__post_init__()

    @property
    def writing_options(self) -> list[str]:
        """The names of the given options that only written summaries have."""
        names = [each.name for each in fields(GenerationOptions) if each.name != "max_summary_tokens"]
        given = [name for name in (*names, "grounded", "numbers_from_document") if getattr(self, name) is not None]
        return given + ["num_candidates"] * (self.num_candidates > 1)

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
    candidate_scores: tuple[float, ...] = ()  # of each: the mean log probability of its tokens, without constraints
    evidence: Evidence | None = None  # for each line of the summary the passages it comes from; None: not known
    notes: tuple[str, ...] = ()  # on what was not read, or cut, in short plain sentences
    seconds: float = field(
        default=0.0, compare=False
    )  # of the model's work; documents of one batch share its time equally
