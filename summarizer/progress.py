"""The progress of long work, on stderr: a bar on a terminal, plain lines elsewhere, or JSON lines."""

import json
import sys
import time
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

SECONDS_BETWEEN_LINES = 10.0
SECONDS_BETWEEN_JSON_LINES = 1.0


class WorkProgress:
    """Counts items towards `total` (None: unknown) and shows it; `say` prints a line above the bar.

    `work` and `items` name the work: "summarizing", "documents". `done` items were done before. Without `lines`
    only `say` prints if stderr is not a terminal. With `as_json` each line is an object with an `event`:
    message (text), progress (done, total, tokens_per_second, seconds_left), or what `event` is called with.
    """

    def __init__(
        self,
        work: str,
        items: str,
        total: int | None,
        quiet: bool = False,
        *,
        done: int = 0,
        lines: bool = True,
        as_json: bool = False,
    ) -> None:
        self._items = items
        self._lines = lines
        self._as_json = as_json
        self._console = Console(file=sys.stderr, highlight=False, quiet=quiet)
        self._bar = Progress(
            TextColumn(f"[bold]{work}"),
            BarColumn(bar_width=16),  # all in 80 characters
            MofNCompleteColumn(),
            TextColumn("{task.fields[status]}"),
            TimeElapsedColumn(),
            TextColumn("elapsed,"),
            TimeRemainingColumn(),
            TextColumn("left{task.fields[rate]}"),
            console=self._console,
            disable=quiet or as_json or not self._console.is_terminal,
        )
        self._task = self._bar.add_task(work, total=total, completed=done, status=items, rate="")
        self._total = total
        self._done = self._first = done
        self._tokens = 0
        self._started = self._last_line = time.monotonic()

    def __enter__(self) -> "WorkProgress":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._bar.stop()

    def say(self, message: str) -> None:
        """Print a line, or an event of type `message` with `as_json`."""
        if self._as_json:
            self.event("message", text=message)
        else:
            self._console.print(message, markup=False, soft_wrap=True)

    def event(self, name: str, **values: Any) -> None:
        """Print a JSON line if `as_json` is set."""
        if self._as_json:
            print(json.dumps({"event": name, **values}, ensure_ascii=False), file=sys.stderr, flush=True)

    def advance(self, count: int = 1, tokens: int = 0) -> None:
        """Count `count` more items as done, and `tokens` more tokens."""
        self._done += count
        self._tokens += tokens
        now = time.monotonic()
        rate = self._tokens / max(now - self._started, 1e-9)
        shown_rate = f", {rate:,.0f} tokens/s" if self._tokens else ""
        self._bar.update(self._task, completed=self._done, rate=shown_rate)
        if self._as_json and (now - self._last_line >= SECONDS_BETWEEN_JSON_LINES or self._done == self._total):
            self._last_line = now
            left = self._seconds_left(now)
            numbers = {"tokens_per_second": round(rate), "seconds_left": None if left is None else round(left)}
            self.event("progress", done=self._done, total=self._total, **numbers)
        elif (
            not self._as_json
            and self._lines
            and not self._console.is_terminal
            and now - self._last_line >= SECONDS_BETWEEN_LINES
        ):
            self._last_line = now
            of_total = f" of {self._total:,}" if self._total else ""
            self.say(f"{self._done:,}{of_total} {self._items}{shown_rate}{self._time_left(now)}")

    def report(self, status: str, prefix: str = "") -> None:
        """Show `status` in the bar, or as a line after `prefix` if stderr is not a terminal."""
        self._bar.update(self._task, status=status)
        if not self._console.is_terminal:
            self.say(f"{prefix}{status}{self._time_left(time.monotonic())}")

    def _seconds_left(self, now: float) -> float | None:
        if not self._total or self._done == self._first:
            return None
        return (now - self._started) / (self._done - self._first) * max(0, self._total - self._done)

    def _time_left(self, now: float) -> str:
        if (left := self._seconds_left(now)) is None:
            return ""
        seconds = int(left)
        return f", {seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d} left"
