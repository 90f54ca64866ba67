"""Word documents (.docx): paragraphs and tables in order, headings as sections."""

import re
from io import BytesIO
from typing import Any

from summarizer.documents.archive import open_archive
from summarizer.documents.document import Document, ReadingOptions
from summarizer.errors import InputError
from summarizer.optional import import_optional
from summarizer.text import clean_text


def read_word(content: bytes, options: ReadingOptions) -> Document:
    """Read a .docx file. Raises InputError if it is broken or too large."""
    docx = import_optional("docx", "documents", "reading this kind of file")
    try:
        open_archive(content, options).close()
        document = docx.Document(BytesIO(content))
        items = list(document.iter_inner_content())
        parts = [(_level(item), clean_text("\n".join(_lines(item)))) for item in items]
        named = [text for item, (_, text) in zip(items, parts, strict=True) if _style(item) == "Title" and text]
        title = clean_text(document.core_properties.title or "") or next(iter(named), None)
    except InputError:
        raise
    except Exception as error:  # zipfile's, lxml's and python-docx's errors share no base class
        raise InputError(f"broken Word document: {error or type(error).__name__}") from error
    return Document.from_parts(parts, title)


def _level(item: Any) -> int:
    """The level of a heading; 0 for anything else."""
    style = _style(item)
    return int(style[-1]) if re.fullmatch(r"[Hh]eading [1-9]", style) else 0


def _style(item: Any) -> str:
    return getattr(getattr(item, "style", None), "name", None) or ""


def _lines(item: Any) -> list[str]:
    """The lines of a paragraph or table; each row of a table is a line."""
    if hasattr(item, "text"):
        return [item.text]
    rows = []
    for row in item.rows:
        cells = {id(cell._tc): " ".join(cell.text.split()) for cell in row.cells}  # a merged cell is listed repeatedly
        rows.append(" ".join(text for text in cells.values() if text))
    return rows
