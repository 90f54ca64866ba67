"""Two processes, each started by a launcher of its own, see the steps, losses and weights of one."""

import json
import socket
import subprocess
from pathlib import Path

import pytest
from safetensors.torch import load_file

from summarizer.training.loop import train
from tests.corpus import pair_rows, write_jsonl

REPOSITORY = Path(__file__).parents[2]


TWO_MACHINES = ["--config_file", "configs/accelerate/two_machines.yaml", "--num_processes", "2"]
TWO_MACHINES += ["--mixed_precision", "no", "--main_process_ip", "127.0.0.1"]


def free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


@pytest.mark.slow
def test_two_processes_train_like_one(forked, configure, tmp_path):
    options = [*TWO_MACHINES, "--main_process_port", free_port(), "--machine_rank"]
    # 25 documents, 7 to validate and 3 to summarize: none divides by two. An epoch's last step has one micro-batch.
    overrides = ["training.steps=4", "training.validate_every=4", "training.rouge_examples=3", "training.save_every=2"]
    overrides += ["training.tokens_per_batch=600", "training.schedule=constant"]
    write_jsonl(tmp_path / "train.jsonl", pair_rows(25, seed=1))
    alone = train(configure(*overrides, "name=alone"))
    train_pair = ["scripts/train.py", str(tmp_path / "base.yaml"), *overrides, "name=pair"]
    launchers = [
        subprocess.Popen(
            [forked.python, "-m", "accelerate.commands.launch", *options, rank, *train_pair],
            cwd=REPOSITORY, env=forked.environment(), stderr=subprocess.PIPE, text=True,
        )
        for rank in ("0", "1")
    ]  # fmt: skip
    said = [launcher.communicate(timeout=250)[1] for launcher in launchers]
    assert [launcher.returncode for launcher in launchers] == [0, 0], said[0][-3000:]
    assert "2 process(es) on cpu" in said[0]
    assert "".join(said).count("done: ") == 1
    pair = tmp_path / "runs" / "pair"
    first, second = (
        [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
        for run in (alone, pair)
    )
    speeds = ("source_tokens_per_second", "documents_per_second", "peak_memory_mb")
    assert len(first) == len(second) == 5
    for ours, theirs in zip(first, second, strict=True):
        assert {key: value for key, value in ours.items() if key not in speeds} == pytest.approx(
            {key: value for key, value in theirs.items() if key not in speeds}, rel=1e-5, abs=1e-5
        )
    weights, others = (load_file(run / "last" / "model.safetensors") for run in (alone, pair))
    assert max(float((weights[name] - others[name]).abs().max()) for name in weights) < 1e-4
    assert [path.name for path in sorted((pair / "checkpoints").iterdir())] == ["step-000002", "step-000004"]
