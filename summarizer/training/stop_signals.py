"""A stop that loses nothing: SIGTERM, as from a preempted machine, or Ctrl-C ends a run after the current step."""

import signal
from types import FrameType, TracebackType


class StopSignals:
    """While it is entered, notes the first SIGTERM or SIGINT in `received`; a second one interrupts at once."""

    def __init__(self) -> None:
        self.received = 0
        self._previous: dict[int, object] = {}

    def __enter__(self) -> "StopSignals":
        for number in (signal.SIGINT, signal.SIGTERM):
            self._previous[number] = signal.signal(number, self.receive)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # pyright: ignore  (what signal.signal gave)

    def receive(self, number: int, _: FrameType | None) -> None:
        """What is done at once when a signal comes."""
        if self.received:
            raise KeyboardInterrupt
        self.received = number
