"""What a measurement was made on."""

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch


def describe_machine(device: torch.device) -> dict[str, Any]:
    """Processor or accelerator, threads, and the versions that decide about speed."""
    description = {
        "device": device.type,
        "processor": _processor_name(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "threads": torch.get_num_threads(),
        "system": platform.system(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": version("transformers"),
    }
    if device.type == "cuda":
        description["accelerator"] = torch.cuda.get_device_name(device)
    elif hasattr(torch.cpu, "get_capabilities"):
        wanted = ("amx_bf16", "avx512_bf16", "avx512_f", "avx2")
        description["processor_features"] = [name for name in wanted if torch.cpu.get_capabilities().get(name)]
    return description


def _processor_name() -> str:
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
