"""What a forward pass and `generate` return on request: hidden states, attention weights, a cache that was given."""

import pytest
import torch
from transformers.cache_utils import DynamicCache, EncoderDecoderCache

from tests.tiny import VOCAB_SIZE, padded_batch, padded_labels, tiny_model

LENGTHS = [9, 4]


@pytest.fixture
def batch():
    return padded_batch(LENGTHS)


@pytest.fixture
def labels():
    return padded_labels([5, 5])


def config_asks(model):
    model.config.output_hidden_states = True
    return {}


@pytest.mark.parametrize("ask", [lambda model: {"output_hidden_states": True}, config_asks])
@pytest.mark.parametrize("bare", [False, True])
def test_hidden_states_are_the_inputs_of_the_layers_and_the_result(batch, labels, ask, bare):
    model = tiny_model(copy_mechanism=True)
    ids = model.prepare_decoder_input_ids_from_labels(labels)
    model = model.model if bare else model
    assert model(**batch, decoder_input_ids=ids).decoder_hidden_states is None
    output = model(**batch, decoder_input_ids=ids, **ask(model))
    assert [states.shape for states in output.decoder_hidden_states] == [(2, 5, 16)] * 3
    assert [states.shape for states in output.encoder_hidden_states] == [(2, 9, 16)] * 3
    assert torch.equal(output.encoder_hidden_states[-1], output.encoder_last_hidden_state)
    if bare:
        assert torch.equal(output.decoder_hidden_states[-1], output.last_hidden_state)
        first, second = model.decoder.stack.layers, output.decoder_hidden_states
        read = model.read_document(model.encoder(**batch))
        visible = batch["attention_mask"].bool()[:, None, None]
        again = first[0](second[0], None, read.cross_attention[0].keys, read.cross_attention[0].values, visible)
        torch.testing.assert_close(again, second[1])


def test_attention_weights_are_those_that_the_fused_kernel_uses(batch, labels):
    model = tiny_model(copy_mechanism=True)
    ids = model.prepare_decoder_input_ids_from_labels(labels)
    plain = model(**batch, decoder_input_ids=ids)
    output = model(**batch, decoder_input_ids=ids, output_attentions=True)
    torch.testing.assert_close(output.logits, plain.logits, rtol=1e-5, atol=1e-5)
    assert plain.decoder_attentions is plain.cross_attentions is output.encoder_attentions is None
    for weights in output.decoder_attentions:
        assert weights.shape == (2, 2, 5, 5)
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, 5))
        assert not weights.triu(1).any()
    for weights in output.cross_attentions:
        assert weights.shape == (2, 2, 5, 9)
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, 5))
        assert not weights[1, :, :, LENGTHS[1] :].any()  # padding


def test_beams_have_attention_weights_of_their_own(batch):
    model = tiny_model(copy_mechanism=True)
    ids = torch.randint(4, VOCAB_SIZE, (6, 5), generator=torch.Generator().manual_seed(0))
    document = model.read_document(model.model.encoder(**batch))
    shared = model(encoder_outputs=document, decoder_input_ids=ids, output_attentions=True).cross_attentions
    repeated = {name: values.repeat_interleave(3, dim=0) for name, values in batch.items()}
    alone = model(**repeated, decoder_input_ids=ids, output_attentions=True).cross_attentions
    torch.testing.assert_close(shared, alone, rtol=1e-5, atol=1e-5)


def test_the_encoder_says_that_it_has_no_attention_weights(batch):
    with pytest.raises(ValueError, match="the encoder has no attention weights to return"):
        tiny_model().model.encoder(**batch, output_attentions=True)


@pytest.mark.parametrize("options", [{}, {"num_beams": 3}, {"use_cache": False}, {"do_sample": True}])
def test_generate_returns_what_it_is_asked_for(batch, options):
    model = tiny_model(copy_mechanism=True)
    asked = {"output_hidden_states": True, "output_attentions": True, "return_dict_in_generate": True}
    torch.manual_seed(0)
    output = model.generate(**batch, max_new_tokens=4, min_new_tokens=4, **asked, **options)
    rows = 2 * options.get("num_beams", 1)
    for step in range(4):
        queries = step + 1 if "use_cache" in options else 1
        assert [states.shape for states in output.decoder_hidden_states[step]] == [(rows, queries, 16)] * 3
        assert [weights.shape for weights in output.decoder_attentions[step]] == [(rows, 2, queries, step + 1)] * 2
        assert [weights.shape for weights in output.cross_attentions[step]] == [(rows, 2, queries, 9)] * 2
    assert len(output.encoder_hidden_states) == 3
    assert output.encoder_attentions is None


@pytest.mark.parametrize("assistant", [{"prompt_lookup_num_tokens": 2}, "model"])
def test_assisted_generation_gives_the_greedy_text_and_hidden_states(assistant):
    model, batch = tiny_model(copy_mechanism=True), padded_batch([9])
    assistant = {"assistant_model": tiny_model(seed=1, copy_mechanism=True)} if assistant == "model" else assistant
    greedy = model.generate(**batch, max_new_tokens=8)
    output = model.generate(
        **batch, max_new_tokens=8, output_hidden_states=True, return_dict_in_generate=True, **assistant
    )
    assert torch.equal(output.sequences, greedy)
    assert len(output.decoder_hidden_states) == greedy.shape[1] - 1


@pytest.mark.parametrize("options", [{"labels": True}, {"use_cache": False}])
def test_a_cache_that_is_given_is_used(batch, labels, options):
    """As in prefix tuning: what the cache holds is read, also in training."""
    model = tiny_model(copy_mechanism=True).train()
    prefix = [torch.randn(2, 2, 3, 8, requires_grad=True) for _ in range(4)]
    own = DynamicCache()
    for layer in range(2):
        own.update(*prefix[2 * layer : 2 * layer + 2], layer)
    cache = EncoderDecoderCache(own, DynamicCache())
    if "labels" in options:
        options = {"labels": labels}
        model(**batch, **options, cache=cache).loss.backward()
    else:
        ids = model.prepare_decoder_input_ids_from_labels(labels)
        output = model(**batch, decoder_input_ids=ids, cache=cache, **options)
        assert output.cache is cache
        output.logits.sum().backward()
    assert own.get_seq_length() == 3 + 5
    assert all(values.grad.any() for values in prefix)
    assert model(**batch, labels=labels).cache is None


@pytest.mark.parametrize("bare", [False, True])
def test_a_tuple_is_returned_where_the_call_or_the_configuration_asks_for_it(batch, labels, bare):
    model = tiny_model(copy_mechanism=True)
    ids = model.prepare_decoder_input_ids_from_labels(labels)
    model = model.model if bare else model
    expected = model(**batch, decoder_input_ids=ids)[0]
    assert torch.equal(model(**batch, decoder_input_ids=ids, return_dict=False)[0], expected)
    model.config.return_dict = False
    assert isinstance(model(**batch, decoder_input_ids=ids), tuple)
