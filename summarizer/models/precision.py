"""The precision of what must not be computed in half precision: softmaxes and log probabilities."""

import torch
from torch import Tensor


def at_least_float32(values: Tensor) -> Tensor:
    """Half precision becomes float32; float32 and float64 stay as they are."""
    return values.to(torch.promote_types(values.dtype, torch.float32))
