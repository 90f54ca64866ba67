"""Classification as a task: documents with a label, accuracy and macro-F1."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch import Tensor
from transformers import AutoModelForSequenceClassification

from summarizer.config import RunConfig, Split
from summarizer.data.preparation import PreparedData, prepare
from summarizer.errors import InputError
from summarizer.padding import IGNORED
from summarizer.training.distributed import sum_over_processes
from summarizer.training.starting_model import load_tokenizer, make_model
from summarizer.training.validation import share_in_batches


class Classification:
    """The Task of `task: classification`. Classes are the distinct labels of the training data, sorted."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self.tokenizer = load_tokenizer(config)
        self.classes: list[str] = []
        self.notes: list[str] = []

    def prepare(self, split: Split) -> PreparedData | None:
        """Documents as token ids and the numbers of their classes."""
        data = self.config.data
        entries, limit = data.entries(split)
        if split != "train" and not entries:
            return None
        prepared = prepare(entries, split, data, self.tokenizer, limit, target="label")
        names = prepared.rows["target"]
        if split == "train":
            self.classes = sorted(set(names), key=lambda name: (int(name) if name.isdecimal() else -1, name))
        numbers = {name: number for number, name in enumerate(self.classes)}
        unknown = sorted(set(names) - set(numbers))
        if unknown:
            raise InputError(
                f"data.{split}: class '{unknown[0]}' is not in the training data, which has {', '.join(self.classes)}"
            )
        labels = [[numbers[name]] for name in names]
        return replace(prepared, rows=prepared.rows.remove_columns("labels").add_column("labels", labels))

    def make_model(self) -> Any:
        """A new model by the configuration, or a pretrained one with a classifier for these classes."""
        names = {"id2label": dict(enumerate(self.classes)), "label2id": {n: i for i, n in enumerate(self.classes)}}
        auto_class = AutoModelForSequenceClassification
        model, self.notes = make_model(self.config, self.tokenizer, auto_class, **names)
        return model

    def summed_loss(self, model: Any, batch: dict[str, Tensor], label_smoothing: float) -> Tensor:
        """Cross-entropy of the classes, summed over the documents."""
        logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
        return F.cross_entropy(
            logits.float(),
            batch["labels"].squeeze(-1),
            ignore_index=IGNORED,
            reduction="sum",
            label_smoothing=label_smoothing,
        )

    def metrics(self, model: Any, data: PreparedData, accelerator: Accelerator) -> tuple[dict[str, float], list[str]]:
        """Accuracy and macro-F1, 0 to 100."""
        confusion = torch.zeros(len(self.classes), len(self.classes))
        for index, predicted in self.predict(model, data, accelerator):
            confusion[data.rows[index]["labels"][0], predicted] += 1
        total = torch.tensor(sum_over_processes(accelerator, confusion.flatten().tolist()))
        return accuracy_and_macro_f1(total.view_as(confusion)), []

    def signature(self, _data: PreparedData) -> str:
        """Empty: accuracy and macro-F1 have no settings."""
        return ""

    def predict(self, model: Any, data: PreparedData, accelerator: Accelerator) -> Iterator[tuple[int, int]]:
        """(Index of a document, number of its class by the model) for this process's share of the documents."""
        model.eval()
        tokens_per_batch = self.config.training.tokens_per_batch
        for batch, tensors in share_in_batches(data, tokens_per_batch, accelerator, self.tokenizer.pad_token_id):
            del tensors["labels"]
            with torch.no_grad(), accelerator.autocast():
                logits = model(**tensors).logits
            yield from zip(batch, logits.argmax(dim=-1).tolist(), strict=True)
        model.train()


def accuracy_and_macro_f1(confusion: Tensor) -> dict[str, float]:
    """Accuracy and macro-F1 in percent from confusion [C, C] (rows: labels, columns: predictions).

    The mean of F1 is over the classes that occur among labels or predictions, as in scikit-learn.
    """
    correct, occurring = confusion.diagonal(), confusion.sum(dim=0) + confusion.sum(dim=1)
    f1 = (2 * correct / occurring)[occurring > 0]
    return {"accuracy": 100 * float(correct.sum() / confusion.sum()), "macro_f1": 100 * float(f1.mean())}
