"""Padding never changes what real tokens give: encoder, logits and loss, for every mixer, at every batch size."""

from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from summarizer.models.mixers import MIXERS
from tests.tiny import FIRST_WORD, VOCAB_SIZE, padded_batch, padded_labels, tiny_model

LENGTHS = [1, 2, 9, 40]  # d = 16: above 32 tokens the Fastformer folds, below it does not


@cache
def model_of(mixer, norm="pre", copying=True):
    model = tiny_model(mixer=mixer, norm=norm, copy_mechanism=copying, neighbor_kernel_size=5, positions="learned")
    return model.double()


@torch.no_grad()
def results(model, batch, labels):
    """Hidden states of the source [B, N, d], logits [B, T, V], and the loss of each document [B]."""
    output = model(**batch, labels=labels)
    losses = []
    for row in range(len(labels)):
        one = {name: values[row : row + 1] for name, values in batch.items()}
        losses.append(model(**one, labels=labels[row : row + 1]).loss)
    return output.encoder_last_hidden_state, output.logits, torch.stack(losses)


def assert_close(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("mixer", sorted(MIXERS))
def test_a_padded_batch_gives_what_each_document_gives_alone(mixer, norm):
    model, labels = model_of(mixer, norm), padded_labels([6, 1, 3, 5])
    batch = padded_batch(LENGTHS, total=45)
    hidden_states, logits, losses = results(model, batch, labels)
    for row, length in enumerate(LENGTHS):
        alone = {name: values[row : row + 1, :length] for name, values in batch.items()}
        real = labels[row] != -100
        target = labels[row : row + 1, : int(real.sum())]
        one_hidden, one_logits, one_loss = results(model, alone, target)
        assert_close(hidden_states[row, :length], one_hidden[0])
        assert_close(logits[row, real], one_logits[0])
        assert_close(losses[row], one_loss[0])
    counts = (labels != -100).sum(dim=1)
    with torch.no_grad():
        together = model(**batch, labels=labels).loss
    assert_close(together, (losses * counts).sum() / counts.sum())


@pytest.mark.parametrize("mixer", sorted(MIXERS))
@pytest.mark.parametrize("length", [1, 2, 7, 40])
def test_one_document_alone_may_be_padded(mixer, length):
    model, labels = model_of(mixer), padded_labels([4])
    batch = padded_batch([length], total=60)
    padded = results(model, batch, labels)
    bare = results(model, {name: values[:, :length] for name, values in batch.items()}, labels)
    assert_close(padded[0][:, :length], bare[0])
    assert_close(padded[1:], bare[1:])


@pytest.mark.parametrize("mixer", sorted(MIXERS))
def test_no_attention_mask_means_no_padding(mixer):
    model, labels = model_of(mixer), padded_labels([4, 4])
    batch = padded_batch([8, 8])
    assert_close(results(model, {"input_ids": batch["input_ids"]}, labels), results(model, batch, labels))


@pytest.mark.parametrize("mixer", sorted(MIXERS))
def test_a_document_without_tokens_is_finite_and_leaves_the_others_alone(mixer):
    model, labels = model_of(mixer), padded_labels([5, 5])
    batch = padded_batch([7, 0])
    with_empty = model(**batch, labels=labels)
    assert with_empty.loss.isfinite()
    assert with_empty.logits.isfinite().all()
    torch.testing.assert_close(with_empty.logits.logsumexp(dim=-1).exp(), torch.ones(2, 5, dtype=torch.float64))
    with_empty.loss.backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    alone = model(**{name: values[:1] for name, values in batch.items()}, labels=labels[:1])
    assert_close(with_empty.logits[:1], alone.logits)


@pytest.mark.parametrize("mixer", sorted(MIXERS))
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_what_stands_in_the_padding_never_matters(mixer, data):
    model = model_of(mixer)
    size, length = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 45))
    bits = data.draw(st.lists(st.booleans(), min_size=size * length, max_size=size * length))
    mask = torch.tensor(bits).view(size, length)
    mask[:, data.draw(st.integers(0, length - 1))] = True
    seed = data.draw(st.integers(0, 1000))
    generator = torch.Generator().manual_seed(seed)
    ids, others = torch.randint(FIRST_WORD, VOCAB_SIZE, (2, size, length), generator=generator)
    labels = padded_labels([4] * size, seed)
    before = results(model, {"input_ids": ids, "attention_mask": mask}, labels)
    after = results(model, {"input_ids": torch.where(mask, ids, others), "attention_mask": mask}, labels)
    assert_close(after[0][mask], before[0][mask])
    assert_close(after[1:], before[1:])


def test_too_long_a_document_for_learned_positions_is_named():
    model = tiny_model(positions="learned", max_source_positions=8)
    with pytest.raises(ValueError, match="9 source tokens are more than the 8 learned positions"):
        model(**padded_batch([9]), labels=padded_labels([2]))
