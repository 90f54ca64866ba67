"""Where summaries go: a JSONL file that survives interruptions, a folder of text files, or the terminal."""

import hashlib
import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from summarizer.files import write_json, write_whole
from summarizer.inference.sources import InputDocument

_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"|?*]')  # in file names, on one system or another


@dataclass(frozen=True)
class SummaryRecord:
    """One line of summaries.jsonl; the fields are the contract."""

    id: str
    path: str
    status: Literal["ok", "empty", "failed"]
    summary: str | None
    error: str | None
    source_tokens: int
    dropped_tokens: int
    summary_tokens: int

    def to_json(self) -> str:
        """The record as one line."""
        return json.dumps(vars(self), ensure_ascii=False)


class Sink(Protocol):
    """Takes records, each with its document's position in the input, in any order."""

    def earlier(self, position: int, document: InputDocument) -> SummaryRecord | None:
        """The record of this very document from an interrupted run, which then needs no `write`."""
        ...

    def write(self, position: int, document: InputDocument, record: SummaryRecord) -> None:
        """Take a record."""
        ...

    def flush(self) -> None:
        """Bring on disk what was taken."""
        ...

    def finish(self) -> None:
        """All documents are done: give the output its name."""
        ...

    def close(self) -> None:
        """Let go, finished or not."""
        ...


class JsonlSink:
    """Writes `path` in the order of the input, whole, when all is done; until then records gather in `path`.part.

    A run with the same `settings` (any JSON) goes on from there: a document with the same id, path and text is not
    summarized again unless it failed.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path = path
        self.part = path.with_name(f"{path.name}.part")
        self._header = path.with_name(f"{path.name}.part.json")
        self._offsets: list[int] = []  # of each position's line in .part; −1: not yet written
        self._finished: dict[str, int] = {}  # a document's key → offset of its line
        path.parent.mkdir(parents=True, exist_ok=True)
        if self.part.exists() and self._read_header() == settings:
            self._read_part()
        else:
            self.part.write_bytes(b"")
            write_json(self._header, settings)
        self._file = self.part.open("r+b")
        self._end = self._file.seek(0, os.SEEK_END)

    def earlier(self, position: int, document: InputDocument) -> SummaryRecord | None:
        """The record that an interrupted run left for this document."""
        offset = self._finished.get(_key(document))
        if offset is None:
            return None
        self._place(position, offset)
        return self._read(offset)

    def write(self, position: int, document: InputDocument, record: SummaryRecord) -> None:
        """Append a record to .part."""
        line = json.dumps({"key": _key(document), "record": vars(record)}, ensure_ascii=False).encode() + b"\n"
        self._file.seek(self._end)
        self._file.write(line)
        self._place(position, self._end)
        self._end += len(line)

    def flush(self) -> None:
        """Hand what was written to the system, so that it outlives this process."""
        self._file.flush()

    def finish(self) -> None:
        """Write `path` from .part, in order, and remove .part."""
        self._file.flush()
        with write_whole(self.path) as output:
            for offset in self._offsets:
                output.write(self._read(offset).to_json() + "\n")
        self._file.close()
        self.part.unlink()
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
        with self.part.open("r+b") as lines:
            for line in lines:
                try:
                    entry = json.loads(line)
                    key, record = entry["key"], SummaryRecord(**entry["record"])
                except (ValueError, KeyError, TypeError):
                    break
                if not line.endswith(b"\n"):
                    break
                if record.status != "failed":
                    self._finished[key] = end
                end += len(line)
            lines.truncate(end)


class FolderSink:
    """Writes a text file for each document, mirroring the input tree, and `summaries.jsonl`."""

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        self._folder = folder
        self._jsonl = JsonlSink(folder / "summaries.jsonl", settings)
        self._names = TextNames()
        self._waiting: dict[int, str] = {}

    def earlier(self, position: int, document: InputDocument) -> SummaryRecord | None:
        """The record that an interrupted run left for this document; its text file is written again."""
        self._waiting[position] = self._names.of(document.id)  # in the order of the input: the same names every time
        record = self._jsonl.earlier(position, document)
        if record is not None:
            self._write_text(position, record)
        return record

    def write(self, position: int, document: InputDocument, record: SummaryRecord) -> None:
        """Write the text file and take the record; a failed document has no text file."""
        self._write_text(position, record)
        self._jsonl.write(position, document, record)

    def _write_text(self, position: int, record: SummaryRecord) -> None:
        path = self._folder / self._waiting.pop(position)
        if record.summary is None:
            path.unlink(missing_ok=True)  # of an earlier run, when the document was another
            return
        with write_whole(path) as file:
            file.write(record.summary + "\n" if record.summary else "")

    def flush(self) -> None:
        """Bring the records on disk."""
        self._jsonl.flush()

    def finish(self) -> None:
        """Give summaries.jsonl its name."""
        self._jsonl.finish()

    def close(self) -> None:
        """Close summaries.jsonl.part, keeping it."""
        self._jsonl.close()


class StdoutSink:
    """Prints records in the order of the input, as JSONL, or the bare summary of the one document."""

    def __init__(self, plain: bool) -> None:
        self._plain = plain
        self._waiting: dict[int, SummaryRecord] = {}
        self._next = 0

    def earlier(self, position: int, document: InputDocument) -> SummaryRecord | None:
        """Nothing: the terminal keeps no record."""
        return None

    def write(self, position: int, document: InputDocument, record: SummaryRecord) -> None:
        """Print the records whose turn has come."""
        self._waiting[position] = record
        while (record_now := self._waiting.pop(self._next, None)) is not None:
            self._next += 1
            line = (record_now.summary or "") if self._plain else record_now.to_json()
            if line:
                sys.stdout.buffer.write(line.encode() + b"\n")

    def flush(self) -> None:
        """Show what was printed."""
        sys.stdout.buffer.flush()

    finish = close = flush


class TextNames:
    """File names for documents: below the folder whatever an id holds, and no two the same, in upper or lower case."""

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._folders: set[str] = set()

    def of(self, document_id: str) -> str:
        """The next free name for this id: the id itself, made safe, with .txt after another suffix."""
        parts = [_safe(part) for part in re.split(r"[/\\]", document_id) if part.strip(" .")]
        parents = ["/".join(parts[:end]).casefold() for end in range(1, len(parts))]
        if not parts or len(parts) > 16 or self._files.intersection(parents):
            parts, parents = [_safe("_".join(parts) or "document")], []
        stem = "/".join(parts)
        if stem.casefold().endswith(".txt") and parts[-1].casefold() != ".txt":
            stem = stem[:-4]
        name, number = f"{stem}.txt", 1
        while name.casefold() in self._files | self._folders:
            number += 1
            name = f"{stem}#{number}.txt"
        self._files.add(name.casefold())
        self._folders.update(parents)
        return name


def _safe(part: str) -> str:
    """One part of a path: no characters that a file system refuses, at most 180 bytes."""
    part = _UNSAFE.sub("_", part).strip(" ")
    return part.encode()[:180].decode("utf-8", "ignore").rstrip(" .") or "_"


def _key(document: InputDocument) -> str:
    """Stands for a document's name and content."""
    content = json.dumps([document.id, document.path, document.text])
    return hashlib.sha256(content.encode()).hexdigest()[:32]
