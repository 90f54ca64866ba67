"""XML as trees without anything fetched or expanded, and the running text of an element."""

import html
from collections.abc import Collection, Iterator
from typing import Any

from summarizer.errors import InputError
from summarizer.optional import import_optional
from summarizer.text import clean_text


def parse_xml(content: bytes) -> Any:
    """The root of an XML document; neither external entities nor its own are expanded. Raises InputError."""
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
    """The first child of that name, or None."""
    return next((child for child in element if name_of(child) == name), None)


def running_text(element: Any, lines: Collection[str], left_out: Collection[str]) -> str:
    """Clean text below `element`: elements named in `lines` stand on lines of their own, those in `left_out` nowhere.

    Empty for None.
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
        elif not name and hasattr(child, "name"):  # an entity such as &nbsp;, kept unexpanded by the parser
            yield html.unescape(child.text) if html.unescape(child.text) != child.text else ""
        yield _inline(child.tail)
    yield separator


def _inline(text: str | None) -> str:
    """Text with its line breaks as spaces: in XML they are only how the file was laid out."""
    return " ".join(text.split("\n")) if text else ""
