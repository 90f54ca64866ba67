"""Softmax attention over all tokens, the Transformer's, through the fused kernel. Quadratic in the length."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from summarizer.models.fused_linear import project
from summarizer.models.layers import at_least_float32


class Attention(nn.Module):
    """The projections of most mixers: to queries, keys and values side by side, and to the output."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query_key_value = nn.Linear(d_model, 3 * d_model)
        self.output = nn.Linear(d_model, d_model)


class FullAttention(Attention):
    """softmax(Q Kᵀ / √d_h) V with an output projection."""

    def forward(self, hidden_states: Tensor, mask: Tensor) -> Tensor:
        """hidden_states [B, N, d], mask [B, N] bool → [B, N, d]."""
        query, key, value = split_heads(project(self.query_key_value, hidden_states), 3, self.num_heads)
        return project(self.output, attend_to_all(query, key, value, mask))


def split_heads(projected: Tensor, num_parts: int, num_heads: int) -> tuple[Tensor, ...]:
    """[B, N, num_parts × d], such as queries, keys and values side by side → each [B, N, h, d_h]."""
    return projected.unflatten(-1, (num_parts, num_heads, -1)).unbind(dim=2)


def attend_to_all(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Softmax attention to every real key.

    query [B, Q, h, d_h]; key and value [B, N, h, d_h], mask [B, N] bool → [B, Q, d].
    """
    # A row without real tokens attends to everything: its output means nothing, but it is finite.
    visible = mask | ~mask.any(dim=1, keepdim=True)
    query, key, value = (part.transpose(1, 2) for part in (query, key, value))
    mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=visible[:, None, None, :])
    return mixed.transpose(1, 2).flatten(2)


def softmax_over_tokens(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last axis, padding excluded; uniform where a row has no real token.

    scores [B, h, N], mask [B, N] bool → [B, h, N], at least float32, each row summing to 1.
    """
    scores = at_least_float32(scores).masked_fill(~mask[:, None, :], torch.finfo(torch.float32).min)
    return scores.softmax(dim=-1)
