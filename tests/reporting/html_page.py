"""A page as its elements, for tests."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "input", "link", "img", "br", "hr"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str | None]
    children: list["Element | str"] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def all(self, *tags: str) -> list["Element"]:
        """This element's descendants with one of the tags (any without), in order."""
        found = []
        for child in self.children:
            if isinstance(child, Element):
                found += [child] if not tags or child.tag in tags else []
                found += child.all(*tags)
        return found

    def by_id(self, name: str) -> "Element":
        return next(element for element in self.all() if element.attributes.get("id") == name)


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("page", {})]

    def handle_starttag(self, tag, attrs):
        assert len(attrs) == len(dict(attrs)), f"an attribute twice in <{tag}>"
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop().tag == tag, f"</{tag}> closes another element"

    def handle_data(self, data):
        self.open[-1].children.append(data)


def parse(page: str) -> Element:
    """The page's elements; fails where one is not closed or closed in another's place."""
    builder = _Builder()
    builder.feed(page)
    builder.close()
    assert len(builder.open) == 1
    return builder.open[0]
