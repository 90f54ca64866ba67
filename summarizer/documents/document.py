"""What a file says: its text, and its parts where the format marks them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Section:
    """A section or chapter: clean text, its heading included, and the heading."""

    title: str | None
    text: str


@dataclass(frozen=True)
class Document:
    """Clean text, one paragraph or heading a line; title, abstract and sections where the format marks them."""

    text: str
    title: str | None = None
    abstract: str | None = None
    sections: tuple[Section, ...] = ()


def title_of(parts: Sequence[tuple[int, str]]) -> str | None:
    """The first heading of a text given as for `sections_under_headings`, if no other heading is of so high a level."""
    headings = [(level, text) for level, text in parts if level and text]
    if not headings or any(level <= headings[0][0] for level, _ in headings[1:]):
        return None
    return headings[0][1].replace("\n", " ").strip("# ") or None


def sections_under_headings(parts: Sequence[tuple[int, str]]) -> tuple[Section, ...]:
    """Sections of a text given as clean parts, each with its level as a heading (1 the highest) or 0.

    They begin at the headings of the highest level that comes more than once; what stands before is in none of them.
    """
    levels = [level for level, _ in parts]
    level = next((level for level in range(1, 10) if levels.count(level) > 1), None)
    starts = [number for number, each in enumerate(levels) if each == level]
    texts = [[text for _, text in parts[start:end] if text] for start, end in pairwise([*starts, None])]
    return tuple(Section(text[0].replace("\n", " ").lstrip("# "), "\n".join(text)) for text in texts if text)
