"""Where summaries go: a file of records, a folder of text files beside one, or the terminal."""

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from summarizer.batch.file_names import RECORDS, TextFormat, TextNames
from summarizer.batch.input_documents import InputDocument
from summarizer.batch.processes import Processes
from summarizer.batch.records import RECORD_FILES, SummaryRecord, bare_summary, encoded, markdown_page, titled_summary
from summarizer.batch.resume import HelperSink, RecordSink
from summarizer.errors import InputError
from summarizer.files import remove_asides_below, write_whole

_NOT_FOLDERS = (".json", ".txt", ".md", ".gz", ".html", ".pdf", ".docx", ".xml")


class Sink(Protocol):
    """Takes records, each with its document's position in the input, in any order."""

    def earlier(self, position: int, document: InputDocument) -> SummaryRecord | None:
        """The record of this very document from an interrupted run, which then needs no `write`."""
        ...

    def write(self, position: int, document: InputDocument, record: SummaryRecord) -> SummaryRecord:
        """Take a record; returns it, or that of a failure if it cannot be written."""
        ...

    def skip(self, position: int, document: InputDocument) -> SummaryRecord | None:
        """Note another process's document; returns its record from an interrupted run."""
        ...

    def flush(self) -> None:
        """Bring on disk what was taken."""
        ...

    def finish(self) -> list[SummaryRecord]:
        """All documents are done: give the output its name; returns the records that other processes wrote."""
        ...

    def clear(self) -> None:
        """All that belongs to the output is on disk: remove what going on would have needed."""
        ...

    def close(self) -> None:
        """Let go, finished or not."""
        ...


class FolderSink:
    """Writes a text or Markdown file a document, mirroring the input tree, and gives the records to another sink."""

    def __init__(self, folder: Path, records: Sink, text_format: TextFormat = "txt") -> None:
        self._folder = folder
        self._records = records
        self._names = TextNames(text_format)
        self._show = markdown_page if text_format == "md" else bare_summary
        self._name_at: dict[int, str] = {}  # of each position's text file

    def earlier(self, position: int, document: InputDocument) -> SummaryRecord | None:
        """The record that an interrupted run left for this document; its text file is written again."""
        self._name_at[position] = self._names.of(document.id)  # in the order of the input: the same names every time
        record = self._records.earlier(position, document)
        return record if record is not None and self._with_text(position, record) == record else None

    def write(self, position: int, document: InputDocument, record: SummaryRecord) -> SummaryRecord:
        """Write the text file and take the record; a failed document has no text file."""
        return self._records.write(position, document, self._with_text(position, record))

    def skip(self, position: int, document: InputDocument) -> SummaryRecord | None:
        """Another process's document, which that one writes; its name is taken."""
        self._name_at[position] = self._names.of(document.id)
        return self._records.skip(position, document)

    def _with_text(self, position: int, record: SummaryRecord) -> SummaryRecord:
        """Write the record's text file; the record, or that of a failure where the file cannot be written."""
        path = self._folder / self._name_at[position]
        if record.summary is None:
            with suppress(OSError):
                path.unlink()  # of an earlier run, when the document was another
            return record
        try:
            text = self._show(record)
            with write_whole(path) as file:
                file.write(f"{text}\n" if text else "")
        except OSError as error:
            return replace(record, status="failed", summary=None, error=f"its text file cannot be written: {error}")
        return record

    def flush(self) -> None:
        """Bring the records on disk."""
        self._records.flush()

    def finish(self) -> list[SummaryRecord]:
        """Give summaries.jsonl its name."""
        return self._records.finish()

    def clear(self) -> None:
        """Remove summaries.jsonl.part."""
        self._records.clear()

    def close(self) -> None:
        """Close summaries.jsonl.part, keeping it."""
        self._records.close()


class StdoutSink:
    """Prints records in the order of the input, as `show` writes them: bare_summary, titled_summary or JSON lines."""

    def __init__(self, show: Callable[[SummaryRecord], str] = SummaryRecord.to_json) -> None:
        self._show = show
        self._waiting: dict[int, SummaryRecord] = {}
        self._next = 0

    def earlier(self, position: int, document: InputDocument) -> SummaryRecord | None:
        """Nothing: the terminal keeps no record."""
        return None

    def write(self, position: int, document: InputDocument, record: SummaryRecord) -> SummaryRecord:
        """Print the records whose turn has come."""
        self._waiting[position] = record
        while (record_now := self._waiting.pop(self._next, None)) is not None:
            self._next += 1
            text = self._show(record_now)
            if text and sys.stdout.isatty():  # through the progress bar, which print knows of
                encoding = sys.stdout.encoding or "utf-8"
                print(text.encode(encoding, "replace").decode(encoding))
            elif text:
                sys.stdout.buffer.write(encoded(text) + b"\n")
        return record

    def flush(self) -> None:
        """Show what was printed."""
        sys.stdout.buffer.flush()

    def skip(self, position: int, document: InputDocument) -> SummaryRecord | None:
        """Never: one process alone has the terminal."""
        return None

    def finish(self) -> list[SummaryRecord]:
        """Show what was printed."""
        self.flush()
        return []

    clear = close = flush


@dataclass(frozen=True)
class Output:
    """A file of records, a folder with one and a text file a document, or the terminal."""

    records: Path | None = None
    folder: Path | None = None  # with the text files
    text_format: TextFormat = "txt"

    @classmethod
    def named(cls, name: str | None, text_format: TextFormat = "txt") -> "Output":
        """The output of that name: a folder, unless its suffix says otherwise. Raises InputError."""
        path = None if name is None else Path(name)
        if path is not None and (path.is_dir() or path.suffix.lower() not in RECORD_FILES):
            if not path.is_dir() and (path.exists() or path.suffix.lower() in _NOT_FOLDERS):
                raise InputError(f"{name}: the output must be a folder or end in {', '.join(RECORD_FILES)}")
            return cls(path / RECORDS, path, text_format)
        if text_format != "txt":
            raise InputError(f"format {text_format} is that of files in a folder; name one with -o")
        return cls(path)


def open_sink(
    output: Output, made_with: dict[str, Any], is_one: bool, processes: Processes, say: Callable[[str], None]
) -> Sink:
    """The sink for this output; on the terminal `is_one` document is shown bare. Raises InputError."""
    if output.records is None:
        several = titled_summary if sys.stdout.isatty() else SummaryRecord.to_json
        return StdoutSink(bare_summary if is_one else several)
    try:
        if processes.rank:
            processes.wait()  # for the first to open the output
            records = HelperSink(output.records, processes.rank)
        else:
            records = RecordSink(output.records, made_with, say)
            processes.wait()
        if output.folder is None:
            return records
        if not processes.rank:
            remove_asides_below(output.folder)
        return FolderSink(output.folder, records, output.text_format)
    except OSError as error:
        raise InputError(f"{output.folder or output.records}: cannot be written: {error.strerror or error}") from error
