"""Attention to a fixed number of projected keys and values (Wang et al. 2020, arXiv 2006.04768)."""

from collections.abc import Sequence
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import initialization as init

from summarizer.models.fused_linear import project
from summarizer.models.mixers.checks import check_at_least, check_choice
from summarizer.models.mixers.full import split_heads

Sharing = Literal["none", "heads", "key_value", "layers"]


class Linformer(nn.Module):
    """softmax(Q (E K)ᵀ / √d_h) F V, where E and F project the length N to k rows.

    projection_size: k. max_length: the longest document; E and F have a column for each of its tokens.
    sharing: an E and an F for every head ("none"), one E and one F for all ("heads"), one E = F ("key_value"), that one
        E = F in all layers ("layers": the first layer holds it, so that FSDP, which splits layers, does not do).

    Keys and values have no bias, as in the paper: E (X W) = (E X) W, so projections shared by the heads are applied to
    the hidden states first, and only k rows are made into keys and values.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        projection_size: int = 256,
        max_length: int = 4096,
        sharing: Sharing = "key_value",
    ) -> None:
        super().__init__()
        check_choice("sharing", sharing, get_args(Sharing))
        check_at_least(1, projection_size=projection_size, max_length=max_length)
        self.num_heads = num_heads
        self.max_length = max_length
        self.shares_with_layers = sharing == "layers"
        self._lender: tuple[Linformer, ...] = ()  # the first layer, in a tuple: its parameters are not this layer's
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model, bias=False)
        self.value = nn.Linear(d_model, d_model, bias=False)
        self.output = nn.Linear(d_model, d_model)
        num_parts, num_groups = 1 if sharing in ("key_value", "layers") else 2, num_heads if sharing == "none" else 1
        shape = num_parts, num_groups, projection_size, max_length
        self.length_projections = nn.Parameter(torch.empty(shape))
        self.reset_parameters()

    def place_above(self, mixers: Sequence[nn.Module]) -> None:
        """Take the first layer's projections, if the layers share them."""
        if self.shares_with_layers and mixers and isinstance(mixers[0], Linformer):
            self._lender = (mixers[0],)
            self.register_parameter("length_projections", None)

    @property
    def projections(self) -> Tensor:
        """E and F [1 or 2, 1 or h, k, N_max], its own or the first layer's."""
        return self._lender[0]() if self._lender else self.length_projections

    def reset_parameters(self) -> None:
        """Xavier's scale, as in the authors' code: a document of the greatest length keeps the size of its keys."""
        if self._lender:
            return
        projection_size, max_length = self.length_projections.shape[-2:]
        init.normal_(self.length_projections, std=(2 / (projection_size + max_length)) ** 0.5)

    def forward(self, hidden_states: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """hidden_states [B, N, d], mask [B, N] bool → [B, N, d].

        Without arguments: E and F [1 or 2, 1 or h, k, N_max]. A layer above asks so, since the parameters of an
        offloaded layer are there only in its own forward.
        """
        if hidden_states is None or mask is None:
            return self.length_projections
        length = hidden_states.shape[1]
        if length > self.max_length:
            raise ValueError(f"{length} source tokens are more than Linformer's max_length={self.max_length}")
        (query,) = split_heads(project(self.query, hidden_states), 1, self.num_heads)
        real_states = hidden_states * mask[..., None]  # without biases the keys and values of padding are 0
        projections = self.projections[..., :length]
        key = self._project(self.key, projections[0], real_states)
        value = self._project(self.value, projections[-1], real_states)
        mixed = F.scaled_dot_product_attention(query.transpose(1, 2), key, value)
        return project(self.output, mixed.transpose(1, 2).flatten(2))

    def _project(self, linear: nn.Module, projection: Tensor, hidden_states: Tensor) -> Tensor:
        """Keys or values [B, h, k, d_h] for E or F [1 or h, k, N] and hidden_states [B, N, d]."""
        if projection.shape[0] == 1:
            (projected,) = split_heads(project(linear, torch.matmul(projection, hidden_states)), 1, self.num_heads)
            return projected.transpose(1, 2)
        (tokens,) = split_heads(project(linear, hidden_states), 1, self.num_heads)
        return torch.matmul(projection, tokens.transpose(1, 2))
