"""The scripts that prove resuming and scaling, in small; their results in full are in results/."""

import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(forked, *command: str) -> subprocess.CompletedProcess[str]:
    environment = forked.environment()
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280, check=False)


def last_line(forked, *command: str) -> dict:
    done = subprocess.run(
        [forked.python, *command],
        cwd=ROOT,
        env=forked.environment(),
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_killed_runs_equal_one_never_interrupted(forked):
    summary = last_line(forked, "scripts/proofs/training_resume.py", "--kills", "3", "--seed", "5")
    assert summary["equal_by_kind"] == {"sample_ids": True, "metrics": True, "weights": True}
    assert summary["files_of_weights"] == 8
    assert summary["steps"] == 12


@pytest.mark.slow
def test_processes_change_neither_gradients_nor_rates(forked):
    summary = last_line(forked, "scripts/proofs/training_scaling.py", "--processes", "1,2", "--steps", "5")
    resumed = summary["variants"].pop("resumed with other numbers of processes")
    assert resumed["equal"]
    for result in summary["variants"].values():
        assert result["equal"]
        assert result["same_learning_rates"]
        assert result["largest_gradient"] > 0.01 > 1e4 * result["largest_difference_of_a_gradient"]


@pytest.mark.slow
def test_two_machines_train_as_one(forked):
    command = ["bash", "scripts/proofs/two_machines.sh"]
    done = subprocess.run(
        command, cwd=ROOT, env=forked.environment(), capture_output=True, text=True, timeout=280, check=False
    )
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["equal"]
    assert summary["steps"] == 20


def test_the_results_in_full_are_those_of_runs_that_were_equal():
    resume, scaling = (
        json.loads((ROOT / f"results/training_{name}.json").read_text(encoding="utf-8"))
        for name in ("resume", "scaling")
    )
    assert resume["equal"]
    assert resume["kills"] == 25
    assert resume["kills_while_a_checkpoint_was_written"] >= 5
    assert scaling["equal"]
    assert scaling["processes"] == [1, 2, 4]
    machines = json.loads((ROOT / "results/two_machines.json").read_text(encoding="utf-8"))
    assert machines["equal"]
    assert min(machines["megabytes_received_by_each_machine"]) > 4e-6 * machines["parameters"] * machines["steps"]
