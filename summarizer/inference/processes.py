"""Several processes at one output, as `accelerate launch` starts them: who takes what, and how they wait."""

import datetime
import os
from dataclasses import dataclass
from pathlib import Path

from summarizer.inference.output import entry_line, key_of, read_entry
from summarizer.inference.reading import InputDocument
from summarizer.inference.records import SummaryRecord


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


class HelperSink:
    """The records of a process beside the one that owns `path`: in a file of its own, which that one takes over.

    To be opened when the owner has opened `path` and taken over what earlier helpers left.
    """

    def __init__(self, path: Path, rank: int) -> None:
        self._main = path.with_name(f"{path.name}.part").open("rb")
        self._finished: dict[str, int] = {}
        offset = 0
        for line in self._main:
            entry = read_entry(line)
            if entry is not None and entry[1].status != "failed":
                self._finished[entry[0]] = offset
            offset += len(line)
        self._file = path.with_name(f"{path.name}.part-{rank}").open("wb")

    def earlier(self, position: int, document: InputDocument) -> SummaryRecord | None:
        """The record that an interrupted run left for this document."""
        offset = self._finished.get(key_of(document))
        if offset is None:
            return None
        self._main.seek(offset)
        entry = read_entry(self._main.readline())
        return entry and entry[1]

    def write(self, position: int, document: InputDocument, record: SummaryRecord) -> SummaryRecord:
        """Append a record."""
        self._file.write(entry_line(key_of(document), record))
        return record

    def skip(self, position: int, document: InputDocument) -> SummaryRecord | None:
        """Another process's document: nothing to do."""
        return None

    def flush(self) -> None:
        """Bring what was written on disk."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def finish(self) -> list[SummaryRecord]:
        """The owner writes the output."""
        self.flush()
        return []

    def clear(self) -> None:
        """The owner removes what was left."""

    def close(self) -> None:
        """Close the files, keeping them."""
        self._main.close()
        self._file.close()
