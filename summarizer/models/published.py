"""What published long-document models of transformers need beyond ids and a mask, in training and in generation."""

from typing import Any

import torch
from torch import Tensor


def source_prefix(config: Any) -> str:
    """The text that a model wants before each document, by its configuration: "summarize: " for T5; else empty."""
    tasks = getattr(config, "task_specific_params", None) or {}
    return (tasks.get("summarization") or {}).get("prefix", "")


def prepare_inputs(model: Any, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """The model's inputs (input_ids and attention_mask [B, N], perhaps more) with what its architecture needs.

    LED: the first token attends to all. BigBird-Pegasus: sparse attention where the documents are long enough for it;
    by itself the model would go over to full attention at the first short batch, and stay there.
    """
    config = model.config
    if config.model_type == "led":
        first = torch.zeros_like(inputs["input_ids"])
        first[:, 0] = 1
        return {**inputs, "global_attention_mask": first}
    if config.model_type == "bigbird_pegasus" and config.attention_type == "block_sparse":
        fewest = (5 + 2 * config.num_random_blocks) * config.block_size
        sparse = inputs["input_ids"].shape[1] > fewest
        model.get_encoder().set_attention_type("block_sparse" if sparse else "original_full")
    return inputs
