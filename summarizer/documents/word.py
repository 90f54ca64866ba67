"""Word documents (.docx): paragraphs and tables in order, headings as sections."""

import re
import zipfile
from io import BytesIO
from typing import Any

from summarizer.documents.document import Document, sections_under_headings, title_of
from summarizer.errors import InputError
from summarizer.optional import import_optional
from summarizer.text import clean_text


def read_word(content: bytes, max_bytes: int) -> Document:
    """Read a .docx file that unpacks to at most `max_bytes`. Raises InputError for one that is broken or larger."""
    docx = import_optional("docx", "documents", "reading this kind of file")
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > max_bytes:
                raise InputError(f"larger than one document may be ({max_bytes >> 20} MiB unpacked)")
        document = docx.Document(BytesIO(content))
        items = list(document.iter_inner_content())
        parts = [(_level(item), clean_text("\n".join(_lines(item)))) for item in items]
        named = [text for item, (_, text) in zip(items, parts, strict=True) if _style(item) == "Title" and text]
        title = clean_text(document.core_properties.title or "") or next(iter(named), None) or title_of(parts)
    except InputError:
        raise
    except Exception as error:  # zipfile's, lxml's and python-docx's errors share no base class
        raise InputError(f"broken Word document: {error or type(error).__name__}") from error
    text = "\n".join(text for _, text in parts if text)
    return Document(text, title, sections=sections_under_headings(parts))


def _level(item: Any) -> int:
    """The level of a heading; 0 for all else."""
    style = _style(item)
    return int(style[-1]) if re.fullmatch(r"[Hh]eading [1-9]", style) else 0


def _style(item: Any) -> str:
    return getattr(getattr(item, "style", None), "name", None) or ""


def _lines(item: Any) -> list[str]:
    """A paragraph as one line, a table as one line a row."""
    if hasattr(item, "text"):
        return [item.text]
    rows = []
    for row in item.rows:
        cells = {id(cell._tc): " ".join(cell.text.split()) for cell in row.cells}  # a merged cell comes repeatedly
        rows.append(" ".join(text for text in cells.values() if text))
    return rows
