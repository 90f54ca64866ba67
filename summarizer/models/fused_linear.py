"""Linear layers that add their bias and apply GELU inside the product, where a CPU multiplies bfloat16 fast.

torch's own product copies the bias to every row first, and GELU is a further pass over the result: a fifth of an
encoder's time. oneDNN does both while the result is at hand, by the operator that torch.compile emits for such layers.
It has no gradients, so training keeps to torch's own product.
"""

from functools import cache
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

PRIVATE_OPERATORS = ("_linear_pointwise", "_is_mkldnn_bf16_supported")  # of torch.ops.mkldnn; without them: F.linear


class Linear(nn.Linear):
    """torch's linear layer, with the same weights, names and results, faster in bfloat16 on a CPU without gradients."""

    def forward(self, input: Tensor) -> Tensor:
        """[..., inputs] → [..., outputs]."""
        return linear(input, self.weight, self.bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None, activation: Literal["none", "gelu"] = "none") -> Tensor:
    """activation(x Wᵀ + bias), for x [..., inputs], weight W [outputs, inputs] and bias [outputs] → [..., outputs]."""
    if _is_fused(x, weight):
        return torch.ops.mkldnn._linear_pointwise(x, weight, bias, activation, [], "none")
    result = F.linear(x, weight, bias)
    return F.gelu(result) if activation == "gelu" else result


def _is_fused(x: Tensor, weight: Tensor) -> bool:
    return (
        x.dtype == weight.dtype == torch.bfloat16
        and x.device.type == weight.device.type == "cpu"
        and type(weight) in (Tensor, nn.Parameter)  # a quantised or sharded weight multiplies in a way of its own
        and not torch.is_grad_enabled()
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
        and _has_fused_product()
    )


@cache
def _has_fused_product() -> bool:
    """Whether this build of torch has the operator, and this processor bfloat16 products."""
    operators = torch.ops.mkldnn
    return all(hasattr(operators, name) for name in PRIVATE_OPERATORS) and bool(operators._is_mkldnn_bf16_supported())
