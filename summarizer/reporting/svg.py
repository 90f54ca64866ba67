"""Matplotlib's SVG made fit for the page: no styles and ids of its own, colours by CSS variables, tooltips."""

import re
from collections.abc import Mapping
from xml.etree import ElementTree

_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def page_svg(
    content: bytes, key: str, label: str, colors: Mapping[str, str], tooltips: Mapping[str, str] | None = None
) -> str:
    """An SVG element for an HTML page whose policy forbids inline styles.

    Colours become the CSS variables that `colors` names. Ids begin with `key`. `label` is read to those who cannot see.
    A group whose id is in `tooltips` gets that text as its tooltip.
    """
    written = " ".join(_NOT_XML.sub("\ufffd", content.decode("utf-8")).split()).replace("> <", "><")
    svg = ElementTree.fromstring(written)
    box = svg.get("viewBox", "")
    svg.attrib.clear()
    svg.attrib.update({"viewBox": box, "role": "img", "aria-label": _NOT_XML.sub("\ufffd", label)})
    for parent in list(svg.iter()):
        for child in list(parent):
            if child.tag in (f"{_SVG}style", f"{_SVG}metadata"):
                parent.remove(child)
    for element in svg.iter():
        element.tag = element.tag.removeprefix(_SVG)
        own = element.attrib.pop("id", None)
        if own is not None and element.tag != "g":  # what others refer to: clip paths and the shapes of markers
            element.set("id", f"{key}-{own}")
        elif text := (tooltips or {}).get(own or ""):
            tooltip = ElementTree.Element("title")
            tooltip.text = _NOT_XML.sub("\ufffd", text)
            element.insert(0, tooltip)
        if target := element.attrib.pop(_HREF, None):
            element.set("href", f"#{key}-{target[1:]}")
        if clip := element.get("clip-path"):
            element.set("clip-path", clip.replace("(#", f"(#{key}-"))
        for name, value in _declarations(element.attrib.pop("style", "")):
            element.set(name, f"var({colors[value]})" if value in colors else value)
    return ElementTree.tostring(svg, encoding="unicode")


def _declarations(style: str) -> list[tuple[str, str]]:
    """CSS declarations as attributes of SVG; of a font only the size, since the page has its own."""
    found = []
    for declaration in filter(None, map(str.strip, style.split(";"))):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name == "font":
            size = re.search(r"([\d.]+)px", value)
            found.append(("font-size", size[1] if size else "10"))
        elif name != "font-family":
            found.append((name, value))
    return found
