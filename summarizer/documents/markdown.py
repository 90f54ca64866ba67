"""Markdown: its headings begin the sections."""

import itertools
import re


def markdown_parts(text: str) -> list[tuple[int, str]]:
    """The lines, each with its level as a heading or 0."""
    lines = text.split("\n")
    fences = itertools.accumulate(line.startswith(("```", "~~~")) for line in lines)  # odd within code
    marks = [re.match(r"#{1,6}(?=\s|$)", line) for line in lines]
    levels = [0 if fence % 2 or not mark else mark.end() for mark, fence in zip(marks, fences, strict=True)]
    return list(zip(levels, lines, strict=True))
