"""Where summaries go: a file of records, a folder of text files and records, or the terminal."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from summarizer.batch.input_documents import InputDocument
from summarizer.batch.output_files import RECORDS, TextFormat, TextNames
from summarizer.batch.processes import Processes
from summarizer.batch.records import RECORD_FILES, SummaryRecord, bare_summary, encoded, markdown_page, titled_summary
from summarizer.batch.resume import HelperSink, RecordSink
from summarizer.errors import InputError
from summarizer.files import remove_asides, write_whole

_NOT_FOLDERS = (".json", ".txt", ".md", ".gz", ".html", ".pdf", ".docx", ".xml")


class Sink(Protocol):
    """Takes a record of each document, with its position in the input, in any order. One thread alone writes."""

    def has(self, document: InputDocument) -> bool:
        """Whether an interrupted run left a record of this document. Any thread may ask."""
        ...

    def earlier(self, position: int, document: InputDocument) -> SummaryRecord | None:
        """Note a document that has a record, which is returned, or that another process summarizes (None)."""
        ...

    def write(self, position: int, document: InputDocument, record: SummaryRecord) -> SummaryRecord:
        """Take a record; returns it, or a failed one if it cannot be written."""
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


class FolderSink:
    """Writes a text or Markdown file for each document and gives the records to another sink."""

    def __init__(self, folder: Path, records: Sink, show: Callable[[SummaryRecord], str] = bare_summary) -> None:
        self._folder = folder
        self._records = records
        self._show = show
        self.has = records.has
        self.flush = records.flush
        self.finish = records.finish
        self.clear = records.clear
        self.close = records.close

    def earlier(self, position: int, document: InputDocument) -> SummaryRecord | None:
        """The record that an interrupted run left of this document, if any; its text file is written again."""
        if (record := self._records.earlier(position, document)) is None:
            return None
        written = self._write_text(document, record)
        return record if written == record else self._records.write(position, document, written)

    def write(self, position: int, document: InputDocument, record: SummaryRecord) -> SummaryRecord:
        """Write the text file and take the record. A failed document has no text file."""
        return self._records.write(position, document, self._write_text(document, record))

    def _write_text(self, document: InputDocument, record: SummaryRecord) -> SummaryRecord:
        """Write the text file; returns the record, or a failed one if the file cannot be written."""
        path = self._folder / document.text_file
        if record.summary is None:
            with suppress(OSError):
                path.unlink()  # of an earlier run, which could read the document
            return record
        try:
            text = self._show(record)
            with write_whole(path) as file:
                file.write(f"{text}\n" if text else "")
        except OSError as error:
            return replace(record, status="failed", summary=None, error=f"its text file cannot be written: {error}")
        return record


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

    def write(self, position: int, document: InputDocument, record: SummaryRecord) -> SummaryRecord:
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
        return record

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

    def named_documents(self, documents: Iterable[InputDocument]) -> Iterator[InputDocument]:
        """The documents, in the order of the input, each with the name of its text file if there are any."""
        names = TextNames(self.text_format)
        for document in documents:
            yield replace(document, text_file=names.of(document.id)) if self.folder else document


def open_sink(
    output: Output, made_with: dict[str, Any], is_one: bool, processes: Processes, say: Callable[[str], None]
) -> Sink:
    """The sink for this output; on the terminal the only document's summary is printed alone. Raises InputError."""
    if output.records is None:
        for_people = is_one or sys.stdout.isatty() or output.with_evidence
        show = bare_summary if is_one else titled_summary
        return StdoutSink(partial(show, with_evidence=output.with_evidence) if for_people else SummaryRecord.to_json)
    try:
        if processes.rank:
            processes.wait()  # until rank 0 has opened the output
            records = HelperSink(output.records, processes.rank)
        else:
            records = RecordSink(output.records, made_with, say)
            processes.wait()
        if output.folder is None:
            return records
        if not processes.rank:
            remove_asides(output.folder)
        show = partial(
            markdown_page if output.text_format == "md" else bare_summary, with_evidence=output.with_evidence
        )
        return FolderSink(output.folder, records, show)
    except OSError as error:
        raise InputError(f"{output.folder or output.records}: cannot be written: {error.strerror or error}") from error
