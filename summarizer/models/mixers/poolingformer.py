"""Two levels of windows, the larger one over pooled keys (Zhang et al. 2021, arXiv 2105.04371)."""

from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from summarizer.models.fused_linear import NarrowLinear, project
from summarizer.models.layers import at_least_float32
from summarizer.models.mixers.band import attend_to_band
from summarizer.models.mixers.checks import check_choice, check_window
from summarizer.models.mixers.full import split_heads

Pooling = Literal["mean", "max", "dynamic"]


class Poolingformer(nn.Module):
    """Level 1 attends to a window of tokens and gives y; level 2 attends from y to a larger window of pooled y.

    The output is a projection of the sum of both levels. Pooling j takes the real ones of `kernel_size` tokens around
    its centre, token j × stride, and is a key for the tokens that have the centre in their window.

    window_size, pooling_window_size: neighbours of a token, half of them on each side, at level 1 and 2.
    kernel_size, stride: of the pooling.
    pooling: "mean", "max", or "dynamic" weights, a softmax over the kernel's tokens computed from the centre.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        window_size: int = 128,
        pooling_window_size: int = 512,
        kernel_size: int = 5,
        stride: int = 4,
        pooling: Pooling = "dynamic",
    ) -> None:
        super().__init__()
        check_choice("pooling", pooling, get_args(Pooling))
        check_window(window_size=window_size, pooling_window_size=pooling_window_size)
        if kernel_size < 1 or kernel_size % 2 == 0:
            raise ValueError(f"kernel_size={kernel_size} must be odd")
        if not 1 <= stride <= pooling_window_size // 2:
            raise ValueError(f"stride={stride} must be from 1 to half the pooling_window_size={pooling_window_size}")
        self.num_heads = num_heads
        self.reach = window_size // 2
        self.pooling_reach = pooling_window_size // 2
        self.kernel_size = kernel_size
        self.stride = stride
        self.pooling = pooling
        self.query_key_value = nn.Linear(d_model, 3 * d_model)
        self.pooled_query = nn.Linear(d_model, d_model)
        self.pooled_key_value = nn.Linear(d_model, 2 * d_model)
        self.pooling_weights = NarrowLinear(d_model, kernel_size) if pooling == "dynamic" else None
        self.output = nn.Linear(d_model, d_model)

    def forward(self, hidden_states: Tensor, mask: Tensor) -> Tensor:
        """hidden_states [B, N, d], mask [B, N] bool → [B, N, d]."""
        query, key, value = split_heads(project(self.query_key_value, hidden_states), 3, self.num_heads)
        local = attend_to_band(query, key, value, mask, self.reach)  # y
        (query,) = split_heads(project(self.pooled_query, local), 1, self.num_heads)
        key, value = split_heads(self._pooled_keys_and_values(local * mask[..., None], mask), 2, self.num_heads)
        centres = mask[:, :: self.stride]
        pooled = attend_to_band(query, key, value, centres, self.pooling_reach, self.stride)  # z
        return project(self.output, local + pooled)

    def _pooled_keys_and_values(self, local: Tensor, mask: Tensor) -> Tensor:
        """local [B, N, d], 0 at padding, mask [B, N] → keys and values [B, M, 2 d], M = ⌈N / stride⌉."""
        real = self._windows(mask)  # [B, M, kernel]
        if self.pooling == "max":
            windows = self._windows(project(self.pooled_key_value, local))  # [B, M, 2 d, kernel]
            real = (real | ~real.any(dim=-1, keepdim=True))[:, :, None]
            return windows.masked_fill(~real, torch.finfo(windows.dtype).min).amax(dim=-1)
        if self.pooling_weights is None:
            scores = torch.zeros_like(real, dtype=local.dtype)
        else:
            scores = project(self.pooling_weights, local[:, :: self.stride])
        weights = at_least_float32(scores).masked_fill(~real, torch.finfo(torch.float32).min).softmax(dim=-1)
        # The weights sum to 1, so the mean of the projections is the projection of the mean, of fewer tokens.
        pooled = torch.matmul(self._windows(local), weights.to(local.dtype)[..., None]).squeeze(-1)
        return project(self.pooled_key_value, pooled)

    def _windows(self, values: Tensor) -> Tensor:
        """The kernel's tokens around each centre: [B, N, ...] → [B, M, ..., kernel], zeros beyond the ends."""
        reach = self.kernel_size // 2
        return F.pad(values, (0, 0) * (values.dim() - 2) + (reach, reach)).unfold(1, self.kernel_size, self.stride)
