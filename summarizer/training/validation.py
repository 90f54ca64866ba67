"""Validation inside training: the loss over every document once, and ROUGE of summaries written as `summarize` does."""

from collections.abc import Iterator
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import Tensor

from summarizer.config import TrainingConfig
from summarizer.data.batching import collate, cut_by_tokens, num_labels_in
from summarizer.data.preparation import PreparedData
from summarizer.evaluation.rouge import score_texts
from summarizer.generation.options import SummarySettings
from summarizer.generation.writer import generate_summaries
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


def validation_rouge(
    model: Any, tokenizer: Any, data: PreparedData, config: TrainingConfig, accelerator: Accelerator
) -> tuple[dict[str, float], list[str]]:
    """ROUGE (0 to 100) of the first `rouge_examples` documents, shared out over the processes, and what went wrong.

    A document that could not be summarized scores 0, as in `evaluate`.
    """
    positions = range(min(config.rouge_examples, len(data)))
    mine = list(positions[accelerator.process_index :: accelerator.num_processes])
    rows = [data.rows[index] for index in mine]
    settings = SummarySettings(tokens_per_batch=config.tokens_per_batch)
    with accelerator.autocast():
        summaries = generate_summaries(model, tokenizer, [row["input_ids"] for row in rows], settings)
    written = [
        (index, summary.text, row["target"], f"{row['id']}: {summary.error}" if summary.status == "failed" else "")
        for index, summary, row in zip(mine, summaries, rows, strict=True)
    ]
    everyone = sorted(gather_object(written))
    scores = score_texts([text for _, text, *_ in everyone], [reference for _, _, reference, _ in everyone])
    failures = [failure for *_, failure in everyone if failure]
    lines = (
        [f"{len(failures)} of {len(everyone)} validation summaries failed, the first: {failures[0]}"]
        if failures
        else []
    )
    return {name: 100 * value for name, value in scores.items()}, lines
