"""Batches of documents by token budget; results do not depend on the batch, and a failure stays with its document."""

import copy
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

from summarizer.data.source_tokens import Source
from summarizer.errors import InputError
from summarizer.generation.constraints import NonFiniteLogitsError
from summarizer.generation.options import Summary, SummarySettings
from summarizer.models.published import prepare_inputs
from summarizer.padding import pad_with_mask


def failed(error: Exception, source_tokens: int = 0, dropped_tokens: int = 0) -> Summary:
    """The summary of a document that raised `error`, with the error on one line."""
    kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
    message = " ".join(f"{kind}{error}".split())[:500]
    return Summary("", source_tokens, dropped_tokens, 0, "failed", message)


class BatchedSummarizer(ABC):
    """What one stream of documents shares: the model, its tokenizer and the settings; and how batches are made."""

    def __init__(self, model: Any, tokenizer: Any, settings: SummarySettings) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._settings = settings

    def batches(self, window: list[tuple[int, Source]]) -> Iterator[list[tuple[int, Source]]]:
        """Documents of like length within the token budget, as far as they may share a batch."""
        batch: list[tuple[int, Source]] = []
        for item in sorted(window, key=lambda item: (len(item[1].ids), item[0]), reverse=True):
            fits = batch and (len(batch) + 1) * len(batch[0][1].ids) <= self._settings.tokens_per_batch
            if batch and not (fits and self._may_share(batch[0][1], item[1])):
                yield batch
                batch = []
            batch.append(item)
        if batch:
            yield batch

    def summarize(self, batch: list[tuple[int, Source]]) -> list[tuple[int, Summary]]:
        """Summarize a batch; what fails in it is tried alone, then in float32, and then reported as failed."""
        started = time.monotonic()
        sources = [source for _, source in batch]
        summaries, error = self._try(self._model, sources)
        if error is not None and len(batch) > 1:
            return [pair for item in batch for pair in self.summarize([item])]
        if isinstance(error, NonFiniteLogitsError) and self._model.dtype != torch.float32:
            summaries, error = self._try(copy.deepcopy(self._model).float(), sources)
        if error is not None:
            summaries = [failed(error, sources[0].num_text_tokens, sources[0].dropped_tokens)]
        seconds = (time.monotonic() - started) / len(batch)
        return [
            (position, replace(summary, seconds=seconds, notes=(*source.notes, *summary.notes)))
            for (position, source), summary in zip(batch, summaries, strict=True)
        ]

    def _try(self, model: Any, sources: list[Source]) -> tuple[list[Summary], Exception | None]:
        try:
            return self._summaries(model, sources), None
        except Exception as error:  # whatever a model raises, memory running out included, concerns these documents
            return [], error.with_traceback(None)  # the frames hold on to the memory that ran out

    @abstractmethod
    def _summaries(self, model: Any, sources: list[Source]) -> list[Summary]:
        """The summaries of a batch."""

    @abstractmethod
    def _may_share(self, first: Source, other: Source) -> bool:
        """Whether two documents may be in one batch."""

    def _inputs(self, model: Any, sources: list[Source]) -> dict[str, torch.Tensor]:
        """input_ids and attention_mask, [B, N] each, padded on the right."""
        pad_id = self._tokenizer.pad_token_id
        pad_id = pad_id if pad_id is not None else model.config.pad_token_id or 0
        inputs = prepare_inputs(model, pad_with_mask([source.ids for source in sources], pad_id))
        return {name: tensor.to(model.device) for name, tensor in inputs.items()}
