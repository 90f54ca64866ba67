"""The thread that owns the model: requests wait in a queue, and those with equal settings are summarized together."""

import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from summarizer.generation.options import Summary, SummarySettings
from summarizer.generation.summarizer import Summarizer

_MOST_TOGETHER = 64  # documents; they are batched by tokens


class QueueFullError(RuntimeError):
    """More documents wait than the queue has room for."""


@dataclass(eq=False)
class _Job:
    text: str
    settings: SummarySettings
    future: "Future[Summary]" = field(default_factory=Future)


class SummaryWorker:
    """Summarizes in a thread of its own, first come, first served. Any thread may call its methods."""

    def __init__(self, summarizer: Summarizer, max_waiting: int) -> None:
        self._summarizer, self._max_waiting = summarizer, max_waiting
        self._waiting: deque[_Job] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="summarizer", daemon=True)
        self._thread.start()

    @property
    def num_waiting(self) -> int:
        """Documents that wait."""
        return len(self._waiting)

    def submit(self, texts: Sequence[str], settings: SummarySettings) -> "list[Future[Summary]]":
        """Queue all texts or, with QueueFullError, none. A future that is cancelled while it waits costs nothing."""
        jobs = [_Job(text, settings) for text in texts]
        with self._changed:
            self._waiting = deque(job for job in self._waiting if not job.future.cancelled())
            if self._closed or len(self._waiting) + len(jobs) > self._max_waiting:
                raise QueueFullError
            self._waiting.extend(jobs)
            self._changed.notify()
        return [job.future for job in jobs]

    def close(self) -> None:
        """Cancel what waits, finish the current document, and end the thread."""
        with self._changed:
            self._closed = True
            for job in self._waiting:
                job.future.cancel()
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while jobs := self._next_jobs():
            try:
                summaries = self._summarizer.stream((job.text for job in jobs), jobs[0].settings)
                for job, summary in zip(jobs, summaries, strict=True):
                    job.future.set_result(summary)
                    if self._closed:
                        break
            except Exception as error:
                for job in jobs:
                    if not job.future.done():
                        job.future.set_exception(error)
            for job in jobs:
                if not job.future.done():
                    job.future.set_exception(QueueFullError())

    def _next_jobs(self) -> list[_Job]:
        """Waits for jobs; those that may be summarized with the first one. None at the end."""
        with self._changed:
            while not self._closed:
                jobs: list[_Job] = []
                others: deque[_Job] = deque()
                for job in self._waiting:
                    fits = len(jobs) < _MOST_TOGETHER and (not jobs or job.settings == jobs[0].settings)
                    if not fits:
                        others.append(job)
                    elif job.future.set_running_or_notify_cancel():
                        jobs.append(job)
                self._waiting = others
                if jobs:
                    return jobs
                self._changed.wait()
        return []
