"""Attention over a document, with a backward that is fast where torch's is not.

Shapes: B documents, h heads, Q queries, N source tokens, d_h the size of a head.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable


class ProductsBackwardAttention(torch.autograd.Function):
    """torch's fused attention on a CPU in bfloat16, whose own backward does not use the fast matrix products.

    The weights are computed again for one document at a time, [h, Q, N], and not kept.
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
        """query [B, h, Q, d_h], key and value [B, h, N, d_h], bias [B, 1, Q, N] added to the scores."""
        attended, log_normalizer = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            query, key, value, attn_mask=bias
        )
        ctx.save_for_backward(query, key, value, bias, attended, log_normalizer)
        return attended

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:  # pyright: ignore  (as torch documents it)
        """With weights w: ∂v = wᵀ g; ∂s = w ∗ (g vᵀ − Σ g ∗ output); ∂q = ∂s k and ∂k = ∂sᵀ q, both scaled."""
        query, key, value, bias, attended, log_normalizer = ctx.saved_tensors
        grad = grads[0].to(query.dtype).contiguous()
        scale = query.shape[-1] ** -0.5
        offsets = (grad.float() * attended.float()).sum(dim=-1, keepdim=True)
        gradients = [torch.empty(tensor.shape, dtype=tensor.dtype) for tensor in (query, key, value)]
        for document, (grad_query, grad_key, grad_value) in enumerate(zip(*gradients, strict=True)):
            q, k, v, g = (tensor[document] for tensor in (query, key, value, grad))
            scores = torch.bmm(q * scale, k.transpose(1, 2)).float().add_(bias[document])
            weights = scores.sub_(log_normalizer[document, :, :, None]).exp_()
            torch.bmm(weights.to(g.dtype).transpose(1, 2), g, out=grad_value)
            grad_scores = torch.bmm(g, v.transpose(1, 2)).float().sub_(offsets[document])
            grad_scores = grad_scores.mul_(weights).mul_(scale).to(q.dtype)
            torch.bmm(grad_scores, k, out=grad_query)
            torch.bmm(grad_scores.transpose(1, 2), q, out=grad_key)
        return gradients[0], gradients[1], gradients[2], None


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Attention of query [B, h, Q, d_h] over key and value [B, h, N, d_h]; mask [B, 1, 1, N], True = seen."""
    needs_gradients = torch.is_grad_enabled() and (query.requires_grad or key.requires_grad)
    if needs_gradients and query.dtype == torch.bfloat16 and query.device.type == "cpu":
        bias = torch.zeros(mask.shape, dtype=query.dtype).masked_fill_(~mask, -torch.inf)
        bias = bias.expand(-1, -1, query.shape[2], -1)
        return ProductsBackwardAttention.apply(query, key, value, bias)  # pyright: ignore[reportReturnType]
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
