"""PDF: the text of its pages, lines joined into paragraphs."""

import logging
import re
from io import BytesIO

from summarizer.documents.document import Document
from summarizer.errors import InputError
from summarizer.optional import import_optional
from summarizer.text import clean_text


def read_pdf(content: bytes, max_pages: int) -> Document:
    """Read a PDF of at most `max_pages` pages. Raises InputError for one that is broken, locked or without text."""
    pypdf = import_optional("pypdf", "documents", "reading this kind of file")
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
