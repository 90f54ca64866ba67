"""Summarization as a task: document and summary pairs, a sequence-to-sequence model, ROUGE of generated summaries."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import gather_object
from numpy.typing import NDArray
from torch import Tensor

from summarizer.config import RunConfig, Split
from summarizer.data.pairs import Pair, ReadReport
from summarizer.data.preparation import PreparedData, prepare
from summarizer.data.selection_labels import inverse_document_frequencies, line_break_id, prepare_labels
from summarizer.data.splits import find_split, read_split
from summarizer.evaluation.rouge import score_texts
from summarizer.evaluation.signature import signature_of_texts
from summarizer.generation.options import SummarySettings
from summarizer.generation.summarizer import Summarizer
from summarizer.models.loading import ModelFiles
from summarizer.models.published import prepare_inputs
from summarizer.padding import IGNORED
from summarizer.training.extensions import Metric
from summarizer.training.sentence_selection import mean_average_precision, start_token_weights
from summarizer.training.starting_model import check_lengths, load_tokenizer, make_model, prefix_of_run

SENTENCE_LOSS_WEIGHT = 10.0  # of the mean cross-entropy of the sentences, for each target token


class Summarization:
    """The Task of `task: summarization`."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self.tokenizer = load_tokenizer(config)
        self.data = replace(config.data, source_prefix=prefix_of_run(config))
        self.notes: list[str] = []
        self.extra_metrics: Mapping[str, Metric] = {}
        self._longest = 0
        self._scored: list[Pair] = []  # the validation pairs that are summarized for ROUGE
        self._selects = _selects_sentences(config)
        self._idf: NDArray[np.float64] | None = None

    def prepare(self, split: Split) -> PreparedData | None:
        """Pairs as token ids, found in the cache or tokenised."""
        data = self.data
        entries, limit = data.entries(split)
        if split != "train" and not entries:
            return None
        prepared = prepare(entries, split, data, self.tokenizer, limit)
        if self._selects:
            prepared = prepare_labels(prepared, self.tokenizer, "sentence_labels")
            if split == "train":
                self._idf = inverse_document_frequencies(prepared)
        if split != "test":  # training never reads the test documents
            self._longest = max(self._longest, *prepared.source_lengths)
        if split == "validation":
            pairs = read_split(find_split(entries, split, data), split, data, ReadReport())
            self._scored = list(islice(pairs, min(self.config.training.rouge_examples, len(prepared))))
        return prepared

    def make_model(self) -> Any:
        """The model to train. Raises InputError if it cannot read the longest document."""
        options: dict[str, Any] = {}
        if self._selects:
            options = {"sentence_selection": True, "line_break_token_id": line_break_id(self.tokenizer)}
        model, self.notes = make_model(self.config, self.tokenizer, **options)
        if self._selects:
            start_token_weights(model, self._idf)
        check_lengths(model, self.tokenizer, self._longest)
        return model

    def summed_loss(self, model: Any, batch: dict[str, Tensor], label_smoothing: float) -> Tensor:
        """The negative log-likelihood of the summaries' tokens; in training, with the loss of sentence selection.

        In validation the decoder reads what the model itself selects, without regard to the labels.
        """
        if not self._selects:
            return summed_loss(model, batch, label_smoothing)
        if not model.training:
            return summed_loss(model, {name: batch[name] for name in batch if name != "sentence_labels"})
        weight = self.config.training.sentence_loss_weight or SENTENCE_LOSS_WEIGHT
        return summed_loss(model, {**batch, "sentence_loss_weight": weight}, label_smoothing)

    def metrics(self, model: Any, data: PreparedData, accelerator: Accelerator) -> tuple[dict[str, float], list[str]]:
        """ROUGE of generated summaries, 0 to 100, and a line about summaries that failed.

        Of a model that selects sentences also its average precision, 0 to 1.

        The first `rouge_examples` documents are shared out over the processes. Their summaries are written as
        `summarize` writes them, from the text. A document that could not be summarized scores 0, as in `evaluate`.
        """
        metrics = {}
        if self._selects:
            precision = mean_average_precision(model, data, accelerator, self.config, self.tokenizer)
            metrics["average_precision"] = precision
        if not self._scored:
            return metrics, []
        mine = list(enumerate(self._scored))[accelerator.process_index :: accelerator.num_processes]
        settings = SummarySettings(
            max_source_tokens=self.config.data.max_source_tokens,
            tokens_per_batch=self.config.training.tokens_per_batch,
        )
        with accelerator.autocast():
            summaries = Summarizer(model, self.tokenizer).summarize([pair.document for _, pair in mine], settings)
        written = [
            (position, summary.text, f"{pair.id}: {summary.error}" if summary.status == "failed" else "")
            for (position, pair), summary in zip(mine, summaries, strict=True)
        ]
        everyone = sorted(gather_object(written))
        texts, references = [text for _, text, _ in everyone], [pair.target for pair in self._scored]
        scores = score_texts(texts, references)
        metrics |= {name: float(metric(texts, references)) for name, metric in self.extra_metrics.items()}
        failures = [failure for *_, failure in everyone if failure]
        notes = []
        if failures:
            notes.append(f"{len(failures)} of {len(everyone)} validation summaries failed, the first: {failures[0]}")
        return {**metrics, **{name: 100 * value for name, value in scores.items()}}, notes

    def signature(self, data: PreparedData) -> str:
        """The signature of ROUGE."""
        return str(signature_of_texts(len(self._scored))) if self._scored else ""


def _selects_sentences(config: RunConfig) -> bool:
    if config.training.sentence_loss_weight is not None or config.model.get("sentence_selection"):
        return True
    if config.pretrained is None:
        return False
    return bool(getattr(ModelFiles(config.pretrained, "pretrained").config(), "sentence_selection", False))


def summed_loss(model: Any, batch: dict[str, Any], label_smoothing: float = 0.0) -> Tensor:
    """Σ of the negative log-likelihood over the micro-batch's real target tokens, float32.

    Our own models compute it without keeping the logits; any other sequence-to-sequence model returns its logits.
    """
    bare = model
    while hasattr(bare, "module"):  # under DistributedDataParallel
        bare = bare.module
    if getattr(bare, "accepts_label_smoothing", False):
        output = model(**batch, num_items_in_batch=1, label_smoothing=label_smoothing, return_logits=False)
        return output.loss.float()
    logits = model(**prepare_inputs(bare, batch)).logits
    return F.cross_entropy(
        logits.float().flatten(0, 1),
        batch["labels"].flatten(),
        ignore_index=IGNORED,
        reduction="sum",
        label_smoothing=label_smoothing,
    )
