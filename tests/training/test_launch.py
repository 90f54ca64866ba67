"""A run folder belongs to one run; processes do not wait for each other without end."""

import os
import re
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from summarizer.errors import InputError
from summarizer.training.launch import LOCK_FILE
from summarizer.training.loop import train
from tests.processes import said_by_two_processes

HOLD = """
import os, sys, time
from pathlib import Path
from types import SimpleNamespace
from torch.utils.data import DataLoader
from summarizer.training.launch import locked
with locked(Path(sys.argv[1]), SimpleNamespace(is_main_process=True)):
    worker = iter(DataLoader([1, 2], num_workers=1))
    next(worker)
    print(os.getpid(), flush=True)
    time.sleep(120)
"""
ABSENT = """
from summarizer.training import run as run_module

def run(rank):
    base, absent, load_shares = Path(sys.argv[1]), int(sys.argv[2]), run_module.load_shares
    ended = base.with_name(f"ended-{absent}")

    def stall(rows, plan, first, process, *rest):
        for step, share in enumerate(load_shares(rows, plan, first, process, *rest)):
            if step == 2 and process == absent:
                while not ended.exists():  # the other one must not end because this one does
                    time.sleep(0.1)
                os._exit(0)
            yield share

    run_module.load_shares = stall
    distributed.SECONDS_TO_ANSWER = 3.0
    try:
        settings = [f"name=absent-{absent}", "training.timeout_minutes=0.1", "data.validation=[]"]
        loop.train(load_config(base, settings))
    finally:
        ended.touch()
"""


def test_a_run_folder_that_another_run_writes_is_refused_until_that_has_ended(forked, configure):
    config = configure("training.steps=1", "data.validation=[]")
    folder = Path(config.output_dir, config.name)
    command = [forked.python, "-c", HOLD, str(folder)]
    with subprocess.Popen(command, env=forked.environment(), stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        holder = int(other.stdout.readline())
        with pytest.raises(
            InputError, match=r"runs/base: another run is writing it; wait until it ends or name another"
        ):
            train(config)
        assert [path.name for path in folder.iterdir()] == [LOCK_FILE]
        (folder / ".metrics.jsonl.x.part").touch()  # as a killed run may leave it
        os.kill(holder, signal.SIGKILL)
        other.wait()
        train(config)  # also where a worker of the killed run is still there
    assert not list(folder.glob(".*.part"))


def test_a_tracker_that_is_not_installed_is_one_clear_line(configure):
    with pytest.raises(InputError, match=r"^training\.trackers: dvclive is not installed: pip install dvclive$"):
        train(configure("training.trackers=[dvclive]"))


@pytest.mark.slow
def test_processes_that_wait_in_vain_end_and_name_the_one_that_did_not_come(forked, configure, tmp_path):
    configure()
    with ThreadPoolExecutor() as pool:  # both take seconds, most of them asleep
        outputs = pool.map(
            lambda absent: said_by_two_processes(forked, ABSENT, str(tmp_path / "base.yaml"), absent), "01"
        )
    for absent, output in enumerate(outputs):
        assert "ended: " in output, output
        (said,) = re.findall(r"ended: (.*)", output)
        assert said == (
            f"process {1 - absent} waited longer than training.timeout_minutes for process {absent}, "
            "which did not respond" + ("" if absent else ", or for the one that process 0 names")
        )
