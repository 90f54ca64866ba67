"""Label log-probabilities in chunks against the whole log-softmax."""

import pytest
import torch

from summarizer.models import vocabulary


def naive(hidden, weight, labels):
    log_probabilities = (hidden @ weight.T).log_softmax(dim=-1)
    return log_probabilities.gather(-1, labels[:, None]).squeeze(-1), log_probabilities.mean(dim=-1)


def example(num_labels, dtype=torch.float64):
    torch.manual_seed(num_labels)
    hidden = torch.randn(num_labels, 16, dtype=dtype, requires_grad=True)
    weight = torch.randn(50, 16, dtype=dtype, requires_grad=True)
    return hidden, weight, torch.randint(50, (num_labels,))


@pytest.mark.parametrize("num_labels", [0, 1, 7, 8, 21])
def test_chunks_equal_the_whole_log_softmax_with_gradients(num_labels, monkeypatch):
    monkeypatch.setattr(vocabulary, "CHUNK", 8)
    hidden, weight, labels = example(num_labels)
    weights = torch.randn(2, num_labels, dtype=torch.float64)  # of the two terms in some loss
    results = []
    for function in (vocabulary.LabelLogProbabilities.apply, naive):
        label_term, mean_term = function(hidden, weight, labels)
        loss = (weights[0] * label_term + weights[1] * mean_term).sum()
        results.append((label_term, mean_term, *torch.autograd.grad(loss, (hidden, weight))))
    for fast, slow in zip(*results, strict=True):
        torch.testing.assert_close(fast, slow)


def test_gradients_equal_finite_differences():
    hidden, weight, labels = example(5)
    assert torch.autograd.gradcheck(lambda h, w: vocabulary.LabelLogProbabilities.apply(h, w, labels), (hidden, weight))


def test_under_autocast_the_result_is_float32_and_near_the_exact_one():
    hidden, weight, labels = example(30, torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        label_term, _ = vocabulary.LabelLogProbabilities.apply(hidden, weight, labels)
    label_term.sum().backward()
    exact, _ = naive(hidden.detach(), weight.detach(), labels)
    assert label_term.dtype == torch.float32
    assert hidden.grad.dtype == torch.float32
    torch.testing.assert_close(label_term.detach(), exact, rtol=0.05, atol=0.1)


def test_a_projection_that_is_no_plain_linear_map_gives_the_same():
    hidden, weight, labels = example(6)
    plain = torch.nn.Linear(16, 50, bias=False, dtype=torch.float64)
    plain.weight.data = weight.data
    wrapped = torch.nn.Sequential(plain)
    for fast, slow in zip(
        vocabulary.label_log_probabilities(hidden, plain, labels),
        vocabulary.label_log_probabilities(hidden, wrapped, labels),
        strict=True,
    ):
        torch.testing.assert_close(fast, slow)
