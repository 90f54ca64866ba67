"""Markdown: its headings begin the sections."""

import itertools
import re

from summarizer.documents.document import Document, ReadingOptions
from summarizer.documents.plain import read_plain


def read_markdown(content: bytes, options: ReadingOptions) -> Document:
    """Read Markdown; its markup stays in the text. Raises InputError if it is not text."""
    lines = read_plain(content, options).text.split("\n")
    fences = itertools.accumulate(line.startswith(("```", "~~~")) for line in lines)  # odd within code
    marks = [re.match(r"#{1,6}(?=\s|$)", line) for line in lines]
    levels = [0 if fence % 2 or not mark else mark.end() for mark, fence in zip(marks, fences, strict=True)]
    return Document.from_parts(list(zip(levels, lines, strict=True)))
