"""FSDP on two processes: the steps of plain ones, and checkpoints and model folders that know nothing of it."""

import subprocess
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSeq2SeqLM, AutoModelForSequenceClassification

from summarizer.errors import InputError
from summarizer.training.loop import train
from tests.processes import said_by_two_processes
from tests.training.test_loop import losses_of, metrics_of, tiny_bart_folder

REPOSITORY = Path(__file__).parents[2]
TRAIN = """
def run(rank):
    loop.train(load_config(Path(sys.argv[1]), sys.argv[2:]))
"""
FSDP = {"ACCELERATE_USE_FSDP": "true", "FSDP_VERSION": "2"}
SETTINGS = ["training.schedule=constant", "training.rouge_examples=3"]
EVERYTHING = [
    *("training.ema_decay=0.9", "training.average_best=2", 'training.freeze=["*decoder*lora*"]'),
    *("training.lora={r: 2}", "model.share_encoder_layers=true", "training.gradient_checkpointing=true"),
]


def train_pair(forked, base: Path, *overrides: str, fsdp: bool = True) -> Path:
    """The run folder of a run on two processes."""
    said = said_by_two_processes(forked, TRAIN, str(base), *overrides, **(FSDP if fsdp else {}))
    assert "done: " in said, said[-3000:]
    assert "2 process(es)" in said
    assert "Warning" not in said
    assert ("the mean of the weights after steps" in said) == ("training.average_best=2" in overrides)
    return Path(said.rpartition("done: ")[2].strip())


def assert_near(first: Path, second: Path) -> None:
    tensors, others = load_file(first), load_file(second)
    assert tensors.keys() == others.keys()
    for name, value in tensors.items():
        # Keys' biases have no gradient but rounding, which Adam scales up to steps.
        if "key" not in name and "k_proj" not in name:
            torch.testing.assert_close(value, others[name], atol=2e-6, rtol=0, msg=name)


def assert_near_runs(first: Path, second: Path) -> None:
    """The same metrics, checkpoints and models, up to rounding."""
    assert losses_of(first) == pytest.approx(losses_of(second), rel=1e-5)
    validations, others = ([line for line in metrics_of(run) if "validation_loss" in line] for run in (first, second))
    assert len(validations) == len(others) > 0
    for line, other in zip(validations, others, strict=True):
        assert line == pytest.approx(other, rel=1e-5)
    files = {path.relative_to(first) for path in first.rglob("*.safetensors")}
    assert files == {path.relative_to(second) for path in second.rglob("*.safetensors")}
    assert len(files) >= 4
    for file in files:
        assert_near(first / file, second / file)


@pytest.mark.slow
def test_fsdp_takes_the_steps_of_plain_processes_also_after_a_resume(forked, configure, tmp_path):
    configure()
    base, settings = tmp_path / "base.yaml", [*SETTINGS, *EVERYTHING]
    plain = train_pair(forked, base, *settings, "name=plain", fsdp=False)
    said_by_two_processes(forked, TRAIN, str(base), *settings, "training.steps=3", **FSDP)
    assert_near_runs(train_pair(forked, base, *settings, "resume=true"), plain)


@pytest.mark.slow
def test_a_run_goes_from_fsdp_to_one_process_and_back(forked, configure, tmp_path):
    settings = [*SETTINGS, "training.ema_decay=0.9", "training.rouge_examples=0"]
    straight = train(configure(*settings, "training.steps=9", "name=straight"))
    train_pair(forked, tmp_path / "base.yaml", *settings, "training.steps=3")
    train(configure(*settings, "resume=true"))
    assert_near_runs(train_pair(forked, tmp_path / "base.yaml", *settings, "training.steps=9", "resume=true"), straight)


@pytest.mark.slow
def test_models_of_the_ecosystem_and_classifiers_train_under_fsdp_and_load_without_it(forked, configure, tmp_path):
    configure()
    bart = tiny_bart_folder(tmp_path / "bart")
    settings = [*SETTINGS, f"pretrained={bart}", "data.tokenizer=null", "training.steps=3"]
    plain = train_pair(forked, tmp_path / "pretrained.yaml", *settings, "name=plain", fsdp=False)
    sharded = train_pair(forked, tmp_path / "pretrained.yaml", *settings)
    assert_near_runs(sharded, plain)
    assert type(AutoModelForSeq2SeqLM.from_pretrained(sharded / "best")).__name__ == "BartForConditionalGeneration"
    settings = ["task=classification", "data.label_column=summary", "data.validation=[]", "training.steps=2"]
    sharded = train_pair(forked, tmp_path / "base.yaml", *settings, "name=classes")
    assert AutoModelForSequenceClassification.from_pretrained(sharded / "last").config.num_labels > 10


@pytest.mark.slow
def test_the_launcher_starts_fsdp_by_its_configuration(forked, configure, tmp_path):
    configure()
    launch = [forked.python, "-m", "accelerate.commands.launch", "--config_file", "configs/accelerate/fsdp.yaml"]
    launch += ["--mixed_precision", "no", "--main_process_port", "0"]
    command = [*launch, "scripts/train.py", str(tmp_path / "base.yaml"), "training.steps=2"]
    environment = forked.environment()
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "each with a part of the model; 2 process(es) on cpu, float32" in done.stderr
    assert AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "runs/base/best").config.d_model == 32


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"ACCELERATE_USE_FSDP": "true"}, "the launcher's fsdp_version must be 2: see configs/accelerate/fsdp.yaml"),
        (
            {**FSDP, "FSDP_CPU_RAM_EFFICIENT_LOADING": "true"},
            "the launcher's fsdp_cpu_ram_efficient_loading must be false",
        ),
        (
            {"ACCELERATE_USE_DEEPSPEED": "true"},
            "the launcher asks for DEEPSPEED, which is not supported; to split the model, use FSDP",
        ),
    ],
)
def test_what_the_launcher_asks_for_and_is_not_supported_is_one_clear_line(configure, monkeypatch, variables, said):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=said):
        train(configure())
