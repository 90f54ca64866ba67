"""Attention with a kernel in place of the softmax (Katharopoulos et al. 2020, arXiv 2006.16236)."""

import torch
from torch import Tensor

from summarizer.models.fused_linear import project
from summarizer.models.layers import at_least_float32
from summarizer.models.mixers.full import Attention, split_heads


class LinearAttention(Attention):
    """out_i = φ(q_i) Σ_j φ(k_j) v_jᵀ / (φ(q_i) · Σ_j φ(k_j)) with φ(x) = elu(x) + 1."""

    def forward(self, hidden_states: Tensor, mask: Tensor) -> Tensor:
        """hidden_states [B, N, d], mask [B, N] bool → [B, N, d]."""
        projected = project(self.query_key_value, hidden_states)
        # The sums over all tokens and their ratio need float32, also under autocast.
        with torch.autocast(hidden_states.device.type, enabled=False):
            query, key, value = split_heads(at_least_float32(projected), 3, self.num_heads)
            visible = mask | ~mask.any(dim=1, keepdim=True)  # a row of padding alone stays finite
            key = positive_features(key) * visible[..., None, None]
            query = positive_features(query)
            state = torch.einsum("bnhe,bnhf->bhef", key, value)
            normaliser = torch.einsum("bnhe,bhe->bnh", query, key.sum(dim=1)).clamp(min=1e-12)
            mixed = torch.einsum("bnhe,bhef->bnhf", query, state) / normaliser[..., None]
        return project(self.output, mixed.flatten(2).to(projected.dtype))


def positive_features(values: Tensor) -> Tensor:
    """φ(x) = elu(x) + 1, as exp(x) below 0: there the sum would round to 0 in half precision."""
    return torch.where(values > 0, values + 1, values.clamp(max=0).exp())
