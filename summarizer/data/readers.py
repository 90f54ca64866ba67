"""The text of a user's file: plain, Markdown, HTML, PDF, Word, EPUB or JATS XML."""

import gzip
import itertools
import logging
import re
import stat
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from summarizer.data.optional import optional_library
from summarizer.data.structure import Document, sections_under_headings, title_of
from summarizer.data.text import clean_text, decode_text
from summarizer.files import InputError

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
    max_seconds: int = 120  # of a document that needs a parser, or a row of Parquet; see inference.reader_process


def document_format(path: Path) -> str | None:
    """The suffix among DOCUMENT_SUFFIXES that `path` has, also before .gz; None for all others."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    return suffixes[-1] if suffixes and suffixes[-1] in DOCUMENT_SUFFIXES else None


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
        return _read_pdf(content, limits.max_pages)
    if suffix == ".docx":
        return _read_docx(content, limits.max_bytes)
    if suffix == ".epub":
        from summarizer.data.epub import read_epub

        return read_epub(content, limits.max_bytes)
    if suffix in _XML_SUFFIXES:
        from summarizer.data.jats import read_jats

        return read_jats(content)
    if suffix in _HTML_SUFFIXES:
        return _read_html(content)
    marked = content.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff"))
    if content.startswith(b"%PDF-") or (suffix is None and not marked and _CONTROLS.search(content)):
        raise InputError(f"not text; what can be read are {' '.join(DOCUMENT_SUFFIXES)}, by these names")
    text = clean_text(decode_text(content))
    parts = _markdown_parts(text) if suffix in _MARKDOWN_SUFFIXES else []
    return Document(text, title_of(parts), sections=sections_under_headings(parts))


def _read_bytes(path: Path, max_bytes: int) -> bytes:
    opener: Callable[..., Any] = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        mode = path.stat().st_mode
        if stat.S_ISSOCK(mode) or stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not path.samefile("/dev/stdin")):
            raise InputError("not a file, but a socket or a device")
        with opener(path, "rb") as file:
            content = file.read(max_bytes + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(content) > max_bytes:
        raise InputError(f"larger than one document may be ({max_bytes >> 20} MiB)")
    return content


def _markdown_parts(text: str) -> list[tuple[int, str]]:
    """The lines, each with its level as a heading or 0."""
    lines = text.split("\n")
    fences = itertools.accumulate(line.startswith(("```", "~~~")) for line in lines)  # odd within code
    marks = [re.match(r"#{1,6}(?=\s|$)", line) for line in lines]
    levels = [0 if fence % 2 or not mark else mark.end() for mark, fence in zip(marks, fences, strict=True)]
    return list(zip(levels, lines, strict=True))


def _read_html(content: bytes) -> Document:
    trafilatura = optional_library("trafilatura")
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # what goes wrong is said below, once
    declared = re.search(rb"<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]+)", content[:4096], re.I)
    page = decode_text(content, declared.group(1).decode("ascii") if declared else None)
    page = re.sub(r"^\s*<\?xml[^>]*\?>", "", page.replace("\x00", ""))
    tree = trafilatura.load_html(page)
    if tree is None:  # a fragment, or nothing
        page = f"<html><body>{page}</body></html>"
        tree = trafilatura.load_html(page)
    if tree is not None and tree.xpath("boolean(//*[count(ancestor::*) >= 250])"):  # the parser leaves out the rest
        raise InputError("HTML with tags nested more than 250 deep cannot be read")
    title = clean_text(tree.findtext(".//title") or "") or None if tree is not None else None
    text = trafilatura.extract(page, include_comments=False, include_tables=False)
    if not text:  # too short or too plain for telling the article from its surroundings
        text = trafilatura.html2txt(page)
    return Document(clean_text(text or ""), title)


def _read_pdf(content: bytes, max_pages: int) -> Document:
    pypdf = optional_library("pypdf")
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it remarks on every untidy file
    try:
        reader = pypdf.PdfReader(BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            raise InputError("protected by a password")
        if len(reader.pages) > max_pages:
            raise InputError(f"more pages than one document may have ({len(reader.pages):,} of {max_pages:,})")
        pages = [_paragraphs(clean_text(page.extract_text())) for page in reader.pages]
        title = clean_text(str((reader.metadata or {}).get("/Title") or "")) or None
    except InputError:
        raise
    except Exception as error:  # pypdf raises whatever a broken file led it to
        raise InputError(f"broken PDF: {error or type(error).__name__}") from error
    text = clean_text("\n".join(pages))
    if not text and pages:
        raise InputError("a PDF without text (scanned?); run it through text recognition (OCR) first")
    return Document(text, title)


def _paragraphs(page: str) -> str:
    """The lines of a page joined into paragraphs: a line that is nearly full goes on in the next."""
    lines = page.split("\n")
    full = 0.75 * sorted(len(line) for line in lines)[int(0.9 * (len(lines) - 1))]
    text = ""
    for line in lines:
        text += line + (" " if len(line) >= full and not line.endswith((".", "?", "!", ":")) else "\n")
    return re.sub(r"(?<=[a-z])- (?=[a-z])", "", text)  # a word divided at the end of a line


def _read_docx(content: bytes, max_bytes: int) -> Document:
    docx = optional_library("docx")
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > max_bytes:
                raise InputError(f"larger than one document may be ({max_bytes >> 20} MiB unpacked)")
        document = docx.Document(BytesIO(content))
        items = list(document.iter_inner_content())
        parts = [(_level_of_docx(item), clean_text("\n".join(_lines_of_docx(item)))) for item in items]
        named = [text for item, (_, text) in zip(items, parts, strict=True) if _style(item) == "Title" and text]
        title = clean_text(document.core_properties.title or "") or next(iter(named), None) or title_of(parts)
    except InputError:
        raise
    except Exception as error:  # zipfile's, lxml's and python-docx's errors share no base class
        raise InputError(f"broken Word document: {error or type(error).__name__}") from error
    text = "\n".join(text for _, text in parts if text)
    return Document(text, title, sections=sections_under_headings(parts))


def _level_of_docx(item: Any) -> int:
    """The level of a heading; 0 for all else."""
    style = _style(item)
    return int(style[-1]) if re.fullmatch(r"[Hh]eading [1-9]", style) else 0


def _style(item: Any) -> str:
    return getattr(getattr(item, "style", None), "name", None) or ""


def _lines_of_docx(item: Any) -> list[str]:
    """A paragraph as one line, a table as one line a row."""
    if hasattr(item, "text"):
        return [item.text]
    rows = []
    for row in item.rows:
        cells = {id(cell._tc): " ".join(cell.text.split()) for cell in row.cells}  # a merged cell comes repeatedly
        rows.append(" ".join(text for text in cells.values() if text))
    return rows
