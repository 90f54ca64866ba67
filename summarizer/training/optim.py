"""The optimizer and the learning rate as a function of the step."""

import math

import torch
from torch import nn

from summarizer.config import TrainingConfig


def make_optimizer(model: nn.Module, config: TrainingConfig) -> torch.optim.AdamW:
    """AdamW, with weight decay on matrices only: not on norms, biases and other vectors."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": config.weight_decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=config.learning_rate,
        betas=(config.adam_betas[0], config.adam_betas[1]),
        fused=True,
    )


def learning_rate_at(step: int, config: TrainingConfig, seconds: float = 0.0) -> float:
    """The learning rate of step number `step` (from 0), `seconds` into training: linear warm-up, then the schedule."""
    if step < config.warmup_steps:
        return config.learning_rate * (step + 1) / config.warmup_steps
    if config.schedule == "constant":
        return config.learning_rate
    if config.schedule == "inverse_sqrt":
        return config.learning_rate * math.sqrt(max(config.warmup_steps, 1) / (step + 1))
    progress = (step - config.warmup_steps) / max(1, config.steps - config.warmup_steps)
    if config.max_minutes is not None:
        progress = max(progress, seconds / (60 * config.max_minutes))
    progress = min(1.0, progress)
    floor = config.min_learning_rate_ratio
    return config.learning_rate * (floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * progress)))


def set_learning_rate(optimizer: torch.optim.Optimizer, learning_rate: float) -> None:
    """Give every parameter group this learning rate."""
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
