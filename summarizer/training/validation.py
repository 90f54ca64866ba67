"""The validation loss: every document once, shared out over the processes."""

from collections.abc import Iterator
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor

from summarizer.data.batching import collate, cut_by_tokens, num_labels_in
from summarizer.data.preparation import PreparedData
from summarizer.training.distributed import sum_over_processes
from summarizer.training.task import Task


def share_in_batches(
    data: PreparedData, tokens_per_batch: int, accelerator: Accelerator, pad_token_id: int
) -> Iterator[tuple[list[int], dict[str, Tensor]]]:
    """This process's share of all documents, each once, in batches of like length: (indices, tensors)."""
    by_length = sorted(range(len(data)), key=lambda index: data.source_lengths[index])
    batches = cut_by_tokens(by_length, data.source_lengths, tokens_per_batch)
    for batch in batches[accelerator.process_index :: accelerator.num_processes]:
        tensors = collate([data.rows[index] for index in batch], pad_token_id)
        yield batch, {name: tensor.to(accelerator.device) for name, tensor in tensors.items()}


def validation_loss(
    model: Any, data: PreparedData, tokens_per_batch: int, accelerator: Accelerator, task: Task
) -> float:
    """The mean loss per label, each document counted once, whatever the number of processes.

    The model is a plain one of this process: processes with fewer batches than others must not wait for them in it.
    """
    loss_sum, num_labels = 0.0, 0
    model.eval()
    with torch.no_grad(), accelerator.autocast():
        for _, tensors in share_in_batches(data, tokens_per_batch, accelerator, task.tokenizer.pad_token_id):
            num_labels += num_labels_in(tensors)
            loss_sum += float(task.summed_loss(model, tensors, 0.0))
    model.train()
    total_loss, total_labels = sum_over_processes(accelerator, [loss_sum, num_labels])
    return total_loss / total_labels
