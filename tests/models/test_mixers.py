"""The mixers against their literal versions: outputs and gradients, masks, lengths."""

from itertools import product

import pytest
import torch

from summarizer.models.mixers import MIXERS, make_mixer
from tests import references
from tests.tiny import randomize

D_MODEL = 8
# Above 2 d tokens the output is folded into one matrix, below it is computed directly.
LENGTHS = {"direct": [11, 4], "folded": [19, 11]}
SWITCHES = {
    "share_query_value": [True, False],
    "share_heads": [False, True],
    "scores": ["own", "all"],
    "pooling": ["softmax", "mean"],
    "query_residual": [True, False],
    "output_projection": [False, True],
}
NAIVE = {"fastformer": references.fastformer, "full": references.full_attention}


def make(name="fastformer", num_heads=2, dtype=torch.float64, **options):
    torch.manual_seed(0)
    return randomize(make_mixer(name, D_MODEL, num_heads, options).to(dtype))


def hidden_states_and_mask(lengths, dtype=torch.float64):
    hidden_states = torch.randn(len(lengths), max(lengths), D_MODEL, dtype=dtype)
    return hidden_states, torch.arange(max(lengths))[None, :] < torch.tensor(lengths)[:, None]


def assert_same_outputs_and_gradients(module, naive, lengths, tolerance, dtype=torch.float64):
    hidden_states, mask = hidden_states_and_mask(lengths, dtype)
    hidden_states.requires_grad_()
    inputs = [hidden_states, *module.parameters()]
    weights = torch.randn_like(hidden_states)
    results = []
    for forward in (module, lambda *arguments: naive(module, *arguments)):
        output = forward(hidden_states, mask)
        results.append([output, *torch.autograd.grad((output * weights).sum(), inputs)])
    names = ["output", "hidden_states", *(name for name, _ in module.named_parameters())]
    for name, fast, literal in zip(names, *results, strict=True):
        torch.testing.assert_close(
            fast, literal, rtol=tolerance, atol=tolerance, msg=lambda text, n=name: f"{n}: {text}"
        )


@pytest.mark.parametrize("path", LENGTHS)
@pytest.mark.parametrize("num_stages", [1, 2, 3])
@pytest.mark.parametrize("interaction", ["product", "add", "concat"])
def test_fastformer_equals_the_equations_for_every_combination_of_switches(interaction, num_stages, path):
    for choices in product(*SWITCHES.values()):
        options = dict(zip(SWITCHES, choices, strict=True))
        module = make(num_stages=num_stages, interaction=interaction, **options)
        try:
            assert_same_outputs_and_gradients(module, references.fastformer, LENGTHS[path], 1e-10)
        except AssertionError as error:
            raise AssertionError(f"{options}: {error}") from error


@pytest.mark.parametrize("path", LENGTHS)
@pytest.mark.parametrize("share_heads", [False, True])
@pytest.mark.parametrize("scores", ["own", "all"])
@pytest.mark.parametrize("num_heads", [1, D_MODEL])
def test_fastformer_equals_the_equations_for_one_head_and_for_heads_of_size_one(num_heads, scores, share_heads, path):
    module = make(num_heads=num_heads, scores=scores, share_heads=share_heads)
    assert_same_outputs_and_gradients(module, references.fastformer, LENGTHS[path], 1e-10)


@pytest.mark.parametrize("path", LENGTHS)
@pytest.mark.parametrize("interaction", ["product", "add", "concat"])
def test_fastformer_equals_the_equations_in_float32(interaction, path):
    module = make(interaction=interaction, dtype=torch.float32)
    assert_same_outputs_and_gradients(module, references.fastformer, LENGTHS[path], 2e-5, torch.float32)


def test_only_sequences_longer_than_twice_the_width_are_folded(monkeypatch):
    module = make()
    folded = []
    output = module._folded_output
    monkeypatch.setattr(module, "_folded_output", lambda x, *stages: folded.append(x.shape[1]) or output(x, *stages))
    for lengths in ([2 * D_MODEL], [2 * D_MODEL + 1]):
        module(*hidden_states_and_mask(lengths))
    assert folded == [2 * D_MODEL + 1]


@pytest.mark.parametrize("name", sorted(MIXERS))
@pytest.mark.parametrize("lengths", [[1], [2], [3], [17], [1, 33, 2], [40, 5]])
def test_every_mixer_equals_its_literal_version_at_any_length(name, lengths):
    assert_same_outputs_and_gradients(make(name), NAIVE[name], lengths, 1e-10)


@pytest.fixture
def token_weights(monkeypatch):
    """The weights over the tokens, [B, h, N] a stage, of the Fastformers that run."""
    from summarizer.models.mixers import fastformer

    collected = []
    softmax = fastformer.softmax_over_tokens

    def collecting(scores, mask):
        collected.append(softmax(scores, mask))
        return collected[-1]

    monkeypatch.setattr(fastformer, "softmax_over_tokens", collecting)
    return collected


@pytest.mark.parametrize("scores", ["own", "all"])
def test_token_weights_of_each_head_sum_to_one_over_the_real_tokens_and_depend_on_the_input(token_weights, scores):
    module = make(num_stages=3, scores=scores)
    hidden_states, mask = hidden_states_and_mask([30, 12])
    module(hidden_states, mask)
    assert len(token_weights) == 3
    first_run = list(token_weights)
    for weights in first_run:
        assert weights.shape == (2, 2, 30)
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 2, dtype=torch.float64))
        assert not weights[1, :, 12:].any()
        assert weights[0].std(dim=-1).min() > 1e-4
    module(hidden_states + torch.randn_like(hidden_states), mask)
    for before, after in zip(first_run, token_weights[3:], strict=True):
        assert (before - after).abs().amax(dim=(1, 2)).min() > 1e-3


@pytest.mark.parametrize("half", [False, True])
def test_fastformer_stays_finite_and_normalised_over_65536_tokens(token_weights, half):
    module = make(dtype=torch.float32)
    hidden_states, mask = hidden_states_and_mask([65_536], torch.float32)
    hidden_states.mul_(3).requires_grad_()
    with torch.autocast("cpu", torch.bfloat16, enabled=half):
        output = module(hidden_states, mask)
    assert output.isfinite().all()
    for weights in token_weights:
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(1, 2), rtol=1e-4, atol=0)
    output.float().square().mean().backward()
    assert hidden_states.grad.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in module.parameters())


@pytest.mark.parametrize("name", sorted(MIXERS))
@pytest.mark.parametrize("length", [5, 40])
def test_a_row_of_padding_alone_is_finite_and_leaves_the_others_alone(name, length):
    module = make(name)
    hidden_states, mask = hidden_states_and_mask([length, length])
    alone = module(hidden_states[:1], mask[:1])
    mask[1] = False
    both = module(hidden_states, mask)
    assert both.isfinite().all()
    torch.testing.assert_close(both[:1], alone, rtol=1e-12, atol=1e-12)
    both.sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in module.parameters())


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("fastfomer", {}, "unknown mixer 'fastfomer'; choose from fastformer, full"),
        ("fastformer", {"stages": 2}, "stages"),
        ("fastformer", {"scores": "some"}, "scores='some'; choose from own, all"),
        ("fastformer", {"interaction": "minus"}, "choose from product, add, concat"),
        ("fastformer", {"pooling": "max"}, "choose from softmax, mean"),
        ("fastformer", {"num_stages": 0}, "num_stages=0 must be at least 1"),
    ],
)
def test_an_unknown_mixer_or_option_is_named(name, options, message):
    with pytest.raises(ValueError, match=message):
        make_mixer(name, D_MODEL, 2, options)
