"""The text of a user's file. A new format is a module with a reader, and a line in READERS."""

import functools
import re
import stat
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from summarizer.documents.document import Document, ReadingOptions
from summarizer.documents.epub import read_epub
from summarizer.documents.html import is_html, read_html
from summarizer.documents.jats import read_jats
from summarizer.documents.markdown import read_markdown
from summarizer.documents.pdf import read_pdf
from summarizer.documents.plain import read_plain
from summarizer.documents.word import read_word
from summarizer.errors import InputError
from summarizer.files import open_bytes, suffix_of
from summarizer.text import marked_encoding

# Readers import their libraries only when they are called.
READERS: dict[str, Callable[[bytes, ReadingOptions], Document]] = {
    ".txt": read_plain,
    ".text": read_plain,
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".html": read_html,
    ".htm": read_html,
    ".xhtml": read_html,
    ".mhtml": read_html,
    ".mht": read_html,
    ".xml": read_jats,
    ".nxml": read_jats,
    ".pdf": read_pdf,
    ".docx": read_word,
    ".epub": read_epub,
}
_SAVE_AS = {
    **dict.fromkeys((".doc", ".docm", ".rtf", ".odt"), ".docx"),
    **dict.fromkeys((".xls", ".xlsx", ".ods", ".psv"), ".csv"),
    **{".json": ".jsonl", ".ndjson": ".jsonl", ".tab": ".tsv"},
}
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")  # never in text; logs have \x1b


def document_format(path: Path) -> str | None:
    """The key of READERS for this file; None if there is none."""
    return suffix if (suffix := suffix_of(path)) in READERS else None


def needs_parser(path: Path) -> bool:
    """Whether a library parses the file, which may crash or never end."""
    return READERS[document_format(path) or ".txt"] is not read_plain or _begins_as_html(path)


@functools.cache  # the answer must not change while a process reads the file
def _begins_as_html(path: Path) -> bool:
    try:
        if not path.is_file():  # a pipe can be read only once
            return False
        with open_bytes(path) as file:
            return is_html(file.read(4096))
    except (OSError, EOFError, zlib.error):
        return False


def read_document(path: Path, options: ReadingOptions | None = None) -> Document:
    """Read one document by its suffix; a file of an unknown kind is read if it is text.

    Raises InputError, without the path, if the file cannot be read, is broken, beyond the limits or without text.
    """
    options = options or ReadingOptions()
    if better := _SAVE_AS.get(path.suffix.lower()):
        raise InputError(f"{path.suffix} files cannot be read; save it as {better}")
    content = _read_bytes(path, options)
    suffix = document_format(path)
    if suffix is None:
        wide = marked_encoding(content) in ("utf-16", "utf-32")  # zero bytes are part of their characters
        if content.startswith(b"%PDF-") or (not wide and _CONTROLS.search(content)):
            raise InputError(f"not text; files of other formats must end in {' '.join(READERS)}")
    return document_of(content, suffix or ".txt", options)


def document_of(content: bytes, suffix: str, options: ReadingOptions) -> Document:
    """Read the content of a file whose name would end in `suffix`, a key of READERS. Raises InputError."""
    reader = READERS[suffix]
    if reader in (read_plain, read_jats) and is_html(content):
        reader = read_html
    document = reader(content, options)
    return replace(document, reader=document.reader or reader.__name__.removeprefix("read_"))


def _read_bytes(path: Path, options: ReadingOptions) -> bytes:
    try:
        mode = path.stat().st_mode
        if stat.S_ISSOCK(mode) or stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not path.samefile("/dev/stdin")):
            raise InputError("not a file, but a socket or a device")
        with open_bytes(path) as file:
            content = file.read((options.max_document_mb << 20) + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    options.check_size(len(content))
    return content
