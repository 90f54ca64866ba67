import pytest
import torch
import torch.nn.functional as F

from summarizer.models.copying import NEVER
from summarizer.models.sentences import choose_by_tokens, gather_tokens, sentence_ids_of, tokens_of
from tests.tiny import END, padded_labels, tiny_model

BREAK = 30
OPTIONS = {"sentence_selection": True, "line_break_token_id": BREAK, "copy_mechanism": True, "selected_tokens": 5}


def document_ids():
    """Two documents: sentences of 3, 2, 4 and 1 tokens, and of 2 and 2 tokens."""
    first = [5, 6, 7, BREAK, 8, 9, BREAK, 10, 11, 12, 13, BREAK, 14, END]
    second = [15, 16, BREAK, 17, 18, END]
    ids = torch.tensor([first, second + [0] * 8])
    return ids, (ids != 0).long()


def test_the_best_sentences_are_chosen_up_to_a_number_of_tokens():
    ids, mask = document_ids()
    sentence_ids = sentence_ids_of(tiny_model(**OPTIONS).config, ids, mask.bool())
    scores = torch.tensor([[1.0, 4.0, 3.0, 2.0], [1.0, 2.0, -9.0, -9.0]])
    chosen = choose_by_tokens(scores, sentence_ids, most=6)
    assert chosen.tolist() == [[False, True, True, False], [True, True, False, False]]
    only_best = choose_by_tokens(scores, sentence_ids, most=1)
    assert only_best.tolist() == [[False, True, False, False], [False, True, False, False]]


def test_chosen_sentences_keep_their_line_breaks_and_their_order():
    ids, mask = document_ids()
    sentence_ids = sentence_ids_of(tiny_model(**OPTIONS).config, ids, mask.bool())
    kept = tokens_of(torch.tensor([[False, True, False, True], [True, False, False, False]]), sentence_ids)
    new_mask, new_ids, twice = gather_tokens(kept, ids, torch.stack([ids, ids], dim=-1))
    assert new_ids[0].tolist() == [8, 9, BREAK, 14, END]
    assert new_ids[1][new_mask[1]].tolist() == [15, 16, BREAK]
    assert new_mask.sum(dim=1).tolist() == [5, 3]
    assert torch.equal(twice[..., 1], new_ids)


def test_the_decoder_reads_the_selected_sentences_alone():
    model = tiny_model(**OPTIONS)
    ids, mask = document_ids()
    labels = padded_labels([4, 4])
    read = model.model.encoder(ids, mask)
    scored = model.score_sentences(read)
    selected = model.select(read, scored)
    assert selected.last_hidden_state.shape[1] < ids.shape[1]
    whole = model(ids, mask, labels=labels)
    torch.testing.assert_close(model(encoder_outputs=selected, labels=labels).loss, whole.loss)
    # states outside the selection do not matter to the decoder
    noisy = model.model.encoder(ids, mask)
    outside = ~tokens_of(choose_by_tokens(scored.scores, scored.sentence_ids, 5), scored.sentence_ids)
    noisy.last_hidden_state = noisy.last_hidden_state + 100 * outside[..., None]
    torch.testing.assert_close(model(encoder_outputs=model.select(noisy, scored), labels=labels).loss, whole.loss)


def test_generate_selects_and_a_given_choice_counts():
    model = tiny_model(**OPTIONS)
    ids, mask = document_ids()
    read = model.model.encoder(ids, mask)
    scored = model.score_sentences(read)
    options = {"max_new_tokens": 6, "num_beams": 2}
    own = model.generate(encoder_outputs=model.select(read, scored), **options)
    assert torch.equal(model.generate(ids, attention_mask=mask, **options), own)
    others = ~choose_by_tokens(scored.scores, scored.sentence_ids, 5) & scored.mask
    with torch.no_grad():
        given = model.select(read, scored, others)
    assert given.sentence_ids[0].unique().tolist() != model.select(read, scored).sentence_ids[0].unique().tolist()


def test_copying_points_at_places_in_the_whole_document():
    model = tiny_model(**OPTIONS)
    ids, mask = document_ids()
    target = torch.tensor([[2, 9, 11], [2, 8, 12]])
    found = model.copy_scores(ids, target, mask)
    read = model.model.encoder(ids, mask)
    scored = model.score_sentences(read)
    kept = tokens_of(choose_by_tokens(scored.scores, scored.sentence_ids, 5), scored.sentence_ids) & mask.bool()
    assert found.shape == (2, 3, ids.shape[1])
    assert (found[~kept[:, None].expand_as(found)] == NEVER).all()
    for row in range(2):
        keys = model.copying.key(read.last_hidden_state[row, kept[row]])
        states = model.model(encoder_outputs=model.select(read, scored), decoder_input_ids=target).last_hidden_state[
            row
        ]
        expected = model.copying.query(states) @ keys.T * keys.shape[-1] ** -0.5
        torch.testing.assert_close(found[row][:, kept[row]], expected)


def test_the_loss_adds_the_weighted_cross_entropy_of_the_sentences_which_are_read_first():
    model = tiny_model(**OPTIONS)
    ids, mask = document_ids()
    labels = padded_labels([4, 2])
    sentence_labels = torch.tensor([[0, 0, 0, 1], [1, 0, -100, -100]])
    read = model.model.encoder(ids, mask)
    scored = model.score_sentences(read)
    real = sentence_labels >= 0
    expected = F.binary_cross_entropy_with_logits(scored.scores[real], sentence_labels[real].float())
    first = scored._replace(scores=scored.scores.masked_fill(sentence_labels == 1, torch.inf))
    plain = model(encoder_outputs=model.select(read, first), labels=labels).loss
    joint = model(ids, mask, labels=labels, sentence_labels=sentence_labels, sentence_loss_weight=3.0)
    torch.testing.assert_close(joint.loss, plain + 3 * expected)
    joint.loss.backward()
    assert model.scorer.score.weight.grad.abs().sum() > 0


def test_a_model_without_selection_says_so():
    model = tiny_model()
    ids, mask = document_ids()
    with pytest.raises(ValueError, match="selects no sentences"):
        model.score_sentences(model.model.encoder(ids, mask))
