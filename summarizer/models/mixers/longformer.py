"""Sliding-window attention with a few global tokens (Beltagy et al. 2020, arXiv 2004.05150)."""

import torch
from torch import Tensor, nn

from summarizer.models.fused_linear import project
from summarizer.models.mixers.band import attend_to_band
from summarizer.models.mixers.checks import check_at_least, check_window
from summarizer.models.mixers.full import Attention, attend_to_all, split_heads


class Longformer(Attention):
    """Each token attends to its neighbours and to the global tokens, which attend to all with projections of their own.

    window_size: neighbours of a token, half of them on each side, besides itself.
    num_global_tokens: how many tokens at the start of the document are global; 0: none.
    """

    def __init__(self, d_model: int, num_heads: int, *, window_size: int = 512, num_global_tokens: int = 1) -> None:
        super().__init__(d_model, num_heads)
        check_window(window_size=window_size)
        check_at_least(0, num_global_tokens=num_global_tokens)
        self.reach = window_size // 2
        self.num_global_tokens = num_global_tokens
        if num_global_tokens:
            self.global_query = nn.Linear(d_model, d_model)
            self.global_key_value = nn.Linear(d_model, 2 * d_model)

    def forward(self, hidden_states: Tensor, mask: Tensor) -> Tensor:
        """hidden_states [B, N, d], mask [B, N] bool → [B, N, d]."""
        query, key, value = split_heads(project(self.query_key_value, hidden_states), 3, self.num_heads)
        if not self.num_global_tokens:
            return project(self.output, attend_to_band(query, key, value, mask, self.reach))
        first = slice(min(self.num_global_tokens, hidden_states.shape[1]))
        local_mask = mask.clone()
        local_mask[:, first] = False  # a global token within reach counts once
        global_keys = (key[:, first], value[:, first], mask[:, first])
        local = attend_to_band(query, key, value, local_mask, self.reach, global_keys=global_keys)
        (query,) = split_heads(project(self.global_query, hidden_states[:, first]), 1, self.num_heads)
        key, value = split_heads(project(self.global_key_value, hidden_states), 2, self.num_heads)
        from_global = attend_to_all(query, key, value, mask)
        return project(self.output, torch.cat([from_global, local[:, first.stop :]], dim=1))
