import pytest
import torch
import torch.nn.functional as F
from transformers import BartConfig, BartForConditionalGeneration, LEDConfig, LEDForConditionalGeneration

from summarizer.data.batching import num_labels_in
from summarizer.training.summarization import summed_loss
from tests.tiny import VOCAB_SIZE, padded_batch, padded_labels, randomize, tiny_model

SIZES = {
    "vocab_size": VOCAB_SIZE, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "dropout": 0.0, "init_std": 0.2,
    "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "decoder_start_token_id": 3,
}  # fmt: skip


def tiny_bart():
    torch.manual_seed(0)
    return BartForConditionalGeneration(BartConfig(max_position_embeddings=64, **SIZES)).train()


def make_batch(source_lengths, target_lengths):
    return {**padded_batch(source_lengths), "labels": padded_labels(target_lengths)}


MODELS = {
    "ours": lambda: tiny_model().train(),
    "copying": lambda: tiny_model(copy_mechanism=True).train(),
    "bart": tiny_bart,
}


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]()


def gradients_of(model):
    gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad(set_to_none=True)
    return gradients


@pytest.mark.parametrize(
    ("name", "smoothing"),  # smoothed copying is no cross-entropy of logits
    [("ours", 0.0), ("ours", 0.2), ("copying", 0.0), ("bart", 0.0), ("bart", 0.2)],
)
def test_the_loss_is_the_sum_of_cross_entropies_over_real_targets(name, smoothing):
    model, batch = MODELS[name](), make_batch([9, 6, 4], [5, 2, 3])
    with torch.no_grad():  # no dropout here, so that evaluation mode changes nothing but what is returned
        logits = model.eval()(**batch).logits
        expected = sum(
            F.cross_entropy(row[labels >= 0], labels[labels >= 0], reduction="sum", label_smoothing=smoothing)
            for row, labels in zip(logits, batch["labels"], strict=True)
        )
        loss = summed_loss(model.train(), batch, smoothing)
    assert loss.dtype == torch.float32
    assert float(loss) == pytest.approx(float(expected), rel=1e-5)
    assert num_labels_in(batch) == 10


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_micro_batches_of_unequal_lengths_add_up_to_the_gradients_of_one_batch(model, smoothing):
    whole = make_batch([9, 6, 4, 7], [5, 1, 3, 8])
    (summed_loss(model, whole, smoothing) / 17).backward()
    expected = gradients_of(model)
    for row in range(4):
        part = {name: tensor[row : row + 1] for name, tensor in whole.items()}
        source, target = part["attention_mask"].sum(), (part["labels"] >= 0).sum()
        part = {name: tensor[:, : target if name == "labels" else source] for name, tensor in part.items()}
        (summed_loss(model, part, smoothing) / 17).backward()
    gradients = gradients_of(model)
    assert gradients.keys() == expected.keys()
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradient, expected[name], atol=1e-6, rtol=1e-4)


def test_a_batch_whose_labels_are_all_ignored_gives_zero_and_zero_gradients(model):
    batch = make_batch([5], [3])
    batch["labels"].fill_(-100)
    loss = summed_loss(model, batch)
    loss.backward()
    assert loss.item() == 0
    assert all(not gradient.any() for gradient in gradients_of(model).values())
    assert all(p.grad is None for p in model.parameters())


def test_led_is_trained_with_the_global_token_that_it_summarizes_with():
    torch.manual_seed(0)
    sizes = {"max_encoder_position_embeddings": 64, "max_decoder_position_embeddings": 64, "attention_window": 4}
    model = randomize(LEDForConditionalGeneration(LEDConfig(**{**SIZES, **sizes})).train(), 0.05)
    batch = make_batch([16, 12], [5, 3])
    with_global_token = {
        **batch,
        "global_attention_mask": torch.zeros(2, 16).long().index_fill_(1, torch.tensor([0]), 1),
    }
    with torch.no_grad():
        losses = [
            F.cross_entropy(model(**inputs).logits.flatten(0, 1), batch["labels"].flatten(), reduction="sum")
            for inputs in (with_global_token, batch)
        ]
        assert float(summed_loss(model, batch)) == pytest.approx(float(losses[0]), rel=1e-5)
    assert float(losses[0]) != pytest.approx(float(losses[1]), rel=1e-5)
