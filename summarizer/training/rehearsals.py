"""What `train` can do before a run: print what would be done and how long it would take, or try learning rates.

Trial learning rates rise geometrically; the suggestion is the rate at which the loss falls fastest.
"""

import itertools
import math
import statistics
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from summarizer.config import TrainingConfig
from summarizer.data.batching import BatchPlan
from summarizer.errors import InputError
from summarizer.files import json_text
from summarizer.outputs import MARKED, check_files, form, png_of, write_all
from summarizer.training.run import Run
from summarizer.training.run_log import peak_memory

STEPS_TIMED = 3
LOWEST, HIGHEST, STEPS = 1e-6, 1.0, 100
SMOOTHING = 0.8  # the weight of the past in the smoothed loss
DIVERGED = 2.0  # the trial ends when the smoothed loss is this many times its minimum, or not finite


def dry_run(run: Run) -> None:
    """Print what would be trained, and how long it would take by the median of a few steps."""
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
        paths = save_trial(trial, run.folder)
        print(
            f"training.learning_rate={trial.suggestion:.1e} is where the loss fell fastest, in {len(trial.losses)} "
            f"steps from {trial.learning_rates[0]:.0e} to {trial.learning_rates[-1]:.0e}; written to {paths[0]} and "
            f"{paths[1]}",
            file=sys.stderr,
        )


def estimate(plan: BatchPlan, settings: TrainingConfig, seconds_a_step: float) -> list[str]:
    """Lines about the steps and the time that a run would take."""
    minutes = seconds_a_step * settings.steps / 60
    if settings.max_minutes is not None:
        minutes = min(minutes, settings.max_minutes)
    steps = plan.epoch(0)
    most = max(len(batch) for step in steps for batch in step)
    return [
        f"{len(steps):,} steps per epoch, {settings.steps / len(steps):.2f} epochs; a micro-batch has up to "
        f"{most} documents, the longest of {max(plan.lengths):,} source tokens",
        f"about {int(minutes // 60)} h {minutes % 60:.0f} min of training, without validation",
    ]


@dataclass(frozen=True)
class Trial:
    """The learning rates that were tried, one a step, the losses, and the rate of the steepest descent."""

    learning_rates: list[float]
    losses: list[float]
    smoothed: list[float]
    suggestion: float


def try_rates(take_step: Callable[[float], float]) -> Trial:
    """Take steps at rising rates until the loss grows; `take_step(learning_rate)` returns the loss before the step.

    Raises InputError if the first loss is not finite.
    """
    rates: list[float] = []
    losses: list[float] = []
    smoothed: list[float] = []
    for step in range(STEPS):
        rate = LOWEST * (HIGHEST / LOWEST) ** (step / (STEPS - 1))
        loss = take_step(rate)
        if not math.isfinite(loss):
            break
        past = smoothed[-1] if smoothed else loss
        value = SMOOTHING * past + (1 - SMOOTHING) * loss
        if smoothed and value > DIVERGED * min(smoothed):
            break
        rates.append(rate)
        losses.append(loss)
        smoothed.append(value)
    if not rates:
        raise InputError("no learning rate can be found: the loss is not finite before the first step")
    return Trial(rates, losses, smoothed, _steepest(rates, smoothed))


def check_trial_files(folder: Path, overwrite: bool) -> None:
    """Raise UsageError if files that are not an earlier trial are where that of the run `folder` goes."""
    trial = form("json", *(each.name for each in fields(Trial)))
    check_files(dict(zip(_trial_files(folder), (trial, MARKED), strict=True)), overwrite)


def _trial_files(folder: Path) -> list[Path]:
    return [folder.with_name(f"{folder.name}-learning-rate.{ending}") for ending in ("json", "png")]


def save_trial(trial: Trial, folder: Path) -> list[Path]:
    """Write the trial beside the run `folder`, as JSON and as a plot; returns both files."""
    from matplotlib.figure import Figure

    paths = _trial_files(folder)
    figure = Figure(figsize=(5, 3.4), layout="constrained")
    axes = figure.subplots()
    axes.plot(trial.learning_rates, trial.losses, alpha=0.4, label="training loss")
    axes.plot(trial.learning_rates, trial.smoothed, label="smoothed")
    axes.axvline(trial.suggestion, linestyle="--", color="gray", label=f"suggestion {trial.suggestion:.1e}")
    axes.set(xscale="log", xlabel="learning rate")
    axes.legend()
    write_all({paths[1]: png_of(figure), paths[0]: json_text(asdict(trial))})
    return paths


def _steepest(rates: list[float], smoothed: list[float]) -> float:
    """The rate at which the smoothed loss falls most in a step; the lowest where it never falls."""
    falls = [before - after for before, after in itertools.pairwise(smoothed)]
    return rates[falls.index(max(falls))] if falls and max(falls) > 0 else LOWEST


REHEARSALS: dict[str, Callable[[Run], None]] = {"dry-run": dry_run, "find-lr": find_learning_rate}
