"""What a run tells while it trains: metrics.jsonl, trackers, and a bar on a terminal or plain lines elsewhere."""

import json
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from accelerate import Accelerator
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from summarizer.files import write_whole


class RunLog:
    """The metrics of a run, one JSON line a logged step. Only the main process writes and shows anything."""

    def __init__(self, path: Path, accelerator: Accelerator, first_step: int, last_step: int) -> None:
        self.path, self.accelerator, self.active = path, accelerator, accelerator.is_main_process
        self.console = Console(file=sys.stderr, quiet=not self.active, highlight=False)
        self.last_step, self.first_step = last_step, first_step
        self.started = time.monotonic()
        self.progress = Progress(
            TextColumn("[bold]training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[status]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
            disable=not (self.active and self.console.is_terminal),
        )
        self.task = self.progress.add_task("training", total=last_step, completed=first_step, status="")
        if self.active:
            self._drop_lines_after(first_step)

    def __enter__(self) -> "RunLog":
        self.progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.progress.stop()

    def say(self, message: str) -> None:
        """A line for people."""
        self.console.print(message, markup=False, soft_wrap=True)

    def advance(self, step: int) -> None:
        """Move the bar."""
        self.progress.update(self.task, completed=step)

    def record(self, step: int, metrics: dict[str, float], shown: str) -> None:
        """Append a line to metrics.jsonl, tell the trackers, and show `shown`."""
        self.accelerator.log(metrics, step=step)
        if not self.active:
            return
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": step, **metrics}) + "\n")
        self.progress.update(self.task, status=shown)
        if not self.console.is_terminal:
            self.say(f"step {step}/{self.last_step}  {shown}  {self._time_left(step)}")

    def _time_left(self, step: int) -> str:
        elapsed = time.monotonic() - self.started
        seconds = elapsed / max(1, step - self.first_step) * (self.last_step - step)
        return f"left {int(seconds // 3600)}:{int(seconds // 60 % 60):02d}:{int(seconds % 60):02d}"

    def _drop_lines_after(self, step: int) -> None:
        """After a resume, forget what was logged past the checkpoint: those steps are done again."""
        lines: list[dict[str, Any]] = []
        if self.path.exists() and step > 0:
            for line in self.path.read_text(encoding="utf-8").splitlines():
                try:
                    lines.append(json.loads(line))
                except json.JSONDecodeError:  # the last line of a run that was killed while writing it
                    continue
        with write_whole(self.path) as file:
            file.writelines(json.dumps(line) + "\n" for line in lines if line["step"] <= step)
