"""Web pages: the article, without menus, footers and the like."""

import copy
import logging
import re

from summarizer.documents.document import Document, ReadingOptions
from summarizer.documents.note_marks import resolve_marks
from summarizer.documents.web_article import complete_article
from summarizer.errors import InputError
from summarizer.optional import import_optional
from summarizer.text import clean_text, decode_with_notes


def is_html(content: bytes) -> bool:
    """Whether a text begins like a web page, whatever the name of its file says."""
    start = re.sub(rb"<!--.*?-->|<\?.*?>", b"", content[:4096].removeprefix(b"\xef\xbb\xbf"), flags=re.S)
    return bool(re.match(rb"\s*<(?:!doctype\s+html|html)[\s>]", start, re.I))


def read_html(content: bytes, options: ReadingOptions) -> Document:
    """Read a web page. Raises InputError if its tags are nested too deep for the parser."""
    trafilatura = import_optional("trafilatura", "documents", "reading this kind of file")
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # errors are reported below, once
    declared = re.search(rb"<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]+)", content[:4096], re.I)
    page, notes = decode_with_notes(content, declared.group(1).decode("ascii") if declared else None, options.encoding)
    page = re.sub(r"^\s*<\?xml[^>]*\?>", "", page.replace("\x00", ""))
    tree = trafilatura.load_html(page)
    if tree is None:  # a fragment, or empty
        page = f"<html><body>{page}</body></html>"
        tree = trafilatura.load_html(page)
    if tree is not None and tree.xpath("boolean(//*[count(ancestor::*) >= 250])"):  # the parser drops what is deeper
        raise InputError("HTML tags nested more than 250 deep cannot be read")
    if tree is None:
        return Document("", notes=notes)
    title = clean_text(tree.findtext(".//title") or "") or None
    body = tree.find(".//body")
    body = tree if body is None else body
    resolve_marks(body)
    article = trafilatura.extract(copy.deepcopy(tree), include_comments=False, include_tables=False)
    return Document(clean_text(complete_article(body, article or "")), title, notes=notes)
