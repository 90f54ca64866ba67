"""Training only a part of a model."""

import json

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file
from transformers import AutoModelForSeq2SeqLM

from summarizer.errors import InputError
from summarizer.training.loop import train
from summarizer.training.trained_parameters import choose_what_is_trained, without_adapters
from tests.tiny import padded_batch, padded_labels, tiny_model
from tests.training.test_loop import assert_same_tensors, tiny_bart_folder

SETTINGS = ["training.steps=2", "training.validate_every=2", "training.rouge_examples=2"]


def test_frozen_parameters_stay_as_they_are_and_the_others_are_trained(configure, tmp_path, capsys):
    bart = tiny_bart_folder(tmp_path / "bart")
    overrides = [f"pretrained={bart}", "data.tokenizer=null", "training.freeze=['*encoder*', 'model.shared*']"]
    folder = train(configure(*SETTINGS, *overrides, name="pretrained"))
    before, after = load_file(bart / "model.safetensors"), load_file(folder / "last/model.safetensors")
    changed = {name for name, value in after.items() if not torch.equal(value, before[name])}
    assert changed
    assert not any("encoder." in name or "shared" in name for name in changed)
    assert " trained; 1 process(es)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        ("[enkoder*]", r"training\.freeze: no parameter name matches 'enkoder\*'; the names are model\."),
        ("['*']", r"training\.freeze leaves no parameter to train"),
    ],
)
def test_patterns_that_cannot_be_meant_are_one_clear_line(configure, patterns, message):
    with pytest.raises(InputError, match=message):
        train(configure(f"training.freeze={patterns}"))


def test_adapters_are_trained_resumed_and_merged_into_plain_model_folders(configure, tmp_path):
    bart = tiny_bart_folder(tmp_path / "bart")
    overrides = [f"pretrained={bart}", "data.tokenizer=null", "training.lora={r: 2, target_modules: [q_proj, v_proj]}"]
    overrides += ["training.steps=4", "training.validate_every=2", "training.rouge_examples=0", "training.save_every=2"]
    overrides += ["training.schedule=constant", "training.ema_decay=0.9"]
    straight = train(configure(*overrides, "name=straight", name="pretrained"))
    for steps in (2, 4):
        folder = train(configure(*overrides, "resume=true", f"training.steps={steps}", name="pretrained"))
    assert_same_tensors(folder / "last/model.safetensors", straight / "last/model.safetensors")
    before, after = load_file(bart / "model.safetensors"), load_file(folder / "last/model.safetensors")
    assert before.keys() == after.keys()
    changed = {name for name, value in after.items() if not torch.allclose(value, before[name], atol=1e-7)}
    assert changed
    assert all("q_proj" in name or "v_proj" in name for name in changed)
    AutoModelForSeq2SeqLM.from_pretrained(folder / "last")
    adapter = folder / "last/adapter"
    assert {path.name for path in adapter.iterdir()} >= {"adapter_config.json", "adapter_model.safetensors"}
    assert (adapter / "adapter_model.safetensors").stat().st_mode == (folder / "config.yaml").stat().st_mode
    loaded = PeftModel.from_pretrained(AutoModelForSeq2SeqLM.from_pretrained(bart), adapter).merge_and_unload()
    for name, value in loaded.state_dict().items():
        if name in after:
            torch.testing.assert_close(value, after[name], atol=1e-6, rtol=1e-5)
    assert json.loads((adapter / "adapter_config.json").read_text("utf-8"))["base_model_name_or_path"] == str(bart)


def test_the_merged_model_is_the_one_with_adapters(configure):
    model = tiny_model(copy_mechanism=True)
    settings = configure("training.lora={r: 2}").training
    choose_what_is_trained(model, settings)
    assert {name.split(".")[-3] for name, p in model.named_parameters() if p.requires_grad} == {"lora_A", "lora_B"}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_()
    batch = {**padded_batch([9, 5]), "labels": padded_labels([4, 6])}
    merged = without_adapters(model)
    torch.testing.assert_close(merged(**batch).loss, model(**batch).loss)
    assert merged.state_dict().keys() == tiny_model(copy_mechanism=True).state_dict().keys()
    assert without_adapters(merged) is merged


def test_modules_that_are_not_there_are_one_clear_line(configure):
    with pytest.raises(InputError, match=r"training\.lora: .*nowhere"):
        train(configure("training.lora={target_modules: [nowhere]}"))
