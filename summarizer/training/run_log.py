"""What a run reports while it trains: metrics.jsonl, trackers, and a bar on a terminal or plain lines elsewhere."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from summarizer.files import naming_written, write_whole
from summarizer.memory import peak_memory_mb
from summarizer.progress import WorkProgress
from summarizer.training.extensions import Callback, TrainingEvent


class RunLog(WorkProgress):
    """Progress, and the metrics of a run, one JSON line a logged step. Only the main process writes and shows it."""

    def __init__(self, path: Path, accelerator: Accelerator, first_step: int, last_step: int) -> None:
        self.path, self.accelerator, self.last_step = path, accelerator, last_step
        self.callbacks: Sequence[Callback] = ()
        self.stop: Callable[[], None] = lambda: None  # what a callback asks for when it returns true
        self.active = accelerator.is_main_process
        super().__init__("training", "steps", last_step, not self.active, done=first_step, lines=False)
        if self.active:
            self._drop_lines_after(first_step)

    def record(self, step: int, metrics: dict[str, float], shown: str) -> None:
        """Append a line to metrics.jsonl, tell the trackers, and show `shown`."""
        self.accelerator.log(_grouped(metrics), step=step)
        if not self.active:
            return
        with naming_written(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": step, **metrics}) + "\n")
        self.report(shown, f"step {step}/{self.last_step}  ")
        for callback in self.callbacks:
            if callback(TrainingEvent(step, dict(metrics), self.path.parent)):
                self.stop()

    def _drop_lines_after(self, step: int) -> None:
        """After a resume, delete the lines of steps after the checkpoint: those steps are repeated."""
        lines: list[dict[str, Any]] = []
        if self.path.exists() and step > 0:
            for line in self.path.read_text(encoding="utf-8").splitlines():
                try:
                    lines.append(json.loads(line))
                except json.JSONDecodeError:  # the last line of a run that was killed while writing it
                    continue
        with write_whole(self.path) as file:
            file.writelines(json.dumps(line) + "\n" for line in lines if line["step"] <= step)


def _grouped(metrics: dict[str, float]) -> dict[str, float]:
    """The metrics under the names of their groups, in which TensorBoard shows them: train/loss, validation/loss …"""
    if "validation_loss" in metrics:
        return {f"validation/{name.removeprefix('validation_')}": value for name, value in metrics.items()}
    groups = {name: "train" if name in ("loss", "learning_rate", "grad_norm") else "speed" for name in metrics}
    return {f"{groups[name]}/{name}": value for name, value in metrics.items()}


class StepWindow:
    """Statistics of the steps since the last logged one."""

    def __init__(self) -> None:
        self._steps: list[dict[str, float]] = []
        self._started = time.perf_counter()

    def add(self, statistics: dict[str, float]) -> None:
        """Add the statistics of a step."""
        self._steps.append(statistics)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The time in this context, for validating and saving, does not count as time of the steps."""
        began = time.perf_counter()
        yield
        self._started += time.perf_counter() - began

    def metrics(self) -> dict[str, float]:
        """The mean loss per label of steps that were not skipped, speeds, the last learning rate and gradient norm."""
        seconds = time.perf_counter() - self._started
        taken = [step for step in self._steps if not step["skipped"]]
        metrics: dict[str, float] = {"learning_rate": self._steps[-1]["learning_rate"]}
        if taken:
            labels = sum(step["labels"] for step in taken)
            metrics["loss"] = sum(step["loss"] * step["labels"] for step in taken) / labels
            metrics["grad_norm"] = taken[-1]["grad_norm"]
        for name in ("source_tokens", "documents"):
            metrics[f"{name}_per_second"] = sum(step[name] for step in self._steps) / seconds
        return metrics

    def shown(self) -> str:
        """The metrics as a line of progress."""
        metrics = self.metrics()
        loss = f"loss {metrics['loss']:.3f}  " if "loss" in metrics else "all steps skipped  "
        return loss + (
            f"{metrics['source_tokens_per_second']:,.0f} source tokens/s  "
            f"{metrics['documents_per_second']:.1f} documents/s"
        )


def peak_memory(accelerator: Accelerator) -> dict[str, float]:
    """The peak memory so far of this process, or of its GPU, as a metric; none where it cannot be read."""
    if accelerator.device.type == "cuda":
        return {"peak_memory_mb": torch.cuda.max_memory_allocated() / 2**20}
    peak = peak_memory_mb()
    return {} if peak is None else {"peak_memory_mb": peak}
