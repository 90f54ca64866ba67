"""Check that killed runs lose nothing: python scripts/proofs/training_resume.py --kills 25 [-o result.json].

A tiny run (dropout, accumulation, averaged weights, several epochs) is killed with SIGKILL at random moments, including
moments when it writes a checkpoint. It is resumed each time until it ends. The result must equal that of an
uninterrupted run, bit for bit: the documents of every step (repeated steps included), the logged losses, learning rates
and gradient norms, and all weights.
"""

import json
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from tiny_run import logged_metrics, write_tiny_run

from summarizer.cli import run_script
from summarizer.cli.options import Overwrite
from summarizer.outputs import check_files, form

os.environ.setdefault("ACCELERATE_USE_CPU", "true")  # where sums have one order

STEPS_PER_KILL = 4  # at most, so that a run of this many times `kills` steps does not end before its last kill


def main(
    kills: Annotated[int, typer.Option(min=1)] = 25,
    seed: Annotated[int, typer.Option(help="Of the moments.")] = 1,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="A file for the summary, too.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Print what was compared as JSON; exit status 0 if all is equal."""
    import datasets  # noqa: F401  (the processes are forked with everything imported)

    from summarizer.files import write_json
    from summarizer.training import loop  # noqa: F401  (for the same reason)

    output = output and output.absolute()
    if output is not None:
        check_files({output: form("json", "kills", "steps_done_again", "equal")}, overwrite)
    with tempfile.TemporaryDirectory() as folder:
        summary = prove(Path(folder), kills, random.Random(seed))
    summary = {"kills": kills, "seed": seed, **summary}
    if output is not None:
        write_json(output, summary)
    print(json.dumps(summary))
    raise typer.Exit(0 if summary["equal"] else 1)


def prove(folder: Path, kills: int, generator: random.Random) -> dict[str, Any]:
    """Run straight, run with kills, compare."""
    os.chdir(folder)
    write_tiny_run(folder, steps=STEPS_PER_KILL * kills)
    started = time.monotonic()
    straight = _Child("straight")
    straight.wait_for_step(1)
    start_up = time.monotonic() - started
    straight.finish()
    step_seconds = (time.monotonic() - started - start_up) / (STEPS_PER_KILL * kills)
    while_writing, while_starting = 0, 0
    for number in range(kills):
        child = _Child("killed")
        if number % 3 == 0:
            child.kill_after(generator.uniform(0, start_up + step_seconds))
        elif number % 3 == 1:
            child.wait_for_step(1)
            child.kill_after(generator.uniform(0, STEPS_PER_KILL * step_seconds))
        else:
            child.wait_for_writing()
            child.kill_after(generator.uniform(0, step_seconds / 8))
        while_writing += child.is_writing()
        while_starting += child.num_steps() == 0
    _Child("killed").finish()
    return {
        "steps": STEPS_PER_KILL * kills,
        "kills_while_a_checkpoint_was_written": while_writing,
        "kills_before_the_first_step": while_starting,
        "steps_done_again": len(_samples("killed")) - len({step for step, _ in _samples("killed")}),
        **_compare(),
    }


class _Child:
    """A process that trains the run `name`, resumed if it was begun."""

    def __init__(self, name: str) -> None:
        self.name, self._before = name, len(_samples(name))
        self._parts = self._parts_of_checkpoints()  # left by one that was killed
        self.pid = os.fork()
        if self.pid == 0:
            _train(name)

    def num_steps(self) -> int:
        """How many steps this process has begun."""
        return len(_samples(self.name)) - self._before

    def wait_for_step(self, number: int) -> None:
        """Until this process has begun its step `number`, from 1."""
        self._poll(lambda: self.num_steps() >= number)

    def is_writing(self) -> bool:
        """Whether it is writing a checkpoint, or was when it was killed."""
        return not self._parts_of_checkpoints() <= self._parts

    def wait_for_writing(self) -> None:
        """Until a checkpoint is being written by this process."""
        self._poll(self.is_writing)

    def kill_after(self, seconds: float) -> None:
        """Kill it then, or earlier where it has taken STEPS_PER_KILL steps."""
        until = time.monotonic() + seconds
        self._poll(lambda: time.monotonic() >= until or self.num_steps() >= STEPS_PER_KILL)
        os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        if not os.WIFSIGNALED(status):
            raise SystemExit(f"{self.name}: ended before it was killed")

    def finish(self) -> None:
        """Until its end."""
        _, status = os.waitpid(self.pid, 0)
        if status:
            raise SystemExit(f"{self.name}: failed with status {os.waitstatus_to_exitcode(status)}")

    def _parts_of_checkpoints(self) -> set[tuple[str, int]]:
        parts = set()
        for path in Path("runs", self.name, "checkpoints").glob(".*.part"):
            with suppress(FileNotFoundError):
                parts.add((path.name, path.stat().st_ino))
        return parts

    def _poll(self, condition: Callable[[], bool]) -> None:
        while not condition():
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                raise SystemExit(f"{self.name}: ended unexpectedly")
            time.sleep(0.001)


def _train(name: str) -> None:
    """Train in this forked process, noting the documents of each step as it begins, and end the process."""
    from summarizer.config_files import load_config
    from summarizer.training import loop, run

    load_shares = run.load_shares

    def noted(rows: Any, plan: Any, first_step: int, *rest: Any) -> Iterator[Any]:
        with Path(f"{name}.samples").open("a", encoding="utf-8") as file:
            for step, share in enumerate(load_shares(rows, plan, first_step, *rest), start=first_step + 1):
                file.write(json.dumps([step, [[row["id"] for row in batch] for batch in share]]) + "\n")
                file.flush()
                yield share

    run.load_shares = noted
    status = 1
    try:
        os.dup2(os.open(f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
        loop.train(load_config(Path("run.yaml"), [f"name={name}", "resume=true"]))
        status = 0
    except Exception:
        import traceback

        print(Path(f"{name}.log").read_text(encoding="utf-8")[-2000:], traceback.format_exc())
    finally:
        os._exit(status)


def _samples(name: str) -> list[tuple[int, str]]:
    """(Step, the ids of its documents by micro-batch) in the order in which steps were begun."""
    path = Path(f"{name}.samples")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    whole = [line for line in lines if line.endswith("]]]")]  # one may be half written
    return [(step, json.dumps(ids)) for step, ids in map(json.loads, whole)]


def _compare() -> dict[str, Any]:
    from safetensors.torch import load_file

    straight, killed = Path("runs/straight"), Path("runs/killed")
    logged = [logged_metrics(run) for run in (straight, killed)]
    samples = [set(_samples(name)) for name in ("straight", "killed")]
    files = sorted(path.relative_to(straight) for path in straight.rglob("*.safetensors"))
    unequal = []
    for file in files:
        ours, theirs = load_file(straight / file), load_file(killed / file)
        if ours.keys() != theirs.keys() or not all(ours[name].equal(theirs[name]) for name in ours):
            unequal.append(str(file))
    equal = {"sample_ids": samples[0] == samples[1], "metrics": logged[0] == logged[1], "weights": not unequal}
    return {
        "equal": all(equal.values()),
        "equal_by_kind": equal,
        "lines_of_metrics": len(logged[0]),
        "files_of_weights": len(files),
        "unequal_files": unequal,
    }


if __name__ == "__main__":
    run_script(main)
