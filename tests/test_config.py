import re
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest

from summarizer.config import DataConfig, RunConfig, TrainingConfig
from summarizer.config_files import changed_keys, load_config, to_yaml
from summarizer.errors import InputError
from summarizer.generation_options import GenerationOptions

FOLDER = Path(__file__).parents[1] / "configs"
CONFIGS = sorted(
    path for path in FOLDER.rglob("*.yaml") if path.parent.name != "accelerate"
)  # the launcher reads those


@pytest.fixture
def write(tmp_path):
    def write(text: str, name: str = "mine.yaml") -> Path:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return write


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("colour: 1", "colour: unknown key; choose from data, generation, model, name"),
        ("pretraind: x", r"pretraind: unknown key; did you mean pretrained\?"),
        ("training: {stepz: 1}", r"training.stepz: unknown key; did you mean steps\?"),
        ("steps: 1", r"steps: unknown key; did you mean training.steps\?"),
        ("training: {temprature: 1, q: 1}", r"temprature: unknown .*; .*training.q: unknown key; choose from adam_bet"),
        ("training: {freeze: [*encoder*]}", r"not valid YAML: .*; put a value that begins with \* or & in quotes"),
        ("pretrained: a\nmodel: {d_model: 8}", "give one of them .model=null clears the model of a base"),
        ("training: {steps: many}", "training.steps: Value 'many' of type 'str' could not be converted to Integer"),
        ("training: {steps: 1.5}", "training.steps: Value '1.5'"),
        ("training: {steps: true}", "training.steps: Value 'True'"),
        ("training: {schedule: linear}", "training.schedule: .*'linear', .*'cosine', 'inverse_sqrt', 'constant'"),
        ("training: null", "training: "),
        ("training: {lora: {rr: 8}}", "training.lora.rr: unknown key; choose from alpha, dropout, r, target_modules"),
        ("generation: {temperature: 0.5}", "need generation.do_sample=true"),
        ("name: ..", "name must be the name of a folder"),
        ("seed: 99999999999999999999", "seed must be less than"),
        ("training: 3", "training: expected keys and values"),
        ("model: [1]", "model: expected keys and values"),
        ("data: {train: pairs.jsonl}", "data.train: expected a list"),
        ("name: ${nowhere}", "name: .*nowhere"),
        ("pretrained: a\ntraining: {initial_trunk: b}", "initial_trunk is for a new model"),
        ("training: {initial_embeddings: a, initial_trunk: b}", "give it or training.initial_embeddings, not both"),
        ("- 1", "expected keys and values at the top level"),
        ("seed: [1", "not valid YAML"),
        ("seed: 1\nseed: 2", "duplicate key seed"),
        ("base: nowhere.yaml", "nowhere.yaml: no such configuration file"),
        ("training: {log_every: 0}", "training.log_every must be at least 1, not 0"),
        ("training: {keep_checkpoints: 0}", "training.keep_checkpoints must be at least 1"),
        ("training: {adam_betas: [0.9]}", "training.adam_betas must be two numbers"),
        ("training: {label_smoothing: 1}", "training.label_smoothing must be less than 1"),
        ("training: {best_metric: rouge1, rouge_examples: 0}", "training.best_metric=rouge1 needs"),
        ("data: {max_target_tokens: 1}", "data.max_target_tokens must be at least 2"),
        ("generation: {num_beams: 0}", "generation.num_beams must be at least 1"),
        ("generation: {length_penalty: .nan}", "generation.length_penalty must be a finite number"),
        ("generation: {min_summary_tokens: 600}", "generation.min_summary_tokens=600 is more than max_summary"),
        ("training: {learning_rate: .nan}", "training.learning_rate must be a finite number, not nan"),
        ("training: {learning_rate: .inf}", "training.learning_rate must be a finite number, not inf"),
        ("training: {lora: {alpha: .inf}}", "training.lora.alpha must be a finite number"),
        ("training: {max_grad_norm: .nan}", "training.max_grad_norm must be more than 0"),
        ("training: {ema_decay: 1}", "training.ema_decay must be less than 1"),
        ("seed: -1", "seed must be at least 0"),
        ("model: {sentence_per_line: false}", "model.sentence_per_line: set data.sentence_per_line instead"),
        ("name: ../elsewhere", "name must be the name of a folder"),
        (
            "training: {early_stopping_patience: 3}",
            "training.average_best need data.validation",
        ),
        ("{training: {best_metric: accuracy}, data: {validation: [x]}}", "accuracy is not measured with task=summar"),
    ],
)
def test_an_error_in_a_file_is_one_line_that_names_the_file_and_the_key(write, text, named):
    with pytest.raises(InputError, match=named) as caught:
        load_config(write(text))
    assert str(write(text).parent) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("override", "named"),
    [
        ("training.stepz=1", r"'training.stepz=1': training.stepz: unknown key; did you mean steps\?"),
        ("training.log_every=0", "^'training.log_every=0': training.log_every must be at least 1, not 0"),
        ("generation.num_beams=0", "^'generation.num_beams=0': generation.num_beams must be at least 1"),
        ("training.learning_rate=inf", "^'training.learning_rate=inf': training.learning_rate must be a finite"),
        (
            "training.best_metric=rouge1",
            "^'training.best_metric=rouge1': training.best_metric, .*data.validation",
        ),
        ("training.freeze=[*encoder*]", r"^'training.freeze=.\*encoder\*.': not valid YAML: .*\['\*encoder\*'\]"),
        ("training.steps=many", "'training.steps=many': training.steps: Value 'many'"),
        ("training.optimizer=adam", "training.optimizer: .*'adamw', 'muon'"),
        ("data.train=pairs.jsonl", "data.train: expected a list"),
        ("training.steps=", "training.steps: "),
        ("training.steps=[1", "'training.steps=.1': not valid YAML"),
        ("data.train[0]=pairs.jsonl", "data"),
        ("base=other.yaml", "base: unknown key"),
        ("steps", "write key=value"),
        ("=3", "write key=value"),
    ],
)
def test_a_wrong_override_is_one_line_that_names_it(write, override, named):
    with pytest.raises(InputError, match=named) as caught:
        load_config(write(""), [override])
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(InputError, match=str(path)):
            load_config(path)


def test_an_empty_file_is_all_defaults_and_gives_the_run_its_name(write):
    assert load_config(write("")) == RunConfig(name="mine")
    assert load_config(write("name: other")).name == "other"


def test_later_wins_from_base_to_file_to_overrides(write):
    write("training: {steps: 1, log_every: 1, save_every: 1}\nmodel: {d_model: 8, mixer: linear}", "far.yaml")
    write("base: far.yaml\ntraining: {log_every: 2, save_every: 2}\nmodel: {mixer: full}", "near.yaml")
    path = write("base: near.yaml\ntraining: {save_every: 3}")
    config = load_config(path, ["training.validate_every=4", "data.train=[a, b]", "model.mixer_options.window=3"])
    assert config.training == replace(TrainingConfig(), steps=1, log_every=2, save_every=3, validate_every=4)
    assert config.model == {"d_model": 8, "mixer": "full", "mixer_options": {"window": 3}}
    assert config.data.train == ["a", "b"]
    assert config.name == "mine"


def test_a_base_is_found_from_the_file_that_names_it(write, tmp_path, monkeypatch):
    tmp_path.joinpath("sub").mkdir()
    write("seed: 7\n", "base.yaml")
    path = write("base: ../base.yaml", "sub/child.yaml")
    monkeypatch.chdir("/")
    assert load_config(path).seed == 7


@pytest.mark.parametrize("texts", [["a.yaml"], ["b.yaml", "a.yaml"]])
def test_bases_that_lead_in_a_circle_are_an_error(write, texts):
    for name, base in zip(["a.yaml", "b.yaml"], texts, strict=False):
        write(f"base: {base}", name)
    with pytest.raises(InputError, match=r"'base' forms a cycle through .*a\.yaml"):
        load_config(write("base: a.yaml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_committed_configuration_loads_and_its_resolved_form_reads_back_equal(path, write):
    config = load_config(path)
    assert load_config(write(to_yaml(config))) == config


def test_unusual_values_read_back_equal(write):
    config = RunConfig(
        name="null",
        model={"mixer_options": {"num_stages": 3, "names": ["a", "1"]}, "layer_norm_eps": 1e-12},
        data=DataConfig(train=["a b.jsonl", "c: d", "10"], document_column="ünïcode", max_source_tokens=None),
        training=TrainingConfig(learning_rate=1e-30, mixed_precision="no", trackers=[]),
        generation=GenerationOptions(length_penalty=-1.0),
    )
    assert load_config(write(to_yaml(config))) == config


def test_importing_the_configuration_imports_no_torch():
    code = "import sys, summarizer.config_files; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_no_mixed_precision_may_be_written_without_quotes(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text("training: {mixed_precision: no}\n", encoding="utf-8")
    assert load_config(path).training.mixed_precision == "no"
    assert load_config(path, ["training.mixed_precision=bf16"]).training.mixed_precision == "bf16"
    assert load_config(path, ["training.mixed_precision=no"]).training.mixed_precision == "no"


def test_what_changed_between_two_runs_is_named_apart_from_where_they_lie(write):
    path = write("model: {d_model: 64}")
    before = load_config(path, ["name=a", "output_dir=x", "resume=true"])
    after = load_config(path, ["name=b", "model.d_model=32", "model.norm=post", "training.steps=5", "data.train=[a]"])
    assert changed_keys(before, after) == [
        *("model.d_model: 64 → 32", "data.train: [] → ['a']", "training.steps: 10000 → 5", "model.norm: None → post")
    ]
    assert changed_keys(before, before) == []


def test_every_form_in_a_help_text_can_be_written_in_a_file_and_on_the_command_line(write):
    from summarizer.config import LoraConfig

    sections = {"": RunConfig, "data.": DataConfig, "training.": TrainingConfig, "training.lora.": LoraConfig}
    forms = [
        (f"{prefix}{each.name}", form)
        for prefix, section in sections.items()
        for each in fields(section)
        for form in re.findall(r"Example: (.*)\.$", each.metadata.get("help", ""))
    ]
    assert ("training.freeze", "['*encoder*']") in forms
    assert len(forms) >= 2
    for key, form in forms:
        section, _, name = key.rpartition(".")
        loaded = load_config(write(f"{section}: {{{name}: {form}}}"))
        assert loaded == load_config(write(""), [f"{key}={form}"])
        assert loaded != RunConfig(name="mine")


def test_a_whole_number_may_be_written_with_an_exponent(write):
    text = "training: {steps: 1e3, tokens_per_batch: 2e4}"
    for config in (
        load_config(write(text)),
        load_config(write(""), ["training.steps=1e3", "training={tokens_per_batch: 2.0e4}"]),
    ):
        assert (config.training.steps, config.training.tokens_per_batch) == (1000, 20_000)
        assert type(config.training.steps) is int
    with pytest.raises(InputError, match=r"Value '1.5'"):
        load_config(write(""), ["training.steps=15e-1"])


def test_null_clears_the_model_of_a_base(write):
    write("model: {d_model: 8}", "base.yaml")
    in_file = load_config(write("base: base.yaml\nmodel: null\npretrained: default"))
    path = write("base: base.yaml")
    for config in (in_file, load_config(path, ["model=null", "pretrained=default"])):
        assert (config.model, config.pretrained) == ({}, "default")
    assert load_config(path, ["model=null", "model.norm=post"]).model == {"norm": "post"}


def test_all_unknown_keys_of_the_file_and_the_overrides_are_named_at_once(write):
    with pytest.raises(InputError) as caught:
        load_config(write("stepz: 1\ntraining: {learning_rat: 1}"), ["data.trian=[a]", "training.steps=many"])
    for named in ("mine.yaml: stepz: ", "mine.yaml: training.learning_rat: ", "'data.trian=[a]': data.trian: "):
        assert named in str(caught.value)
