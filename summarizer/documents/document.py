"""What a file says: its text, and its parts where the format marks them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from summarizer.errors import InputError
from summarizer.settings import setting
from summarizer.text import is_encoding


@dataclass(frozen=True)
class ReadingOptions:
    """How documents are read out of files, and which are refused."""

    document_column: str | None = setting(
        None,
        "Column of .jsonl, .csv, .tsv and .parquet files with the document. Defaults to a usual name such as text.",
    )
    id_column: str | None = setting(
        None, "Column of these files with the ids of the documents. Defaults to id or article_id, if there is one."
    )
    delimiter: str | None = setting(
        None, "Delimiter of .csv and .tsv files: one character, or tab. By default, it is found in the header."
    )
    encoding: str | None = setting(
        None, "Character encoding of the text files, such as cp1250. By default, it is declared or detected."
    )
    by_section: bool = setting(False, "Also summarize each section or chapter, if the file marks them.")
    max_document_mb: int = setting(256, "Maximum file size in MiB, packed and unpacked; larger files fail.", at_least=1)
    max_pages: int = setting(5000, "Maximum number of pages of a PDF; longer PDFs fail.", at_least=1)
    read_timeout: int = setting(
        120,
        "Maximum time to read one file other than plain text, or one Parquet row, in seconds.",
        at_least=1,
    )

    def __post_init__(self) -> None:
        if self.encoding is not None and not is_encoding(self.encoding):
            raise InputError(f"unknown encoding '{self.encoding}'; name one such as utf-8, cp1250 or latin-1")
        if self.delimiter is not None and self.delimiter not in ("tab", "\\t") and len(self.delimiter) != 1:
            raise InputError(f"the delimiter must be one character, or tab, not '{self.delimiter}'")

    @property
    def delimiter_character(self) -> str | None:
        """The delimiter as a character."""
        return "\t" if self.delimiter in ("tab", "\\t") else self.delimiter

    def check_size(self, num_bytes: int, what: str = "") -> None:
        """Raise InputError if a file is larger than `max_document_mb`; `what` ends the message."""
        if num_bytes > self.max_document_mb << 20:
            raise InputError(f"larger than --max-document-mb allows ({self.max_document_mb} MiB){what}")


@dataclass(frozen=True)
class Section:
    """A section or chapter: its heading, and its clean text, which begins with the heading."""

    title: str | None
    text: str


@dataclass(frozen=True)
class Document:
    """Clean text, one paragraph or heading a line; title, abstract and sections where the format marks them.

    notes: what was guessed, dropped or missing, in short plain sentences for the user. reader: the name of the reader,
    such as "pdf"; `read_document` sets it.
    """

    text: str
    title: str | None = None
    abstract: str | None = None
    sections: tuple[Section, ...] = ()
    notes: tuple[str, ...] = ()
    reader: str = ""

    @classmethod
    def from_parts(
        cls, parts: Sequence[tuple[int, str]], title: str | None = None, notes: Sequence[str] = ()
    ) -> "Document":
        """A document of (level as a heading, 1 the highest, or 0; clean text) pairs.

        Without a `title` the first heading is the title if no other heading has its level or a higher one.
        """
        text = "\n".join(text for _, text in parts if text)
        return cls(text, title or _first_heading(parts), sections=_sections(parts), notes=tuple(notes))


def _first_heading(parts: Sequence[tuple[int, str]]) -> str | None:
    headings = [(level, text) for level, text in parts if level and text]
    if not headings or any(level <= headings[0][0] for level, _ in headings[1:]):
        return None
    return headings[0][1].replace("\n", " ") or None


def _sections(parts: Sequence[tuple[int, str]]) -> tuple[Section, ...]:
    """Sections begin at the headings of the highest level that occurs more than once; text before is in none."""
    levels = [level for level, _ in parts]
    level = next((level for level in range(1, 10) if levels.count(level) > 1), None)
    starts = [number for number, each in enumerate(levels) if each == level]
    texts = [[text for _, text in parts[start:end] if text] for start, end in pairwise([*starts, None])]
    return tuple(Section(text[0].replace("\n", " "), "\n".join(text)) for text in texts if text)
