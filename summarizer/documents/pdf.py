"""PDF: the text of its pages, lines joined into paragraphs."""

import logging
import re
from io import BytesIO

from summarizer.documents.document import Document, ReadingOptions
from summarizer.errors import InputError
from summarizer.optional import import_optional
from summarizer.text import clean_text


def read_pdf(content: bytes, options: ReadingOptions) -> Document:
    """Read a PDF. Raises InputError if it is broken, locked, without text, or has too many pages."""
    pypdf = import_optional("pypdf", "documents", "reading this kind of file")
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it warns about every untidy file
    try:
        reader = pypdf.PdfReader(BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            raise InputError("protected by a password")
        if len(reader.pages) > options.max_pages:
            raise InputError(f"more pages than --max-pages allows ({len(reader.pages):,} of {options.max_pages:,})")
        pages = [_paragraphs(clean_text(page.extract_text())) for page in reader.pages]
        title = clean_text(str((reader.metadata or {}).get("/Title") or "")) or None
    except InputError:
        raise
    except Exception as error:  # a broken file may raise anything in pypdf
        raise InputError(f"broken PDF: {error or type(error).__name__}") from error
    text = clean_text("\n".join(pages))
    if not text and pages:
        raise InputError("PDF without text, perhaps scanned; run text recognition (OCR) on it first")
    return Document(text, title)


def _paragraphs(page: str) -> str:
    """The page with its lines joined into paragraphs: a line that is nearly full continues in the next."""
    lines = page.split("\n")
    full = 0.75 * sorted(len(line) for line in lines)[int(0.9 * (len(lines) - 1))]
    text = ""
    for line in lines:
        text += line + (" " if len(line) >= full and not line.endswith((".", "?", "!", ":")) else "\n")
    return re.sub(r"(?<=[a-z])- (?=[a-z])", "", text)  # a hyphenated word
