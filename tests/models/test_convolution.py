"""The convolution over neighbouring tokens: its fast form equals shifted products, gradients included."""

import pytest
import torch

from summarizer.models.encoder import NeighborConvolution, convolve_as_image, convolve_by_products


@pytest.mark.parametrize("kernel_size", [1, 4, 5])
def test_both_forms_and_their_gradients_are_equal(kernel_size):
    torch.manual_seed(kernel_size)
    inputs = torch.randn(2, 9, 8), torch.randn(kernel_size, 8), torch.randn(8)
    results = []
    for convolve in (convolve_as_image, convolve_by_products):
        leaves = [each.clone().requires_grad_() for each in inputs]
        mixed = convolve(*leaves)
        mixed.square().sum().backward()
        results.append([mixed, *(leaf.grad for leaf in leaves)])
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected)


def test_each_token_gets_the_weighted_sum_of_its_real_neighbours():
    torch.manual_seed(0)
    convolution = NeighborConvolution(4, 5)
    states, mask = torch.randn(1, 7, 4), torch.arange(7)[None] < 5
    found = convolution(states, mask)
    for token in range(7):
        near = [(token + offset, convolution.weight[offset + 2]) for offset in range(-2, 3)]
        expected = sum((states[0, place] * weight for place, weight in near if 0 <= place < 5), convolution.bias)
        torch.testing.assert_close(found[0, token], expected)
