"""An exponential moving average of a model's weights, which is often better than the last weights themselves."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

import torch
from torch import Tensor, nn


class ExponentialAverage:
    """θ̄ ← decay · θ̄ + (1 − decay) · θ after each step, in float32; younger averages decay faster.

    The decay after t steps is min(decay, (1 + t) / (10 + t)), so that the first weights do not linger.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.weights: dict[str, Tensor] = {
            name: parameter.detach().float().clone() for name, parameter in model.named_parameters()
        }

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        """Take in the weights after step number `step` (from 1)."""
        decay = min(self.decay, (1 + step) / (10 + step))
        current = dict(model.named_parameters())
        for name, value in self.weights.items():
            value.lerp_(current[name].float(), 1 - decay)

    @torch.no_grad()
    def restart(self, weights: Mapping[str, Tensor]) -> None:
        """Go on from these weights."""
        for name, value in self.weights.items():
            value.copy_(weights[name])

    def applied(self, model: nn.Module) -> AbstractContextManager[None]:
        """The model with the averaged weights; with its own again afterwards."""
        return weights_applied(self.weights, model)


@contextmanager
def weights_applied(weights: Mapping[str, Tensor], model: nn.Module) -> Iterator[None]:
    """The model with other weights, by the names of its parameters; with its own again afterwards."""
    own = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    _copy(weights, model)
    try:
        yield
    finally:
        _copy(own, model)


@torch.no_grad()
def _copy(weights: Mapping[str, Tensor], model: nn.Module) -> None:
    for name, parameter in model.named_parameters():
        parameter.copy_(weights[name])
