"""Web pages: the article, without menus, footers and the like."""

import copy
import email
import logging
import re
from typing import cast

from summarizer.documents.document import Document, ReadingOptions
from summarizer.documents.html_article import complete_article, open_answers
from summarizer.documents.markup import END_TAGS, declared_encoding, is_too_deep, without_declaration
from summarizer.documents.note_marks import resolve_marks
from summarizer.errors import InputError
from summarizer.optional import import_optional
from summarizer.text import clean_text, decode_with_notes, marked_encoding

# A part of a page, which has end tags as well; one tag alone may be what a text is about.
_FRAGMENT = re.compile(
    rb"\s*<(?:meta|title|link|script|style|base|div|p|h[1-6]|table|ul|ol|dl|center)\b[^<>]*>.*?</(?:title|div|p|a|h[1-6]|td|li|dd)>",
    re.S | re.I,
)


def is_html(content: bytes) -> bool:
    """Whether a text begins like a web page, whatever the name of its file says."""
    sample = content[:4096]
    if mark := marked_encoding(sample):
        sample = sample.decode(mark, "ignore").encode()
    start = re.sub(rb"<!--.*?-->|<\?.*?>", b"", sample, flags=re.S)
    return bool(re.match(rb"\s*<(?:!doctype\s+html|html|head|body)[\s>]", start, re.I) or _FRAGMENT.match(start))


def _page_of_archive(content: bytes) -> bytes | None:
    """The page in a web archive (MHTML), in which browsers save a page with its images; None for other files."""
    head = content[:4096]
    if not re.match(rb"[\w-]+:", head) or b"multipart/related" not in head:
        return None
    parts = email.message_from_bytes(content).walk()
    page = next((part for part in parts if part.get_content_type() == "text/html"), None)
    if page is None:
        raise InputError("a web archive without a page")
    declared = f"<meta charset={page.get_content_charset('')}>"
    return declared.encode() + cast(bytes, page.get_payload(decode=True))


def read_html(content: bytes, options: ReadingOptions) -> Document:
    """Read a web page, also out of a web archive. Raises InputError if its tags are nested too deep for the parser."""
    trafilatura = import_optional("trafilatura", "documents", "reading this kind of file")
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # errors are reported below, once
    content = _page_of_archive(content) or content
    page, notes = decode_with_notes(content, declared_encoding(content), options.encoding)
    page = END_TAGS.sub("", without_declaration(page))
    tree = trafilatura.load_html(page)
    if tree is None:  # a fragment, or empty
        page = f"<html><body>{page}</body></html>"
        tree = trafilatura.load_html(page)
    if tree is not None and is_too_deep(tree):
        raise InputError("HTML tags nested more than 250 deep cannot be read")
    if tree is None:
        return Document("", notes=notes)
    title = clean_text(tree.findtext(".//title") or "") or None
    body = tree.find(".//body")
    body = tree if body is None else body
    resolve_marks(body)
    open_answers(body)
    article = trafilatura.extract(copy.deepcopy(tree), include_comments=False, include_tables=False)
    return Document(clean_text(complete_article(body, article or "")), title, notes=notes)
