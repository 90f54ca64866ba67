"""Sums over processes, and what is said when one of them does not come."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from accelerate import Accelerator

from summarizer.errors import InputError

SECONDS_TO_ANSWER = 20.0  # of processes that have run into a time-out: they do within moments of each other


def sum_over_processes(accelerator: Accelerator, values: Sequence[float]) -> list[float]:
    """The sum of each value over all processes, in float64 where the device has it."""
    dtype = torch.float32 if accelerator.device.type == "mps" else torch.float64
    total: Any = accelerator.reduce(torch.tensor(values, dtype=dtype, device=accelerator.device))
    return total.tolist()


@contextmanager
def naming_absent_processes(accelerator: Accelerator) -> Iterator[None]:
    """Raise InputError that names the processes that did not come where this one waited for others in vain."""
    if accelerator.num_processes == 1:
        yield
        return
    group: Any = dist.new_group(backend="gloo")  # connections of its own: a time-out breaks those that it happens on
    try:
        yield
    except RuntimeError as error:
        if not re.search(r"timed? ?out", str(error), re.IGNORECASE):
            raise
        raise InputError(
            f"process {accelerator.process_index} waited longer than training.timeout_minutes for "
            f"{_absent_processes(group, accelerator.is_main_process)}"
        ) from error


def _absent_processes(group: Any, is_main_process: bool) -> str:
    """Who is stuck: whoever has waited in vain comes to this barrier within moments, and its first process counts."""
    try:
        dist.monitored_barrier(group, timeout=timedelta(seconds=SECONDS_TO_ANSWER), wait_all_ranks=True)
    except RuntimeError as error:
        named = re.search(r"Ranks ([\d, ]+) failed to pass", str(error))
        if named:
            return f"process {named[1]}, which did not come"
        if not is_main_process:
            return "process 0, which did not come, or for the one that process 0 names"
    return "others, which came too late"
