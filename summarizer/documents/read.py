"""The text of a user's file: plain, Markdown, HTML, PDF, Word, EPUB or JATS XML."""

import re
import stat
import zlib
from dataclasses import dataclass
from pathlib import Path

from summarizer.documents.document import Document, sections_under_headings, title_of
from summarizer.documents.html import read_html
from summarizer.documents.markdown import markdown_parts
from summarizer.documents.pdf import read_pdf
from summarizer.documents.word import read_word
from summarizer.errors import InputError
from summarizer.files import open_bytes, suffix_of
from summarizer.text import clean_text, decode_text

_MARKDOWN_SUFFIXES = (".md", ".markdown")
_TEXT_SUFFIXES = (".txt", ".text", *_MARKDOWN_SUFFIXES)
_HTML_SUFFIXES = (".html", ".htm", ".xhtml")
_XML_SUFFIXES = (".xml", ".nxml")
_PACKED_SUFFIXES = (".pdf", ".docx", ".epub")
PARSED_SUFFIXES = _HTML_SUFFIXES + _XML_SUFFIXES + _PACKED_SUFFIXES  # by libraries, which a file may bring down
DOCUMENT_SUFFIXES = _TEXT_SUFFIXES + PARSED_SUFFIXES
_SAVE_AS = {".doc": ".docx", ".docm": ".docx", ".rtf": ".docx", ".odt": ".docx", ".json": ".jsonl"}
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")  # which no text holds; logs hold \x1b


@dataclass(frozen=True)
class ReadingLimits:
    """Above which a file is not one document, and not read."""

    max_bytes: int = 256 * 2**20  # of a file, and again of what is packed in it
    max_pages: int = 5_000  # of a PDF
    max_seconds: int = 120  # of a document that needs a parser, or a row of Parquet; see batch.reader_process


def document_format(path: Path) -> str | None:
    """The suffix among DOCUMENT_SUFFIXES that `path` has, also before .gz; None for all others."""
    return suffix if (suffix := suffix_of(path)) in DOCUMENT_SUFFIXES else None


def read_document(path: Path, limits: ReadingLimits | None = None) -> Document:
    """Read one document by its suffix; a file of an unknown kind is read as text if it is text.

    Raises InputError, without the path, when the file cannot be read, is broken or beyond the limits, or holds no text
    by its nature.
    """
    limits = limits or ReadingLimits()
    if better := _SAVE_AS.get(path.suffix.lower()):
        raise InputError(f"{path.suffix} files are not read; save it as {better}")
    suffix = document_format(path)
    content = _read_bytes(path, limits.max_bytes)
    if suffix == ".pdf":
        return read_pdf(content, limits.max_pages)
    if suffix == ".docx":
        return read_word(content, limits.max_bytes)
    if suffix == ".epub":
        from summarizer.documents.epub import read_epub

        return read_epub(content, limits.max_bytes)
    if suffix in _XML_SUFFIXES:
        from summarizer.documents.jats import read_jats

        return read_jats(content)
    if suffix in _HTML_SUFFIXES:
        return read_html(content)
    marked = content.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff"))
    if content.startswith(b"%PDF-") or (suffix is None and not marked and _CONTROLS.search(content)):
        raise InputError(f"not text; what can be read are {' '.join(DOCUMENT_SUFFIXES)}, by these names")
    text = clean_text(decode_text(content))
    parts = markdown_parts(text) if suffix in _MARKDOWN_SUFFIXES else []
    return Document(text, title_of(parts), sections=sections_under_headings(parts))


def _read_bytes(path: Path, max_bytes: int) -> bytes:
    try:
        mode = path.stat().st_mode
        if stat.S_ISSOCK(mode) or stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not path.samefile("/dev/stdin")):
            raise InputError("not a file, but a socket or a device")
        with open_bytes(path) as file:
            content = file.read(max_bytes + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(content) > max_bytes:
        raise InputError(f"larger than one document may be ({max_bytes >> 20} MiB)")
    return content
