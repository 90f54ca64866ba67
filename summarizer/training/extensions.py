"""What a program may add to a training run: callbacks, and metrics of the validation summaries."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from summarizer.config import METRICS, RunConfig
from summarizer.errors import InputError

_TAKEN = {*METRICS, "validation_loss"}


@dataclass(frozen=True)
class TrainingEvent:
    """A line of metrics.jsonl, as it is written: training metrics, or those of a validation."""

    step: int
    metrics: Mapping[str, float]
    folder: Path  # of the run


Callback = Callable[[TrainingEvent], bool | None]
"""Called on the main process for each event. True ends the run after the next step, with a checkpoint."""

Metric = Callable[[Sequence[str], Sequence[str]], float]
"""Called with the summaries and references of a validation, in order. The number is logged and in the card. Higher is
better where the metric is the best metric of a run."""


@dataclass(frozen=True)
class Extensions:
    """Callbacks and metrics of a run. An error in one of them ends the run."""

    callbacks: Sequence[Callback] = ()
    metrics: Mapping[str, Metric] = field(default_factory=dict)

    def check(self, config: RunConfig) -> None:
        """Raise InputError if a metric has the name of another one or nothing to measure, or best_metric is none."""
        if taken := sorted(self.metrics.keys() & _TAKEN):
            raise InputError(f"metrics: '{taken[0]}' is the name of another metric; choose another name")
        if self.metrics and (config.task != "summarization" or not config.training.rouge_examples):
            raise InputError("metrics need task=summarization and training.rouge_examples > 0")
        best = config.training.best_metric
        if best not in METRICS and best not in self.metrics:
            choices = [*(name for name, tasks in METRICS.items() if config.task in tasks), *self.metrics]
            raise InputError(f"training.best_metric={best}: no such metric; choose from {', '.join(choices)}")
