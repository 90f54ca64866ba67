"""What a model makes of its token mixing: exchanged global vectors."""

import pytest
import torch

from summarizer.config_files import load_config
from summarizer.errors import InputError
from summarizer.experiments.mixing_use import _GlobalVectors, measure_mixing_use, mixing_use_table, mixing_uses_table
from summarizer.files import write_json
from summarizer.models.mixers.fastformer import Fastformer
from summarizer.training.classification import Classification
from summarizer.training.sentence_selection import SentenceSelection
from summarizer.training.starting_model import load_tokenizer, make_model
from summarizer.training.summarization import Summarization


@pytest.fixture
def config(configs):
    return load_config(configs[0])


def saved(config, folder):
    if config.task != "summarization":
        task = (Classification if config.task == "classification" else SentenceSelection)(config)
        task.prepare("train")
        model, tokenizer = task.make_model(), task.tokenizer
    else:
        tokenizer = load_tokenizer(config)
        model, _ = make_model(config, tokenizer)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.mark.parametrize("task", ["summarization", "classification"])
def test_losses_are_measured_with_own_mean_and_other_vectors(configs, tmp_path, task):
    config = load_config(configs[0], [f"task={task}", "data.max_validation_examples=10"])
    result = measure_mixing_use(config, saved(config, tmp_path / "model"))
    assert (result["task"], result["num_documents"]) == (task, 5)
    own, mean, others = result["rows"]
    assert own["difference"]["mean"] == 0
    for row in (mean, others):
        assert row["difference"]["mean"] == pytest.approx(row["loss"]["mean"] - own["loss"]["mean"], abs=1e-6)
        assert row["difference"]["low"] <= row["difference"]["mean"] <= row["difference"]["high"]
        assert row["difference"]["mean"] != 0
    write_json(tmp_path / "use.json", result)
    table = mixing_use_table(tmp_path / "use.json")
    assert "| its own, as trained |" in table
    assert table.endswith("5 documents.")
    *_, line = mixing_uses_table({"A model": tmp_path / "use.json"}).splitlines()
    difference = mean["difference"]
    assert line.startswith(f"| A model | 5 | {own['loss']['mean']:.3f} | {difference['mean']:+.4f} (")


def test_each_part_of_a_sentence_selector_is_measured_with_its_average_precision(configs, tmp_path):
    options = ["data.max_validation_examples=12", "model.encoder_layers=2", "model.sentence_mixer=fastformer"]
    config = load_config(configs[0], ["task=selection", "model.sentence_layers=1", *options])
    result = measure_mixing_use(config, saved(config, tmp_path / "model"))
    own, *rows = result["rows"]
    assert 0 < own["average_precision"]["mean"] <= 1
    assert own["average_precision_difference"]["mean"] == own["difference"]["mean"] == 0
    by_part = {(row.get("part"), row["vectors"]): row for row in rows}
    parts = [None, "token layers", "sentence layers", "document vector", "token layer 1", "token layer 2"]
    assert list(by_part) == [(part, vectors) for part in parts for vectors in ("mean", "another's")]
    losses = [row["loss"]["mean"] for row in rows]
    assert len({own["loss"]["mean"], *losses}) == len(rows) + 1  # each replacement changes the loss
    write_json(tmp_path / "use.json", result)
    head, _, first, *_ = mixing_use_table(tmp_path / "use.json").splitlines()
    assert head.startswith("| part |")
    assert "average precision" in head
    assert first.startswith("|  | its own, as trained |")
    *_, line = mixing_uses_table({"A model": tmp_path / "use.json"}).splitlines()
    assert f" {by_part[None, 'mean']['difference']['mean']:+.4f} (" in line


def test_writing_with_a_model_that_selects_is_measured_by_part(configs, tmp_path):
    config = load_config(configs[0], ["data.max_validation_examples=8", "training.sentence_loss_weight=1"])
    task = Summarization(config)
    task.prepare("validation")
    model = task.make_model()
    model.config.selected_tokens = 8
    model.save_pretrained(tmp_path / "model")
    task.tokenizer.save_pretrained(tmp_path / "model")
    rows = measure_mixing_use(config, str(tmp_path / "model"))["rows"]
    assert [row.get("part") for row in rows[1::2]] == [None, "token layers", "document vector"]
    assert "average_precision" not in rows[0]


def test_a_model_without_a_scorer_is_not_measured_in_selection(config, configs, tmp_path):
    selecting = load_config(configs[0], ["task=selection"])
    with pytest.raises(InputError, match="does not fit task=selection: new weights"):
        measure_mixing_use(selecting, saved(config, tmp_path / "model"))


def test_the_mean_of_document_vectors_has_length_1():
    place = torch.nn.Identity()
    vectors = _GlobalVectors([place], normalize=True)
    with vectors.replaced_by("own"):
        place(torch.tensor([[[1.0, 0.0]]]))
        place(torch.tensor([[[0.0, 1.0]]]))
    with vectors.replaced_by("mean"):
        torch.testing.assert_close(place(torch.tensor([[[1.0, 0.0]]])), torch.full((1, 1, 2), 0.5**0.5))


@pytest.mark.parametrize("key", ["initial_trunk", "initial_embeddings"])
def test_a_run_that_began_from_another_model_is_measured_as_it_became(key, config, configs, tmp_path):
    model = saved(config, tmp_path / "model")
    of_run = load_config(configs[0], [f"training.{key}={model}"])
    assert measure_mixing_use(of_run, model)["rows"] == measure_mixing_use(config, model)["rows"]


def test_exchanged_vectors_are_those_of_the_documents_before():
    torch.manual_seed(0)
    layer = Fastformer(8, 2)
    documents = [torch.randn(1, length, 8) for length in (5, 30, 12)]
    masks = [torch.ones(1, document.shape[1], dtype=torch.bool) for document in documents]
    plain = [layer(document, mask) for document, mask in zip(documents, masks, strict=True)]
    vectors = _GlobalVectors(layer.global_vectors)
    with vectors.replaced_by("own"):
        for document, mask, output in zip(documents, masks, plain, strict=True):
            torch.testing.assert_close(layer(document, mask), output)
    with vectors.replaced_by("another's"):  # the last one seen, and then each one before
        torch.testing.assert_close(layer(documents[2], masks[2]), plain[2])
        assert not torch.allclose(layer(documents[0], masks[0]), plain[0], atol=1e-4)
    with vectors.replaced_by("mean"):  # a linear map of each token by itself
        whole = layer(documents[1], masks[1])
        torch.testing.assert_close(layer(documents[1][:, :3], masks[1][:, :3]), whole[:, :3], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(layer(documents[0], masks[0]), plain[0])


def test_a_layer_that_is_used_again_has_vectors_of_its_own_for_each_use():
    torch.manual_seed(0)
    layer = Fastformer(8, 2)
    first, second = (torch.randn(1, length, 8) for length in (5, 9))
    masks = [torch.ones(1, hidden.shape[1], dtype=torch.bool) for hidden in (first, second)]
    vectors = _GlobalVectors(layer.global_vectors, uses=2)
    with vectors.replaced_by("own"):
        once = layer(first, masks[0])
        twice = layer(once, masks[0])
    for kind in ("mean", "another's"):  # over one document both are its own
        with vectors.replaced_by(kind):
            torch.testing.assert_close(layer(first, masks[0]), once)
            torch.testing.assert_close(layer(once, masks[0]), twice)
            layer(layer(second, masks[1]), masks[1])


def test_a_model_without_fastformer_layers_and_too_few_documents_are_errors(config, configs, tmp_path):
    without = load_config(configs[1])
    with pytest.raises(InputError, match="has no Fastformer layers"):
        measure_mixing_use(config, saved(without, tmp_path / "without"))
    few = load_config(configs[0], ["data.max_validation_examples=3"])
    with pytest.raises(InputError, match="at least four documents"):
        measure_mixing_use(few, saved(config, tmp_path / "with"))
