"""How far a long piece of work is: a bar on a terminal, plain lines elsewhere, nothing when quiet. All on stderr."""

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

SECONDS_BETWEEN_LINES = 10.0


class WorkProgress:
    """Counts items towards `total` (None: unknown) and shows it; `say` prints a line that the bar leaves whole.

    `work` says what is done and `items` to what: "summarizing", "documents". `done` were done before. Without `lines`
    nothing but what is said shows where there is no terminal.
    """

    def __init__(
        self, work: str, items: str, total: int | None, quiet: bool = False, done: int = 0, lines: bool = True
    ) -> None:
        self._items = items
        self._lines = lines
        self._console = Console(file=sys.stderr, highlight=False, quiet=quiet)
        self._bar = Progress(
            TextColumn(f"[bold]{work}"),
            BarColumn(bar_width=16),  # all in 80 characters
            MofNCompleteColumn(),
            TextColumn("{task.fields[status]}"),
            TimeElapsedColumn(),
            TextColumn("elapsed,"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=self._console,
            disable=quiet or not self._console.is_terminal,
        )
        self._task = self._bar.add_task(work, total=total, completed=done, status=items)
        self._total = total
        self._done = self._first = done
        self._started = self._last_line = time.monotonic()

    def __enter__(self) -> "WorkProgress":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._bar.stop()

    def say(self, message: str) -> None:
        """A line for people."""
        self._console.print(message, markup=False, soft_wrap=True)

    def advance(self, count: int = 1) -> None:
        """So many more items are done."""
        self._done += count
        self._bar.update(self._task, completed=self._done)
        now = time.monotonic()
        if self._lines and not self._console.is_terminal and now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            of_total = f" of {self._total:,}" if self._total else ""
            self.say(f"{self._done:,}{of_total} {self._items}{self._time_left()}")

    def report(self, status: str, prefix: str = "") -> None:
        """Show `status` in the bar; where there is no terminal, as a line after `prefix`."""
        self._bar.update(self._task, status=status)
        if not self._console.is_terminal:
            self.say(f"{prefix}{status}{self._time_left()}")

    def _time_left(self) -> str:
        if not self._total or self._done == self._first:
            return ""
        pace = (time.monotonic() - self._started) / (self._done - self._first)
        seconds = int(pace * max(0, self._total - self._done))
        return f", {seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d} left"
