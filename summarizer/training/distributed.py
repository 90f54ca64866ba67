"""Sums over processes, and an error that names the processes that are stuck."""

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from accelerate import Accelerator

from summarizer.errors import InputError

SECONDS_TO_ANSWER = 20.0  # processes reach a time-out within moments of each other


def sum_over_processes(accelerator: Accelerator, values: Sequence[float]) -> list[float]:
    """The sum of each value over all processes, in float64 where the device has it."""
    dtype = torch.float32 if accelerator.device.type == "mps" else torch.float64
    total: Any = accelerator.reduce(torch.tensor(values, dtype=dtype, device=accelerator.device))
    return total.tolist()


@contextmanager
def naming_absent_processes(accelerator: Accelerator) -> Iterator[None]:
    """After a time-out, raise InputError that names the processes that this one waited for."""
    if accelerator.num_processes == 1:
        yield
        return
    group: Any = dist.new_group(backend="gloo")  # own connections: a time-out breaks the ones that it happens on
    try:
        yield
    except RuntimeError as error:
        if not re.search(r"timed? ?out", str(error), re.IGNORECASE):
            raise
        raise InputError(
            f"process {accelerator.process_index} waited longer than training.timeout_minutes for "
            f"{_absent_processes(group, accelerator)}"
        ) from error


def _absent_processes(group: Any, accelerator: Accelerator) -> str:
    """Name the processes that are stuck: each of the others writes to process 0 within moments, and it answers all.

    This is torch's monitored_barrier, except that the others also wait for process 0 for a limited time only.
    """
    message, limit = torch.zeros(1), timedelta(seconds=SECONDS_TO_ANSWER)
    if not accelerator.is_main_process:
        try:
            dist.isend(message, 0, group).wait(limit)  # pyright: ignore (None only outside the group)
            dist.irecv(message, 0, group).wait(limit)  # pyright: ignore (as above)
        except RuntimeError:
            return "process 0, which did not respond, or for the one that process 0 names"
        return "other processes, which responded too late"
    others = range(1, accelerator.num_processes)
    arrivals = {rank: dist.irecv(torch.zeros(1), rank, group) for rank in others}
    end = time.monotonic() + SECONDS_TO_ANSWER
    absent = [str(rank) for rank, arrival in arrivals.items() if not _is_done(arrival, end - time.monotonic())]
    if absent:
        return f"process {', '.join(absent)}, which did not respond"
    for rank in others:
        _is_done(dist.isend(message, rank, group), SECONDS_TO_ANSWER)
    return "other processes, which responded too late"


def _is_done(work: Any, seconds: float) -> bool:
    try:
        work.wait(timedelta(seconds=max(seconds, 0.1)))
    except RuntimeError:
        return False
    return True
