"""Articles in JATS XML, as PubMed Central and publishers give them."""

import html
from collections.abc import Iterator
from typing import Any

from summarizer.data.optional import optional_library
from summarizer.data.text import clean_text
from summarizer.files import InputError

# What stands among the paragraphs without being running text.
_LEFT_OUT = frozenset({
    "ref-list", "table-wrap", "table-wrap-group", "table", "fig", "fig-group", "graphic", "inline-graphic", "media",
    "supplementary-material", "disp-formula", "disp-formula-group", "tex-math", "fn", "fn-group", "object-id", "label",
})  # fmt: skip
_LINES = frozenset({
    "abstract", "body", "sec", "title", "p", "list", "list-item", "def-list", "def-item", "disp-quote", "verse-line",
})  # fmt: skip


def read_jats(content: bytes) -> tuple[str, str | None, str | None]:
    """Text, title and abstract of one article; the text is the body, or the abstract where there is no body.

    Section titles and paragraphs stand on lines of their own; references, tables, figures and displayed formulas
    are left out. Neither external entities nor the document's own are expanded. Raises InputError.
    """
    root = _parse(content)
    articles = [element for element in root.iter() if _name(element) == "article"]
    if len(articles) != 1:
        raise InputError(
            "XML that is not JATS: no <article>" if not articles else f"{len(articles)} articles in one file"
        )
    article = articles[0]
    front = _child(article, "front")
    meta = _child(front, "article-meta") if front is not None else None
    title = abstract = None
    if meta is not None:
        group = _child(meta, "title-group")
        title = _text(_child(group, "article-title")).replace("\n", " ") if group is not None else None
        abstracts = [child for child in meta if _name(child) == "abstract"]
        plain = [child for child in abstracts if not child.get("abstract-type")]  # others: graphical, teaser …
        abstract = _text((plain or abstracts or [None])[0])
    body = _text(_child(article, "body"))
    return body or abstract or "", title or None, abstract or None


def _parse(content: bytes) -> Any:
    etree = optional_library("lxml.etree")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False, huge_tree=False
    )
    try:
        return etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise InputError(f"broken XML: {error}") from error


def _name(element: Any) -> str:
    """The tag without its namespace; empty for comments, instructions and entities."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _child(element: Any, name: str) -> Any:
    return next((child for child in element if _name(child) == name), None)


def _text(element: Any) -> str:
    return "" if element is None else clean_text("".join(_pieces(element)))


def _pieces(element: Any) -> Iterator[str]:
    """Running text below `element`, newlines around what stands on lines of its own."""
    separator = "\n" if _name(element) in _LINES else ""
    yield separator
    yield _inline(element.text)
    for child in element:
        name = _name(child)
        if name and name not in _LEFT_OUT:
            yield from _pieces(child)
        elif not name and hasattr(child, "name"):  # an entity such as &nbsp;, kept unexpanded by the parser
            yield html.unescape(child.text) if html.unescape(child.text) != child.text else ""
        yield _inline(child.tail)
    yield separator


def _inline(text: str | None) -> str:
    """Text with its line breaks as spaces: in XML they are only how the file was laid out."""
    return " ".join(text.split("\n")) if text else ""
