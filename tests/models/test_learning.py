"""A tiny model learns a toy task in seconds."""

import pytest
import torch

from summarizer.models import FastformerSummarizerForConditionalGeneration
from summarizer.models.mixers import MIXERS
from tests.tiny import FIRST_WORD, VOCAB_SIZE, tiny_config

END = 3


def fresh_model(**options):
    torch.manual_seed(0)
    sizes = {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64}
    return FastformerSummarizerForConditionalGeneration(tiny_config(**sizes, neighbor_kernel_size=3, **options))


def first_words(generator, num_documents):
    """Documents of 16 random words, and as the summary of each its first four."""
    documents = torch.randint(FIRST_WORD, VOCAB_SIZE, (num_documents, 16), generator=generator)
    return documents, torch.cat([documents[:, :4], torch.full((num_documents, 1), END)], dim=1)


def train(model, batches, steps):
    """The loss at each step."""
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    for _, (documents, labels) in zip(range(steps), batches, strict=False):
        loss = model(input_ids=documents, labels=labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def accuracy(model, documents, labels):
    summaries = model.eval().generate(documents, min_new_tokens=4, max_new_tokens=5)[:, 1:]
    return (summaries == labels).float().mean().item()


@pytest.mark.parametrize("mixer", sorted(MIXERS))
def test_copying_the_first_words_of_documents_never_seen_is_learned(mixer):
    generator = torch.Generator().manual_seed(0)
    model = fresh_model(copy_mechanism=True, mixer=mixer)
    losses = train(model, iter(lambda: first_words(generator, 32), None), 80)
    assert losses[-1] < 0.1 < losses[0]
    assert accuracy(model, *first_words(generator, 64)) > 0.95


def test_without_copying_the_loss_of_the_same_task_falls():
    generator = torch.Generator().manual_seed(0)
    losses = train(fresh_model(), iter(lambda: first_words(generator, 32), None), 120)
    assert sum(losses[-10:]) < 0.7 * sum(losses[:10])


@pytest.mark.parametrize("options", [{}, {"norm": "post", "share_encoder_layers": True, "positions": "learned"}])
def test_one_batch_is_learned_by_heart(options):
    batch = first_words(torch.Generator().manual_seed(0), 4)
    model = fresh_model(**options)
    losses = train(model, iter(lambda: batch, None), 100)
    assert losses[-1] < 0.05
    assert accuracy(model, *batch) == 1
