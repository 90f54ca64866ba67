"""Texts to summaries with a model by name: the default, a model folder, or any seq2seq model of the hub."""

from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from typing import Any

from transformers import AutoModelForSeq2SeqLM

import summarizer.models  # noqa: F401 (registers our models with the Auto classes)
from summarizer.errors import InputError
from summarizer.generation.options import Summary, SummarySettings
from summarizer.generation.writer import generate_in_batches, in_order
from summarizer.models.loading import ModelFiles, choose_device, choose_dtype


class Summarizer:
    """A loaded model with its tokenizer, ready to summarize."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.model = model
        self.tokenizer = tokenizer

    @property
    def dtype(self) -> str:
        """The dtype of the model, such as "bfloat16"."""
        return str(self.model.dtype).removeprefix("torch.")

    @classmethod
    def from_pretrained(cls, name: str = "default", device: str = "auto", dtype: str = "auto") -> "Summarizer":
        """Load "default", a model folder or a hub id; safetensors only, and no code from the hub.

        `device` is "auto" or torch's name of one; `dtype` one of DTYPES. Raises InputError when there is no such
        model, or it is not a seq2seq model, or the device is not there.
        """
        place = choose_device(device)
        files = ModelFiles(name)
        tokenizer = files.tokenizer()
        model, loaded = files.weights(
            AutoModelForSeq2SeqLM,
            place,
            dtype=choose_dtype(dtype, place),
            ignore_mismatched_sizes=True,  # reported below, with what is missing
        )
        learned = {key for key, parameter in model.named_parameters() if parameter.requires_grad}
        bad = sorted(learned.intersection([*loaded["missing_keys"], *(key for key, *_ in loaded["mismatched_keys"])]))
        if bad:
            raise InputError(f"model '{name}': its weights lack {len(bad)} of its parameters, such as {bad[0]}")
        return cls(model.eval(), tokenizer)

    def summarize(self, texts: Iterable[str], settings: SummarySettings | None = None, **options: Any) -> list[Summary]:
        """Summarize texts, in order; `options` are fields of SummarySettings, such as num_beams=1."""
        return list(self.stream(texts, settings, **options))

    def stream(
        self, texts: Iterable[str], settings: SummarySettings | None = None, **options: Any
    ) -> Iterator[Summary]:
        """Like `summarize`, one summary after the other while `texts` are read a bounded number ahead."""
        return in_order(self.batches(texts, settings, **options))

    def batches(
        self,
        texts: Iterable[str | Summary],
        settings: SummarySettings | None = None,
        ahead: bool = False,
        **options: Any,
    ) -> Generator[list[tuple[int, Summary]], None, None]:
        """Like `stream`, but as the batches are finished: lists of (position in `texts`, summary).

        With `ahead`, `texts` are read in a thread of its own while the model works. A Summary in the place of a text
        is yielded as it is.
        """
        settings = replace(settings or SummarySettings(), **options)
        return generate_in_batches(self.model, self.tokenizer, _checked(texts), settings, ahead)


def _checked(texts: Iterable[str | Summary]) -> Iterable[str | Summary]:
    """The texts as they are read. Raises TypeError for an item that is not a str, and at once for a single text."""
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        raise TypeError(f"expected several texts, such as [text], not one {type(texts).__name__}")

    def each() -> Iterator[str | Summary]:
        for number, text in enumerate(texts):
            if not isinstance(text, (str, Summary)):
                raise TypeError(f"text {number} is not a str but {type(text).__name__}")
            yield text

    return each()
