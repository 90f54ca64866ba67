"""Where summaries go: a file of records, a folder of text files and records, or the terminal."""

import itertools
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from summarizer.batch.input_documents import InputDocument
from summarizer.batch.output_files import RECORDS, RecordFiles, TextFormat
from summarizer.batch.processes import Processes
from summarizer.batch.records import RECORD_FILES, SummaryRecord, bare_summary, encoded, read_records, titled_summary
from summarizer.batch.resume import HelperSink, RecordSink, part_records
from summarizer.batch.text_files import TextFiles
from summarizer.errors import InputError
from summarizer.files import remove_asides
from summarizer.outputs import check_files, check_folder

_NOT_FOLDERS = (".json", ".txt", ".md", ".gz", ".html", ".pdf", ".docx", ".xml")


class Sink(Protocol):
    """Takes a record of each document, with its position in the input, in any order. One thread alone writes."""

    def has(self, document: InputDocument) -> bool:
        """Whether an interrupted run left a record of this document. Any thread may ask."""
        ...

    def earlier(self, position: int, document: InputDocument) -> SummaryRecord | None:
        """Note a document that has a record, which is returned, or that another process summarizes (None)."""
        ...

    def write(self, position: int, document: InputDocument, record: SummaryRecord) -> None:
        """Take a record."""
        ...

    def flush(self) -> None:
        """Return when all records are on disk."""
        ...

    def finish(self) -> list[SummaryRecord]:
        """Write the finished output; returns the records that other processes wrote."""
        ...

    def clear(self) -> None:
        """Remove what only continuing would need, once the output is complete."""
        ...

    def close(self) -> None:
        """Close all files, whether the output is complete or not."""
        ...


class StdoutSink:
    """Prints each record in the order of the input, formatted by `show`."""

    def __init__(self, show: Callable[[SummaryRecord], str] = SummaryRecord.to_json) -> None:
        self._show = show
        self._waiting: dict[int, SummaryRecord] = {}
        self._next = 0

    def has(self, document: InputDocument) -> bool:
        """Never: the terminal keeps no records."""
        return False

    def earlier(self, position: int, document: InputDocument) -> None:
        """Do nothing: the terminal keeps no records, and only one process may write to it."""

    def write(self, position: int, document: InputDocument, record: SummaryRecord) -> None:
        """Print all records that no earlier document holds back."""
        self._waiting[position] = record
        while (record_now := self._waiting.pop(self._next, None)) is not None:
            self._next += 1
            text = self._show(record_now)
            if text and sys.stdout.isatty():  # print keeps the progress bar whole
                encoding = sys.stdout.encoding or "utf-8"
                print(text.encode(encoding, "replace").decode(encoding))
            elif text:
                sys.stdout.buffer.write(encoded(text) + b"\n")

    def flush(self) -> None:
        """Show all that was printed."""
        sys.stdout.buffer.flush()

    def finish(self) -> list[SummaryRecord]:
        """Show all that was printed."""
        self.flush()
        return []

    clear = close = flush


@dataclass(frozen=True)
class Output:
    """A file of records; or a folder with summaries.jsonl and a text file for each document; or the terminal."""

    records: Path | None = None  # None: the terminal
    folder: Path | None = None  # of the text files
    text_format: TextFormat = "txt"
    with_evidence: bool = False  # in what people read: Markdown and the terminal

    @classmethod
    def named(cls, name: str | None, text_format: TextFormat = "txt", with_evidence: bool = False) -> "Output":
        """The output of that name: a folder, unless its suffix says otherwise. Raises InputError."""
        if with_evidence and name is not None and text_format != "md":
            raise InputError(
                "--show-evidence is for the terminal and for --format md; records always hold the evidence"
            )
        path = None if name is None else Path(name)
        if path is not None and (path.is_dir() or path.suffix.lower() not in RECORD_FILES):
            if not path.is_dir() and (path.exists() or path.suffix.lower() in _NOT_FOLDERS):
                raise InputError(f"{name}: the output must be a folder or end in {', '.join(RECORD_FILES)}")
            return cls(path / RECORDS, path, text_format, with_evidence)
        if text_format != "txt":
            raise InputError(f"--format {text_format} is for files in a folder; name a folder with -o")
        return cls(path, with_evidence=with_evidence)

    def check(self, ids: Iterable[str], overwrite: bool) -> TextFiles | None:
        """Raise UsageError if something else than an earlier output is in the way; `ids` are documents known before.

        Returns what writes the text files, if there are any. Nothing is written yet.
        """
        if self.records is None:
            return None
        files = RecordFiles(self.records)
        forms = files.forms()
        if self.folder is None:
            check_files(forms, overwrite)
            return None
        named = {path.name: of for path, of in forms.items()}
        check_folder(self.folder, named, named, overwrite)
        earlier = itertools.chain(read_records(files.records), part_records(files.part))
        texts = TextFiles(self.folder, self.text_format, self.with_evidence, earlier, overwrite)
        texts.check_names(ids)
        return texts


def open_sink(
    output: Output,
    made_with: dict[str, Any],
    is_one: bool,
    processes: Processes,
    say: Callable[[str], None],
    texts: TextFiles | None = None,
) -> Sink:
    """The sink for this output; on the terminal the only document's summary is printed alone. Raises InputError."""
    if output.records is None:
        for_people = is_one or sys.stdout.isatty() or output.with_evidence
        show = bare_summary if is_one else titled_summary
        return StdoutSink(partial(show, with_evidence=output.with_evidence) if for_people else SummaryRecord.to_json)
    try:
        if processes.rank:
            processes.wait()  # until rank 0 has opened the output
            return HelperSink(output.records, processes.rank)
        records = RecordSink(output.records, made_with, say, texts)
        processes.wait()
        if output.folder is not None:
            remove_asides(output.folder)
        return records
    except OSError as error:
        raise InputError(f"{output.folder or output.records}: cannot be written: {error.strerror or error}") from error
