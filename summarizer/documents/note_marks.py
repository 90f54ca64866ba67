"""Superscripts and the marks of notes in HTML and XML, so that 10^6 and 2010 stay and no mark is glued to a word."""

from typing import Any

from summarizer.documents.markup import name_of
from summarizer.documents.superscripts import END, START, is_citation

_LINKS = ("a", "xref")
_INLINE = frozenset(
    {"a", "abbr", "b", "bold", "cite", "code", "em", "i", "italic", "small", "span", "strong", "sub", "u"}
)
_SIGNS = frozenset("¶#§↩↑^⏎🔗")  # links to the place itself or back to the text


def mark_superscripts(root: Any) -> None:
    """Put START and END around the superscripts below `root`, and remove the marks of notes and permanent links.

    The text of an element needs `resolve_superscripts` afterwards.
    """
    for element in list(root.iter("{*}sup", "{*}span", "{*}a", "{*}xref")):
        name = name_of(element)
        if name in _LINKS:
            if _is_mark(element):
                _remove(element)
        elif name == "sup" or _is_raised(element):
            text = "".join(element.itertext())
            if is_citation(text) and _is_linked(element, text):
                _remove(element)
            else:
                _enclose(element)


def _is_raised(element: Any) -> bool:
    names = element.get("class", "").lower().split()
    return "superscript" in names or "sup" in names or "super" in element.get("style", "").lower()


def _is_linked(element: Any, text: str) -> bool:
    parent = element.getparent()
    inside = next(element.iter("{*}a", "{*}xref"), None) is not None
    return inside or (name_of(parent) in _LINKS and "".join(parent.itertext()).strip() == text.strip())


def _is_mark(link: Any) -> bool:
    """Whether a link is the mark of a note, glued to what it follows, or only a sign such as ¶."""
    target = link.get("href", "") or link.get("rid", "")
    text = "".join(link.itertext()).strip()
    if not target or ("href" in link.attrib and "#" not in target) or len(text) > 40:
        return False
    if text and set(text) <= _SIGNS | {"\ufe0e"}:
        return True
    before = _before(link)
    return is_citation(text) and not before.isspace() and (before.isalnum() or before in tuple(".,;:!?”’\"'»)%"))


def _before(element: Any) -> str:
    """The character before an element in its line; a space if there is none."""
    for _ in range(20):
        previous, parent = element.getprevious(), element.getparent()
        text = previous.tail if previous is not None else parent.text if parent is not None else None
        if text:
            return text[-1]
        if previous is not None and name_of(previous) in _INLINE:
            text = "".join(previous.itertext())
            if text:
                return text[-1]
        element = previous if previous is not None else parent
        if element is None or (previous is None and name_of(parent) not in _INLINE):
            break
    return " "


def _remove(element: Any) -> None:
    """Remove an element and keep the text behind it."""
    parent, previous = element.getparent(), element.getprevious()
    if parent is None:
        return
    if element.tail and previous is not None:
        previous.tail = (previous.tail or "") + element.tail
    elif element.tail:
        parent.text = (parent.text or "") + element.tail
    parent.remove(element)


def _enclose(element: Any) -> None:
    element.text = START + (element.text or "")
    if len(element):
        element[-1].tail = (element[-1].tail or "") + END
    else:
        element.text += END
