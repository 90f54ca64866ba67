"""Linear layers that add their bias and apply GELU inside the product, where a CPU multiplies bfloat16 fast.

torch's own product copies the bias to every row first, and GELU is a further pass over the result: a fifth of an
encoder's time. oneDNN does both while the result is at hand, by the operator that torch.compile emits for such layers.
It has no gradients, so training keeps to torch's own product.

The layers stay plain `nn.Linear` modules, which quantizers and adapters look for. Whoever uses one calls `project`.
"""

from functools import cache
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

PRIVATE_OPERATORS = ("_linear_pointwise", "_is_mkldnn_bf16_supported")  # of torch.ops.mkldnn; without them: F.linear
Activation = Literal["none", "gelu"]


class NarrowLinear(nn.Linear):
    """A linear layer with few outputs. Quantizers convert `nn.Linear` itself, and their kernels need more outputs."""


def project(layer: nn.Module, x: Tensor, activation: Activation = "none") -> Tensor:
    """activation(layer(x)) for x [..., inputs] → [..., outputs]."""
    if _can_fuse(x) and is_plain(layer):
        return linear(x, layer.weight, layer.bias, activation)  # pyright: ignore (is_plain says that it is linear)
    result = layer(x)
    return F.gelu(result) if activation == "gelu" else result


def is_plain(layer: nn.Module) -> bool:
    """Whether a layer is torch's own and computes x Wᵀ + bias from its weight and bias, which may then be read.

    What peft, a quantizer or a sharding has changed is not, nor what has hooks: an offloaded layer has its weight only
    while it runs.
    """
    return (
        type(layer) is nn.Linear
        and type(layer.weight) in (Tensor, nn.Parameter)
        and not (layer._forward_pre_hooks or layer._forward_hooks or layer._backward_pre_hooks or layer._backward_hooks)
        and "forward" not in layer.__dict__  # accelerate's hooks
    )


def linear(x: Tensor, weight: Tensor, bias: Tensor | None, activation: Activation = "none") -> Tensor:
    """activation(x Wᵀ + bias), for x [..., inputs], weight W [outputs, inputs] and bias [outputs] → [..., outputs]."""
    if _is_fused(x, weight):
        return torch.ops.mkldnn._linear_pointwise(x, weight, bias, activation, [], "none")
    result = F.linear(x, weight, bias)
    return F.gelu(result) if activation == "gelu" else result


def _is_fused(x: Tensor, weight: Tensor) -> bool:
    is_plain_tensor = type(weight) in (Tensor, nn.Parameter)
    return is_plain_tensor and weight.dtype == torch.bfloat16 and weight.device.type == "cpu" and _can_fuse(x)


def _can_fuse(x: Tensor) -> bool:
    return (
        x.dtype == torch.bfloat16
        and x.device.type == "cpu"
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
