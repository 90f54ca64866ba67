"""The names of all files of an output: records, the side files beside them, and text files in a folder."""

import glob
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from summarizer.batch.records import record_form
from summarizer.files import remove_asides
from summarizer.outputs import Form, form

TextFormat = Literal["txt", "md"]
RECORDS = "summaries.jsonl"  # beside the text files


@dataclass(frozen=True)
class RecordFiles:
    """A file of records and its side files."""

    records: Path

    @property
    def part(self) -> Path:
        """Where records gather until all documents are done; its lock is that of the output."""
        return self.records.with_name(f"{self.records.name}.part")

    @property
    def settings(self) -> Path:
        """How the records in `part` were made."""
        return self.records.with_name(f"{self.records.name}.part.json")

    @property
    def description(self) -> Path:
        """How the finished records were made."""
        return self.records.with_name(f"{self.records.stem}.run.json")

    def helper_part(self, rank: int) -> Path:
        """Where the records of another process of the same run gather."""
        return self.records.with_name(f"{self.part.name}-{rank}")

    def helper_parts(self) -> list[Path]:
        """The files of other processes that are there."""
        return sorted(self.records.parent.glob(f"{glob.escape(self.part.name)}-[0-9]*"))

    def forms(self) -> dict[Path, Form]:
        """The form of each file."""
        settings = ("version", "model", "settings")
        parts = dict.fromkeys([self.part, *self.helper_parts()], form("jsonl", "key"))
        return {
            self.records: record_form(self.records),
            **parts,
            self.settings: form("json", *settings),
            self.description: form("json", *settings, "counts"),
        }

    def include(self, path: Path) -> bool:
        """Whether `path` is one of these files."""
        return path in (self.records, self.part, self.settings, self.description, *self.helper_parts())

    def remove_asides(self) -> None:
        """Remove what a killed run left while it wrote one of these files."""
        for path in (self.records, self.settings, self.description):
            remove_asides(path)


# Characters that some file system refuses, and the names of Windows' devices.
_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"|?*]')
_DEVICE = re.compile(r"\A(con|prn|aux|nul|(com|lpt)\d)(?=\.|$)", re.IGNORECASE)


class TextNames:
    """Names of text files by the ids of their documents: always below the folder, and unique whatever their case."""

    def __init__(self, text_format: TextFormat = "txt") -> None:
        own = RecordFiles(Path(RECORDS))
        self._suffix = f".{text_format}"
        self._files = {path.name for path in (own.records, own.part, own.settings, own.description)}
        self._folders: set[str] = set()

    def of(self, document_id: str) -> str:
        """The next free name for this id: the id without unsafe characters, and the suffix of the format."""
        parts = [_safe(part) for part in re.split(r"[/\\]", document_id) if part.strip(" .")]
        parents = [_folded("/".join(parts[:end])) for end in range(1, len(parts))]
        if not parts or len(parts) > 16 or self._files.intersection(parents):
            parts, parents = [_safe("_".join(parts) or "document")], []
        stem = "/".join(parts)
        if stem.casefold().endswith(self._suffix) and parts[-1].casefold() != self._suffix:
            stem = stem[: -len(self._suffix)]
        name, number = f"{stem}{self._suffix}", 1
        while _folded(name) in self._files or _folded(name) in self._folders:
            number += 1
            name = f"{stem}#{number}{self._suffix}"
        self._files.add(_folded(name))
        self._folders.update(parents)
        return name


def _safe(part: str) -> str:
    """One part of a path without unsafe characters, at most 180 bytes long."""
    part = _DEVICE.sub(r"_\g<0>", _UNSAFE.sub("_", part).strip(" "))
    return part.encode()[:180].decode("utf-8", "ignore").rstrip(" .") or "_"


def _folded(name: str) -> str:
    """The name in a form that is equal for names that some file system holds for the same."""
    return unicodedata.normalize("NFC", name).casefold()
