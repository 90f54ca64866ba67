"""Validation inside training: the loss over every document once, and ROUGE of summaries written as `summarize` does."""

from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object

from summarizer.config import TrainingConfig
from summarizer.data.batching import collate, cut_by_tokens
from summarizer.data.preparation import PreparedData
from summarizer.evaluation.rouge import score_texts
from summarizer.inference.generation import generate_summaries
from summarizer.inference.settings import SummarySettings
from summarizer.training.distributed import sum_over_processes
from summarizer.training.loss import num_target_tokens, summed_loss


def validation_loss(
    model: Any, data: PreparedData, config: TrainingConfig, accelerator: Accelerator, pad_token_id: int
) -> float:
    """The mean loss per target token, each document counted once, whatever the number of processes."""
    by_length = sorted(range(len(data)), key=lambda index: data.source_lengths[index])
    batches = cut_by_tokens(by_length, data.source_lengths, config.tokens_per_batch)
    loss_sum, num_tokens = 0.0, 0
    # The bare model: processes with fewer batches than others must not wait inside DistributedDataParallel.
    bare = accelerator.unwrap_model(model, keep_fp32_wrapper=True)
    bare.eval()
    with torch.no_grad(), accelerator.autocast():
        for batch in batches[accelerator.process_index :: accelerator.num_processes]:
            tensors = collate([data.rows[index] for index in batch], pad_token_id)
            num_tokens += num_target_tokens(tensors)
            tensors = {name: tensor.to(accelerator.device) for name, tensor in tensors.items()}
            loss_sum += float(summed_loss(bare, tensors))
    bare.train()
    total_loss, total_tokens = sum_over_processes(accelerator, [loss_sum, num_tokens])
    return total_loss / total_tokens


def validation_rouge(
    model: Any, tokenizer: Any, data: PreparedData, config: TrainingConfig, accelerator: Accelerator
) -> dict[str, float]:
    """ROUGE (0 to 100) of the first `rouge_examples` documents, in order, shared out over the processes."""
    positions = range(min(config.rouge_examples, len(data)))
    mine = list(positions[accelerator.process_index :: accelerator.num_processes])
    rows = [data.rows[index] for index in mine]
    bare = accelerator.unwrap_model(model, keep_fp32_wrapper=True)  # without it, autocast would end for good
    settings = SummarySettings(tokens_per_batch=config.tokens_per_batch)
    with accelerator.autocast():
        summaries = generate_summaries(bare, tokenizer, [row["input_ids"] for row in rows], settings)
    written = [(index, summary.text, row["summary"]) for index, summary, row in zip(mine, summaries, rows, strict=True)]
    everyone = sorted(gather_object(written))
    scores = score_texts([text for _, text, _ in everyone], [reference for _, _, reference in everyone])
    return {name: 100 * value for name, value in scores.items()}
