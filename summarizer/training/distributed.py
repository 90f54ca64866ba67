"""Sums over processes."""

from collections.abc import Sequence
from typing import Any

import torch
from accelerate import Accelerator


def sum_over_processes(accelerator: Accelerator, values: Sequence[float]) -> list[float]:
    """The sum of each value over all processes, in float64 where the device has it."""
    dtype = torch.float32 if accelerator.device.type == "mps" else torch.float64
    total: Any = accelerator.reduce(torch.tensor(values, dtype=dtype, device=accelerator.device))
    return total.tolist()
