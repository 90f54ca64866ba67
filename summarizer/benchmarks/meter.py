"""What all benchmarks that compare systems share: times and peak memory under one progress bar, results, ratios."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from summarizer.benchmarks.machine import describe_machine
from summarizer.benchmarks.peak_memory import peak_megabytes
from summarizer.benchmarks.timing import Name, Timing, alternating
from summarizer.memory import keep_freed_memory
from summarizer.models.loading import choose_device
from summarizer.progress import WorkProgress

OURS, FLOOR = "fastformer", "floor"
FORWARD, BACKWARD = "forward", "forward_backward"
Rows = list[dict[str, Any]]


class Meter:
    """Measures `num_timed` runs and `num_peaks` peaks of memory on the device of the settings."""

    def __init__(self, settings: Any, title: str, num_timed: int, num_peaks: int) -> None:
        keep_freed_memory()
        self.settings, self.device = settings, choose_device(settings.device)
        turns = num_timed * (1 + settings.repeats) + num_peaks * settings.memory
        self.progress = WorkProgress(f"measuring {title}", "runs", turns)

    def times(self, runs: Mapping[Name, Callable[[], object]]) -> dict[Name, Timing]:
        """The times of runs that take turns."""
        max_seconds = getattr(self.settings, "max_seconds", float("inf"))
        return alternating(runs, self.settings.repeats, self.device, max_seconds, self.progress.advance)

    def peak(self, prepare: Callable[..., Callable[[], object]], *arguments: Any) -> float | None:
        """Megabytes that `prepare(*arguments, device name)()` takes; None if the settings ask for no memory."""
        if not self.settings.memory:
            return None
        megabytes = peak_megabytes(prepare, *arguments, str(self.device), device=self.device)
        self.progress.advance()
        return megabytes

    def result(self, **parts: Any) -> dict[str, Any]:
        """The content of the JSON file."""
        return {"machine": describe_machine(self.device), "settings": asdict(self.settings), **parts}


def ratios(rows: Rows, system: str, cell: Sequence[str], columns: Sequence[str]) -> Rows:
    """Each row's columns divided by those of fastformer in the same cell; `system` is the key of the system's name."""
    ours = {tuple(row[key] for key in cell): row for row in rows if row[system] == OURS}
    compared = []
    for row in rows:
        own = ours.get(tuple(row[key] for key in cell))
        if own is None or row is own:
            continue
        ratio = {key: row[key] for key in (system, *cell)}
        for column in columns:
            both = own[column] and row[column] is not None
            ratio[column] = row[column] / own[column] if both else None
        compared.append(ratio)
    return compared


def with_floor(rows: Rows, floors: Rows, system: str) -> Rows:
    """The rows, and those of the floor, whose memory is not measured."""
    return [*rows, *({system: FLOOR, "peak_mb": None, **floor} for floor in floors)]
