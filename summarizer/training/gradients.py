"""A step's gradients: the sum over this process's micro-batches, which are split if they do not fit into memory."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from summarizer.config import TrainingConfig
from summarizer.data.batching import collate
from summarizer.padding import IGNORED
from summarizer.training.engine import Engine
from summarizer.training.task import Task


class BatchTooLargeError(Exception):
    """A micro-batch did not fit into memory; the message gives its size."""


@dataclass(frozen=True)
class Gradients:
    """Adds up the gradients of a step. `some_row` is any row: it fills the batch of a process without work."""

    engine: Engine
    task: Task
    settings: TrainingConfig
    seed: int
    some_row: dict[str, Any]

    def tensors(self, rows: list[dict[str, Any]]) -> dict[str, Tensor]:
        """A micro-batch's tensors; without rows, those of `some_row` with all labels ignored."""
        batch = collate(rows or [self.some_row], self.task.tokenizer.pad_token_id)
        if not rows:
            batch["labels"].fill_(IGNORED)
        return {name: tensor.to(self.engine.accelerator.device) for name, tensor in batch.items()}

    def add(self, batches: list[dict[str, Tensor]], num_labels: float, step: int, say: Callable[[str], None]) -> float:
        """Add the gradients of Σ loss / num_labels to those of the model; returns the summed loss.

        With `split_on_out_of_memory`, a micro-batch that does not fit is halved, `say` reports it, and all start over.
        Raises BatchTooLargeError.
        """
        parts = list(enumerate(batches))
        if self.settings.split_on_out_of_memory and self.engine.accelerator.num_processes > 1:
            # Processes exchange gradients in their last backward pass, which cannot be repeated: make it a small one.
            parts.append((len(batches), self.tensors([])))
        while True:
            position, loss = 0, 0.0
            try:
                for position, (index, batch) in enumerate(parts):
                    self._seed_dropout(index, step)
                    is_last = position == len(parts) - 1
                    with nullcontext() if is_last else self.engine.without_exchange():
                        loss += self._backward(batch, num_labels)
                return loss
            except BatchTooLargeError as error:
                index, batch = parts[position]
                exchanged = self.engine.accelerator.num_processes > 1 and position == len(parts) - 1
                if not self.settings.split_on_out_of_memory or len(batch["labels"]) == 1 or exchanged:
                    raise
                say(f"out of memory at step {step + 1} with {error}: split in two")
                parts[position : position + 1] = [(index, half) for half in _halves(batch)]
            # Delete the gradients of the failed backward pass.
            self.engine.model.zero_grad(set_to_none=True)

    def _backward(self, batch: dict[str, Tensor], num_labels: float) -> float:
        try:
            loss = self.task.summed_loss(self.engine.model, batch, self.settings.label_smoothing)
            # DDP and FSDP average gradients over the processes; the factor makes it the sum over all labels.
            self.engine.accelerator.backward(loss * (self.engine.accelerator.num_processes / num_labels))
        except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
            if isinstance(error, (torch.OutOfMemoryError, MemoryError)) or "allocate memory" in str(error):
                rows, length = batch["input_ids"].shape
                raise BatchTooLargeError(f"{rows} × {length:,} source tokens") from error
            raise
        return float(loss.detach())

    def _seed_dropout(self, index: int, step: int) -> None:
        """Dropout of a micro-batch depends on the seed, the step and its number, not on processes or resumes."""
        number = index * self.engine.accelerator.num_processes + self.engine.accelerator.process_index
        mixed = (self.seed * 1_000_003 + step) * 1_000_003 + number
        torch.manual_seed(mixed % 2**63)


def _halves(batch: dict[str, Tensor]) -> list[dict[str, Tensor]]:
    """The first and the second half of the rows, without the columns that are padding in all of a half's rows."""
    middle = len(batch["labels"]) // 2
    halves = []
    for rows in (slice(None, middle), slice(middle, None)):
        half = {name: tensor[rows] for name, tensor in batch.items()}
        longest = int(half["attention_mask"].sum(dim=1).max())
        halves.append({name: value if name.endswith("labels") else value[:, :longest] for name, value in half.items()})
    return halves
