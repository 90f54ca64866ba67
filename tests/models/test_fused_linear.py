"""The fused product against torch's own: results, and where it stays out of the way."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from summarizer.models import fused_linear as module
from summarizer.models.fused_linear import is_plain, linear, project
from summarizer.models.layers import FeedForward
from summarizer.models.mixers import MIXERS
from tests.tiny import padded_batch, tiny_model

BFLOAT16 = torch.bfloat16
needs_fused_product = pytest.mark.skipif(
    not module._has_fused_product(), reason="this processor or this torch has no fused bfloat16 product"
)


@pytest.fixture
def layer():
    torch.manual_seed(0)
    return nn.Linear(48, 80, dtype=BFLOAT16)


def plain(monkeypatch):
    monkeypatch.setattr(module, "_has_fused_product", lambda: False)


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this build of torch has no oneDNN")
@pytest.mark.parametrize("name", module.PRIVATE_OPERATORS)
def test_torch_still_has_the_private_operators_of_the_fused_product(name):
    assert hasattr(torch.ops.mkldnn, name), f"torch.ops.mkldnn.{name} is gone: bfloat16 on a CPU is slower without it"


@pytest.mark.parametrize("shape", [(48,), (1, 48), (5, 48), (2, 33, 48), (0, 48), (2, 0, 48)])
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("activation", ["none", "gelu"])
def test_a_fused_product_equals_the_plain_one_in_float64(layer, shape, has_bias, activation):
    x = torch.randn(*shape).to(BFLOAT16)
    bias = layer.bias if has_bias else None
    expected = F.linear(x.double(), layer.weight.double(), bias.double() if has_bias else None)
    expected = F.gelu(expected) if activation == "gelu" else expected
    with torch.no_grad():
        result = linear(x, layer.weight, bias, activation)
    assert result.dtype == BFLOAT16
    torch.testing.assert_close(result.double(), expected, rtol=2e-2, atol=1e-2)


def test_strided_inputs_and_weights_of_another_layout_are_multiplied_right(layer):
    x = torch.randn(3, 10, 96).to(BFLOAT16)[:, ::2, 24:72]
    weight = layer.weight.detach().T.contiguous().T
    with torch.no_grad():
        result = linear(x, weight, layer.bias)
    torch.testing.assert_close(
        result.float(), F.linear(x.float(), weight.float(), layer.bias.float()), rtol=2e-2, atol=1e-2
    )


@needs_fused_product
def test_only_bfloat16_without_gradients_is_fused(layer, monkeypatch):
    x = torch.randn(4, 48)
    half = x.to(BFLOAT16)
    assert not module._is_fused(half, layer.weight)  # gradients are on
    with torch.no_grad():
        assert module._is_fused(half, layer.weight)
        assert not module._is_fused(x, layer.weight.float())
        assert not module._is_fused(half.to("meta"), layer.weight.to("meta"))
        with torch.autocast("cpu", BFLOAT16):
            assert not module._is_fused(half, layer.weight)
        fused = project(layer, half)
        plain(monkeypatch)
        assert not module._is_fused(half, layer.weight)
        torch.testing.assert_close(project(layer, half), fused, rtol=2e-2, atol=1e-2)


def test_gradients_are_those_of_torchs_own_layer(layer):
    own = nn.Linear(48, 80, dtype=BFLOAT16)
    own.load_state_dict(layer.state_dict())
    x = torch.randn(4, 48).to(BFLOAT16)
    own(x).square().sum().backward()
    project(layer, x).square().sum().backward()
    assert torch.equal(layer.weight.grad, own.weight.grad)
    assert torch.equal(layer.bias.grad, own.bias.grad)


@pytest.mark.parametrize("mixer", sorted(MIXERS))
def test_every_linear_layer_is_torchs_own_and_plain(mixer):
    """Quantizers such as bitsandbytes look for `type(module) is nn.Linear`."""
    model = tiny_model(mixer=mixer, copy_mechanism=True)
    layers = [module for module in model.modules() if isinstance(module, nn.Linear)]
    assert len(layers) > 10
    assert all(is_plain(layer) == (layer.out_features > 8) for layer in layers)


@pytest.mark.parametrize("change", ["forward_hook", "forward_pre_hook", "full_backward_hook", "forward", "subclass"])
def test_a_changed_layer_is_asked_itself(layer, change):
    seen = []
    if change == "forward":  # as accelerate does
        forward = layer.forward
        layer.forward = lambda x: seen.append(1) or forward(x)
    elif change == "subclass":
        layer.__class__ = type("Counting", (nn.Linear,), {"forward": lambda self, x: seen.append(1) or x})
    else:
        getattr(layer, f"register_{change}")(lambda *_: seen.append(1) or None)
    assert not is_plain(layer)
    x = torch.randn(4, 48).to(BFLOAT16)
    if change == "full_backward_hook":
        project(layer, x.requires_grad_()).sum().backward()
    else:
        with torch.no_grad():
            project(layer, x)
    assert seen


@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "relu"])
def test_a_feed_forward_layer_applies_its_own_activation(monkeypatch, activation):
    torch.manual_seed(0)
    feed_forward = FeedForward(32, 64, activation).to(BFLOAT16)
    x = torch.randn(2, 9, 32).to(BFLOAT16)
    with torch.no_grad():
        fused = feed_forward(x)
        plain(monkeypatch)
        torch.testing.assert_close(feed_forward(x), fused, rtol=2e-2, atol=1e-2)


def test_a_wrapped_projection_is_asked_itself():
    feed_forward = FeedForward(32, 64, "gelu").to(BFLOAT16)
    x = torch.randn(2, 32).to(BFLOAT16)
    feed_forward.up = nn.Sequential(feed_forward.up, nn.ReLU())  # as an adapter would
    with torch.no_grad():
        expected = feed_forward.down(F.gelu(feed_forward.up(x)))
        assert torch.equal(feed_forward(x), expected)


@pytest.mark.parametrize("mixer", ["fastformer", "full"])
def test_a_whole_model_gives_nearly_the_same_with_and_without(monkeypatch, mixer):
    model = tiny_model(mixer=mixer, copy_mechanism=True).to(BFLOAT16)
    for batch in (padded_batch([40]), padded_batch([40, 9])):  # a document alone takes a product of its own
        inputs = {**batch, "decoder_input_ids": torch.full((len(batch["input_ids"]), 3), 5)}
        with monkeypatch.context() as patch, torch.no_grad():
            fused = model(**inputs).logits
            plain(patch)
            torch.testing.assert_close(model(**inputs).logits, fused, rtol=0.1, atol=0.1)
