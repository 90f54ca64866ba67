"""What the layers of encoder and decoder are made of. Shapes: d = d_model, any leading sizes."""

import math
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.utils._pytree import register_dataclass
from transformers.activations import ACT2FN

from summarizer.models.configuration import SummarizerConfig
from summarizer.models.fused_linear import project

T = TypeVar("T")


def tensors_together(cls: type[T]) -> type[T]:
    """Make the fields of a data class inputs and outputs of exported programs."""
    register_dataclass(cls, serialized_type_name=f"{cls.__module__}.{cls.__name__}")
    return cls


def sinusoids(positions: Tensor, d_model: int) -> Tensor:
    """Sinusoidal position vectors (Vaswani et al. 2017) for any positions [...]: sines, then cosines, [..., d]."""
    half = d_model // 2
    steps = torch.arange(half, device=positions.device, dtype=torch.float32)
    angles = positions.float()[..., None] * torch.exp(steps * (-math.log(10_000.0) / half))
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


def at_least_float32(values: Tensor) -> Tensor:
    """Half precision becomes float32, as softmaxes and log probabilities need; float32 and float64 stay."""
    return values.to(torch.promote_types(values.dtype, torch.float32))


def layer_norm(config: SummarizerConfig) -> nn.LayerNorm:
    """LayerNorm over the width of the model."""
    return nn.LayerNorm(config.d_model, eps=config.layer_norm_eps)


def in_compute_dtype(embeddings: Tensor) -> Tensor:
    """Under autocast, start the residual stream in its dtype: half the memory traffic, and no casts at every layer."""
    kind = embeddings.device.type
    return embeddings.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else embeddings


class ScaledEmbedding(nn.Embedding):
    """Token embeddings times a constant: what a model adds positions to, and what it takes as `inputs_embeds`."""

    def __init__(self, config: SummarizerConfig) -> None:
        super().__init__(config.vocab_size, config.d_model, config.pad_token_id)
        self.embed_scale = math.sqrt(config.d_model) if config.scale_embedding else 1.0  # peft knows this name

    def forward(self, input: Tensor) -> Tensor:
        """Ids [...] → [..., d]."""
        return super().forward(input) * self.embed_scale


class FeedForward(nn.Module):
    """Two linear maps with an activation between them."""

    def __init__(self, d_model: int, inner_size: int, activation: str) -> None:
        super().__init__()
        if activation not in ACT2FN:
            raise ValueError(f"unknown activation_function '{activation}'; choose from {', '.join(sorted(ACT2FN))}")
        self.is_gelu = activation == "gelu"
        self.up = nn.Linear(d_model, inner_size)
        self.activation = ACT2FN[activation]
        self.down = nn.Linear(inner_size, d_model)

    def forward(self, hidden_states: Tensor) -> Tensor:
        """[..., d] → [..., d]."""
        if self.is_gelu:
            return project(self.down, project(self.up, hidden_states, "gelu"))
        return project(self.down, self.activation(project(self.up, hidden_states)))


class Residual(nn.Module):
    """A sublayer's frame: x + dropout(f(norm(x))), or norm(x + dropout(f(x))) where the norm comes after."""

    def __init__(self, dropout: float, pre_norm: bool) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.pre_norm = pre_norm

    def forward(self, hidden_states: Tensor, module: nn.Module, norm: nn.Module, *arguments: Any) -> Tensor:
        """hidden_states [..., d] → [..., d]; `module` gets the further arguments."""
        # On CUDA under autocast a norm gives float32: cast once here, not at each product that a mixer makes.
        if self.pre_norm:
            return hidden_states + self.dropout(module(in_compute_dtype(norm(hidden_states)), *arguments))
        return norm(hidden_states + self.dropout(module(in_compute_dtype(hidden_states), *arguments)))
