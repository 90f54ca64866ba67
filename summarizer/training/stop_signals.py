"""SIGTERM (as on a preempted machine) or Ctrl-C ends a run after the current step, and no work is lost."""

import signal
from types import FrameType


class StopSignals:
    """A context that stores the first SIGTERM or SIGINT in `received`; a second one interrupts at once."""

    def __init__(self) -> None:
        self.received = 0
        self._previous: dict[int, object] = {}

    def __enter__(self) -> "StopSignals":
        for number in (signal.SIGINT, signal.SIGTERM):
            self._previous[number] = signal.signal(number, self.receive)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # pyright: ignore  (what signal.signal gave)

    def request(self) -> None:
        """Ask for the end of the run as a signal does."""
        self.received = self.received or signal.SIGINT

    def receive(self, number: int, _: FrameType | None) -> None:
        """The signal handler."""
        if self.received:
            raise KeyboardInterrupt
        self.received = number
