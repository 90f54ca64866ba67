"""Superscripts and the marks of notes in HTML and XML, so that 10^6 and 2010 stay and no mark is glued to a word."""

from typing import Any

from summarizer.documents.markup import name_of
from summarizer.documents.superscripts import is_citation, superscript

_LINKS = ("a", "xref")
_INLINE = frozenset(
    {"a", "abbr", "b", "bold", "cite", "code", "em", "i", "italic", "span", "strong", "sub", "sup", "u"}
)
_SIGNS = frozenset("¶#§↩↑^⏎🔗\ufe0e")  # links to the place itself or back to the text
_CONTEXT = 24  # characters before a superscript that tell what it is


def resolve_marks(root: Any) -> None:
    """Write superscripts as plain text; remove the marks of notes, permanent links and readings (ruby)."""
    for element in list(root.iter("{*}rt", "{*}rp")):
        _replace(element, "")
    for element in list(root.iter("{*}sup", "{*}span", "{*}a", "{*}xref")):
        name = name_of(element)
        if name in _LINKS:
            if _is_mark(element):
                _replace(element, "")
        elif name == "sup" or _is_raised(element):
            text = "".join(element.itertext())
            if is_citation(text) and _is_linked(element, text):
                _replace(element, "")
            else:
                _replace(element, superscript(_before(element), text.strip(), (element.tail or "")[:3]))


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
    before = _before(link)[-1:]
    return is_citation(text) and (before.isalnum() or before in tuple(".,;:!?”’\"'»)%"))


def _before(element: Any) -> str:
    """The last characters before an element in its line."""
    text = ""
    for _ in range(_CONTEXT):
        previous, parent = element.getprevious(), element.getparent()
        text = ((previous.tail if previous is not None else parent.text if parent is not None else "") or "") + text
        if previous is not None and name_of(previous) in ("", *_INLINE):
            text = ("".join(previous.itertext())[-_CONTEXT:] if name_of(previous) else "") + text
            element = previous
        elif previous is None and parent is not None and name_of(parent) in _INLINE:
            element = parent
        else:
            break
        if len(text) >= _CONTEXT:
            break
    return text[-_CONTEXT:]


def _replace(element: Any, text: str) -> None:
    """Put a text in the place of an element; the text behind it stays."""
    parent, previous = element.getparent(), element.getprevious()
    if parent is None:
        return
    text += element.tail or ""
    if previous is not None:
        previous.tail = (previous.tail or "") + text
    else:
        parent.text = (parent.text or "") + text
    parent.remove(element)
