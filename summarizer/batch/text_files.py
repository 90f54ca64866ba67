"""A text or Markdown file for each summary, in a folder. They are written when all summaries are there."""

import hashlib
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from summarizer.batch.output_files import TextFormat, TextNames
from summarizer.batch.records import SummaryRecord, bare_summary, encoded, markdown_page
from summarizer.errors import UsageError
from summarizer.files import write_whole


class TextFiles:
    """Writes the files; those of an earlier run may be replaced, and others only with `overwrite`.

    A file is of an earlier run if it holds what is written for one of the `earlier` records, with or without evidence.
    """

    def __init__(
        self,
        folder: Path,
        text_format: TextFormat,
        with_evidence: bool,
        earlier: Iterable[SummaryRecord] = (),
        overwrite: bool = False,
    ) -> None:
        self._folder = folder
        self._format: TextFormat = text_format
        self._overwrite = overwrite
        show = markdown_page if text_format == "md" else bare_summary
        shows = [partial(show, with_evidence=shown) for shown in (with_evidence, not with_evidence)]
        self._show = shows[0]
        self._own = {_hash(_content(show(record))) for record in earlier for show in shows}

    def check_names(self, ids: Iterable[str]) -> None:
        """Raise UsageError if a file that is not of an earlier run has the name of one of these documents."""
        names = TextNames(self._format)
        for document_id in ids:
            self._check(self._folder / names.of(document_id), b"")

    def write(self, records: Callable[[], Iterable[SummaryRecord]]) -> None:
        """Write a file for each record with a summary, and delete that of an earlier run for a failed document.

        Raises UsageError, before anything is written, if another file has one of the names.
        """
        names = TextNames(self._format)
        for record in records():
            path = self._folder / names.of(record.id)
            if record.summary is not None:
                self._check(path, _content(self._show(record)))
        names = TextNames(self._format)
        for record in records():
            path = self._folder / names.of(record.id)
            if record.summary is not None:
                with write_whole(path, "wb") as file:
                    file.write(_content(self._show(record)))
            elif path.is_file() and self._is_own(path):
                path.unlink()

    def _is_own(self, path: Path) -> bool:
        return _hash(path.read_bytes()) in self._own

    def _check(self, path: Path, content: bytes) -> None:
        """Raise UsageError if something is in the way of a file of this content."""
        if path.is_dir():
            raise UsageError(f"{path}: is a folder, where a text file belongs; choose another output folder")
        if self._overwrite or not path.exists() or self._is_own(path) or path.read_bytes() in (b"", content):
            return
        raise UsageError(
            f"{path}: is not as an earlier run wrote it; move it away, choose another output folder, "
            "or pass --overwrite to replace it"
        )


def _content(text: str) -> bytes:
    return encoded(f"{text}\n") if text else b""


def _hash(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()
