"""Peak memory of a piece of work, so that nothing that ran before counts.

On a CPU that takes a process of its own; CUDA's allocator counts exactly in any.
"""

import gc
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from summarizer.benchmarks.timing import wait_for
from summarizer.memory import peak_memory_mb

MEGABYTE = 1e6


def peak_megabytes(prepare: Callable[..., Callable[[], object]], *arguments: Any, device: torch.device) -> float:
    """Megabytes that `prepare(*arguments)()` takes at its highest, over what stands when `prepare` has returned.

    `prepare` is a function of a module that makes models and inputs and returns the work; the arguments must pickle.
    """
    if device.type == "cuda":
        return _cuda_peak(prepare(*arguments), device)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_process_peak, prepare, arguments, torch.get_num_threads()).result()


def _cuda_peak(run: Callable[[], object], device: torch.device) -> float:
    gc.collect()
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    run()
    wait_for(device)
    return (torch.cuda.max_memory_allocated(device) - before) / MEGABYTE


def _process_peak(prepare: Callable[..., Callable[[], object]], arguments: tuple, threads: int) -> float:
    torch.set_num_threads(threads)
    run = prepare(*arguments)
    gc.collect()
    _reset_peak()
    before = _status_bytes("VmRSS") or _max_resident_bytes()
    run()
    return max(0.0, ((_status_bytes("VmHWM") or _max_resident_bytes()) - before) / MEGABYTE)


def _reset_peak() -> None:
    """Set Linux's high-water mark of this process to what it holds now; see proc_pid_clear_refs(5)."""
    marks = Path("/proc/self/clear_refs")
    if marks.exists():
        marks.write_text("5", encoding="ascii")


def _status_bytes(name: str) -> int | None:
    status = Path("/proc/self/status")
    if not status.is_file():
        return None
    for line in status.read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return None


def _max_resident_bytes() -> float:
    return (peak_memory_mb() or 0.0) * 2**20
