"""The lines of a PDF as paragraphs: where a paragraph ends, and how words that a line's end divides are joined."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from summarizer.documents.pdf_lines import Line
from summarizer.text import ends_sentence

_ITEM = re.compile(
    r"[•●▪◦‣∙■□–*]\s|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)]\s|\[\d{1,3}\]|\d{1,3}(?:\.\d{1,3})+\.?\s+[A-Z]"
)
# Words before which a hyphen stays open: two- and three-year, vor- und nachher.
_AND = re.compile(r"(?:and|or|to|nor|und|oder|bis|sowie|et|ou|y|o|u|e|og|och|eller|en)\b")
_HYPHENS = ("-", "‐", "\xad")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_NEIGHBOURS = 4  # lines before and after a line that tell how wide its column is


def join_lines(pages: Sequence[Sequence[Line]]) -> str:
    """The text of the pages, one paragraph or heading a line.

    Footnotes follow the paragraph in which the column or page ends.
    """
    common = _common_size(pages)
    leadings = _leadings(pages)
    paragraphs: list[list[str]] = []
    footnotes: list[list[str]] = []
    last = None
    last_edge = 0.0
    for column in _columns(pages):
        body, small = _split_footnotes(column, common)
        edges = _right_edges(body)
        for place, line in enumerate(body):
            before, edge = (body[place - 1], edges[place - 1]) if place else (last, last_edge)
            indent = line.left - min(each.left for each in body[max(0, place - _NEIGHBOURS) : place + _NEIGHBOURS + 1])
            if before is not None and _continues(before, line, edge, indent, leadings, is_new_column=not place):
                paragraphs[-1].append(line.text)
            else:
                paragraphs.extend(footnotes)
                footnotes = []
                paragraphs.append([line.text])
        if body:
            last, last_edge = body[-1], edges[-1]
        for place, (line, edge) in enumerate(zip(small, _right_edges(small), strict=True)):
            if place and _continues(small[place - 1], line, edge, 0, leadings):
                footnotes[-1].append(line.text)
            else:
                footnotes.append([line.text])
    words = _whole_words(line.text for page in pages for line in page)
    return "\n".join(_join(lines, words) for lines in [*paragraphs, *footnotes])


def _columns(pages: Sequence[Sequence[Line]]) -> Iterator[list[Line]]:
    """The lines of each column of each page: a column ends where the next line stands far above."""
    for page in pages:
        column: list[Line] = []
        for line in page:
            if column and line.y > column[-1].y + 2 * line.size:
                yield column
                column = []
            column.append(line)
        if column:
            yield column


def _common_size(pages: Sequence[Sequence[Line]]) -> float:
    """The size in which most characters are set."""
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page:
            sizes[round(line.size, 1)] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _leadings(pages: Sequence[Sequence[Line]]) -> dict[int, float]:
    """For each size, rounded, the commonest distance from line to line."""
    distances: defaultdict[int, Counter[float]] = defaultdict(Counter)
    for page in pages:
        for before, line in pairwise(page):
            distance = before.y - line.y
            if 0.5 * line.size < distance < 4 * line.size:
                distances[round(line.size)][round(2 * distance) / 2] += 1
    return {size: counts.most_common(1)[0][0] for size, counts in distances.items()}


def _split_footnotes(column: list[Line], common: float) -> tuple[list[Line], list[Line]]:
    """The column's lines, and those of its footnotes: its last ones if smaller than most text."""
    start = len(column)
    while start and column[start - 1].size < 0.93 * common:
        start -= 1
    return (column[:start], column[start:]) if start else (column, [])


def _right_edges(column: Sequence[Line]) -> list[float]:
    """The right edge of the text around each line."""
    return [
        max(line.right for line in column[max(0, place - _NEIGHBOURS) : place + _NEIGHBOURS + 1])
        for place in range(len(column))
    ]


def _continues(
    before: Line, line: Line, edge: float, indent: float, leadings: dict[int, float], is_new_column: bool = False
) -> bool:
    """Whether `line` continues the paragraph of the line before it, whose column ends at `edge` on the right."""
    if not 0.87 < line.size / (before.size or 1) < 1.15:
        return False
    is_open = not ends_sentence(before.text)
    flows = is_open and line.text[:1].islower()
    if not is_new_column:
        distance = before.y - line.y
        leading = leadings.get(round(line.size), 1.2 * line.size)
        if distance > (3.2 if flows else 1.35) * leading:
            return False
    if flows or _divided_word(before.text):
        return True
    width = (line.right - line.left) / len(line.text)  # of a character
    first_word = len(line.text.split(" ", 1)[0])
    if before.right + (first_word + 0.5) * width < edge:  # the word would have fitted into the line before
        return False
    if _ITEM.match(line.text):
        return is_open and indent < line.size
    return is_open or indent < 0.7 * line.size or bool(_ITEM.match(before.text))


def _join(lines: Sequence[str], words: Counter[str]) -> str:
    """The lines as one, with divided words joined; `words` counts those of the document."""
    text = lines[0]
    for line in lines[1:]:
        start = _divided_word(text[-100:])
        if not start or not line[:1].isalpha():
            text += (" " if not _is_spaceless(text[-1:] + line[:1]) else "") + line
        elif _AND.match(line):
            text += " " + line
        elif _keeps_hyphen(start, line, words):
            text += line
        else:
            text = text[:-1] + line
    return text


def _whole_words(lines: Iterable[str]) -> Counter[str]:
    """How often each word occurs that no line's end divides, in lower case."""
    words: Counter[str] = Counter()
    is_divided = False
    for line in lines:
        found = [word.casefold() for word in _WORD.findall(line)]
        start = int(is_divided)
        is_divided = bool(_divided_word(line))
        words.update(found[start : len(found) - is_divided])
    return words


def _divided_word(text: str) -> str:
    """The beginning of the word that the end of this line divides, without its hyphen; empty if it divides none."""
    start = text[-100:].rsplit(" ", 1)[-1][:-1]
    return start if text.endswith(_HYPHENS) and start[-1:].isalpha() else ""


def _keeps_hyphen(start: str, line: str, words: Counter[str]) -> bool:
    """Whether a hyphen at a line's end belongs to the word: as elsewhere in the document, or by its look."""
    end = _WORD.match(line)
    if end is None or start.isupper() or line[0].isupper():
        return True
    before = _WORD.findall(start)[-1:] or [start]
    whole = (before[0] + end.group()).casefold()
    hyphenated = f"{before[0]}-{end.group()}".casefold()
    if "-" in before[0] or words[hyphenated] > words[whole]:
        return True
    parts = (before[0].casefold(), end.group().casefold())
    return not words[whole] and all(len(part) >= 4 and words[part] for part in parts)  # well-established


def _is_spaceless(pair: str) -> bool:
    """Whether these two characters are of scripts without spaces between words."""
    return all("\u3000" <= each <= "\u9fff" or "\uff00" <= each <= "\uffef" for each in pair)
