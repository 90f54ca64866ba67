"""The copy mechanism and the loss against naive formulas in probability space."""

import pytest
import torch
import torch.nn.functional as F

from summarizer.models import seq2seq, vocabulary
from tests import references
from tests.tiny import VOCAB_SIZE, padded_batch, padded_labels, randomize, tiny_config, tiny_model

LENGTHS, TARGET_LENGTHS = [12, 5, 1], [6, 3, 1]


@pytest.fixture
def batch():
    return padded_batch(LENGTHS)


@pytest.fixture
def labels(batch):
    """Labels of which the first of each document is in its source."""
    labels = padded_labels(TARGET_LENGTHS)
    labels[:, 0] = batch["input_ids"][:, 0]
    return labels


def model_of(**options):
    return tiny_model(copy_mechanism=True, neighbor_kernel_size=3, **options).double()


def naive_probabilities(model, batch, labels):
    """p(w) of every token [B, T, V] and p_generate(w), from the model's parameters and hidden states alone."""
    copying = model.copying
    output = model.model(**batch, decoder_input_ids=model.prepare_decoder_input_ids_from_labels(labels))
    states, document = output.last_hidden_state, output.encoder_last_hidden_state
    generated = model.lm_head(states).softmax(dim=-1)
    scores = copying.query(states) @ copying.key(document).transpose(1, 2) / states.shape[-1] ** 0.5
    scores = scores.masked_fill(batch["attention_mask"][:, None] == 0, -torch.inf)
    gates = torch.sigmoid(copying.gate(states)).squeeze(-1)
    mixed = references.pointer_generator(generated, gates, scores.softmax(dim=-1), batch["input_ids"])
    return mixed, generated


def of_labels(values, labels):
    """The entries of values [B, T, V] at the real labels."""
    real = labels != -100
    return values[real].gather(1, labels[real][:, None]).squeeze(1)


def assert_close(actual, expected, tolerance=1e-10):
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


def gradients(loss, model):
    return torch.autograd.grad(loss, list(model.parameters()))


def with_gate(model, bias):
    """The model with a gate of this constant."""
    with torch.no_grad():
        model.copying.gate.weight.zero_()
        model.copying.gate.bias.fill_(bias)
    return model


def test_log_probabilities_equal_a_naive_pointer_generator_and_sum_to_one(batch, labels):
    model = model_of()
    expected, _ = naive_probabilities(model, batch, labels)
    logits = model(**batch, labels=labels).logits
    assert_close(logits.exp(), expected)
    assert_close(logits.exp().sum(dim=-1), torch.ones_like(logits[..., 0]))
    assert_close(logits.log_softmax(dim=-1), logits)


def test_loss_and_gradients_equal_a_naive_pointer_generator(batch, labels):
    model = model_of().train()
    output = model(**batch, labels=labels)
    assert output.logits is None
    mixed, _ = naive_probabilities(model, batch, labels)
    expected = -of_labels(mixed, labels).log().mean()
    assert_close(output.loss, expected)
    assert_close(gradients(output.loss, model), gradients(expected, model), 1e-8)


@pytest.mark.parametrize("copying", [True, False])
def test_training_loss_without_logits_equals_the_cross_entropy_of_evaluation_logits(batch, labels, copying):
    model = tiny_model(copy_mechanism=copying)
    evaluated = model(**batch, labels=labels)
    trained = model.train()(**batch, labels=labels)
    expected = F.cross_entropy(evaluated.logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
    assert_close(evaluated.loss, expected, 1e-5)
    assert_close(trained.loss, expected, 1e-5)


def test_label_smoothing_equals_its_formula(batch, labels):
    model = model_of()
    mixed, generated = naive_probabilities(model, batch, labels)
    uniform = generated.log().mean(dim=-1)[labels != -100]
    expected = -(0.9 * of_labels(mixed, labels).log() + 0.1 * uniform).mean()
    assert_close(model(**batch, labels=labels, label_smoothing=0.1).loss, expected)


def test_label_smoothing_without_copying_equals_torch(batch, labels):
    model = tiny_model()
    output = model(**batch, labels=labels, label_smoothing=0.1)
    expected = F.cross_entropy(output.logits.flatten(0, 1), labels.flatten(), ignore_index=-100, label_smoothing=0.1)
    assert_close(output.loss, expected, 1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("bias", [1e4, -1e4])
def test_a_gate_of_zero_or_one_gives_finite_loss_gradients_and_logits(batch, labels, bias, dtype):
    model = with_gate(model_of(), bias).to(dtype)
    labels[0, 1] = next(token for token in range(4, VOCAB_SIZE) if token not in batch["input_ids"][0])
    output = model(**batch, labels=labels)
    output.loss.backward()
    assert output.loss.isfinite()
    assert output.logits.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


def test_a_shut_gate_gives_the_generators_loss_and_an_open_one_the_pointers(batch, labels):
    model = with_gate(model_of(), -40.0)
    _, generated = naive_probabilities(model, batch, labels)
    assert_close(model(**batch, labels=labels).loss, -of_labels(generated, labels).log().mean(), 1e-8)
    copied = batch["input_ids"][:, :1]  # every label stands in its source
    model = with_gate(model, 40.0)
    mixed, _ = naive_probabilities(model, batch, copied)
    assert_close(model(**batch, labels=copied).loss, -of_labels(mixed, copied).log().mean(), 1e-8)


@pytest.mark.parametrize("copying", [True, False])
def test_loss_and_gradients_do_not_depend_on_the_chunks_of_the_vocabulary_projection(
    batch, labels, copying, monkeypatch
):
    model = tiny_model(copy_mechanism=copying).double().train()
    losses, grads = [], []
    for chunk in (1000, 4, 1):
        monkeypatch.setattr(vocabulary, "CHUNK", chunk)
        losses.append(model(**batch, labels=labels, label_smoothing=0.1).loss)
        grads.append(gradients(losses[-1], model))
    assert_close(losses, losses[:1] * 3)
    assert_close(grads, grads[:1] * 3)


def test_losses_of_micro_batches_over_the_tokens_of_all_sum_to_the_loss_of_the_batch(batch, labels):
    model = model_of().train()
    whole = model(**batch, labels=labels).loss
    count = (labels != -100).sum()
    rows = [slice(0, 1), slice(1, 3)]
    parts = [
        model(**{k: v[r] for k, v in batch.items()}, labels=labels[r], num_items_in_batch=count).loss for r in rows
    ]
    assert_close(sum(parts), whole)
    assert_close(gradients(sum(parts), model), gradients(whole, model))


@pytest.mark.parametrize("copying", [True, False])
def test_a_batch_without_targets_costs_nothing(batch, labels, copying):
    model = tiny_model(copy_mechanism=copying).train()
    loss = model(**batch, labels=torch.full_like(labels, -100)).loss
    assert loss == 0
    loss.backward()
    assert all(p.grad is None or not p.grad.any() for p in model.parameters())


def test_copying_without_token_ids_is_an_error_that_says_so(batch, labels):
    model = tiny_model(copy_mechanism=True)
    embeddings = model.get_input_embeddings()(batch["input_ids"])
    with pytest.raises(ValueError, match="the copy mechanism needs input_ids; give them beside inputs_embeds"):
        model(inputs_embeds=embeddings, attention_mask=batch["attention_mask"], labels=labels)


@pytest.mark.parametrize("copying", [False, True])
def test_embeddings_in_place_of_ids_give_the_same(batch, labels, copying):
    """With the copy mechanism, the ids are given beside them."""
    model = tiny_model(copy_mechanism=copying)
    embed = model.get_input_embeddings()
    given = {"inputs_embeds": embed(batch["input_ids"]), "attention_mask": batch["attention_mask"]}
    if copying:
        given["input_ids"] = batch["input_ids"]
    assert_close(model(**given, labels=labels).loss, model(**batch, labels=labels).loss, 1e-6)
    decoder_ids = model.prepare_decoder_input_ids_from_labels(labels)
    by_embeddings = model(**given, decoder_inputs_embeds=embed(decoder_ids)).logits
    assert_close(by_embeddings, model(**batch, decoder_input_ids=decoder_ids).logits, 1e-5)
    options = {"max_new_tokens": 6, "num_beams": 2}
    assert model.generate(**given, **options).equal(model.generate(**batch, **options))


def test_initial_copying_is_neither_shut_nor_open():
    torch.manual_seed(0)
    model = seq2seq.FastformerSummarizerForConditionalGeneration(tiny_config(copy_mechanism=True))
    log_copy, log_generate = randomize(model.copying, 0.0).log_gates(torch.randn(1, 5, 16))
    assert torch.stack([log_copy, log_generate]).min() > -3
