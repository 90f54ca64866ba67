"""Generation: cached, uncached and step by step agree; beams share a document; the options of `generate` hold."""

from itertools import pairwise

import pytest
import torch
from transformers import GenerationMixin
from transformers.cache_utils import DynamicCache, EncoderDecoderCache

from summarizer.models import FastformerSummarizerForConditionalGeneration
from summarizer.models.copying import CopyMechanism
from summarizer.models.decoder import FEW_QUERIES, CrossAttention
from tests.tiny import END, VOCAB_SIZE, padded_batch, tiny_model, up_to_the_end

LENGTHS = [20, 7, 1, 40]
# A tiny random model likes to repeat itself; blocking n-grams makes its texts varied.
OPTIONS = {
    "greedy": {},
    "varied": {"no_repeat_ngram_size": 1},
    "beams": {"num_beams": 3, "no_repeat_ngram_size": 2},
    "many beams": {"num_beams": 5, "num_return_sequences": 5, "no_repeat_ngram_size": 1, "length_penalty": 2.0},
    "impatient beams": {"num_beams": 4, "early_stopping": True, "length_penalty": -1.0},
}
options_of_generate = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())


@pytest.fixture(params=[True, False], ids=["copying", "generating"])
def model(request):
    return tiny_model(seed=20, copy_mechanism=request.param, neighbor_kernel_size=3)


@pytest.fixture
def batch():
    return padded_batch(LENGTHS)


def generate(model, batch, **options):
    return model.generate(
        **batch, max_new_tokens=12, return_dict_in_generate=True, output_scores=True, output_logits=True, **options
    )


def assert_same_generation(first, second):
    assert first.sequences.tolist() == second.sequences.tolist()
    torch.testing.assert_close(first.logits, second.logits, rtol=1e-5, atol=1e-5)
    if first.get("sequences_scores") is not None:
        torch.testing.assert_close(first.sequences_scores, second.sequences_scores, rtol=1e-5, atol=1e-5)


def target_ids(rows, length):
    return torch.randint(4, VOCAB_SIZE, (rows, length), generator=torch.Generator().manual_seed(5))


@options_of_generate
def test_decoding_with_a_cache_equals_decoding_without(model, batch, options):
    with_cache = generate(model, batch, **options)
    assert_same_generation(with_cache, generate(model, batch, use_cache=False, **options))
    assert len({tuple(row) for row in with_cache.sequences.tolist()}) > 1


@options_of_generate
def test_decoding_with_a_static_cache_equals_a_growing_one(model, batch, options):
    static = generate(model, batch, cache_implementation="static", **options)
    assert_same_generation(static, generate(model, batch, **options))


@options_of_generate
def test_beams_that_share_a_document_equal_transformers_copies_of_it(model, batch, options, monkeypatch):
    shared = generate(model, batch, **options)
    plain = GenerationMixin._expand_inputs_for_generation
    monkeypatch.setattr(FastformerSummarizerForConditionalGeneration, "_expand_inputs_for_generation", plain)
    assert_same_generation(shared, generate(model, batch, **options))


@options_of_generate
def test_a_batch_of_four_gives_what_four_batches_of_one_give(model, batch, options):
    together = generate(model, batch, **options).sequences
    per_document = options.get("num_return_sequences", 1)
    for row, length in enumerate(LENGTHS):
        alone = generate(model, {name: v[row : row + 1, :length] for name, v in batch.items()}, **options).sequences
        mine = together[row * per_document : (row + 1) * per_document]
        assert up_to_the_end(mine) == up_to_the_end(alone)


@pytest.mark.parametrize("steps", [1, 2, 3])
@torch.no_grad()
def test_teacher_forcing_equals_going_step_by_step_with_a_cache(model, batch, steps):
    ids = target_ids(len(LENGTHS), 7)
    forced = model(**batch, decoder_input_ids=ids, use_cache=False)
    assert forced.cache is None
    document = model.model.read_document(model.model.encoder(**batch), batch["attention_mask"])
    cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
    pieces = []
    for piece in ids.split(steps, dim=1):
        output = model(encoder_outputs=document, decoder_input_ids=piece, cache=cache)
        cache = output.cache
        pieces.append(output.logits)
    torch.testing.assert_close(torch.cat(pieces, dim=1), forced.logits, rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_an_encoders_output_may_be_given_as_a_tuple_with_its_mask(batch):
    model = tiny_model()
    ids = target_ids(len(LENGTHS), 5)
    expected = model(**batch, decoder_input_ids=ids)
    given = model(
        encoder_outputs=(expected.encoder_last_hidden_state,),
        attention_mask=batch["attention_mask"],
        decoder_input_ids=ids,
    )
    torch.testing.assert_close(given.logits, expected.logits)


def test_beams_and_samples_read_one_copy_of_their_document(batch, monkeypatch):
    model = tiny_model(copy_mechanism=True)
    seen, num_reads = set(), []

    def watch(owner, name, record):
        original = getattr(owner, name)

        def watched(self, *arguments, **named):
            record(*arguments)
            return original(self, *arguments, **named)

        monkeypatch.setattr(owner, name, watched)

    def sizes(hidden_states, document, mask, _kept):
        seen.add((hidden_states.shape[0], document.keys.shape[0], document.values.shape[0], mask.shape[0]))

    def copied(hidden_states, source):
        seen.add((hidden_states.shape[0], source.keys.shape[0], source.input_ids.shape[0], source.mask.shape[0]))

    watch(CrossAttention, "forward", sizes)
    watch(CrossAttention, "read", num_reads.append)
    watch(CopyMechanism, "scores", copied)
    documents = len(LENGTHS)
    for options in ({"num_beams": 3}, {"do_sample": True, "num_return_sequences": 3}):
        seen.clear()
        num_reads.clear()
        generate(model, batch, **options)
        assert seen == {(3 * documents, documents, documents, documents)}
        assert len(num_reads) == model.config.decoder_layers


def test_the_best_beam_scores_at_least_as_well_as_greedy_and_scores_are_sums_of_log_probabilities(model, batch):
    beams = generate(model, batch, num_beams=5, num_return_sequences=5, length_penalty=0.0)
    assert beams.sequences.shape[0] == 5 * len(LENGTHS)
    scores = beams.sequences_scores.view(-1, 5)
    assert (scores.diff(dim=1) <= 0).all()
    transitions = model.compute_transition_scores(beams.sequences, beams.scores, beams.beam_indices)
    torch.testing.assert_close(transitions.sum(dim=1), beams.sequences_scores, rtol=1e-4, atol=1e-4)
    greedy = generate(model, batch)
    greedy_scores = model.compute_transition_scores(greedy.sequences, greedy.scores, normalize_logits=True)
    greedy_scores = greedy_scores.masked_fill(greedy_scores.isinf(), 0).sum(dim=1)
    assert (scores[:, 0] >= greedy_scores - 1e-4).all()


def test_sampling_repeats_with_its_seed_and_differs_between_samples(model, batch):
    def sample(seed):
        torch.manual_seed(seed)
        return generate(model, batch, do_sample=True, num_return_sequences=3, temperature=2.0).sequences.tolist()

    first = sample(0)
    assert first == sample(0)
    assert first != sample(1)
    assert len({tuple(row) for row in first}) == 3 * len(LENGTHS)


@pytest.mark.parametrize("num_beams", [1, 3])
def test_no_n_gram_repeats_where_that_is_forbidden(model, batch, num_beams):
    sequences = generate(model, batch, num_beams=num_beams, no_repeat_ngram_size=2).sequences
    for tokens in up_to_the_end(sequences):
        pairs = list(pairwise(tokens))
        assert len(pairs) == len(set(pairs))


def test_lengths_are_obeyed(model, batch):
    longer = model.generate(**batch, min_new_tokens=6, max_new_tokens=6)
    assert longer.shape[1] == 7
    assert not (longer == END).any()


def test_left_padding_of_the_decoders_prompt_changes_nothing(model, batch):
    prompts = target_ids(len(LENGTHS), 4)
    prompts[:, 0] = model.config.decoder_start_token_id
    padding = torch.zeros_like(prompts[:, :3])
    padded = torch.cat([padding, prompts], dim=1)
    mask = (torch.arange(7)[None] >= 3).expand(len(LENGTHS), -1)
    with torch.no_grad():
        bare = model(**batch, decoder_input_ids=prompts).logits
        shifted = model(**batch, decoder_input_ids=padded, decoder_attention_mask=mask).logits[:, 3:]
    torch.testing.assert_close(shifted, bare, rtol=1e-5, atol=1e-5)
    mixed, mixed_mask = padded.clone(), mask.clone()
    mixed[0], mixed_mask[0] = torch.cat([prompts[0, :1], target_ids(1, 6)[0]]), True  # one prompt is longer
    for num_beams in (1, 3):
        options = {"max_new_tokens": 5, "num_beams": num_beams, "no_repeat_ngram_size": 1, "min_new_tokens": 5}
        alone = model.generate(**batch, decoder_input_ids=prompts, **options)
        together = model.generate(**batch, decoder_input_ids=mixed, decoder_attention_mask=mixed_mask, **options)
        assert together[1:, 7:].tolist() == alone[1:, 4:].tolist()


@torch.no_grad()
def test_the_former_name_of_the_cache_is_understood(model, batch):
    start = torch.full((len(LENGTHS), 1), model.config.decoder_start_token_id)
    output = model(**batch, decoder_input_ids=start)
    with pytest.warns(FutureWarning, match="past_key_values"):
        former = model(**batch, decoder_input_ids=start + 5, past_key_values=output.cache)
    expected = model(**batch, decoder_input_ids=torch.cat([start, start + 5], dim=1))
    torch.testing.assert_close(former.logits[:, -1], expected.logits[:, -1], rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_a_tuple_is_returned_where_one_is_wanted(model, batch):
    start = torch.full((len(LENGTHS), 1), model.config.decoder_start_token_id)
    for part in (model, model.model):
        named = part(**batch, decoder_input_ids=start, use_cache=False)
        plain = part(**batch, decoder_input_ids=start, use_cache=False, return_dict=False)
        assert isinstance(plain, tuple)
        torch.testing.assert_close(plain[0], named[0])


@torch.no_grad()
def test_hidden_states_of_every_encoder_layer_are_there_on_request(model, batch):
    states = model.model.encoder(**batch, output_hidden_states=True).hidden_states
    assert len(states) == model.config.encoder_layers + 1
    output = model(**batch, decoder_input_ids=target_ids(len(LENGTHS), 2), output_hidden_states=True)
    torch.testing.assert_close(output.encoder_hidden_states, states)


@pytest.mark.parametrize("lengths", [[40], LENGTHS], ids=["one document", "padded documents"])
def test_few_queries_in_half_precision_attend_like_many_in_float32(lengths):
    attention = CrossAttention(32, 4).eval()
    mask = padded_batch(lengths)["attention_mask"].bool()[:, None, None, :]
    document = torch.randn(len(lengths), max(lengths), 32, generator=torch.Generator().manual_seed(1))
    queries = torch.randn(len(lengths), FEW_QUERIES, 32, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        expected = attention(queries, attention.read(document), mask)
        attention.bfloat16()
        found = attention(queries.bfloat16(), attention.read(document.bfloat16()), mask)
    torch.testing.assert_close(found.float(), expected, rtol=0.02, atol=0.02)
    assert (found.float() - expected).abs().mean() < 0.004
