"""The optimizer and the learning rate as a function of the step."""

import math

import torch
from torch import nn

from summarizer.config import TrainingConfig

SMALLEST_MATRIX = 16  # for Muon: what is thinner, such as a gate, is a few vectors


class MuonAndAdamW(torch.optim.Optimizer):
    """Muon (Jordan et al. 2024) for matrices, AdamW for the rest: torch's own two, with one state for checkpoints.

    Muon's updates have the size of AdamW's (Liu et al. 2025, arXiv 2502.16982), so that one learning rate serves both.
    """

    def __init__(self, muon: torch.optim.Muon, adamw: torch.optim.AdamW | None) -> None:
        self._inner: dict[str, torch.optim.Optimizer] = {"muon": muon}
        if adamw is not None:
            self._inner["adamw"] = adamw
        groups = [{**group, "inner": name} for name, inner in self._inner.items() for group in inner.param_groups]
        super().__init__(groups, {})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """One step of both."""
        for name, inner in self._inner.items():
            inner.param_groups = [group for group in self.param_groups if group["inner"] == name]
            inner.state = self.state
            inner.step()


def make_optimizer(model: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
    """AdamW, or Muon for the weights of linear layers and AdamW for the others.

    Weight decay is on matrices only: not on norms, biases and other vectors.
    """
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    muon: list[nn.Parameter] = []
    if config.optimizer == "muon":
        output = getattr(model, "get_output_embeddings", lambda: None)()
        layers = [module for module in model.modules() if isinstance(module, nn.Linear) and module is not output]
        muon = [w for w in (layer.weight for layer in layers) if w.requires_grad and min(w.shape) >= SMALLEST_MATRIX]
    others = [parameter for parameter in trained if all(parameter is not each for each in muon)]
    groups = [
        {"params": [p for p in others if p.dim() >= 2], "weight_decay": config.weight_decay},
        {"params": [p for p in others if p.dim() < 2], "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    betas = (config.adam_betas[0], config.adam_betas[1])
    adamw = torch.optim.AdamW(groups, lr=config.learning_rate, betas=betas, fused=True) if groups else None
    if adamw is not None and not muon:
        return adamw
    options = {"lr": config.learning_rate, "weight_decay": config.weight_decay, "adjust_lr_fn": "match_rms_adamw"}
    return MuonAndAdamW(torch.optim.Muon(muon, **options), adamw)


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
