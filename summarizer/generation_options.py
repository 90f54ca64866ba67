"""How a summary is written: the options that the run configuration, the command line and the library share."""

from dataclasses import dataclass
from typing import Any

from summarizer.errors import InputError
from summarizer.settings import check_settings, setting

_SAME_NAMES = (  # in transformers.GenerationConfig; no_repeat_words is an attribute of ours there
    "num_beams", "length_penalty", "early_stopping", "no_repeat_ngram_size", "no_repeat_words", "do_sample",
    "temperature", "top_p",
)  # fmt: skip


@dataclass(frozen=True)
class GenerationOptions:
    """How summaries are written. The model folder stores these settings, and `summarize` uses them as defaults."""

    num_beams: int | None = setting(None, "Number of beams of beam search; 1 is greedy search.", at_least=1)
    max_summary_tokens: int | None = setting(None, "Maximum summary length, in tokens.", at_least=1)
    min_summary_tokens: int | None = setting(None, "Minimum summary length, in tokens.", at_least=0)
    length_penalty: float | None = setting(None, "Length penalty of beam search; higher values give longer summaries.")
    no_repeat_ngram_size: int | None = setting(
        None, "Block repeated n-grams of N tokens, which may be parts of words; 0 turns it off.", at_least=0
    )
    no_repeat_words: int | None = setting(None, "Block repeated n-grams of N words; 0 turns it off.", at_least=0)
    early_stopping: bool | None = setting(None, "Stop beam search when num_beams summaries are complete.")
    do_sample: bool | None = setting(None, "Sample tokens at random instead of beam search.")
    temperature: float | None = setting(None, "Temperature of sampling.", more_than=0)
    top_p: float | None = setting(
        None, "When sampling, choose from the most likely tokens that together have this probability.", more_than=0
    )

    def __post_init__(self) -> None:
        check_settings(self, "")
        shortest, longest = self.token_limits
        if shortest is not None and longest is not None and shortest > longest:
            raise InputError(f"min_summary_tokens={shortest} is more than max_summary_tokens={longest}")
        if self.top_p is not None and self.top_p > 1:
            raise InputError(f"top_p must be at most 1, not {self.top_p}")

    @property
    def token_limits(self) -> tuple[int | None, int | None]:
        """Minimum and maximum summary length, in tokens."""
        return self.min_summary_tokens, self.max_summary_tokens

    def apply_to(self, config: Any) -> None:
        """Set these options in a transformers.GenerationConfig; what is None here stays as it is there.

        Without beams, the options of beam search are reset to None: transformers would warn about them.
        """
        for name in _SAME_NAMES:
            value = getattr(self, name)
            if value is not None and value != getattr(config, name, 0):  # 0 for no_repeat_words where it is not set
                setattr(config, name, value)
        shortest, longest = self.token_limits
        if longest is not None:
            config.max_new_tokens, config.max_length = longest, None
        if shortest is not None:
            config.min_new_tokens, config.min_length = shortest or None, None
        if (config.num_beams or 1) == 1:
            config.early_stopping = config.length_penalty = None
