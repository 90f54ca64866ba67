"""The mixers against their literal versions: outputs and gradients, masks, lengths."""

import copy
from itertools import product

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM

from summarizer.models.encoder import EncoderStack
from summarizer.models.mixers import MIXERS, PRESETS, make_mixer
from summarizer.models.mixers.bigbird import attended_blocks
from summarizer.models.mixers.linear import positive_features
from tests import references
from tests.tiny import MIXER_OPTIONS, padded_batch, padded_labels, randomize, tiny_config, tiny_model

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
NAIVE = {
    "bigbird": references.bigbird,
    "fastformer": references.fastformer,
    "full": references.full_attention,
    "linear": references.linear,
    "linformer": references.linformer,
    "longformer": references.longformer,
    "none": references.no_mixing,
    "poolingformer": references.poolingformer,
}


def make(name="fastformer", num_heads=2, dtype=torch.float64, **options):
    torch.manual_seed(0)
    options = {**MIXER_OPTIONS.get(name, {}), **options}
    below = [randomize(make_mixer(name, D_MODEL, num_heads, options).to(dtype))]
    return randomize(make_mixer(name, D_MODEL, num_heads, options, below).to(dtype))


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
        output = forward(hidden_states, mask) * mask[..., None]  # what padding gets means nothing
        results.append([output, *torch.autograd.grad((output * weights).sum(), inputs)])
    names = ["output", "hidden_states", *(name for name, _ in module.named_parameters())]
    for name, fast, literal in zip(names, *results, strict=True):
        torch.testing.assert_close(
            fast, literal, rtol=tolerance, atol=tolerance, msg=lambda text, n=name: f"{n}: {text}"
        )


@pytest.mark.parametrize("path", LENGTHS)
@pytest.mark.parametrize("num_stages", [1, 3])
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
@pytest.mark.parametrize("lengths", [[1], [2], [3], [17], [1, 33, 2], [40, 5], [141, 65, 20]])
def test_every_mixer_equals_its_literal_version_at_any_length(name, lengths):
    assert_same_outputs_and_gradients(make(name), NAIVE[name], lengths, 1e-10)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("bigbird", {"num_random_blocks": 0}),
        ("bigbird", {"block_size": 1, "num_random_blocks": 4, "seed": 7}),
        ("bigbird", {"block_size": 8, "num_random_blocks": 2}),
        ("linformer", {"sharing": "none"}),
        ("linformer", {"sharing": "heads"}),
        ("linformer", {"sharing": "layers"}),
        ("longformer", {"num_global_tokens": 0}),
        ("longformer", {"window_size": 2, "num_global_tokens": 90}),
        ("longformer", {"window_size": 160}),
        ("poolingformer", {"pooling": "max"}),
        ("poolingformer", {"pooling": "mean", "kernel_size": 3, "stride": 5}),
        ("poolingformer", {"pooling_window_size": 160, "stride": 1, "kernel_size": 7}),
        ("poolingformer", {"window_size": 20, "pooling_window_size": 14, "stride": 7}),
    ],
)
def test_the_options_of_the_efficient_mixers_do_what_their_literal_versions_do(name, options):
    assert_same_outputs_and_gradients(make(name, **options), NAIVE[name], [141, 31, 1], 1e-10)


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


@pytest.mark.parametrize("name", sorted(MIXERS))
def test_nothing_of_length_times_length_is_kept_for_the_backward_pass(name):
    module, length = make(name, dtype=torch.float32, **{"max_length": 2048} if name == "linformer" else {}), 2048
    sizes = []
    with torch.autograd.graph.saved_tensors_hooks(lambda saved: sizes.append(saved.numel()) or saved, lambda x: x):
        module(*hidden_states_and_mask([length], torch.float32))
    assert 0 < max(sizes) < length * length / 16


def test_linear_attention_stays_finite_and_near_float32_over_65536_tokens():
    module = make("linear", dtype=torch.float32)
    hidden_states, mask = hidden_states_and_mask([65_536], torch.float32)
    hidden_states.mul_(3).requires_grad_()
    exact = module(hidden_states, mask)
    for dtype in (torch.bfloat16, torch.float16):
        with torch.autocast("cpu", dtype):
            output = module(hidden_states, mask)
        torch.testing.assert_close(output.float(), exact, rtol=0.05, atol=0.05)
    output.float().square().mean().backward()
    assert hidden_states.grad.isfinite().all()
    half = module.to(torch.float16)(hidden_states.detach().half(), mask)
    torch.testing.assert_close(half.float(), exact, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_the_features_of_linear_attention_are_positive_where_elu_plus_one_rounds_to_zero(dtype):
    values = torch.tensor([-12.0, -8.0, -1.0, 0.0, 3.0], dtype=dtype, requires_grad=True)
    features = positive_features(values)
    assert (features > 0).all()
    torch.testing.assert_close(features.float(), torch.tensor([6.1442e-6, 3.3546e-4, 0.3679, 1, 4]), rtol=0.01, atol=0)
    features.sum().backward()
    torch.testing.assert_close(values.grad.float(), features.detach().float().clamp(max=1), rtol=0.01, atol=0)


def test_a_document_past_linformers_maximum_is_named_with_both_numbers():
    module = make("linformer", max_length=20)
    module(*hidden_states_and_mask([20]))
    with pytest.raises(ValueError, match=r"21 source tokens are more than Linformer's max_length=20"):
        module(*hidden_states_and_mask([21, 3]))


@pytest.mark.parametrize("num_blocks", [9, 10, 64])
def test_bigbirds_random_blocks_are_new_ones_and_differ_by_head_layer_and_seed(num_blocks):
    r, num_heads = 2, 3
    table = attended_blocks(num_blocks, r, num_heads, 0, 0)
    assert table.shape == (num_heads, num_blocks, 5 + r)
    for own in range(1, num_blocks - 1):
        expected = {0, own - 1, own, own + 1, num_blocks - 1}
        for row in table[:, own].tolist():
            attended = [block for block in row if block >= 0]
            assert len(set(attended)) == len(attended) == len(expected) + r
            assert expected < set(attended) < set(range(num_blocks))
    assert not torch.equal(table[0], table[1])
    for other in ((1, 0), (0, 1)):
        assert not torch.equal(table, attended_blocks(num_blocks, r, num_heads, *other))
    attended_blocks.cache_clear()
    assert torch.equal(table, attended_blocks(num_blocks, r, num_heads, 0, 0))


def test_bigbirds_random_blocks_do_not_depend_on_what_was_seen_or_drawn_before():
    module, inputs = make("bigbird").train(), hidden_states_and_mask([150, 100])
    before = module(*inputs)
    for length in (400, 20, 149):
        module(*hidden_states_and_mask([length]))
    attended_blocks.cache_clear()
    torch.manual_seed(99)
    assert torch.equal(module.eval()(*inputs), before)


def test_layers_of_their_own_get_random_blocks_of_their_own_and_shared_layers_the_same():
    def layer_indices(**options):
        return [layer.mixer.layer_index for layer in EncoderStack(tiny_config(mixer="bigbird", **options)).layers]

    assert layer_indices() == [0, 1]
    assert layer_indices(share_encoder_layers=True) == [0]


def test_linformers_layers_share_one_projection_that_all_of_them_train(tmp_path):
    options = {"mixer_options": {**MIXER_OPTIONS["linformer"], "sharing": "layers"}, "encoder_layers": 3}
    model = tiny_model(mixer="linformer", **options)
    (name,) = (name for name, _ in model.named_parameters() if "length_projections" in name)
    first, *others = (layer.mixer for layer in model.model.encoder.stack.layers)
    assert [mixer.projections is first.length_projections for mixer in others] == [True, True]
    batch, labels = padded_batch([30, 12]), padded_labels([5, 3])
    gradients = []
    for trained in ([first, *others], [first]):  # in the last, what the others do to E is cut off
        for mixer in others:
            lender = first if mixer in trained else copy.deepcopy(first).requires_grad_(False)
            mixer.place_above([lender])
        model.zero_grad()
        model(**batch, labels=labels).loss.backward()
        gradients.append(model.get_parameter(name).grad.clone())
    assert not torch.allclose(*gradients, rtol=1e-2)
    for mixer in others:
        mixer.place_above([first])
    model.save_pretrained(tmp_path)
    loaded, report = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(report.values()), report
    for other in (loaded, copy.deepcopy(loaded)):
        torch.testing.assert_close(other(**batch, labels=labels).logits, model(**batch, labels=labels).logits)


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
        ("fastfomer", {}, "unknown mixer 'fastfomer'; choose from bigbird, fastformer, full, linear"),
        ("fastformer", {"stages": 2}, "stages"),
        ("fastformer", {"scores": "some"}, "scores='some'; choose from own, all"),
        ("fastformer", {"interaction": "minus"}, "choose from product, add, concat"),
        ("fastformer", {"pooling": "max"}, "choose from softmax, mean"),
        ("fastformer", {"num_stages": 0}, "num_stages=0 must be at least 1"),
        ("longformer", {"window_size": 7}, "window_size=7 must be even and at least 2"),
        ("longformer", {"num_global_tokens": -1}, "num_global_tokens=-1 must be at least 0"),
        ("bigbird", {"block_size": 0}, "block_size=0 must be at least 1"),
        ("bigbird", {"num_random_blocks": -1}, "num_random_blocks=-1 must be at least 0"),
        ("linformer", {"sharing": "all"}, "sharing='all'; choose from none, heads, key_value, layers"),
        ("linformer", {"projection_size": 0}, "projection_size=0 must be at least 1"),
        ("linformer", {"max_length": 0}, "max_length=0 must be at least 1"),
        ("linear", {"kernel": "elu"}, "'kernel'; choose from preset"),
        ("bigbird", {"block": 2}, "'block'; choose from block_size, num_random_blocks, seed, preset"),
        ("poolingformer", {"pooling": "min"}, "pooling='min'; choose from mean, max, dynamic"),
        ("poolingformer", {"kernel_size": 4}, "kernel_size=4 must be odd"),
        ("poolingformer", {"stride": 257}, "stride=257 must be from 1 to half"),
        ("poolingformer", {"pooling_window_size": 3}, "pooling_window_size=3 must be even"),
        ("full", {"preset": "thesis"}, "unknown preset 'thesis' of 'full'; choose from paper, published"),
    ],
)
def test_an_unknown_mixer_or_option_is_named(name, options, message):
    with pytest.raises(ValueError, match=message):
        make_mixer(name, D_MODEL, 2, options)


def settings_of(name, options):
    """The mixer's own settings, and the sizes of its parameters."""
    module = make_mixer(name, D_MODEL, 2, options)
    settings = {key: value for key, value in vars(module).items() if isinstance(value, int | str)}
    return settings | {key: parameter.shape for key, parameter in module.named_parameters()}


@pytest.mark.parametrize("name", sorted(MIXERS))
def test_published_is_the_default_and_options_go_over_a_preset(name):
    published, paper = settings_of(name, {"preset": "published"}), settings_of(name, {"preset": "paper"})
    assert published == settings_of(name, None)
    assert (published != paper) == (name in PRESETS["paper"])
    assert settings_of(name, {"preset": "published", **PRESETS["paper"].get(name, {})}) == paper


@pytest.mark.parametrize(
    ("name", "published", "paper"),
    [
        ("longformer", {"reach": 256, "num_global_tokens": 1}, {"reach": 32, "num_global_tokens": 64}),
        ("bigbird", {"block_size": 64, "num_random_blocks": 3}, {"block_size": 32, "num_random_blocks": 2}),
        ("linformer", {"length_projections": (1, 1, 256, 4096)}, {"length_projections": (1, 1, 64, 4096)}),
        ("poolingformer", {"reach": 64, "pooling_reach": 256, "kernel_size": 5, "stride": 4, "pooling": "dynamic"},
         {"reach": 32, "pooling_reach": 128}),
    ],
)  # fmt: skip
def test_the_presets_hold_what_was_published(name, published, paper):
    assert settings_of(name, {}).items() >= published.items()
    assert settings_of(name, {"preset": "paper"}).items() >= paper.items()
