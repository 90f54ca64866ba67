"""The optimizer and the learning rate as a function of the step."""

import math
from collections.abc import Sequence

import torch
from torch import nn

from summarizer.config import TrainingConfig

SMALLEST_MATRIX = 16  # for Muon: what is thinner, such as a gate, is a few vectors


class Together(torch.optim.Optimizer):
    """Several optimizers as one, with one state for checkpoints."""

    def __init__(self, optimizers: Sequence[torch.optim.Optimizer]) -> None:
        self._optimizers = optimizers
        groups = [{**group, "of": index} for index, each in enumerate(optimizers) for group in each.param_groups]
        super().__init__(groups, {})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  # no closure
        """One step of each."""
        for index, optimizer in enumerate(self._optimizers):
            optimizer.param_groups = [group for group in self.param_groups if group["of"] == index]
            optimizer.state = self.state
            optimizer.step()


def make_optimizer(model: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
    """AdamW; or Muon (Jordan et al. 2024) for the weights of linear layers but the last, and AdamW for the others.

    Muon's updates are made as large as AdamW's (Liu et al. 2025, arXiv 2502.16982): one learning rate serves both.
    Weight decay is on matrices only: not on norms, biases and other vectors.
    """
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    muon: list[torch.Tensor] = []
    if config.optimizer == "muon":
        output = getattr(model, "get_output_embeddings", lambda: None)()
        layers = [module for module in model.modules() if isinstance(module, nn.Linear) and module is not output]
        weights = {id(layer.weight) for layer in layers}
        muon = [each for each in trained if id(each) in weights and min(each.shape) >= SMALLEST_MATRIX]
    chosen = {id(each) for each in muon}
    others = [each for each in trained if id(each) not in chosen]
    groups = [
        {"params": [p for p in others if p.dim() >= 2], "weight_decay": config.weight_decay},
        {"params": [p for p in others if p.dim() < 2], "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    optimizers: list[torch.optim.Optimizer] = []
    if muon:
        options = {"lr": config.learning_rate, "weight_decay": config.weight_decay, "adjust_lr_fn": "match_rms_adamw"}
        optimizers.append(torch.optim.Muon(muon, **options))
    if groups:
        betas = (config.adam_betas[0], config.adam_betas[1])
        optimizers.append(torch.optim.AdamW(groups, lr=config.learning_rate, betas=betas, fused=True))
    return optimizers[0] if len(optimizers) == 1 else Together(optimizers)


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
