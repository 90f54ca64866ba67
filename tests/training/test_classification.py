import json
import random
import re

import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from summarizer.config_files import load_config
from summarizer.errors import InputError
from summarizer.training.classification import accuracy_and_macro_f1
from summarizer.training.loop import train
from summarizer.training.starting_model import make_model
from tests.corpus import WORDS, tiny_tokenizer, write_jsonl
from tests.tiny import tiny_model
from tests.training.conftest import TINY_MODEL

CONFIG = """
task: classification
data: {{train: [{folder}/train.jsonl], validation: [{folder}/validation.jsonl], tokenizer: {folder}/tokenizer,
       cache_dir: {folder}/cache}}
output_dir: {folder}/runs
training: {{steps: 60, tokens_per_batch: 300, warmup_steps: 5, learning_rate: 0.01, log_every: 20, validate_every: 20,
           save_every: 30, best_metric: accuracy, trackers: []}}
"""
LABELS = ("blood", "cells", "dose")


def labelled_rows(count, seed):
    """Texts that hold the word that is their label, once among others."""
    generator = random.Random(seed)
    others = [word for word in WORDS if word not in LABELS]
    rows = []
    for number in range(count):
        label = LABELS[number % 3]
        words = generator.choices(others, k=generator.randint(2, 20))
        words.insert(generator.randrange(len(words)), label)
        rows.append({"id": f"{seed}-{number}", "text": " ".join(words), "label": label})
    return rows


@pytest.fixture
def configure(tmp_path):
    write_jsonl(tmp_path / "train.jsonl", labelled_rows(90, seed=1))
    write_jsonl(tmp_path / "validation.jsonl", labelled_rows(31, seed=2))
    tiny_tokenizer().save_pretrained(tmp_path / "tokenizer")
    path = tmp_path / "base.yaml"
    path.write_text(CONFIG.format(folder=tmp_path) + TINY_MODEL, encoding="utf-8")
    (tmp_path / "pretrained.yaml").write_text(CONFIG.format(folder=tmp_path), encoding="utf-8")
    return lambda *overrides, name="base": load_config(tmp_path / f"{name}.yaml", list(overrides))


def test_a_word_that_decides_is_learned_and_the_best_model_is_of_the_ecosystem(configure):
    folder = train(configure())
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    validated = [line for line in lines if "accuracy" in line]
    assert validated[-1]["accuracy"] > 95
    assert validated[-1]["validation_loss"] < 0.5
    model = AutoModelForSequenceClassification.from_pretrained(folder / "best").eval()
    tokenizer = AutoTokenizer.from_pretrained(folder / "best")
    assert model.config.id2label == {0: "blood", 1: "cells", 2: "dose"}
    rows = labelled_rows(31, seed=2)
    right = 0
    for row in rows:
        scores = model(**tokenizer(row["text"], return_tensors="pt")).logits
        right += model.config.id2label[int(scores.argmax())] == row["label"]
    assert 100 * right / len(rows) == pytest.approx(max(line["accuracy"] for line in validated))
    assert "AutoModelForSequenceClassification" in (folder / "best/README.md").read_text(encoding="utf-8")


def test_a_summarizer_lends_its_encoder_and_what_was_not_loaded_is_said(configure, tmp_path, capsys):
    torch.manual_seed(0)
    summarizer = tiny_model(vocab_size=len(tiny_tokenizer()), pad_token_id=tiny_tokenizer().pad_token_id)
    summarizer.save_pretrained(tmp_path / "summarizer")
    folder = train(configure(f"pretrained={tmp_path}/summarizer", "training.steps=1", "training.learning_rate=0",
                             name="pretrained"))  # fmt: skip
    said = capsys.readouterr().err
    assert re.search(r"new weights, which pretrained '\S+summarizer' lacks: 6 tensors, classifier\.bias, cl", said)
    assert re.search(r"unused weights of pretrained '\S+summarizer': \d+ tensors, model\.decoder\.", said)
    classifier = AutoModelForSequenceClassification.from_pretrained(folder / "last")
    lent = summarizer.model.encoder.state_dict()
    assert len(lent) > 20
    for name, value in classifier.encoder.state_dict().items():
        assert torch.equal(value, lent[name]), name
    config = load_config(tmp_path / "pretrained.yaml", ["task=summarization", f"pretrained={folder}/last",
                                                        "training.best_metric=loss"])  # fmt: skip
    model, notes = make_model(config, tiny_tokenizer())
    for name, value in model.model.encoder.state_dict().items():
        assert torch.equal(value, lent[name]), name
    assert model.lm_head.weight is model.model.encoder.embed_tokens.weight
    assert "tensors, model.decoder." in notes[0]
    assert "unused weights" in notes[1]
    assert "6 tensors, classifier.bias" in notes[1]


def test_accuracy_and_macro_f1_are_scikit_learns():
    # labels 0 0 0 1 1 3, predictions 0 1 0 1 1 0, of four classes: F1 of 0 is 4/6, of 1 is 4/5, of 3 is 0; 2 is absent
    confusion = torch.zeros(4, 4)
    for label, predicted in zip([0, 0, 0, 1, 1, 3], [0, 1, 0, 1, 1, 0], strict=True):
        confusion[label, predicted] += 1
    scores = accuracy_and_macro_f1(confusion)
    assert scores["accuracy"] == pytest.approx(100 * 4 / 6)
    assert scores["macro_f1"] == pytest.approx(100 * (4 / 6 + 4 / 5 + 0) / 3)


def test_classes_are_sorted_numbers_as_numbers_and_an_unknown_one_is_named(configure, tmp_path):
    rows = [{"text": f"text {number}", "class": number} for number in (10, 2, 1, 2)]
    write_jsonl(tmp_path / "train.jsonl", rows)
    write_jsonl(tmp_path / "validation.jsonl", [{"text": "a", "class": 3}])
    with pytest.raises(InputError, match=r"data.validation: class '3' is not in the training data, which has 1, 2, 10"):
        train(configure())


def test_a_row_without_a_label_is_dropped_with_a_count_and_a_missing_column_names_those_there(
    configure, tmp_path, capsys
):
    write_jsonl(tmp_path / "train.jsonl", [*labelled_rows(9, seed=1), {"text": "a", "label": None}])
    train(configure("training.steps=1"))
    said = capsys.readouterr().err
    assert "train: 9 pairs" in said
    assert "1 × empty label" in said
    with pytest.raises(InputError, match=r"no column topic \(set data.label_column\); there are: id, text, label"):
        train(configure("data.label_column=topic", "name=other"))


def test_a_pretrained_classifier_of_the_ecosystem_trains_in_the_same_loop(configure, tmp_path):
    from transformers import DistilBertConfig, DistilBertForSequenceClassification

    tokenizer = tiny_tokenizer()
    config = DistilBertConfig(
        vocab_size=len(tokenizer), dim=32, hidden_dim=32, n_layers=1, n_heads=2, pad_token_id=tokenizer.pad_token_id
    )
    DistilBertForSequenceClassification(config).save_pretrained(tmp_path / "pretrained")
    folder = train(configure(f"pretrained={tmp_path}/pretrained", "training.steps=2", name="pretrained"))
    loaded = AutoModelForSequenceClassification.from_pretrained(folder / "last")
    assert loaded.config.num_labels == 3
    assert loaded.config.id2label[2] == "dose"
