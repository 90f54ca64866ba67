"""What `train` can do before a run: print what would be done and how long it would take, or try learning rates."""

import statistics
import sys
from collections.abc import Callable

from summarizer.training.description import estimate, peak_memory
from summarizer.training.rate_finder import report, save_trial, try_rates
from summarizer.training.run import Run

STEPS_TIMED = 3


def dry_run(run: Run) -> None:
    """Print what a run would be, and how long it would take by the median of a few steps."""
    shares, seconds = run.shares(), []
    for _ in range(1 + STEPS_TIMED):
        before = run.state.seconds
        run.step(next(shares))
        seconds.append(run.state.seconds - before)
    lines = [
        *run.description(),
        *estimate(run.plan, run.settings, statistics.median(seconds[1:])),
        *(f"{value:,.0f} MB of memory" for value in peak_memory(run.accelerator).values()),
    ]
    if run.accelerator.is_main_process:
        print("\n".join(lines), file=sys.stderr)


def find_learning_rate(run: Run) -> None:
    """Try learning rates on the training data; prints the best one and writes the trial beside the run folder."""
    shares = run.shares()
    trial = try_rates(lambda rate: run.step(next(shares), rate)["loss"])
    if run.accelerator.is_main_process:
        run.folder.parent.mkdir(parents=True, exist_ok=True)
        report(trial, save_trial(trial, run.folder.with_name(f"{run.folder.name}-learning-rate")))


REHEARSALS: dict[str, Callable[[Run], None]] = {"dry-run": dry_run, "find-lr": find_learning_rate}
