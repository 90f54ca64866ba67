import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from summarizer.models import FastformerSummarizerForSentenceSelection
from summarizer.models.mixers import MIXERS
from summarizer.models.sentences import sentence_ids_of
from tests.tiny import END, FIRST_WORD, MIXER_OPTIONS, padded_batch, randomize, tiny_config

BREAK = 30  # the token of a line break
ABLATIONS = [
    {},
    {"document_product": False},
    {"document_cosines": False},
    {"document_product": False, "document_cosines": False},
    {"sentence_layers": 0},
    {"norm": "post"},
]


def selector(seed=0, **options):
    torch.manual_seed(seed)
    config = tiny_config(**{"line_break_token_id": BREAK, "sentence_ffn_dim": 24, "neighbor_kernel_size": 3, **options})
    return randomize(FastformerSummarizerForSentenceSelection(config)).eval().double()


def documents(lengths):
    """Documents of sentences of these lengths, each with a line break between sentences and the end token: a batch."""
    sizes = [sum(each) + len(each) for each in lengths]
    batch = padded_batch(sizes)
    ids = batch["input_ids"]
    ids[ids == BREAK] = FIRST_WORD
    for row, each in enumerate(lengths):
        position = -1
        for length in each:
            position += length + 1
            ids[row, position] = BREAK
        ids[row, position] = END
    return batch


LENGTHS = [[4, 1, 3, 9], [5], [2, 7]]


def naive_scores(model, input_ids) -> Tensor:
    """The scores [S] of one document [N] without padding, a sentence at a time."""
    config, scorer = model.config, model.scorer
    states = model.encoder(input_ids[None]).last_hidden_state[0]
    lines: list[list[int]] = [[]]
    for position, token in enumerate(input_ids.tolist()):
        if token == BREAK:
            lines.append([])
        elif token != END:
            lines[-1].append(position)
    sentences = torch.stack([states[line].mean(dim=0) for line in lines])[None]
    for layer in scorer.layers:
        sentences = layer(sentences, torch.ones(1, len(lines), dtype=torch.bool))
    sentences = scorer.norm(sentences)[0]
    if scorer.comparison is not None:
        weights = scorer.comparison.token_weights.exp()
        embedding = model.encoder.embed_tokens.weight
        pooled = [sum(weights[input_ids[i]] * embedding[input_ids[i]] for i in line) for line in lines]
        document = sum(pooled)
        extras = []
        if config.document_product:
            unit = document / document.norm()
            extras.append(torch.stack([math.sqrt(config.d_model) * (p / p.norm()) * unit for p in pooled]))
        if config.document_cosines:
            for other in (document, pooled[0]):
                cosines = torch.stack([F.cosine_similarity(p, other, dim=0) for p in pooled])
                variance = cosines.var(unbiased=False)
                extras.append(((cosines - cosines.mean()) / (variance + 1e-6).sqrt())[:, None])
        sentences = torch.cat([sentences, *extras], dim=-1)
    return scorer.score(F.gelu(scorer.hidden(sentences))).squeeze(-1)


@pytest.mark.parametrize("options", ABLATIONS, ids=str)
def test_scores_and_gradients_are_those_of_the_naive_form(options):
    model, batch = selector(**options), documents(LENGTHS)
    output = model(**batch)
    pairs = zip(batch["input_ids"], batch["attention_mask"], strict=True)
    naive = [naive_scores(model, ids[mask.bool()]) for ids, mask in pairs]
    for row, expected in enumerate(naive):
        torch.testing.assert_close(output.logits[row, : len(expected)], expected, rtol=1e-9, atol=1e-9)
    assert output.sentence_mask.tolist() == [[True] * 4, [True] + [False] * 3, [True] * 2 + [False] * 2]
    assert (output.logits[~output.sentence_mask] == torch.finfo(torch.float64).min).all()
    weights = torch.randn(7, dtype=torch.float64)
    parameters = [each for each in model.parameters() if each.requires_grad]
    ours = torch.autograd.grad((output.logits[output.sentence_mask] * weights).sum(), parameters)
    theirs = torch.autograd.grad((torch.cat(naive) * weights).sum(), parameters)
    for actual, expected in zip(ours, theirs, strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("mixer", sorted(MIXERS))
def test_padding_changes_no_score(mixer):
    options = {"mixer": mixer, "sentence_mixer": mixer, "sentence_mixer_options": MIXER_OPTIONS.get(mixer)}
    model, batch = selector(**options), documents(LENGTHS)
    scores = model(**batch).logits
    for row, lengths in enumerate(LENGTHS):
        ids = batch["input_ids"][row : row + 1, : sum(lengths) + len(lengths)]
        alone = model(input_ids=ids).logits
        torch.testing.assert_close(scores[row : row + 1, : len(lengths)], alone)


def test_what_stands_in_the_padding_never_matters():
    model, batch = selector(), documents(LENGTHS)
    other = torch.where(batch["attention_mask"].bool(), batch["input_ids"], BREAK)
    torch.testing.assert_close(model(other, batch["attention_mask"]).logits, model(**batch).logits)


def test_the_loss_is_the_mean_over_sentences_or_a_share_of_the_sum():
    model, batch = selector(), documents(LENGTHS)
    labels = torch.tensor([[1, 0, 0, 1], [0, -100, -100, -100], [-100, 1, -100, -100]])
    output = model(**batch, labels=labels)
    scores = torch.cat([output.logits[0], output.logits[1, :1], output.logits[2, 1:2]])
    expected = torch.tensor([1, 0, 0, 1, 0, 1], dtype=torch.float64)
    torch.testing.assert_close(output.loss, F.binary_cross_entropy_with_logits(scores, expected))
    shared = model(**batch, labels=labels, num_items_in_batch=12)
    torch.testing.assert_close(shared.loss, output.loss * 6 / 12)
    smoothed = model(**batch, labels=labels, label_smoothing=0.2).loss
    torch.testing.assert_close(smoothed, F.binary_cross_entropy_with_logits(scores, expected * 0.8 + 0.1))
    assert torch.equal(model(**batch, return_dict=False)[0], output.logits)


def test_sentences_may_be_given_as_an_id_for_each_token():
    model, batch = selector(), documents(LENGTHS)
    ids = sentence_ids_of(model.config, batch["input_ids"], batch["attention_mask"].bool())
    given = selector(line_break_token_id=None)(**batch, sentence_ids=ids).logits
    torch.testing.assert_close(given, model(**batch).logits)
    with pytest.raises(ValueError, match="line_break_token_id is not set"):
        selector(line_break_token_id=None)(**batch)


@pytest.mark.parametrize("options", ABLATIONS, ids=str)
def test_documents_without_sentences_are_finite_and_leave_the_others_alone(options):
    model, batch = selector(**options), documents([[4, 2], [1, 1]])
    alone = model(batch["input_ids"][:1], batch["attention_mask"][:1]).logits
    batch["attention_mask"][1] = 0
    output = model(**batch, labels=torch.tensor([[1, 0], [-100, -100]]))
    torch.testing.assert_close(output.logits[:1], alone)
    output.loss.backward()
    assert all(each.grad is None or each.grad.isfinite().all() for each in model.parameters())


def test_large_token_weights_do_not_overflow():
    model, batch = selector(), documents(LENGTHS)
    before = model(**batch).logits
    with torch.no_grad():
        model.scorer.comparison.token_weights += 2000
    torch.testing.assert_close(model(**batch).logits, before)


def test_token_weights_start_at_zero_or_at_log_idf():
    model = FastformerSummarizerForSentenceSelection(tiny_config())
    weights = model.scorer.comparison.token_weights
    assert not weights.any()
    model.scorer.comparison.start_token_weights(torch.linspace(0, 3.9, 40))
    torch.testing.assert_close(weights[[0, 10, 39]].exp(), torch.tensor([0.01, 1.0, 3.9]))


def test_it_is_saved_and_loaded_bit_for_bit(tmp_path):
    model = selector(share_encoder_layers=True).float()
    model.save_pretrained(tmp_path)
    loaded = FastformerSummarizerForSentenceSelection.from_pretrained(tmp_path)
    assert loaded.state_dict().keys() == model.state_dict().keys()
    for name, value in loaded.state_dict().items():
        assert torch.equal(value, model.state_dict()[name]), name


def test_it_trains_under_gradient_checkpointing_to_the_same_gradients():
    gradients = []
    for checkpointing in (False, True):
        model = selector().train()
        if checkpointing:
            model.activation_checkpointing_enable({"use_reentrant": False})
        labels = torch.tensor([[1, 0, 0, 1], [0, -100, -100, -100], [0, 1, -100, -100]])
        model(**documents(LENGTHS), labels=labels).loss.backward()
        gradients.append({name: parameter.grad for name, parameter in model.named_parameters()})
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], gradient)


def test_wrong_options_are_named():
    for options, message in (
        ({"sentence_kernel_size": 2}, "sentence_kernel_size=2 must be odd"),
        ({"sentence_layers": -1}, "sentence_layers=-1 must be at least 0"),
        ({"line_break_token_id": 40}, "line_break_token_id=40 is not in the vocabulary of 40"),
    ):
        with pytest.raises(ValueError, match=message):
            tiny_config(**options)
    with pytest.raises(ValueError, match="unknown mixer 'fast'"):
        selector(sentence_mixer="fast")
