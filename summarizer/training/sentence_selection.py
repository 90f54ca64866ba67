"""Sentence selection as a task: an encoder that scores sentences, trained on a greedy oracle's choice, no decoder."""

from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from numpy.typing import NDArray
from torch import Tensor

from summarizer.config import RunConfig, Split
from summarizer.data.preparation import PreparedData, prepare
from summarizer.data.selection_labels import inverse_document_frequencies, line_break_id, prepare_labels
from summarizer.errors import InputError
from summarizer.models import FastformerSummarizerForSentenceSelection
from summarizer.training.distributed import sum_over_processes
from summarizer.training.starting_model import check_lengths, load_tokenizer, make_model
from summarizer.training.validation import share_in_batches


class SentenceSelection:
    """The Task of `task: selection`. A document's labels are those of its sentences, which are its lines."""

    def __init__(self, config: RunConfig) -> None:
        if not config.data.sentence_per_line:
            raise InputError("task=selection needs data.sentence_per_line=true: line breaks separate the sentences")
        self.config = config
        self.tokenizer = load_tokenizer(config)
        self.notes: list[str] = []
        self._longest = 0
        self._idf: NDArray[np.float64] | None = None

    def prepare(self, split: Split) -> PreparedData | None:
        """Documents as token ids, with a label for each sentence."""
        entries, limit = self.config.data.entries(split)
        if split != "train" and not entries:
            return None
        prepared = prepare(entries, split, self.config.data, self.tokenizer, limit)
        labelled = prepare_labels(prepared, self.tokenizer)
        if split != "test":
            self._longest = max(self._longest, *labelled.source_lengths)
        if split == "train":
            self._idf = inverse_document_frequencies(labelled)
        return labelled

    def make_model(self) -> Any:
        """A new model by the configuration, or a pretrained one; token weights that are all zero start by idf."""
        options = {"line_break_token_id": line_break_id(self.tokenizer)}
        kind = FastformerSummarizerForSentenceSelection
        model, self.notes = make_model(self.config, self.tokenizer, kind, **options)
        start_token_weights(model, self._idf)
        check_lengths(model, self.tokenizer, self._longest)
        return model

    def summed_loss(self, model: Any, batch: dict[str, Tensor], label_smoothing: float) -> Tensor:
        """Binary cross-entropy, summed over the sentences."""
        return model(**batch, label_smoothing=label_smoothing, num_items_in_batch=1).loss

    def metrics(self, model: Any, data: PreparedData, accelerator: Accelerator) -> tuple[dict[str, float], list[str]]:
        """The mean of the documents' average precision."""
        return {"average_precision": mean_average_precision(model, data, accelerator, self.config, self.tokenizer)}, []

    def signature(self, _data: PreparedData) -> str:
        """Empty: average precision has no settings."""
        return ""


def start_token_weights(model: Any, idf: NDArray[np.float64] | None) -> None:
    """Start the token weights of a model's scorer at log idf, unless they were trained or are to start at zero."""
    comparison = model.scorer.comparison
    if comparison is None or idf is None or model.config.token_weights_start == "zero":
        return
    if not bool(comparison.token_weights.any()):
        padded = torch.zeros(model.config.vocab_size, dtype=torch.float64)
        padded[: len(idf)] = torch.from_numpy(idf)
        comparison.start_token_weights(padded)


def mean_average_precision(
    model: Any, data: PreparedData, accelerator: Accelerator, config: RunConfig, tokenizer: Any
) -> float:
    """The mean of the documents' average precision, 0 to 1; documents without a positive label do not count."""
    model.eval()
    total, count = 0.0, 0
    with accelerator.autocast():
        for _, tensors in share_in_batches(data, config.training.tokens_per_batch, accelerator, tokenizer.pad_token_id):
            found = [each for each in average_precisions(model, tensors) if each is not None]
            total += sum(found)
            count += len(found)
    model.train()
    total, count = sum_over_processes(accelerator, [total, count])
    return total / max(count, 1)


def average_precisions(model: Any, batch: dict[str, Tensor]) -> list[float | None]:
    """The average precision of each document of a batch, 0 to 1; None without a positive label."""
    encoder = model.get_encoder()
    with torch.no_grad():
        document = encoder(batch["input_ids"], batch["attention_mask"])
        every_score = model.scorer.score_document(encoder, document).scores
    found: list[float | None] = []
    for scores, wanted in zip(every_score, batch.get("sentence_labels", batch["labels"]), strict=True):
        real = wanted[: len(scores)] >= 0
        kept = wanted[: len(scores)][real]
        found.append(average_precision(scores[: len(wanted)][real], kept) if bool(kept.any()) else None)
    return found


def average_precision(scores: Tensor, labels: Tensor) -> float:
    """scores, labels [S] (1 or 0, at least one 1) → the mean, over the ones, of the precision down to each."""
    ranked = labels[scores.argsort(descending=True, stable=True)].double()
    precision = ranked.cumsum(dim=0) / torch.arange(1, len(ranked) + 1, device=ranked.device)
    return float((precision * ranked).sum() / ranked.sum())
