"""A file of records that survives interruptions, written by one process or by several."""

import glob
import hashlib
import json
import os
from array import array
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from summarizer.batch.input_documents import InputDocument
from summarizer.batch.records import SummaryRecord, encoded, write_records
from summarizer.errors import InputError
from summarizer.files import lock_file, remove_asides, write_json


class RecordSink:
    """Writes `path` (.jsonl, .csv or .parquet) in the order of the input, whole, when all is done.

    Until then records gather in `path`.part, each there, also after a power cut, once `flush` has returned.

    A run with the same `settings` (any JSON) goes on from there: a document with the same id, path and text is not
    summarized again unless it failed. One of other settings, or a finished `path`, is begun anew, and `say` is told.
    Raises InputError when another process is writing `path`.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any], say: Callable[[str], None] = lambda _: None) -> None:
        self.path = path
        self.part = path.with_name(f"{path.name}.part")
        self._header = path.with_name(f"{path.name}.part.json")
        self._offsets = array("q")  # of each position's line in .part; −1: not yet written
        self._finished: dict[str, int] = {}  # a document's key → offset of its line
        self._awaited: dict[int, str] = {}  # position → key, of documents that other processes summarize
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise InputError(f"{path}: is a folder")
        self.part.touch()
        self._file = self.part.open("r+b")
        try:
            lock_file(self._file)
        except BlockingIOError:
            self._file.close()
            raise InputError(f"{path}: another run is writing it; wait for its end or choose another -o") from None
        for own in (path, self._header, run_description(path)):
            remove_asides(own)
        started = self._file.seek(0, os.SEEK_END) > 0 or bool(self._helpers())
        if started and self._read_header() == settings:
            self._read_part()
            self._take_over()
            self._read_part()
        else:
            if started:
                say(f"{self.part} was left by a run with another model or other settings; begun anew")
            elif path.exists():
                say(f"{path} is finished already; made anew")
            for part in self._helpers():
                part.unlink()
            self._file.truncate(0)
            write_json(self._header, settings)
            self._end = 0

    def earlier(self, position: int, document: InputDocument) -> SummaryRecord | None:
        """The record that an interrupted run left for this document."""
        offset = self._finished.get(_key_of(document))
        if offset is None:
            return None
        self._place(position, offset)
        return self._read(offset)

    def write(self, position: int, document: InputDocument, record: SummaryRecord) -> SummaryRecord:
        """Append a record to .part."""
        self._place(position, self._append(_entry_line(_key_of(document), record)))
        return record

    def skip(self, position: int, document: InputDocument) -> SummaryRecord | None:
        """Another process's document: its record from an interrupted run, or it is awaited."""
        record = self.earlier(position, document)
        if record is None:
            self._awaited[position] = _key_of(document)
        return record

    def flush(self) -> None:
        """Bring what was written on disk."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def finish(self) -> list[SummaryRecord]:
        """Write `path` from .part, in order, and from the parts of other processes, whose records are returned."""
        others = self._take_over()
        for position, key in self._awaited.items():
            if key not in others:
                raise InputError(f"{self.path}: a process ended without its summaries; the same command goes on")
            self._place(position, others[key])
        self._file.flush()
        write_records(self.path, map(self._read, self._offsets))
        return [self._read(self._offsets[position]) for position in self._awaited]

    def clear(self) -> None:
        """Remove .part, and then what tells its settings: without them it would count as another run's."""
        self._file.close()
        self.part.unlink(missing_ok=True)
        self._header.unlink(missing_ok=True)

    def close(self) -> None:
        """Close .part, keeping it."""
        self._file.close()

    def _place(self, position: int, offset: int) -> None:
        self._offsets.extend([-1] * (position + 1 - len(self._offsets)))
        self._offsets[position] = offset

    def _read(self, offset: int) -> SummaryRecord:
        self._file.seek(offset)
        return SummaryRecord(**json.loads(self._file.readline())["record"])

    def _read_header(self) -> Any:
        try:
            return json.loads(self._header.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def _read_part(self) -> None:
        """Take over the complete lines of .part and cut off a last one that was not finished."""
        end = 0
        self._file.seek(0)
        for line in self._file:
            if (entry := _read_entry(line)) is None:
                break
            key, record = entry
            if record.status != "failed":
                self._finished[key] = end
            end += len(line)
        self._file.truncate(end)
        self._end = end

    def _append(self, line: bytes) -> int:
        """Where in .part the line now stands."""
        start = self._file.seek(self._end)
        self._file.write(line)
        self._end += len(line)
        return start

    def _helpers(self) -> list[Path]:
        return sorted(self.path.parent.glob(f"{glob.escape(self.part.name)}-[0-9]*"))

    def _take_over(self) -> dict[str, int]:
        """Append to .part what other processes wrote, and remove their files; returns where each key's line stands."""
        found: dict[str, int] = {}
        for part in self._helpers():
            with part.open("rb") as lines:
                for line in lines:
                    if (entry := _read_entry(line)) is not None:
                        found[entry[0]] = self._append(line)
            self.flush()
            part.unlink()
        return found


class HelperSink:
    """The records of a process beside the one that owns `path`: in a file of its own, which that one takes over.

    To be opened when the owner has opened `path` and taken over what earlier helpers left.
    """

    def __init__(self, path: Path, rank: int) -> None:
        self._main = path.with_name(f"{path.name}.part").open("rb")
        self._finished: dict[str, int] = {}
        offset = 0
        for line in self._main:
            entry = _read_entry(line)
            if entry is not None and entry[1].status != "failed":
                self._finished[entry[0]] = offset
            offset += len(line)
        self._file = path.with_name(f"{path.name}.part-{rank}").open("wb")

    def earlier(self, position: int, document: InputDocument) -> SummaryRecord | None:
        """The record that an interrupted run left for this document."""
        offset = self._finished.get(_key_of(document))
        if offset is None:
            return None
        self._main.seek(offset)
        entry = _read_entry(self._main.readline())
        return entry and entry[1]

    def write(self, position: int, document: InputDocument, record: SummaryRecord) -> SummaryRecord:
        """Append a record."""
        self._file.write(_entry_line(_key_of(document), record))
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


def run_description(path: Path) -> Path:
    """The file beside the records `path` that tells how they were made."""
    return path.with_name(f"{path.stem}.run.json")


def _entry_line(key: str, record: SummaryRecord) -> bytes:
    """A line of a .part file."""
    return encoded(json.dumps({"key": key, "record": vars(record)}, ensure_ascii=False)) + b"\n"


def _read_entry(line: bytes) -> tuple[str, SummaryRecord] | None:
    """Key and record of a line of a .part file; None for one that is not whole."""
    try:
        entry = json.loads(line)
        return (entry["key"], SummaryRecord(**entry["record"])) if line.endswith(b"\n") else None
    except (ValueError, KeyError, TypeError):
        return None


def _key_of(document: InputDocument) -> str:
    """Stands for a document's name and content."""
    content = json.dumps([document.id, document.path, document.title, document.text])
    return hashlib.sha256(content.encode()).hexdigest()[:32]
