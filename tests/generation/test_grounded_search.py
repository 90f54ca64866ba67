"""Reading all tokens up to the next decision at once changes nothing in what is written, and in its scores."""

import random

import pytest
import torch
from transformers import LogitsProcessorList

from summarizer.generation.beam_search import beam_search
from summarizer.generation.constraints import Pieces, RefuseNonFinite
from summarizer.generation.grounded_search import grounded_search
from summarizer.generation.grounding import GroundedWriting
from summarizer.padding import pad_with_mask
from tests.corpus import tiny_tokenizer
from tests.generation.test_grounding import encode, line_break, random_document
from tests.tiny import END, tiny_model, up_to_the_end

SIZES = [1, 4, 2, 7]
LONGEST = 150


@pytest.fixture(scope="module")
def model():
    """A random model with strong opinions."""
    model = tiny_model(vocab_size=len(tiny_tokenizer()), max_source_positions=1000, copy_mechanism=True)
    with torch.no_grad():
        model.lm_head.weight.copy_(3 * torch.randn_like(model.lm_head.weight))
    return model


@pytest.fixture(scope="module")
def documents():
    generator = random.Random(3)
    return [random_document(generator, size) for size in SIZES]


def inputs(documents):
    return pad_with_mask([tiny_tokenizer()("\n".join(document)).input_ids for document in documents], 0)


def grounding(documents, longest=LONGEST):
    scores = [[-(len(line) % 7) / 2 for line in document] for document in documents]
    encoded = [encode(document) for document in documents]
    return GroundedWriting(Pieces(tiny_tokenizer()), encoded, line_break(), END, longest, sentence_scores=scores)


def write(model, documents, search, longest=LONGEST, **options):
    processors = LogitsProcessorList([RefuseNonFinite(), grounding(documents, longest)])
    return model.generate(
        **inputs(documents), max_new_tokens=longest, logits_processor=processors, custom_generate=search, **options
    )


@pytest.mark.parametrize("longest", [20, LONGEST])
def test_with_one_beam_it_writes_what_a_step_for_each_token_writes(model, documents, longest):
    found = write(model, documents, grounded_search, longest)
    assert up_to_the_end(found) == up_to_the_end(write(model, documents, beam_search, longest))


def log_probability(model, documents, number, row):
    """Of a summary, with a step for each token and without a cache."""
    processor = grounding(documents[number : number + 1])
    batch, total = inputs(documents[number : number + 1]), 0.0
    for length in range(1, row.index(END) + 1):
        read = torch.tensor([row[:length]])
        with torch.no_grad():
            logits = model(**batch, decoder_input_ids=read, use_cache=False).logits[:, -1]
        total += float(processor(read, logits.log_softmax(dim=-1))[0, row[length]])
    return total


def test_each_beam_sees_its_own_tokens_alone(model, documents, monkeypatch):
    found = {}

    def result(end, best):
        found.update({number: list(each) for number, each in enumerate(best)})
        return torch.tensor([[0]])

    monkeypatch.setattr("summarizer.generation.grounded_search.SearchEnd.result", result)
    write(model, documents, grounded_search, num_beams=3, length_penalty=0.0)
    several = 0
    for number, best in found.items():
        several += len(best) > 1
        for score, row in best:
            assert score == pytest.approx(log_probability(model, documents, number, row.tolist()), abs=1e-4)
    assert several >= 3


def test_a_step_reads_up_to_the_next_decision(model, documents):
    reads = []
    handle = model.model.register_forward_pre_hook(
        lambda _, arguments, inputs: reads.append(inputs["decoder_input_ids"].shape), with_kwargs=True
    )
    found = write(model, documents, grounded_search, num_beams=2)
    handle.remove()
    assert len(reads) < found.shape[1] / 2
    assert reads[0][0] == len(documents) > reads[-1][0]


@pytest.mark.parametrize("options", [{"min_new_tokens": 30}, {"no_repeat_ngram_size": 4}], ids=str)
def test_other_constraints_get_a_step_for_each_token(model, documents, options):
    options = {"num_beams": 2, **options}
    assert torch.equal(
        write(model, documents, grounded_search, **options), write(model, documents, beam_search, **options)
    )


def test_as_many_summaries_come_as_were_asked_for(model, documents):
    rows = write(model, documents[:1], grounded_search, num_beams=4, num_return_sequences=4).tolist()
    assert len(rows) == 4
    own = grounding(documents[:1])
    assert all(own.lines(0, row[1 : row.index(END)]) for row in rows)
