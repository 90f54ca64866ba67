"""Times that can be compared: in one run, alternating, medians, after a warm-up."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

import torch

Name = TypeVar("Name")


@dataclass(frozen=True)
class Timing:
    """The median of `repeats` measurements, in seconds."""

    seconds: float
    repeats: int

    @property
    def milliseconds(self) -> float:
        """The median in milliseconds."""
        return 1000 * self.seconds


def wait_for(device: torch.device) -> None:
    """Wait until an accelerator has done all that it was given."""
    if device.type != "cpu":
        torch.accelerator.synchronize()


def timed(run: Callable[[], object], device: torch.device) -> float:
    """The seconds that `run` takes on `device`."""
    wait_for(device)
    started = time.perf_counter()
    run()
    wait_for(device)
    return time.perf_counter() - started


def alternating(
    runs: Mapping[Name, Callable[[], object]],
    repeats: int,
    device: torch.device,
    max_seconds: float = float("inf"),
    advance: Callable[[], None] = lambda: None,
) -> dict[Name, Timing]:
    """Time what is compared in turns, `repeats` times each, so that all meet the same machine.

    A warm-up comes first; one that takes more than `max_seconds` is itself the only measurement. `advance` is called
    after each of the len(runs) × (1 + repeats) turns.
    """
    seconds: dict[Name, list[float]] = {}
    hopeless = {}
    for name, run in runs.items():
        warm_up = timed(run, device)
        seconds[name] = []
        if warm_up > max_seconds:
            hopeless[name] = warm_up
        advance()
    for _ in range(repeats):
        for name, run in runs.items():
            if name not in hopeless:
                seconds[name].append(timed(run, device))
            advance()
    return {
        name: Timing(hopeless[name], 1) if name in hopeless else Timing(median(taken), repeats)
        for name, taken in seconds.items()
    }
