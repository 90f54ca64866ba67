"""Summarization as a task: pairs of document and summary, a sequence-to-sequence model, ROUGE."""

from typing import Any

from accelerate import Accelerator
from torch import Tensor

from summarizer.config import RunConfig, Split
from summarizer.data.preparation import PreparedData, prepare
from summarizer.evaluation.evaluate import signature_of_texts
from summarizer.training.loss import summed_loss
from summarizer.training.setup import check_lengths, load_tokenizer, make_model
from summarizer.training.validation import validation_rouge


class Summarization:
    """The Task of `task: summarization`."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self.tokenizer = load_tokenizer(config)
        self.notes: list[str] = []
        self._longest = 0

    def prepare(self, split: Split) -> PreparedData | None:
        """Pairs as token ids, found in the cache or tokenised."""
        data = self.config.data
        entries, limit = data.entries(split)
        if split != "train" and not entries:
            return None
        prepared = prepare(entries, split, data, self.tokenizer, limit)
        if split != "test":  # which the model need not read now
            self._longest = max(self._longest, *prepared.source_lengths)
        return prepared

    def make_model(self) -> Any:
        """A model that reads the longest document, or InputError."""
        model, self.notes = make_model(self.config, self.tokenizer)
        check_lengths(model, self.tokenizer, self._longest)
        return model

    def summed_loss(self, model: Any, batch: dict[str, Tensor], label_smoothing: float) -> Tensor:
        """Negative log-likelihood of the summaries' tokens."""
        return summed_loss(model, batch, label_smoothing)

    def metrics(self, model: Any, data: PreparedData, accelerator: Accelerator) -> tuple[dict[str, float], list[str]]:
        """ROUGE of generated summaries."""
        training = self.config.training
        if not training.rouge_examples:
            return {}, []
        return validation_rouge(model, self.tokenizer, data, training, accelerator)

    def signature(self, data: PreparedData) -> str:
        """That of ROUGE."""
        count = min(self.config.training.rouge_examples, len(data))
        return signature_of_texts(count) if count else ""
