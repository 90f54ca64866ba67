"""XML: parsing that fetches and expands nothing, and the running text of an element."""

import html
from collections.abc import Collection, Iterator
from typing import Any

from summarizer.errors import InputError
from summarizer.optional import import_optional
from summarizer.text import clean_text


def parse_xml(content: bytes) -> Any:
    """The root of an XML document; no entities are expanded. Raises InputError."""
    etree = import_optional("lxml.etree", "documents", "reading this kind of file")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False, huge_tree=False
    )
    try:
        return etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise InputError(f"broken XML: {error}") from error


def name_of(element: Any) -> str:
    """The tag without its namespace; empty for comments, instructions and entities."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def child_of(element: Any, name: str) -> Any:
    """The first child with this name; None without one, or if `element` is None."""
    return next((child for child in element if name_of(child) == name), None) if element is not None else None


def running_text(element: Any, lines: Collection[str], left_out: Collection[str]) -> str:
    """The clean text of `element` (empty for None).

    Each element named in `lines` begins and ends a line. Elements named in `left_out` are dropped.
    """
    return "" if element is None else clean_text("".join(_pieces(element, lines, left_out)))


def _pieces(element: Any, lines: Collection[str], left_out: Collection[str]) -> Iterator[str]:
    separator = "\n" if name_of(element) in lines else ""
    yield separator
    yield _inline(element.text)
    for child in element:
        name = name_of(child)
        if name and name not in left_out:
            yield from _pieces(child, lines, left_out)
        elif not name and hasattr(child, "name"):  # an entity such as &nbsp;, which the parser did not expand
            yield html.unescape(child.text) if html.unescape(child.text) != child.text else ""
        yield _inline(child.tail)
    yield separator


def _inline(text: str | None) -> str:
    """Text with spaces for line breaks, which mean nothing in XML."""
    return " ".join(text.split("\n")) if text else ""
