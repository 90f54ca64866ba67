"""Several processes that share one output, as `accelerate launch` starts them."""

import datetime
import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Processes:
    """The rank of this process and the number of processes; each takes every `count`-th document."""

    rank: int = 0
    count: int = 1

    @classmethod
    def from_environment(cls) -> "Processes":
        """From RANK and WORLD_SIZE, which the launcher sets; otherwise one process."""
        return cls(int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1)))

    def owns(self, position: int) -> bool:
        """Whether this process summarizes the document at this position of the input."""
        return position % self.count == self.rank

    def device(self, name: str) -> str:
        """The device with this name; "auto" gives each process its own accelerator, if there are several processes."""
        import torch

        accelerator = torch.accelerator.current_accelerator(check_available=True)
        if name != "auto" or self.count == 1 or accelerator is None:
            return name
        return f"{accelerator.type}:{int(os.environ.get('LOCAL_RANK', 0)) % torch.accelerator.device_count()}"

    def wait(self) -> None:
        """Return when all processes have called it."""
        if self.count == 1:
            return
        import torch.distributed as dist

        if not dist.is_initialized():
            dist.init_process_group("gloo", timeout=datetime.timedelta(days=30))
        dist.barrier()
