"""Several processes at one output, as `accelerate launch` starts them: who takes what, and how they wait."""

import datetime
import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Processes:
    """This process among all: every `count`-th document is its own."""

    rank: int = 0
    count: int = 1

    @classmethod
    def from_environment(cls) -> "Processes":
        """As the launcher says in RANK and WORLD_SIZE; one process without it."""
        return cls(int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1)))

    def owns(self, position: int) -> bool:
        """Whether the document at this position of the input is this process's own."""
        return position % self.count == self.rank

    def device(self, name: str) -> str:
        """For "auto" this process's own accelerator, where there are as many."""
        import torch

        accelerator = torch.accelerator.current_accelerator(check_available=True)
        if name != "auto" or self.count == 1 or accelerator is None:
            return name
        return f"{accelerator.type}:{int(os.environ.get('LOCAL_RANK', 0)) % torch.accelerator.device_count()}"

    def wait(self) -> None:
        """Go on when all processes have come here."""
        if self.count == 1:
            return
        import torch.distributed as dist

        if not dist.is_initialized():
            dist.init_process_group("gloo", timeout=datetime.timedelta(days=30))
        dist.barrier()
