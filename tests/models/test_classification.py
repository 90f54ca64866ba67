import pytest
import torch
import torch.nn.functional as F
from transformers import AutoModelForSequenceClassification

from summarizer.models import FastformerSummarizerForSequenceClassification
from summarizer.models.mixers import MIXERS
from tests.tiny import padded_batch, randomize, tiny_config, tiny_model


def classifier(**options):
    torch.manual_seed(0)
    config = tiny_config(**{key: value for key, value in options.items() if key != "num_labels"})
    config.num_labels = options.get("num_labels", 3)
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


@pytest.mark.parametrize(
    ("problem_type", "num_labels", "labels", "expected"),
    [
        ("regression", 1, torch.tensor([0.5, 2.0]), lambda x, y: F.mse_loss(x[:, 0], y)),
        (None, 1, torch.tensor([1, 4]), lambda x, y: F.mse_loss(x[:, 0], y.float())),
        ("regression", 3, torch.randn(2, 3), F.mse_loss),
        ("multi_label_classification", 3, torch.tensor([[1, 0, 1], [0, 0, 1]]), None),
        (None, 3, torch.tensor([[1.0, 0, 1], [0, 0, 1]]), None),
        ("single_label_classification", 3, torch.tensor([2, 0]), F.cross_entropy),
    ],
)
def test_the_loss_is_that_of_the_problem(problem_type, num_labels, labels, expected):
    model, batch = classifier(num_labels=num_labels), padded_batch([4, 6])
    model.config.problem_type = problem_type
    expected = expected or (lambda x, y: F.binary_cross_entropy_with_logits(x, y.float()))
    output = model(**batch, labels=labels)
    torch.testing.assert_close(output.loss, expected(output.logits, labels))


@pytest.mark.parametrize("bare", [False, True])
def test_a_summarizer_lends_its_encoder_and_the_classifier_is_saved_under_its_own_names(tmp_path, bare):
    summarizer = tiny_model(copy_mechanism=True)
    (summarizer.model if bare else summarizer).save_pretrained(tmp_path / "summarizer")
    model, report = AutoModelForSequenceClassification.from_pretrained(
        tmp_path / "summarizer", num_labels=3, output_loading_info=True
    )
    assert {name.split(".")[0] for name in report["missing_keys"]} == {"pooling", "classifier"}
    batch = padded_batch([3, 9])
    states = summarizer.model.encoder(**batch).last_hidden_state
    torch.testing.assert_close(model.encoder(**batch).last_hidden_state, states)
    model.save_pretrained(tmp_path / "classifier")
    again, report = AutoModelForSequenceClassification.from_pretrained(
        tmp_path / "classifier", num_labels=5, ignore_mismatched_sizes=True, output_loading_info=True
    )
    assert not report["missing_keys"]
    assert not any(parameter.is_meta for parameter in again.parameters())
    torch.testing.assert_close(again.encoder(**batch).last_hidden_state, states)
    assert again(**batch).logits.isfinite().all()


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
