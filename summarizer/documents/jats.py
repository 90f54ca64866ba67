"""Articles in JATS XML, the format of PubMed Central and of many publishers."""

from typing import Any

from summarizer.documents.document import Document, ReadingOptions, Section
from summarizer.documents.markup import (
    child_of,
    declared_encoding,
    name_of,
    parse_xml,
    running_text,
    without_declaration,
)
from summarizer.documents.note_marks import resolve_marks
from summarizer.errors import InputError
from summarizer.text import decode_with_notes

# Elements among the paragraphs that are not running text.
_LEFT_OUT = frozenset({
    "ref-list", "table-wrap", "table-wrap-group", "table", "fig", "fig-group", "graphic", "inline-graphic", "media",
    "supplementary-material", "disp-formula", "disp-formula-group", "tex-math", "fn", "fn-group", "object-id", "label",
})  # fmt: skip
_DOCBOOK = frozenset({"para", "simpara", "articleinfo", "bookinfo", "sect1"})
_PARTS = frozenset({"front", "body", "back", "sub-article", "response"})
_LINES = frozenset({
    "abstract", "body", "sec", "title", "p", "list", "list-item", "def-list", "def-item", "disp-quote", "verse-line",
})  # fmt: skip


def read_jats(content: bytes, options: ReadingOptions) -> Document:
    """Read one article. Its text is the body, or the abstract if there is no body.

    Each section title and each paragraph is a line. References, tables, figures and displayed formulas are left out.
    No entities are expanded. Raises InputError for broken XML and for anything but one article.
    """
    source, notes = decode_with_notes(content, declared_encoding(content), options.encoding)
    root = parse_xml(without_declaration(source))
    if "docbook" in str(root.tag).lower() or any(name_of(element) in _DOCBOOK for element in root.iter()):
        raise InputError("DocBook, not JATS; convert it to HTML first")
    articles = [element for element in root.iter() if name_of(element) == "article"]
    if len(articles) != 1:
        raise InputError(
            f"{len(articles)} articles in one file; save each separately" if articles else "not JATS XML: no <article>"
        )
    article = articles[0]
    if not any(name_of(child) in _PARTS for child in article):
        raise InputError("not JATS XML: its <article> has no <front> and no <body>")
    resolve_marks(article)
    meta = child_of(child_of(article, "front"), "article-meta")
    title = _text(child_of(child_of(meta, "title-group"), "article-title")).replace("\n", " ")
    abstracts = [child for child in (() if meta is None else meta) if name_of(child) == "abstract"]
    plain = [child for child in abstracts if not child.get("abstract-type")]  # others: graphical, teaser …
    abstract = _text((plain or abstracts or [None])[0])
    body = child_of(article, "body")
    parts = [] if body is None else [part for part in body if name_of(part) == "sec"]
    sections = tuple(
        Section(_text(child_of(part, "title")).replace("\n", " ") or None, text)
        for part in parts
        if (text := _text(part))
    )
    return Document(_text(body) or abstract, title or None, abstract or None, sections, notes)


def _text(element: Any) -> str:
    return running_text(element, _LINES, _LEFT_OUT)
