"""A learning rate from a short trial: it rises geometrically, and where the loss falls fastest is the suggestion."""

import itertools
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from summarizer.errors import InputError
from summarizer.files import write_json, write_whole

LOWEST, HIGHEST, STEPS = 1e-6, 1.0, 100
SMOOTHING = 0.8  # the weight of the past in the smoothed loss
DIVERGED = 2.0  # the trial ends where the smoothed loss is so many times its least, or not finite


@dataclass(frozen=True)
class Trial:
    """The learning rates that were tried, one a step, the losses, and the rate of the steepest descent."""

    learning_rates: list[float]
    losses: list[float]
    smoothed: list[float]
    suggestion: float


def try_rates(take_step: Callable[[float], float]) -> Trial:
    """Take steps at rising rates until the loss grows; `take_step(learning_rate)` returns the loss before the step.

    Raises InputError where not even the first loss is finite.
    """
    rates: list[float] = []
    losses: list[float] = []
    smoothed: list[float] = []
    for rate in _geometric():
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


def save_trial(trial: Trial, stem: Path) -> list[Path]:
    """Write the trial as JSON and as a plot, `stem` with their endings."""
    from matplotlib.figure import Figure

    paths = [stem.with_name(f"{stem.name}.{ending}") for ending in ("json", "png")]
    write_json(paths[0], asdict(trial))
    figure = Figure(figsize=(5, 3.4), layout="constrained")
    axes = figure.subplots()
    axes.plot(trial.learning_rates, trial.losses, alpha=0.4, label="training loss")
    axes.plot(trial.learning_rates, trial.smoothed, label="smoothed")
    axes.axvline(trial.suggestion, linestyle="--", color="gray", label=f"suggestion {trial.suggestion:.1e}")
    axes.set(xscale="log", xlabel="learning rate")
    axes.legend()
    with write_whole(paths[1], "wb") as file:
        figure.savefig(file, format="png", dpi=120)
    return paths


def report(trial: Trial, paths: list[Path]) -> None:
    """Say what was found."""
    print(
        f"training.learning_rate={trial.suggestion:.1e} is where the loss fell fastest, in {len(trial.losses)} steps "
        f"from {trial.learning_rates[0]:.0e} to {trial.learning_rates[-1]:.0e}; written to {paths[0]} and {paths[1]}",
        file=sys.stderr,
    )


def _geometric() -> Iterator[float]:
    for step in range(STEPS):
        yield LOWEST * (HIGHEST / LOWEST) ** (step / (STEPS - 1))


def _steepest(rates: list[float], smoothed: list[float]) -> float:
    """The rate at which the smoothed loss falls most in a step; the lowest where it never falls."""
    falls = [before - after for before, after in itertools.pairwise(smoothed)]
    return rates[falls.index(max(falls))] if falls and max(falls) > 0 else LOWEST
