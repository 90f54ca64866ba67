"""Texts to summaries with a model by name: the default, a model folder, or any seq2seq model of the hub."""

import textwrap
from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

import summarizer.models  # noqa: F401 (registers our models with the Auto classes)
from summarizer.errors import InputError
from summarizer.generation.options import Summary, SummarySettings
from summarizer.generation.writer import generate_in_batches, in_order
from summarizer.models.loading import (
    check_json,
    choose_device,
    choose_dtype,
    hub_is_away,
    quiet_transformers,
    resolve_model,
)


class Summarizer:
    """A loaded model with its tokenizer, ready to summarize."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.model = model
        self.tokenizer = tokenizer

    @property
    def dtype(self) -> str:
        """In what the model computes, such as "bfloat16"."""
        return str(self.model.dtype).removeprefix("torch.")

    @classmethod
    def from_pretrained(cls, name: str = "default", device: str = "auto", dtype: str = "auto") -> "Summarizer":
        """Load "default", a model folder or a hub id; safetensors only, and no code from the hub.

        `device` is "auto" or torch's name of one; `dtype` one of DTYPES. Raises InputError when there is no such
        model, or it is not a seq2seq model, or the device is not there.
        """
        place = choose_device(device)
        precision = choose_dtype(dtype, place)
        path = resolve_model(name)
        check_json(name, Path(path))
        cached_only = hub_is_away(path)
        part = "tokenizer"
        try:
            with quiet_transformers():
                tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=cached_only)
                part = "weights"
                model, loaded = AutoModelForSeq2SeqLM.from_pretrained(
                    path,
                    dtype=precision,
                    use_safetensors=True,
                    local_files_only=cached_only,
                    output_loading_info=True,
                    ignore_mismatched_sizes=True,  # they are said below
                )
            model = model.to(place).eval()
        except Exception as error:  # safetensors', tokenizers', torch's and the hub's errors share no base class
            reason = "the hub cannot be reached, and " if cached_only else ""
            message = textwrap.shorten(str(error) or type(error).__name__, 300, placeholder=" …")
            raise InputError(f"model '{name}': {reason}its {part} cannot be loaded: {message}") from error
        learned = {key for key, parameter in model.named_parameters() if parameter.requires_grad}
        bad = sorted(learned.intersection([*loaded["missing_keys"], *(key for key, *_ in loaded["mismatched_keys"])]))
        if bad:
            raise InputError(f"model '{name}': its weights lack {len(bad)} of its parameters, such as {bad[0]}")
        return cls(model, tokenizer)

    def summarize(self, texts: Iterable[str], settings: SummarySettings | None = None, **options: Any) -> list[Summary]:
        """Summarize texts, in order; `options` are fields of SummarySettings, such as num_beams=1."""
        return list(self.stream(texts, settings, **options))

    def stream(
        self, texts: Iterable[str], settings: SummarySettings | None = None, **options: Any
    ) -> Iterator[Summary]:
        """Like `summarize`, one summary after the other while `texts` are read a bounded number ahead."""
        return in_order(self.batches(texts, settings, **options))

    def batches(
        self, texts: Iterable[str], settings: SummarySettings | None = None, ahead: bool = False, **options: Any
    ) -> Generator[list[tuple[int, Summary]], None, None]:
        """Like `stream`, but as the batches are finished: lists of (position in `texts`, summary).

        With `ahead`, `texts` are read in a thread of its own while the model works.
        """
        settings = replace(settings or SummarySettings(), **options)
        return generate_in_batches(self.model, self.tokenizer, _checked(texts), settings, ahead)


def _checked(texts: Iterable[str]) -> Iterable[str]:
    """The texts as they come. Raises TypeError for what is no text, and at once for a single one."""
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        raise TypeError(f"expected several texts, such as [text], not one {type(texts).__name__}")

    def each() -> Iterator[str]:
        for number, text in enumerate(texts):
            if not isinstance(text, str):
                raise TypeError(f"text {number} is no str, but {type(text).__name__}")
            yield text

    return each()
