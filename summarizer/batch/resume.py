"""A file of records that survives interruptions, written by one process or by several."""

import json
import os
from array import array
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from summarizer.batch.input_documents import Keyed
from summarizer.batch.output_files import RecordFiles
from summarizer.batch.records import SummaryRecord, encoded, write_records
from summarizer.batch.text_files import TextFiles
from summarizer.errors import InputError
from summarizer.files import lock_file, write_json


class RecordSink:
    """Writes `path` (.jsonl, .csv or .parquet) whole and in the order of the input, when all documents are done.

    Until then records gather in `path`.part. After `flush` they survive a power cut. `texts`, if given, writes a text
    file for each at the end. A later run with the same `settings` (any JSON) continues: a document with the same id,
    path, title and text is not summarized again unless it failed. Under other settings, or if `path` is complete, all
    documents are summarized again, and `say` is told.
    Raises InputError if another process is writing `path`, or if another version left a .part that cannot be continued.
    """

    def __init__(
        self,
        path: Path,
        settings: Mapping[str, Any],
        say: Callable[[str], None] = lambda _: None,
        texts: TextFiles | None = None,
    ) -> None:
        self._files = RecordFiles(path)
        self._texts = texts
        self._offsets = array("q")  # of each position's line in .part; −1: not yet written
        self._finished: dict[str, int] = {}  # a document's key → offset of its line
        self._awaited: dict[int, str] = {}  # position → key, of documents that other processes summarize
        self._end = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise InputError(f"{path}: is a folder")
        self._files.part.touch()
        self._file = self._files.part.open("r+b")
        try:
            lock_file(self._file, path)
            self._files.remove_asides()
            self._open(settings, say)
        except BaseException:
            self._file.close()
            raise

    def _open(self, settings: Mapping[str, Any], say: Callable[[str], None]) -> None:
        """Continue the .part file that an interrupted run left, or start an empty one."""
        part = self._files.part
        started = self._file.seek(0, os.SEEK_END) > 0 or bool(self._files.helper_parts())
        earlier = _read_settings(self._files.settings) if started else None
        if earlier is not None and _given(earlier) == _given(settings):
            self._read_part()
            self._take_over()
            self._read_part()
            return
        if earlier is not None and not _options(earlier) <= _options(settings):
            raise InputError(f"{part} was left by another version of summarizer; delete it to summarize all documents")
        if started:
            say(f"{part} was left by a run with another model or other settings; summarizing all documents again")
        elif self._files.records.exists():
            say(f"{self._files.records} is complete; it is replaced when all documents are summarized again")
        for helper_part in self._files.helper_parts():
            helper_part.unlink()
        self._file.truncate(0)
        write_json(self._files.settings, settings)

    def finished_keys(self) -> frozenset[str]:
        """The keys of the documents of which an interrupted run left a record."""
        return frozenset(self._finished)

    def has(self, document: Keyed) -> bool:
        """Whether an interrupted run left a record of this document. Any thread may ask."""
        return document.key in self._finished

    def earlier(self, position: int, document: Keyed) -> SummaryRecord | None:
        """The record that an interrupted run left of this document; without one, await that of another process."""
        if (offset := self._finished.get(document.key)) is None:
            self._awaited[position] = document.key
            return None
        self._place(position, offset)
        return self._read(offset)

    def write(self, position: int, document: Keyed, record: SummaryRecord) -> None:
        """Append a record to .part."""
        self._place(position, self._append(_entry_line(document.key, record)))

    def flush(self) -> None:
        """Return when all records are on disk."""
        _flush_to_disk(self._file)

    def finish(self) -> list[SummaryRecord]:
        """Write the text files, then all records to `path`; returns those of other processes."""
        others = self._take_over()
        for position, key in self._awaited.items():
            if key not in others:
                raise InputError(
                    f"{self._files.records}: another process ended before its summaries were complete; "
                    "run the same command again to continue"
                )
            self._place(position, others[key])
        self._file.flush()
        if self._texts is not None:
            self._texts.write(lambda: map(self._read, self._offsets))
        write_records(self._files.records, map(self._read, self._offsets))
        return [self._read(self._offsets[position]) for position in self._awaited]

    def clear(self) -> None:
        """Remove .part, then its settings: in the other order, a kill between the two would leave .part unusable."""
        self._file.close()
        self._files.part.unlink(missing_ok=True)
        self._files.settings.unlink(missing_ok=True)

    def close(self) -> None:
        """Close .part and keep it."""
        self._file.close()

    def _place(self, position: int, offset: int) -> None:
        self._offsets.extend([-1] * (position + 1 - len(self._offsets)))
        self._offsets[position] = offset

    def _read(self, offset: int) -> SummaryRecord:
        self._file.seek(offset)
        return SummaryRecord(**json.loads(self._file.readline())["record"])

    def _read_part(self) -> None:
        """Index the complete lines of .part and cut off an incomplete last one."""
        self._finished, self._end = _index(self._file)
        self._file.truncate(self._end)

    def _append(self, line: bytes) -> int:
        """Append a line to .part; returns its offset."""
        start = self._file.seek(self._end)
        self._file.write(line)
        self._end += len(line)
        return start

    def _take_over(self) -> dict[str, int]:
        """Move the records of other processes into .part; returns the offset of each key's line."""
        found: dict[str, int] = {}
        for part in self._files.helper_parts():
            with part.open("rb") as lines:
                for line in lines:
                    if (entry := _read_entry(line)) is not None:
                        found[entry[0]] = self._append(line)
            self.flush()
            part.unlink()
        return found


class HelperSink:
    """The records of a process of rank 1 or higher, in a file of its own, which the RecordSink of rank 0 takes over.

    Open it after the RecordSink.
    """

    def __init__(self, path: Path, rank: int) -> None:
        files = RecordFiles(path)
        with files.part.open("rb") as main:
            self._finished, _ = _index(main)
        self._file = files.helper_part(rank).open("wb")

    def has(self, document: Keyed) -> bool:
        """Whether an interrupted run left a record of this document. Any thread may ask."""
        return document.key in self._finished

    def earlier(self, position: int, document: Keyed) -> None:
        """Do nothing: rank 0 takes what an interrupted run left, and awaits other processes."""

    def write(self, position: int, document: Keyed, record: SummaryRecord) -> None:
        """Append a record."""
        self._file.write(_entry_line(document.key, record))

    def flush(self) -> None:
        """Return when all records are on disk."""
        _flush_to_disk(self._file)

    def finish(self) -> list[SummaryRecord]:
        """Leave the rest to rank 0."""
        self.flush()
        return []

    def clear(self) -> None:
        """Do nothing: rank 0 removes all files."""

    def close(self) -> None:
        """Close the file and keep it."""
        self._file.close()


def part_records(path: Path) -> Iterator[SummaryRecord]:
    """The records in a .part file; none if there is no such file."""
    try:
        with path.open("rb") as lines:
            for line in lines:
                if (entry := _read_entry(line)) is not None:
                    yield entry[1]
    except OSError:
        return


def _read_settings(path: Path) -> dict[str, Any] | None:
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return settings if isinstance(settings, dict) else None


def _given(settings: Any) -> Any:
    """The settings without those that are None: an option that is not given equals one that did not exist yet."""
    if not isinstance(settings, Mapping):
        return settings
    return {name: _given(value) for name, value in settings.items() if value is not None}


def _options(settings: Mapping[str, Any]) -> set[str]:
    """The names of all options that were given."""
    given = _given(settings)
    return {*given, *given.get("settings", ())}


def _flush_to_disk(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _entry_line(key: str, record: SummaryRecord) -> bytes:
    """A line of a .part file."""
    return encoded(json.dumps({"key": key, "record": vars(record)}, ensure_ascii=False)) + b"\n"


def _read_entry(line: bytes) -> tuple[str, SummaryRecord] | None:
    """Key and record of a line of a .part file; None for an incomplete line."""
    try:
        entry = json.loads(line)
        return (entry["key"], SummaryRecord(**entry["record"])) if line.endswith(b"\n") else None
    except (ValueError, KeyError, TypeError):
        return None


def _index(part: IO[bytes]) -> tuple[dict[str, int], int]:
    """(Offset of each document's line by its key, failed ones left out; where the last complete line ends)."""
    finished: dict[str, int] = {}
    end = 0
    part.seek(0)
    for line in part:
        if (entry := _read_entry(line)) is None:
            break
        key, record = entry
        if record.status != "failed":
            finished[key] = end
        end += len(line)
    return finished, end
