"""Plain text."""

from summarizer.documents.document import Document, ReadingOptions
from summarizer.documents.unwrapping import unwrap
from summarizer.errors import InputError
from summarizer.text import clean_text, decode_with_notes


def read_plain(content: bytes, options: ReadingOptions) -> Document:
    """Decode and clean a text; a paragraph that is wrapped becomes one line. Raises InputError if it is not text."""
    if content.startswith(b"%PDF-"):
        raise InputError("not text but a PDF; give it a name that ends in .pdf")
    if content.startswith(b"{\\rtf"):
        raise InputError("not text but RTF; save it as .docx")
    text, notes = decode_with_notes(content, encoding=options.encoding)
    return Document(clean_text(unwrap(text)), notes=notes)
