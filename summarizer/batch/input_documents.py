"""Files as documents: the text of each, or why it cannot be read. No torch here."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from summarizer.batch.inputs import Inputs, SourceFile
from summarizer.columns import DOCUMENT_COLUMNS, find_column, id_of, text_of, title_of
from summarizer.documents.document import Document, ReadingOptions
from summarizer.documents.read import read_document
from summarizer.errors import InputError
from summarizer.files import suffix_of
from summarizer.rows import Row, read_rows, row_format
from summarizer.text import clean_text, marked_encoding


class Keyed(Protocol):
    """A document, of which only the key is needed to find its record."""

    @property
    def key(self) -> str:
        """Identifies the document and its content in a .part file."""
        ...


@dataclass(frozen=True)
class InputDocument:
    """A document to summarize, or the reason why it cannot be read. DocumentReader makes `id` unique."""

    id: str
    path: str
    text: str = ""
    error: str | None = None
    title: str | None = None
    reader: str | None = None
    notes: tuple[str, ...] = ()  # on how it was read
    sections: Sequence[tuple[str | None, int]] = ()  # title and start of each section of the text

    @property
    def key(self) -> str:
        """Identifies the document and its content in a .part file."""
        content = json.dumps([self.id, self.path, self.title, self.text])
        return hashlib.sha256(content.encode()).hexdigest()[:32]


def count_documents(inputs: Inputs, options: ReadingOptions | None = None) -> int | None:
    """The number of documents, or None if it is only known after reading everything."""
    if options is not None and options.by_section:
        return None
    total = 0
    for file in inputs.files:
        kind = row_format(file.path)
        if kind is None:
            total += 1
            continue
        if file.path.suffix.lower() != ".jsonl":
            return None
        try:
            with file.path.open("rb") as lines:
                if marked_encoding(lines.read(4)) not in (None, "utf-8-sig"):
                    return None  # its line breaks are longer than one byte
                lines.seek(0)
                total += sum(not line.isspace() for line in lines)
        except OSError:  # reported when it is read
            total += 1
    return total


def documents_of(file: SourceFile, options: ReadingOptions) -> Iterator[InputDocument]:
    """The documents of a file; if reading fails, the last one has an error."""
    path = str(file.path)
    try:
        if row_format(file.path):
            rows = read_rows(file.path, options.encoding, options.delimiter_character)
            yield from _of_rows(file, rows, options)
        else:
            document = read_document(file.path, options)
            kept = {"reader": document.reader, "title": document.title, "notes": document.notes}
            yield InputDocument(file.id, path, document.text, **kept, sections=list(_starts(document)))
            for number, section in enumerate(document.sections if options.by_section else (), start=1):
                yield InputDocument(
                    f"{file.id}/{number}", path, section.text, title=section.title, reader=document.reader
                )
    except Exception as error:  # no error of a library may end the batch
        kind = "" if isinstance(error, (InputError, OSError)) else f"{type(error).__name__}: "
        yield InputDocument(file.id, path, error=kind + " ".join(str(error).split()).removeprefix(f"{path}: "))


def _starts(document: Document) -> Iterator[tuple[str | None, int]]:
    """Title and start of each section that is a part of the text."""
    end = 0
    for section in document.sections:
        start = document.text.find(section.text, end)
        if start >= 0:
            yield section.title, start
            end = start + len(section.text)


def _of_rows(file: SourceFile, rows: Iterable[Row], options: ReadingOptions) -> Iterator[InputDocument]:
    for number, row in enumerate(rows, start=1):
        name = f"{file.id}:{number}"
        if row.error is not None:
            yield InputDocument(name, str(file.path), error=row.error)
            continue
        try:
            name = id_of(row, options.id_column) or name
            column = find_column(row, options.document_column, DOCUMENT_COLUMNS, "--document-column")
        except InputError as error:
            if row_format(file.path) != ".jsonl":  # all rows have the same columns
                raise InputError(str(error).removeprefix(f"{row.location}: ")) from error
            yield InputDocument(name, str(file.path), error=str(error).removeprefix(f"{row.location}: "))
            continue
        try:
            text = clean_text(text_of(row.columns[column]))
            kept = {"reader": suffix_of(file.path)[1:], "title": title_of(row), "notes": row.notes}
            yield InputDocument(name, str(file.path), text, **kept)
        except ValueError as error:
            yield InputDocument(name, str(file.path), error=f"column {column} {error}")
