"""A training step, its floating-point operations, and the plain products whose speed sets the floor."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode, register_flop_formula

from summarizer.config import TrainingConfig
from summarizer.training.optim import make_optimizer
from summarizer.training.summarization import summed_loss


class TrainingStep:
    """A step on one batch: forward under autocast to `dtype`, backward, clipping, AdamW."""

    def __init__(self, model: Any, batch: dict[str, Tensor], dtype: torch.dtype) -> None:
        self.model, self.batch, self.dtype = model.train(), batch, dtype
        self.config = TrainingConfig()
        self.optimizer = make_optimizer(model, self.config)

    def __call__(self) -> None:
        """Make the step."""
        self._backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.max_grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def flops(self) -> int:
        """Floating-point operations of the step's products, forward and backward."""
        with FlopCounterMode(display=False) as counter:
            self._backward()
        self.optimizer.zero_grad()
        return counter.get_total_flops()

    def _backward(self) -> None:
        device = self.batch["labels"].device.type
        with torch.autocast(device, self.dtype) if self.dtype != torch.float32 else nullcontext():
            loss: Tensor = summed_loss(self.model, self.batch) / self.batch["labels"].numel()
        loss.backward()


def product_work(d_model: int, dtype: torch.dtype, device: torch.device) -> tuple[Callable[[], None], int]:
    """The feed-forward's product, [16384, d] × [d, 4d], ten times, and the FLOPs of all ten."""
    rows = torch.randn(16_384, d_model, dtype=dtype, device=device)
    weight = torch.randn(d_model, 4 * d_model, dtype=dtype, device=device)
    repetitions = 10
    out = rows @ weight

    def run() -> None:
        for _ in range(repetitions):
            torch.mm(rows, weight, out=out)

    return run, repetitions * 2 * rows.numel() * weight.shape[1]


def _attention_flops(query: tuple[int, ...], key: tuple[int, ...], value: tuple[int, ...], num_products: int) -> int:
    batch_size, heads, queries, head_size = query
    return num_products * 2 * batch_size * heads * queries * key[2] * (head_size + value[3]) // 2


@register_flop_formula(torch.ops.aten._scaled_dot_product_flash_attention_for_cpu)
def _forward_flops(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> int:
    return _attention_flops(query, key, value, 2)


@register_flop_formula(torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward)
def _backward_flops(_: Any, query: Any, key: Any, value: Any, *__: Any, **___: Any) -> int:
    return _attention_flops(query, key, value, 5)  # the scores again, and two for each product of forward
