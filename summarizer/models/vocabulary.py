"""Log-probabilities of labels from the vocabulary projection, without keeping a tensor of labels × vocabulary.

The projection is done in chunks, and once more in the backward pass: cheaper than keeping, reading and writing what it
makes. Shapes: M labels, d = d_model, V vocabulary.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from summarizer.models.fused_linear import is_plain

CHUNK = 1024  # labels at a time


class LabelLogProbabilities(torch.autograd.Function):
    """(hidden [M, d], weight [V, d], labels [M]) → log p of each label [M], and its mean over the vocabulary [M]."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Both results are float32, or float64 for float64."""
        dtype = hidden.dtype
        if torch.is_autocast_enabled(hidden.device.type):
            dtype = torch.get_autocast_dtype(hidden.device.type)
        at_least_float32 = torch.promote_types(hidden.dtype, torch.float32)
        cast_hidden, cast_weight = hidden.to(dtype), weight.to(dtype)
        label_terms, normalizers = [], []
        for rows, targets in zip(cast_hidden.split(CHUNK), labels.split(CHUNK), strict=True):
            logits = torch.mm(rows, cast_weight.T).to(at_least_float32)
            normalizers.append(torch.logsumexp(logits, dim=-1))
            label_terms.append(logits.gather(-1, targets[:, None]).squeeze(-1) - normalizers[-1])
        normalizer = torch.cat(normalizers)
        ctx.save_for_backward(hidden, weight, labels, normalizer)
        ctx.dtype = dtype
        mean_weight = weight.to(at_least_float32).mean(dim=0)  # the mean of linear maps is a linear map
        return torch.cat(label_terms), hidden.to(at_least_float32) @ mean_weight - normalizer

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:  # pyright: ignore  (as torch documents it)
        """∂ log p_label / ∂ logits = onehot(label) − p, and of the mean 1/V − p."""
        grad_label, grad_mean = grads
        hidden, weight, labels, normalizer = ctx.saved_tensors
        cast_hidden, cast_weight = hidden.to(ctx.dtype), weight.to(ctx.dtype)
        grad_sum = grad_label + grad_mean
        grad_hidden = torch.empty_like(cast_hidden)
        grad_weight = torch.zeros_like(weight, dtype=normalizer.dtype)
        for start in range(0, len(labels), CHUNK):
            chunk = slice(start, start + CHUNK)
            grad = torch.mm(cast_hidden[chunk], cast_weight.T).to(normalizer.dtype)
            grad.sub_(normalizer[chunk, None]).exp_().mul_(-grad_sum[chunk, None])
            grad.scatter_add_(1, labels[chunk, None], grad_label[chunk, None])
            cast_grad = grad.to(ctx.dtype)
            torch.mm(cast_grad, cast_weight, out=grad_hidden[chunk])
            grad_weight += torch.mm(cast_grad.T, cast_hidden[chunk])
        mean_weight = weight.to(normalizer.dtype).mean(dim=0)
        grad_hidden = grad_hidden.to(normalizer.dtype) + grad_mean[:, None] * mean_weight
        grad_weight += (grad_mean[:, None] * hidden).sum(dim=0) / weight.shape[0]
        return grad_hidden.to(hidden.dtype), grad_weight.to(weight.dtype), None


def label_log_probabilities(hidden: Tensor, projection: torch.nn.Module, labels: Tensor) -> tuple[Tensor, Tensor]:
    """log p of each label [M] and its mean over the vocabulary [M], for hidden [M, d] and a linear map d → V."""
    if is_plain(projection) and projection.bias is None:
        label_term, mean_term = LabelLogProbabilities.apply(hidden, projection.weight, labels)  # pyright: ignore (apply is untyped)
        return label_term, mean_term
    logits = projection(hidden)  # with an adapter, quantized or offloaded
    log_probabilities = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(dim=-1)
    return log_probabilities.gather(-1, labels[:, None]).squeeze(-1), log_probabilities.mean(dim=-1)
