"""Our beam search finds what transformers' finds, and lets documents leave that are finished."""

import copy

import pytest
import torch
from transformers import LogitsProcessor, LogitsProcessorList

from summarizer.generation.beam_search import beam_search, can_search
from tests.tiny import END, padded_batch, tiny_model, up_to_the_end

LENGTHS = [20, 7, 1, 40, 33]
OPTIONS = {
    "greedy": {},
    "greedy, varied": {"no_repeat_ngram_size": 1},
    "greedy, not repeating": {"repetition_penalty": 1.5},
    "beams": {"num_beams": 3, "no_repeat_ngram_size": 2, "early_stopping": False},
    "patient beams": {"num_beams": 3, "no_repeat_ngram_size": 1, "early_stopping": "never", "length_penalty": 2.0},
    "impatient beams": {"num_beams": 4, "early_stopping": True, "length_penalty": -1.0},
    "all beams": {"num_beams": 5, "num_return_sequences": 5, "no_repeat_ngram_size": 1, "length_penalty": 2.0},
    "long enough": {"num_beams": 2, "min_new_tokens": 6, "no_repeat_ngram_size": 1, "early_stopping": True},
}


class EndSoon(LogitsProcessor):
    """Makes the end as likely as it is in a trained model, at other steps for other documents."""

    def __call__(self, input_ids, scores):
        scores = scores.clone()
        scores[:, END] += 2.0 + (input_ids.sum(dim=1) % 7 == 0) * 4.0
        return scores


@pytest.mark.parametrize("copying", [True, False], ids=["copying", "generating"])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
@pytest.mark.parametrize("seed", [20, 21, 22])
def test_it_finds_what_transformers_own_search_finds(options, copying, seed):
    model = tiny_model(seed=seed, copy_mechanism=copying)
    batch = padded_batch(LENGTHS)
    arguments = {"max_new_tokens": 14, "logits_processor": LogitsProcessorList([EndSoon()]), **options}
    expected = model.generate(**batch, **arguments)
    found = model.generate(**batch, **arguments, custom_generate=beam_search)
    assert up_to_the_end(found) == up_to_the_end(expected)


def test_finished_documents_leave_the_batch():
    model = tiny_model(seed=20, copy_mechanism=True)
    rows = []
    handle = model.register_forward_pre_hook(
        lambda _, arguments, inputs: rows.append(inputs["decoder_input_ids"].shape[0]), with_kwargs=True
    )
    kept = []

    class OfDocuments(EndSoon):
        def keep_documents(self, places):
            kept.append(places)

    processors = LogitsProcessorList([OfDocuments()])
    options = {"num_beams": 2, "early_stopping": True, "max_new_tokens": 14, "no_repeat_ngram_size": 1}
    model.generate(**padded_batch(LENGTHS), **options, logits_processor=processors, custom_generate=beam_search)
    handle.remove()
    assert rows[0] == 2 * len(LENGTHS)
    assert rows == sorted(rows, reverse=True)
    assert rows[-1] < rows[0]
    assert [2 * len(places) for places in kept] == sorted(set(rows), reverse=True)[1:]


def test_without_an_end_token_every_summary_is_as_long_as_it_may_be():
    model = tiny_model(seed=20)
    model.generation_config.eos_token_id = None
    found = model.generate(**padded_batch(LENGTHS), num_beams=2, max_new_tokens=5, custom_generate=beam_search)
    assert found.shape == (len(LENGTHS), 6)
    assert torch.equal(found, model.generate(**padded_batch(LENGTHS), num_beams=2, max_new_tokens=5))


def test_what_needs_all_rows_or_no_cache_is_left_to_transformers(bart):
    model = tiny_model(seed=20)

    def can(**options):
        config = copy.deepcopy(model.generation_config)
        config.update(**options)
        return can_search(model, config)

    assert can(num_beams=4, no_repeat_ngram_size=3)
    for option in (
        {"do_sample": True},
        {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 0.5},
        {"num_beams": 2, "force_words_ids": [[5]]},
        {"penalty_alpha": 0.6, "top_k": 4},
        {"prompt_lookup_num_tokens": 3},
        {"use_cache": False},
        {"cache_implementation": "static"},
        {"encoder_no_repeat_ngram_size": 2},
        {"guidance_scale": 1.5},
    ):
        assert not can(**option)
    assert not can_search(bart, bart.generation_config)
