"""Map a function over a stream in several processes, in order and with bounded memory."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from itertools import islice
from multiprocessing import get_context
from typing import TypeVar

JOBS_AT_ONCE = 16  # that travel to a process together
CHUNKS_AHEAD = 3  # of each process

Job = TypeVar("Job")
Result = TypeVar("Result")


@contextmanager
def open_map(processes: int) -> Iterator[Callable[[Callable[[Job], Result], Iterable[Job]], Iterable[Result]]]:
    """A `map` over that many processes, results in order; with one process, the built-in map in this one.

    Jobs are taken from their iterable only as results are fetched. Processes are spawned, so the function and the
    jobs must pickle. Raises ValueError for fewer than one.
    """
    if processes < 1:
        raise ValueError(f"processes must be at least 1, not {processes}")
    if processes == 1:
        yield map
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:

        def map_over_processes(function: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
            remaining = iter(jobs)
            pending: deque[Future[list[Result]]] = deque()
            while True:
                while len(pending) < CHUNKS_AHEAD * processes and (chunk := list(islice(remaining, JOBS_AT_ONCE))):
                    pending.append(pool.submit(_map_chunk, function, chunk))
                if not pending:
                    return
                yield from pending.popleft().result()

        yield map_over_processes


def _map_chunk(function: Callable[[Job], Result], jobs: list[Job]) -> list[Result]:
    return [function(job) for job in jobs]
