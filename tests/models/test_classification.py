import pytest
import torch
import torch.nn.functional as F
from transformers import AutoModelForSequenceClassification

from summarizer.models import FastformerSummarizerForSequenceClassification
from summarizer.models.mixers import MIXERS
from tests.tiny import padded_batch, randomize, tiny_config


def classifier(**options):
    torch.manual_seed(0)
    config = tiny_config(**options)
    config.num_labels = 3
    return randomize(FastformerSummarizerForSequenceClassification(config)).eval()


@pytest.mark.parametrize("mixer", sorted(MIXERS))
def test_padding_changes_no_score(mixer):
    model = classifier(mixer=mixer)
    batch = padded_batch([7, 5, 1])
    scores = model(**batch).logits
    assert scores.shape == (3, 3)
    for row, length in enumerate([7, 5, 1]):
        alone = model(input_ids=batch["input_ids"][row : row + 1, :length]).logits
        torch.testing.assert_close(scores[row : row + 1], alone, atol=1e-5, rtol=1e-5)


def test_the_loss_is_the_mean_cross_entropy_or_a_share_of_the_sum():
    model, batch, labels = classifier(), padded_batch([4, 6]), torch.tensor([2, 0])
    output = model(**batch, labels=labels)
    torch.testing.assert_close(output.loss, F.cross_entropy(output.logits, labels))
    shared = model(**batch, labels=labels, num_items_in_batch=8)
    torch.testing.assert_close(shared.loss, output.loss * 2 / 8)
    assert torch.equal(model(**batch, return_dict=False)[0], output.logits)


def test_it_is_saved_and_loaded_by_the_auto_class_bit_for_bit_with_its_classes(tmp_path):
    model = classifier(share_encoder_layers=True)
    model.config.id2label = {0: "a", 1: "b", 2: "c"}
    model.save_pretrained(tmp_path)
    loaded = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    assert type(loaded) is FastformerSummarizerForSequenceClassification
    assert loaded.config.id2label == {0: "a", 1: "b", 2: "c"}
    assert loaded.state_dict().keys() == model.state_dict().keys()
    for name, value in loaded.state_dict().items():
        assert torch.equal(value, model.state_dict()[name]), name
    batch = padded_batch([3, 9])
    torch.testing.assert_close(loaded(**batch).logits, model(**batch).logits)


def test_it_trains_under_gradient_checkpointing_to_the_same_gradients():
    gradients = []
    for checkpointing in (False, True):
        model = classifier().train()
        if checkpointing:
            model.activation_checkpointing_enable({"use_reentrant": False})
        model(**padded_batch([7, 5]), labels=torch.tensor([1, 2])).loss.backward()
        gradients.append({name: parameter.grad for name, parameter in model.named_parameters()})
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], gradient)
