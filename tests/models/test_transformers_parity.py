"""Longformer and BigBird give what transformers' LED and BigBird-Pegasus give with the same weights, gradients too."""

import pytest
import torch
from torch import nn
from transformers import BigBirdPegasusConfig, LEDConfig
from transformers.models.bigbird_pegasus.modeling_bigbird_pegasus import (
    BigBirdPegasusBlockSparseAttention,
    BigBirdPegasusEncoder,
)
from transformers.models.led.modeling_led import LEDEncoderSelfAttention

from summarizer.models.mixers import make_mixer
from summarizer.models.mixers.bigbird import attended_blocks
from tests.tiny import randomize

D_MODEL, NUM_HEADS = 32, 4


def copy_weights(ours, theirs, names):
    """Give `theirs` the rows of our linear maps; a bias that they lack becomes 0 in ours."""
    with torch.no_grad():
        for name, parts in names.items():
            linear = getattr(ours, name)
            for part, weight, bias in zip(
                parts, linear.weight.chunk(len(parts)), linear.bias.chunk(len(parts)), strict=True
            ):
                target = getattr(theirs, part)
                target.weight.copy_(weight)
                if target.bias is None:
                    bias.zero_()
                else:
                    target.bias.copy_(bias)


def assert_same(ours, theirs, names, lengths, run_theirs):
    """Real tokens' outputs and the gradients of hidden states to 1e-5 in float32; those of every weight nearly so."""
    total = max(lengths)
    hidden_states = torch.randn(len(lengths), total, D_MODEL, requires_grad=True)
    mask = torch.arange(total)[None] < torch.tensor(lengths)[:, None]
    weights = torch.randn_like(hidden_states) * mask[..., None]
    our_output = ours(hidden_states, mask)
    their_output = ours.output(run_theirs(hidden_states, mask))
    torch.testing.assert_close(our_output[mask], their_output[mask], rtol=1e-5, atol=1e-5)
    our_linears = [getattr(ours, name).weight for name in names]
    their_linears = [getattr(theirs, part).weight for parts in names.values() for part in parts]
    our_input, *our_gradients = torch.autograd.grad((our_output * weights).sum(), [hidden_states, *our_linears])
    their_input, *their_gradients = torch.autograd.grad((their_output * weights).sum(), [hidden_states, *their_linears])
    torch.testing.assert_close(our_input, their_input, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(torch.cat(our_gradients), torch.cat(their_gradients), rtol=1e-5, atol=5e-5)  # sums


@pytest.mark.parametrize("num_global_tokens", [0, 1, 3])
@pytest.mark.parametrize(("window_size", "lengths"), [(8, [160, 150]), (8, [8, 3]), (64, [192, 64, 130]), (160, [160])])
def test_longformer_equals_led(window_size, lengths, num_global_tokens):
    torch.manual_seed(0)
    options = {"window_size": window_size, "num_global_tokens": num_global_tokens}
    ours = randomize(make_mixer("longformer", D_MODEL, NUM_HEADS, options))
    config = LEDConfig(d_model=D_MODEL, encoder_attention_heads=NUM_HEADS, attention_window=[window_size])
    theirs = LEDEncoderSelfAttention(config, layer_id=0).eval()
    names = {"query_key_value": ["query", "key", "value"]}
    if num_global_tokens:
        names |= {"global_query": ["query_global"], "global_key_value": ["key_global", "value_global"]}
    copy_weights(ours, theirs, names)

    def run_theirs(hidden_states, mask):
        is_global = torch.zeros_like(mask)
        is_global[:, :num_global_tokens] = True
        numbers = torch.where(mask, torch.where(is_global, 10_000.0, 0.0), -10_000.0)  # LED's own encoding
        return theirs(hidden_states, numbers, ~mask, is_global, num_global_tokens > 0)[0]

    assert_same(ours, theirs, names, lengths, run_theirs)


@pytest.mark.parametrize("layer_index", [0, 2])
@pytest.mark.parametrize(("block_size", "num_random_blocks", "length"), [(4, 1, 52), (4, 3, 60), (16, 2, 320)])
def test_bigbird_equals_bigbird_pegasus_with_the_same_random_blocks(
    monkeypatch, block_size, num_random_blocks, length, layer_index
):
    torch.manual_seed(0)
    options = {"block_size": block_size, "num_random_blocks": num_random_blocks}
    ours = randomize(make_mixer("bigbird", D_MODEL, NUM_HEADS, options, below=[nn.Identity()] * layer_index))
    config = BigBirdPegasusConfig(d_model=D_MODEL, encoder_attention_heads=NUM_HEADS, **options)
    theirs = BigBirdPegasusBlockSparseAttention(config).train()  # in evaluation theirs has block 0 for every random one
    chosen = attended_blocks(length // block_size, num_random_blocks, NUM_HEADS, 0, layer_index)[:, 1:-1, 5:]
    monkeypatch.setattr(theirs, "_bigbird_block_rand_mask_with_head", lambda **_: list(chosen.numpy()))
    names = {"query_key_value": ["query", "key", "value"]}
    copy_weights(ours, theirs, names)

    def run_theirs(hidden_states, mask):
        blocked, band, from_mask, to_mask = BigBirdPegasusEncoder.create_masks_for_block_sparse_attn(
            mask.float(), block_size
        )
        return theirs(hidden_states, band, from_mask, to_mask, blocked, blocked)[0]

    # All but the last tokens are real: theirs takes the last block of the batch for global, ours the document's own.
    assert_same(ours, theirs, names, [length, length - block_size + 1], run_theirs)
