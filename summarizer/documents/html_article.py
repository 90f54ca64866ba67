"""The part of a web page that a reader came for: all of it, without menus and the like."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from summarizer.documents.markup import running_text

_UNSEEN_TAGS = frozenset(
    {"head", "title", "script", "style", "template", "noscript", "svg", "math", "object", "canvas", "map"}
)
_LEFT_OUT = frozenset({
    "nav", "button", "select", "textarea", "input", "label", "iframe", "audio", "video", "dialog", "menu", "figure",
})  # fmt: skip
_ROLES = frozenset({"navigation", "banner", "contentinfo", "search", "complementary", "menu", "dialog", "alert"})
_NAMES = re.compile(
    r"(?<![\w-])(?:mw-editsection|references|reflist|navbox|catlinks|breadcrumbs?|cookie-?(?:banner|notice|consent))"
    r"(?![\w-])",
    re.I,
)
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6", "dt")
_OPENING_BUTTON = re.compile("accordion|faq|question", re.I)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_LINES = frozenset({
    "h1", "h2", "h3", "h4", "h5", "h6", "p", "div", "section", "article", "main", "header", "footer", "aside", "ul",
    "ol", "li", "dl", "dt", "dd", "blockquote", "pre", "table", "caption", "tr", "details", "summary", "address",
    "center", "fieldset", "form", "br", "hr", "body",
})  # fmt: skip
_CONTAINERS = frozenset({"div", "section", "article", "main", "center", "form", "table", "tbody", "tr", "td"})
_MENUS = ("ul", "ol", "dl", "div", "section", "p", "table", "td", "aside", "header", "footer")
_PIECE = 12  # letters by which a piece of text is recognized

# Measured on pages of Debian's manuals, which are documents as a whole (0.81 of their letters and more), and on
# news pages (0.83 and less), of which trafilatura knows the article well.
_DOCUMENT = 0.84  # the share of a page's letters from which it is a document as a whole
_GAIN = (1.25, 2.5)  # how much more letters than trafilatura's article an element has that is taken instead
_MOST_LINKS = 0.2  # the share of letters in links that such an element may have


@dataclass
class _Size:
    """Letters within an element: all, those of links, and those of the article that was found."""

    all: int = 0
    links: int = 0
    found: int = 0
    num_links: int = 0


def complete_article(body: Any, article: str) -> str:
    """The text of a page of which `article` was found, with what was left out of it; `article` if that is safer.

    Lists, questions and answers are often taken for menus. So if nearly all of a page is text, or the element that
    holds the article has a good part more, all text of that element is taken. Changes `body`, a tree of lxml.html.
    """
    _remove(body, _is_no_text)
    whole = _sizes(body)[body].all
    _remove(body, _is_left_out)
    _remove_menus(body)
    letters = "".join(article.split())
    sizes = _sizes(body, frozenset(letters[place : place + _PIECE] for place in range(len(letters) - _PIECE + 1)))
    element = body
    while 2 * sizes[element].found > len(letters) and sizes[element].all > 1.15 * sizes[element].found:
        least = 0.95 * sizes[element].found
        inner = [each for each in element if each.tag in _CONTAINERS and sizes[each].found >= least]
        if not inner:
            break
        element = inner[0]
    size = sizes[element]
    gains = _GAIN[0] * size.found < size.all < _GAIN[1] * size.found and size.links < _MOST_LINKS * size.all
    if not article or gains or size.all > _DOCUMENT * whole:
        return running_text(element, _LINES, ())
    return article


def open_answers(body: Any) -> None:
    """Make plain headings of the buttons and labels that open hidden text below them, and show that text."""
    for opener in list(body.iter("button", "label")):
        in_heading = next(opener.iterancestors(*_HEADINGS), None) is not None
        if opener.tag == "label":
            previous, following = opener.getprevious(), opener.getnext()
            box = previous is not None and previous.tag == "input" and previous.get("type") in ("checkbox", "radio")
            is_question = box and following is not None and following.tag in _CONTAINERS
        else:
            is_question = in_heading or bool(_OPENING_BUTTON.search(opener.get("class", "")))
        if not is_question:
            continue
        opener.tag = "span" if in_heading else "h4"
        for element in (opener, *islice(opener.iterancestors(), 3)):
            element.attrib.pop("class", None)  # trafilatura drops what is called a header
            if (answer := element.getnext()) is not None:
                for name in ("hidden", "aria-hidden", "style"):
                    answer.attrib.pop(name, None)
                break


def _remove(body: Any, is_unwanted: Callable[[Any], bool]) -> None:
    for element in list(body.iter()):
        if element is not body and element.getparent() is not None and is_unwanted(element):
            element.drop_tree()


def _is_no_text(element: Any) -> bool:
    """Whether an element is a comment, a script or the like, or a list of references or a sign of a known name."""
    if not isinstance(element.tag, str) or element.tag in _UNSEEN_TAGS:
        return True
    return bool(_NAMES.search(f"{element.get('class', '')} {element.get('id', '')}"))


def _is_left_out(element: Any) -> bool:
    if element.tag in ("header", "footer"):  # of the page, not of an article in it
        inside = next(element.iterancestors("article", "main", "section", "blockquote"), None) is not None
        return not inside and (element.tag == "footer" or element.find(".//h1") is None)
    hidden = "hidden" in element.attrib or element.get("aria-hidden") == "true"
    hidden = hidden or bool(_HIDDEN.search(element.get("style", "")))
    return hidden or element.tag in _LEFT_OUT or element.get("role") in _ROLES


def _remove_menus(body: Any) -> None:
    """Remove the lists of links, unless the page consists of them."""
    sizes = _sizes(body)
    menus = {element for element in body.iter(*_MENUS) if element is not body and _is_menu(sizes[element])}
    outer = [menu for menu in menus if menus.isdisjoint(menu.iterancestors())]
    if sum(sizes[menu].all for menu in outer) < 0.8 * sizes[body].all:
        for menu in outer:
            menu.drop_tree()


def _is_menu(size: _Size) -> bool:
    """Whether an element is a list of links: more than two short ones, and little else."""
    return size.num_links > 2 and 0.7 * size.all < size.links < 60 * size.num_links


def _sizes(body: Any, pieces: Collection[str] = ()) -> Mapping[Any, _Size]:
    """The sizes of all elements; a text counts as found if it begins and ends with some of the `pieces`."""
    sizes: dict[Any, _Size] = {element: _Size() for element in body.iter()}
    for element in reversed(list(sizes)):  # children before their parents
        size = sizes[element]
        for text in (element.text, *(child.tail for child in element)):
            letters = "".join((text or "").split())
            size.all += len(letters)
            if letters[:_PIECE] in pieces and letters[-_PIECE:] in pieces:
                size.found += len(letters)
        if element.tag == "a" and element.get("href"):
            size.links, size.num_links = size.all, 1
        if element is not body:
            above = sizes[element.getparent()]
            above.all += size.all
            above.links += size.links
            above.found += size.found
            above.num_links += size.num_links
    return sizes
