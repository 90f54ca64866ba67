"""XML: parsing that fetches and expands nothing, and the running text of an element."""

import html
import re
from collections.abc import Collection, Iterator
from typing import Any

from summarizer.errors import InputError
from summarizer.optional import import_optional
from summarizer.text import clean_text

END_TAGS = re.compile(r"</(?:body|html)\s*>", re.I)  # HTML parsers drop the text behind, which browsers show
_CELLS = frozenset({"td", "th"})


def parse_xml(content: bytes | str) -> Any:
    """The root of an XML document; no entities are expanded. Raises InputError."""
    etree = import_optional("lxml.etree", "documents", "reading this kind of file")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False, huge_tree=False
    )
    try:
        return etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise InputError(f"broken XML: {error}") from error


def declared_encoding(content: bytes) -> str | None:
    """The encoding that an HTML or XML document declares of itself."""
    declared = re.search(rb"<(?:meta|\?xml)[^>]{0,500}?(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]+)", content, re.I)
    return declared.group(1).decode("ascii") if declared else None


def without_declaration(page: str) -> str:
    """The text of an HTML or XML document for a parser, which refuses a declared encoding in what is decoded."""
    return re.sub(r"^\s*<\?xml[^>]*\?>", "", page.replace("\x00", ""))


def is_too_deep(root: Any) -> bool:
    """Whether an HTML tree reaches the depth below which its parser drops what there is."""
    return root.xpath("boolean(//*[count(ancestor::*) >= 250])")


def name_of(element: Any) -> str:
    """The tag without its namespace; empty for comments, instructions and entities."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def child_of(element: Any, name: str) -> Any:
    """The first child with this name; None without one, or if `element` is None."""
    return next((child for child in element if name_of(child) == name), None) if element is not None else None


def running_text(element: Any, lines: Collection[str], left_out: Collection[str]) -> str:
    """The clean text of `element` (empty for None).

    Each element named in `lines` begins and ends a line. Elements named in `left_out` are dropped. Line breaks stay in
    `pre` alone.
    """
    return "" if element is None else clean_text("".join(_pieces(element, lines, left_out)))


def _pieces(
    element: Any, lines: Collection[str], left_out: Collection[str], keeps_breaks: bool = False
) -> Iterator[str]:
    separator = "\n" if name_of(element) in lines else ""
    keeps_breaks = keeps_breaks or name_of(element) == "pre"
    yield separator
    yield _inline(element.text, keeps_breaks)
    for child in element:
        name = name_of(child)
        if name and name not in left_out:
            yield from _pieces(child, lines, left_out, keeps_breaks)
        elif not name and hasattr(child, "name"):  # an entity such as &nbsp;, which the parser did not expand
            yield html.unescape(child.text) if html.unescape(child.text) != child.text else ""
        yield " " if name in _CELLS else ""
        yield _inline(child.tail, keeps_breaks)
    yield separator


def _inline(text: str | None, keeps_breaks: bool) -> str:
    """Text with spaces for line breaks, which mean nothing in XML."""
    return text or "" if keeps_breaks else " ".join((text or "").split("\n"))
