"""PDF: the text of its pages as paragraphs, without running headers, contents pages and reference lists."""

import re
from typing import Any

from summarizer.documents.document import Document, ReadingOptions
from summarizer.documents.pdf_boilerplate import leave_out
from summarizer.documents.pdf_lines import Page, PageReader
from summarizer.documents.pdf_paragraphs import join_lines
from summarizer.errors import InputError
from summarizer.optional import import_optional
from summarizer.text import clean_text

# Titles that programs put in: file names and templates' texts.
_NO_TITLE = re.compile(
    r"untitled.*|.*\.(?:docx?|tex|dvi|indd|qxd|pdf|pptx?|xlsx?|odt|rtf|ps|fm|html?)|\(anonymous\)|\(?unspecified\)?"
    r"|(?:word|powerpoint) .*|title|document\d*|unknown|slide \d+",
    re.IGNORECASE,
)


def read_pdf(content: bytes, options: ReadingOptions) -> Document:
    """Read a PDF.

    Raises InputError if it is broken, protected by a password, without readable text, or has too many pages.
    """
    pdfium = import_optional("pypdfium2", "documents", "reading this kind of file")
    try:
        pdf = pdfium.PdfDocument(content)
    except pdfium.PdfiumError as error:
        if getattr(error, "err_code", None) == pdfium.raw.FPDF_ERR_PASSWORD:
            raise InputError("protected by a password") from error
        raise InputError("broken PDF" if content else "broken PDF: an empty file") from error
    try:
        if len(pdf) > options.max_pages:
            raise InputError(f"more pages than --max-pages allows ({len(pdf):,} of {options.max_pages:,})")
        pages = _read_pages(pdf, pdfium.PdfiumError)
        title = _title(pdf)
    finally:
        pdf.close()
    notes = _check(pages)
    kept, left_out = leave_out([page.lines for page in pages])
    notes += [f"{_counted(count, 'line')} left out {kind}" for kind, count in left_out.items()]
    return Document(clean_text(join_lines(kept)), title, notes=tuple(notes))


def _read_pages(pdf: Any, error_type: type[Exception]) -> list[Page]:
    reader, pages = PageReader(), []
    for number in range(len(pdf)):
        try:
            page = pdf[number]
        except error_type:
            pages.append(Page(is_broken=True))
            continue
        try:
            pages.append(reader.read(page))
        finally:
            page.close()
    return pages


def _title(pdf: Any) -> str | None:
    title = re.sub(r"^Microsoft (?:Office )?\w+ - ", "", clean_text(pdf.get_metadata_value("Title")).replace("\n", " "))
    return None if _NO_TITLE.fullmatch(title) else title or None


def _check(pages: list[Page]) -> list[str]:
    """Notes of what could not be read; raises InputError if nothing or too little could."""
    num_characters = sum(page.num_characters for page in pages)
    num_unreadable = sum(page.num_unreadable for page in pages)
    without = [page for page in pages if not page.lines]
    if pages and all(page.is_broken for page in pages):
        raise InputError("broken PDF: none of its pages can be read")
    if num_unreadable > 0.3 * num_characters:
        raise InputError("its fonts do not say which characters they show; run text recognition (OCR) on it first")
    if len(without) == len(pages):
        raise InputError("PDF without text, perhaps scanned; run text recognition (OCR) on it first")
    num_broken = sum(page.is_broken for page in pages)
    num_rotated = sum(page.num_rotated for page in pages)
    notes = {
        f"{_counted(num_broken, 'page')} cannot be read": num_broken > 0,
        f"{_counted(len(without) - num_broken, 'page')} without text, perhaps scanned": len(without) > num_broken,
        f"{_counted(num_unreadable, 'character')} left out, of fonts that do not say which character a sign is": (
            num_unreadable > max(20, 0.01 * num_characters)
        ),
        f"{_counted(num_rotated, 'line')} left out, in another direction than the text": num_rotated > 0,
    }
    return [note for note, is_true in notes.items() if is_true]


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
