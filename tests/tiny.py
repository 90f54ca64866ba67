"""Tiny models and batches that the tests share."""

from typing import Any

import torch
from torch import Tensor, nn

from summarizer.models import FastformerSummarizerForConditionalGeneration, SummarizerConfig

VOCAB_SIZE = 40
END = 3
FIRST_WORD = 4  # the ids below are special: padding, unknown, start, end

# Windows, blocks and projections that even tiny documents outgrow; a new mixer without options needs no line here.
MIXER_OPTIONS: dict[str, dict[str, Any]] = {
    "bigbird": {"block_size": 3, "num_random_blocks": 1},
    "linformer": {"projection_size": 6, "max_length": 400},
    "longformer": {"window_size": 6, "num_global_tokens": 2},
    "poolingformer": {"window_size": 4, "pooling_window_size": 12, "kernel_size": 5, "stride": 3},
}


def tiny_config(**options: Any) -> SummarizerConfig:
    sizes = {
        "vocab_size": VOCAB_SIZE, "d_model": 16, "dropout": 0.0,
        "encoder_layers": 2, "encoder_attention_heads": 4, "encoder_ffn_dim": 24,
        "decoder_layers": 2, "decoder_attention_heads": 2, "decoder_ffn_dim": 24,
    }  # fmt: skip
    mixer_options = MIXER_OPTIONS.get(options.get("mixer", ""))
    return SummarizerConfig(**{**sizes, "mixer_options": mixer_options, **options})


def tiny_model(seed: int = 0, **options: Any) -> FastformerSummarizerForConditionalGeneration:
    """A model whose every parameter is random, biases and norms too, in evaluation mode."""
    torch.manual_seed(seed)
    return randomize(FastformerSummarizerForConditionalGeneration(tiny_config(**options))).eval()


def randomize(module: nn.Module, scale: float = 0.2) -> Any:
    """Disturb every parameter, so that none is 0 or 1 and hides a fault."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter) * scale)
    return module


def padded_batch(lengths: list[int], seed: int = 0, total: int | None = None) -> dict[str, Tensor]:
    """Random documents of these lengths, padded on the right: input_ids and attention_mask [B, N]."""
    generator = torch.Generator().manual_seed(seed)
    total = total or max(lengths)
    mask = torch.arange(total)[None, :] < torch.tensor(lengths)[:, None]
    input_ids = torch.randint(FIRST_WORD, VOCAB_SIZE, (len(lengths), total), generator=generator)
    return {"input_ids": input_ids * mask, "attention_mask": mask.long()}


def padded_labels(lengths: list[int], seed: int = 1) -> Tensor:
    """Random labels [B, T], −100 after these lengths."""
    batch = padded_batch(lengths, seed)
    return batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)


def up_to_the_end(sequences: Tensor) -> list[list[int]]:
    """The tokens of each row up to its first end token: what follows is filling."""
    rows = [row.tolist() for row in sequences]
    return [row[: row.index(END) + 1] if END in row else row for row in rows]
