"""File names for documents."""

import re
import unicodedata
from typing import Literal

TextFormat = Literal["txt", "md"]
RECORDS = "summaries.jsonl"  # beside the text files
_OWN_FILES = (RECORDS, f"{RECORDS}.part", f"{RECORDS}.part.json", "summaries.run.json")
# In file names, on one system or another: characters, and names of Windows' devices.
_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"|?*]')
_DEVICE = re.compile(r"\A(con|prn|aux|nul|(com|lpt)\d)(?=\.|$)", re.IGNORECASE)


class TextNames:
    """File names for documents: below the folder whatever an id holds, and no two the same, in upper or lower case."""

    def __init__(self, text_format: TextFormat = "txt") -> None:
        self._suffix = f".{text_format}"
        self._files: set[str] = set(_OWN_FILES)
        self._folders: set[str] = set()

    def of(self, document_id: str) -> str:
        """The next free name for this id: the id itself, made safe, with the format's suffix after another one."""
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
    """One part of a path: no characters that a file system refuses, at most 180 bytes."""
    part = _DEVICE.sub(r"_\g<0>", _UNSAFE.sub("_", part).strip(" "))
    return part.encode()[:180].decode("utf-8", "ignore").rstrip(" .") or "_"


def _folded(name: str) -> str:
    """What names that are the same on some system have in common."""
    return unicodedata.normalize("NFC", name).casefold()
