"""The fields of SummarySettings as keyword arguments, for type checkers. A test keeps the two alike."""

from typing import Literal, TypedDict


class SummaryOptions(TypedDict, total=False):
    """Keyword arguments of `Summarizer.summarize` and `stream`. SummarySettings describes them."""

    num_beams: int | None
    max_summary_tokens: int | None
    min_summary_tokens: int | None
    length_penalty: float | None
    no_repeat_ngram_size: int | None
    no_repeat_words: int | None
    early_stopping: bool | None
    do_sample: bool | None
    temperature: float | None
    top_p: float | None
    method: Literal["extract", "write"] | None
    grounded: bool | None
    max_words: int | None
    max_sentences: int | None
    length: Literal["short", "medium", "long"] | None
    numbers_from_document: bool | None
    language: str | None
    num_candidates: int
    max_source_tokens: int | None
    tokens_per_batch: int
    seed: int
