"""Plain text."""

from summarizer.documents.document import Document, ReadingOptions
from summarizer.errors import InputError
from summarizer.text import clean_text, decode_text


def read_plain(content: bytes, options: ReadingOptions) -> Document:
    """Decode and clean a text. Raises InputError if it is not text."""
    if content.startswith(b"%PDF-"):
        raise InputError("not text but a PDF; give it a name that ends in .pdf")
    return Document(clean_text(decode_text(content)))
