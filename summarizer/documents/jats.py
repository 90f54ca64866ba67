"""Articles in JATS XML, as PubMed Central and publishers give them."""

from typing import Any

from summarizer.documents.document import Document, Section
from summarizer.documents.markup import child_of, name_of, parse_xml, running_text
from summarizer.errors import InputError

# What stands among the paragraphs without being running text.
_LEFT_OUT = frozenset({
    "ref-list", "table-wrap", "table-wrap-group", "table", "fig", "fig-group", "graphic", "inline-graphic", "media",
    "supplementary-material", "disp-formula", "disp-formula-group", "tex-math", "fn", "fn-group", "object-id", "label",
})  # fmt: skip
_LINES = frozenset({
    "abstract", "body", "sec", "title", "p", "list", "list-item", "def-list", "def-item", "disp-quote", "verse-line",
})  # fmt: skip


def read_jats(content: bytes) -> Document:
    """Text, title, abstract and sections of one article; the text is the body, or the abstract where there is no body.

    Section titles and paragraphs stand on lines of their own; references, tables, figures and displayed formulas
    are left out. Neither external entities nor the document's own are expanded. Raises InputError.
    """
    root = parse_xml(content)
    articles = [element for element in root.iter() if name_of(element) == "article"]
    if len(articles) != 1:
        raise InputError(
            "XML that is not JATS: no <article>" if not articles else f"{len(articles)} articles in one file"
        )
    article = articles[0]
    front = child_of(article, "front")
    meta = child_of(front, "article-meta") if front is not None else None
    title = abstract = None
    if meta is not None:
        group = child_of(meta, "title-group")
        title = _text(child_of(group, "article-title")).replace("\n", " ") if group is not None else None
        abstracts = [child for child in meta if name_of(child) == "abstract"]
        plain = [child for child in abstracts if not child.get("abstract-type")]  # others: graphical, teaser …
        abstract = _text((plain or abstracts or [None])[0])
    body = child_of(article, "body")
    parts = [] if body is None else [part for part in body if name_of(part) == "sec"]
    sections = tuple(
        Section(_text(child_of(part, "title")).replace("\n", " ") or None, text)
        for part in parts
        if (text := _text(part))
    )
    return Document(_text(body) or abstract or "", title or None, abstract or None, sections)


def _text(element: Any) -> str:
    return running_text(element, _LINES, _LEFT_OUT)
