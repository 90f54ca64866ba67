"""The text of a user's file: plain, Markdown, HTML, PDF, Word or JATS XML."""

import gzip
import logging
import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from summarizer.data.optional import optional_library
from summarizer.data.text import clean_text, decode_text
from summarizer.files import InputError

MAX_DOCUMENT_BYTES = 256 * 2**20  # unpacked; what is larger is not one document

_TEXT_SUFFIXES = (".txt", ".text", ".md", ".markdown")
_HTML_SUFFIXES = (".html", ".htm", ".xhtml")
_XML_SUFFIXES = (".xml", ".nxml")
_PACKED_SUFFIXES = (".pdf", ".docx")
DOCUMENT_SUFFIXES = _TEXT_SUFFIXES + _HTML_SUFFIXES + _XML_SUFFIXES + _PACKED_SUFFIXES
_SAVE_AS = {".doc": ".docx", ".docm": ".docx", ".rtf": ".docx", ".odt": ".docx", ".json": ".jsonl"}
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")  # which no text holds; logs hold \x1b


@dataclass(frozen=True)
class Document:
    """What a file says: its text, one paragraph or heading a line; title and abstract where the format marks them."""

    text: str
    title: str | None = None
    abstract: str | None = None


def document_format(path: Path) -> str | None:
    """The suffix among DOCUMENT_SUFFIXES that `path` has, before .gz for those that are text; None for all others."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes[-1:] == [".gz"]
    if packed:
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    known = suffix in DOCUMENT_SUFFIXES and not (packed and suffix in _PACKED_SUFFIXES)
    return suffix if known else None


def read_document(path: Path) -> Document:
    """Read one document by its suffix; a file of an unknown kind is read as text if it is text.

    Raises InputError, without the path, when the file cannot be read, is broken, or holds no text by its nature.
    """
    if better := _SAVE_AS.get(path.suffix.lower()):
        raise InputError(f"{path.suffix} files are not read; save it as {better}")
    suffix = document_format(path)
    if suffix in _PACKED_SUFFIXES:
        _check_readable(path)
        return _read_pdf(path) if suffix == ".pdf" else _read_docx(path)
    content = _read_bytes(path)
    if suffix in _XML_SUFFIXES:
        from summarizer.data.jats import read_jats

        return Document(*read_jats(content))
    if suffix in _HTML_SUFFIXES:
        return _read_html(content)
    marked = content.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff"))
    if content.startswith(b"%PDF-") or (suffix is None and not marked and _CONTROLS.search(content)):
        raise InputError(f"not text; what can be read are {' '.join(DOCUMENT_SUFFIXES)}, by these names")
    return Document(clean_text(decode_text(content)))


def _check_readable(path: Path) -> None:
    try:
        with path.open("rb") as file:
            file.read(1)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}") from error


def _read_bytes(path: Path) -> bytes:
    opener: Callable[..., Any] = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rb") as file:
            content = file.read(MAX_DOCUMENT_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(content) > MAX_DOCUMENT_BYTES:
        raise InputError(f"larger than one document may be ({MAX_DOCUMENT_BYTES >> 20} MiB)")
    return content


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


def _read_pdf(path: Path) -> Document:
    pypdf = optional_library("pypdf")
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it remarks on every untidy file
    try:
        reader = pypdf.PdfReader(path)
        if reader.is_encrypted and not reader.decrypt(""):
            raise InputError("protected by a password")
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


def _read_docx(path: Path) -> Document:
    docx = optional_library("docx")
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MAX_DOCUMENT_BYTES:
                raise InputError(f"larger than one document may be ({MAX_DOCUMENT_BYTES >> 20} MiB unpacked)")
        document = docx.Document(str(path))
        lines = [line for item in document.iter_inner_content() for line in _lines_of_docx(item)]
        title = clean_text(document.core_properties.title or "") or None
    except InputError:
        raise
    except Exception as error:  # zipfile's, lxml's and python-docx's errors share no base class
        raise InputError(f"broken Word document: {error or type(error).__name__}") from error
    return Document(clean_text("\n".join(lines)), title)


def _lines_of_docx(item: Any) -> list[str]:
    """A paragraph as one line, a table as one line a row."""
    if hasattr(item, "text"):
        return [item.text]
    rows = []
    for row in item.rows:
        cells = {id(cell._tc): " ".join(cell.text.split()) for cell in row.cells}  # a merged cell comes repeatedly
        rows.append(" ".join(text for text in cells.values() if text))
    return rows
