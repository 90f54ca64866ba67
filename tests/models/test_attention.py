import pytest
import torch
import torch.nn.functional as F

from summarizer.models import attention
from summarizer.models.attention import attend

SHAPES = [(1, 1, 1, 1, 2), (2, 3, 5, 7, 8), (3, 2, 40, 129, 16)]  # B, h, Q, N, d_h


def inputs(batch_size, heads, queries, length, head_size, dtype):
    generator = torch.Generator().manual_seed(length)
    sizes = [(batch_size, queries, heads, head_size), *[(batch_size, length, heads, head_size)] * 2]
    tensors = [torch.randn(size, generator=generator).to(dtype).transpose(1, 2).requires_grad_() for size in sizes]
    mask = torch.rand(batch_size, 1, 1, length, generator=generator) < 0.7
    mask[..., 0] = True
    grad = torch.randn(batch_size, heads, queries, head_size, generator=generator).to(dtype)
    return tensors, mask, grad


@pytest.mark.parametrize("shape", SHAPES)
def test_output_and_gradients_are_those_of_plain_attention_to_the_rounding_of_bfloat16(shape, monkeypatch):
    used = []
    apply = attention.ProductsBackwardAttention.apply
    monkeypatch.setattr(attention.ProductsBackwardAttention, "apply", lambda *each: (used.append(1), apply(*each))[1])
    tensors, mask, grad = inputs(*shape, torch.bfloat16)
    output = attend(*tensors, mask)
    found = [output, *torch.autograd.grad(output, tensors, grad)]
    exact = [tensor.detach().float().requires_grad_() for tensor in tensors]
    expected = F.scaled_dot_product_attention(*exact, attn_mask=mask)
    expected = [expected, *torch.autograd.grad(expected, exact, grad.float())]
    fused = F.scaled_dot_product_attention(*tensors, attn_mask=mask)
    fused = [fused, *torch.autograd.grad(fused, tensors, grad)]
    assert used
    for ours, torchs, precise in zip(found, fused, expected, strict=True):
        error = (ours.float() - precise).norm()
        assert error <= 1.5 * (torchs.float() - precise).norm() + 4e-3 * (precise.norm() + 1)


def test_masked_tokens_get_no_gradient():
    tensors, mask, grad = inputs(2, 3, 5, 7, 8, torch.bfloat16)
    gradients = torch.autograd.grad(attend(*tensors, mask), tensors, grad)
    for gradient in gradients[1:]:
        assert not gradient.masked_select(~mask.transpose(2, 3)).any()
        assert gradient.masked_select(mask.transpose(2, 3)).all()


def test_other_dtypes_and_uses_without_gradients_take_torchs_own(monkeypatch):
    monkeypatch.setattr(attention.ProductsBackwardAttention, "apply", None)
    tensors, mask, grad = inputs(2, 3, 5, 7, 8, torch.float32)
    torch.autograd.grad(attend(*tensors, mask), tensors, grad)
    with torch.no_grad():
        attend(*inputs(2, 3, 5, 7, 8, torch.bfloat16)[0], mask)
