"""The styles of a Word document: which paragraphs are titles, headings or contents, and which text is hidden."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from summarizer.documents.markup import child_of, name_of

TITLE = -1
CONTENTS = -2


@dataclass(frozen=True)
class Style:
    """What a style says. level: of a heading from 1, 0 for text, TITLE, CONTENTS; None where the style does not say."""

    level: int | None = None
    hidden: bool | None = None
    superscript: bool | None = None


def attribute(element: Any, name: str) -> str | None:
    """An attribute by its name without namespace, since Strict files have other namespaces."""
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), None)


def value_of(properties: Any, name: str) -> str | None:
    """The value of a property; "" for one without a value, None if it is not there."""
    element = child_of(properties, name)
    return None if element is None else attribute(element, "val") or ""


def run_style(properties: Any) -> Style:
    """What the properties of a run say themselves."""
    vanish, position = value_of(properties, "vanish"), value_of(properties, "vertAlign")
    return Style(
        hidden=None if vanish is None else vanish not in ("0", "false", "off"),
        superscript=None if position is None else position == "superscript",
    )


def paragraph_level(properties: Any) -> int | None:
    """The level that a paragraph's or style's outline level gives, if it has one; 9 means text."""
    outline = value_of(properties, "outlineLvl") or ""
    return (int(outline) + 1) % 10 if re.fullmatch(r"[0-9]", outline) else None


def level_of_name(name: str) -> int | None:
    """The level that the name of a style gives; Word stores the English names of its own styles in any language."""
    name = " ".join(name.lower().split())
    if heading := re.fullmatch(r"heading ?([1-9])", name):
        return int(heading.group(1))
    if name == "title":
        return TITLE
    return CONTENTS if re.fullmatch(r"toc ?([1-9]|heading)|table ?of ?figures", name) else None


def read_styles(root: Any) -> Mapping[str, Style]:
    """The styles of styles.xml by id, each with what it inherits."""
    elements = {attribute(style, "styleId") or "": style for style in root if name_of(style) == "style"}
    styles: dict[str, Style] = {}
    for key in elements:
        chain: list[str] = []
        each = key
        while each in elements and each not in chain:
            chain.append(each)
            each = value_of(elements[each], "basedOn") or ""
        own = [_own(elements[each], each) for each in chain]
        styles[key] = Style(
            level=next((style.level for style in own if style.level is not None), None),
            hidden=next((style.hidden for style in own if style.hidden is not None), None),
            superscript=next((style.superscript for style in own if style.superscript is not None), None),
        )
    return styles


def _own(element: Any, key: str) -> Style:
    level = paragraph_level(child_of(element, "pPr"))
    named = level_of_name(value_of(element, "name") or key)
    run = run_style(child_of(element, "rPr"))
    return Style(level if named is None else named, run.hidden, run.superscript)
