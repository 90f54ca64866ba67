"""Boilerplate of a PDF, which is left out: running headers, page and line numbers, contents pages, reference lists."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import accumulate, groupby, pairwise

from summarizer.documents.pdf_lines import Line

_ROWS = 3  # at the top and at the bottom of a page, of which a header or footer may consist
_NEAR = 3.0  # points by which the place of a header may differ from page to page
_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b", re.IGNORECASE)
_PAGE_NUMBER = re.compile(
    r"[\W_]*(?:(?:page|seite|p\.|s\.|página|pagina|side|sida|strona|strana)\s*)?(\d{1,4}|[ivxlc]{1,7})"
    r"(?:\s*(?:/|of|von|de|di|av|af|z)\s*\d{1,4})?[\W_]*",
    re.IGNORECASE,
)


def leave_out(pages: Sequence[list[Line]]) -> tuple[list[list[Line]], dict[str, int]]:
    """The pages without those lines, and how many lines of each kind were left out."""
    counts: dict[str, int] = {}
    kept = [list(page) for page in pages]
    for kind, find in (("of contents", _contents), ("as running headers, footers and page numbers", _running_lines)):
        found = find(kept)
        counts[kind] = sum(map(len, found))
        kept = [_without(page, places) for page, places in zip(kept, found, strict=True)]
    counts["as line numbers"] = sum(map(_remove_line_numbers, kept))
    flat = [line for page in kept for line in page]
    references = _references(flat)
    counts["of references"] = len(references)
    starts = [0, *accumulate(map(len, kept))]
    kept = [_without(page, {place - start for place in references}) for page, start in zip(kept, starts, strict=False)]
    if any(pages) and not any(kept):  # nothing but what repeats or refers: this is the text
        return [list(page) for page in pages], {}
    return kept, {kind: count for kind, count in counts.items() if count}


def _without(page: list[Line], places: set[int]) -> list[Line]:
    return [line for place, line in enumerate(page) if place not in places]


# Running headers, footers and page numbers


def _running_lines(pages: Sequence[list[Line]]) -> list[set[int]]:
    """The places of running lines on each page: the outermost rows, as far as they repeat or number the pages."""
    sides = [_outer_rows(page) for page in pages]
    seen: defaultdict[tuple[str, int], set[int]] = defaultdict(set)  # what a line says, and its height: its pages
    for number, (page, rows) in enumerate(zip(pages, sides, strict=True)):
        for line in (page[place] for side in rows for row in side for place in row):
            seen[_saying(line.text), _height(line)].add(number)
    numbering = _numbering(pages, sides)
    running = [
        {
            place
            for place in (place for side in rows for row in side for place in row)
            if _repeats(page[place], seen, len(pages)) or _is_page_number(page[place].text, number, numbering)
        }
        for number, (page, rows) in enumerate(zip(pages, sides, strict=True))
    ]
    bands = _bands(pages, sides, running)
    found: list[set[int]] = []
    for page, rows, known in zip(pages, sides, running, strict=True):
        found.append(set())
        for side in rows:
            for row in side:
                if _height(page[row[0]]) in bands:
                    found[-1].update(row)
                elif known.intersection(row):
                    found[-1].update(known.intersection(row))
                else:
                    break
    return found


def _outer_rows(page: list[Line]) -> tuple[list[list[int]], list[list[int]]]:
    """The places of the lines of the highest rows of a page, and of its lowest, each from the outside inwards."""
    rows: list[list[int]] = []
    for place in sorted(range(len(page)), key=lambda place: -page[place].y):
        if rows and abs(page[rows[-1][0]].y - page[place].y) < 0.3 * page[place].size:
            rows[-1].append(place)
        else:
            rows.append([place])
    return rows[:_ROWS], rows[: -_ROWS - 1 : -1]


def _height(line: Line) -> int:
    return round(line.y / _NEAR)


def _bands(
    pages: Sequence[list[Line]], sides: list[tuple[list[list[int]], list[list[int]]]], running: list[set[int]]
) -> set[int]:
    """The heights where most outermost rows are running lines, so that one that is seen only once is one as well."""
    counts: Counter[int] = Counter()
    hits: Counter[int] = Counter()
    for page, rows, known in zip(pages, sides, running, strict=True):
        outermost = [side[0] for side in rows if side]
        counts.update({_height(page[row[0]]) for row in outermost})
        hits.update({_height(page[row[0]]) for row in outermost if known.intersection(row)})
    return {band for band, hit in hits.items() if hit >= max(3, 0.6 * counts[band], 0.25 * len(pages))}


def _saying(text: str) -> str:
    """What a running line says on every page: its text without page numbers and spaces."""
    return re.sub(r"\s+", "", _NUMBER.sub("#", text)).casefold()


def _repeats(line: Line, seen: dict[tuple[str, int], set[int]], num_pages: int) -> bool:
    """Whether the line stands at this height of enough pages; two are enough of at most six."""
    saying, height = _saying(line.text), _height(line)
    if not any(each.isalpha() for each in saying):
        return False
    pages = set().union(*(seen.get((saying, near), ()) for near in (height - 1, height, height + 1)))
    return len(pages) >= (2 if num_pages <= 6 else 3)


def _numbering(pages: Sequence[list[Line]], sides: list[tuple[list[list[int]], list[list[int]]]]) -> set[int]:
    """The differences of printed page number and place in the file that several pages have."""
    differences: Counter[int] = Counter()
    for number, (page, rows) in enumerate(zip(pages, sides, strict=True)):
        values = (_page_number(page[place].text) for side in rows for row in side for place in row)
        differences.update({value - number for value in values if value is not None})
    return {difference for difference, count in differences.items() if count >= 2} | {1}


def _is_page_number(text: str, number: int, numbering: set[int]) -> bool:
    value = _page_number(text)
    return value is not None and value - number in numbering


def _page_number(text: str) -> int | None:
    match = _PAGE_NUMBER.fullmatch(text)
    if match is None:
        return None
    return int(match[1]) if match[1].isdigit() else _roman(match[1].lower())


def _roman(numeral: str) -> int:
    values = [{"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}[each] for each in numeral]
    return sum(-a if a < b else a for a, b in pairwise([*values, 0]))


# Line numbers

_LINE_NUMBER = (re.compile(r"(\d{1,4})(?:\s+(?=\S)|$)"), re.compile(r"(?:.*\S)?\s+(\d{1,4})$"))


def _remove_line_numbers(page: list[Line]) -> int:
    """Cut the numbers of the lines off the page's lines; returns how many."""
    rows = [list(row) for _, row in groupby(sorted(page, key=lambda line: -line.y), key=lambda line: round(line.y / 2))]
    for pattern in _LINE_NUMBER:
        numbered = [
            (place, line, int(match[1]))
            for place, row in enumerate(rows)
            for line in row
            if (match := pattern.match(line.text))
        ]
        steps = [(b[0] - a[0], b[2] - a[2]) for a, b in pairwise(numbered)]
        if len(numbered) >= 8 and sum(0 < step == rise for step, rise in steps) >= 0.8 * len(steps):
            for _, line, _ in numbered:
                start, end = pattern.match(line.text).span(1)  # type: ignore[union-attr]  # it matched above
                line.text = (line.text[:start] + line.text[end:]).strip()
            page[:] = [line for line in page if line.text]
            return len(numbered)
    return 0


# Contents pages and indexes

# These look at the end of a line only: the time for long lines must not grow with their square.
_END = 200
_LEADERS = re.compile(r"(?:[.·…‥]\s?){4,}\s*(?:\d+(?:[-–.]\d+)*|[ivxlc]+)?$|(?:\s[.·]){4,}", re.IGNORECASE)
_INDEXED = re.compile(r"(?:^|[,\s])\d{1,4}(?:[-–]\d{1,4})?,?$")
_CONTENTS = re.compile(
    r"(?:table of |list of |detailed |brief )?(?:contents?|figures|tables|examples)"
    r"|(?:inhalts|abbildungs|tabellen)verzeichnis|inhalt|table des matières|sommaire|liste des (?:figures|tableaux)"
    r"|índice(?: general| de (?:figuras|tablas|cuadros))?|indice|sumário|lista de (?:figuras|tabelas)"
    r"|elenco delle (?:figure|tabelle)|inhoud(?:sopgave)?|spis (?:treści|tabel|rysunków)|obsah|innehåll"
    r"|indholdsfortegnelse|содержание|оглавление|список (?:таблиц|иллюстраций|рисунков)|目次|[表図]目次|目录|차례",
    re.IGNORECASE,
)


def _contents(pages: Sequence[list[Line]]) -> list[set[int]]:
    """The places of the lines of contents pages and indexes on each page."""
    found: list[set[int]] = []
    is_open = False  # whether the page before ends within contents
    for number, page in enumerate(pages):
        lines: set[int] = set()
        heading = next((place for place, line in enumerate(page) if _CONTENTS.fullmatch(line.text)), None)
        if heading is not None or is_open:
            start = 0 if heading is None or is_open else heading + 1
            lines = _entries(page, start, len(pages))
            is_open = bool(lines) and max(lines) == len(page) - 1
            lines |= {heading} if heading is not None and lines else set()
        leaders = {place for place, line in enumerate(page) if _LEADERS.search(line.text[-_END:])}
        if len(leaders) >= 2:
            lines |= leaders
        if number > 0.7 * len(pages) and _is_index(page):
            lines = set(range(len(page)))
        found.append(lines)
    return found


def _entries(page: list[Line], start: int, num_pages: int) -> set[int]:
    """The lines of entries of contents from `start` on: their page numbers rise; an entry may have three lines."""
    lines: set[int] = set()
    waiting: list[int] = []
    last = num_entries = 0
    for place in range(start, len(page)):
        waiting.append(place)
        text = page[place].text
        title, _, end = text.rpartition(" ")
        value = _page_number(end) if any(map(str.isalpha, title)) else None
        is_roman = not end.isdigit()
        if _LEADERS.search(text[-_END:]) or (value is not None and (is_roman or last <= value <= num_pages + 50)):
            last = last if value is None or is_roman else value
            num_entries += 1
            lines.update(waiting)
            waiting = []
        elif value is not None or len(waiting) > 2:
            break
    else:
        lines.update(waiting if num_entries else ())
    return lines if num_entries >= 3 else set()


def _is_index(page: list[Line]) -> bool:
    """Whether most lines of the page are words with page numbers."""
    entries = sum(bool(_INDEXED.search(line.text[-_END:])) or len(line.text) == 1 for line in page)
    return len(page) >= 10 and entries >= 0.75 * len(page) and any(line.text[:1].isalpha() for line in page)


# Reference lists

_REFERENCES = re.compile(
    r"(?:(?:\d+|[A-Z]|[IVX]+)(?:\.\d+)*\.? +)?"
    r"(?:references?(?: cited| and notes)?|bibliograph(?:y|ie)|works cited|literature(?: cited)?"
    r"|literatur(?:verzeichnis)?|quellen(?:verzeichnis)?|références(?: bibliographiques)?"
    r"|referencias(?: bibliográficas)?|bibliografía|bibliografia|riferimenti bibliografici"
    r"|referências(?: bibliográficas)?|referenties|literatuur(?:lijst)?|litteratur|källor|literatura"
    r"|список литературы|литература|参考文献|參考文獻|참고문헌)\s*[:.]?",
    re.IGNORECASE,
)
_CITATION = re.compile(
    r"\b(?:1[89]|20)\d\d[a-z]?\b|^\[[\w+]{1,12}\]|\bpp?\. ?\d|\d+ ?[:(] ?\d+|\bdoi\b|https?://|\bet al\b"
    r"|\b(?:[A-Z]\. ?){1,3}[,&]"
)
# Words of sentences that hardly any title has. A section of references may be an annotated one, which is text.
_PROSE = re.compile(
    r"\b(?:you|your|we|should|can|could|may|might|will|must|was|were|has been|have|these|which)\b"
    r"|\b(?:Sie|wir|kann|können|sollte|wird|werden|wurde|nous|vous|peut|doit|puede|debe)\b"
)
_AFTER = re.compile(
    r"(?:appendix|appendices|annex|anhang|supplement|acknowledge?ments?|about the authors?|index|figure legends?"
    r"|tables?)\b.*",
    re.IGNORECASE,
)
_WINDOW = 10  # lines, of which some cite something in a reference list


def _references(lines: Sequence[Line]) -> set[int]:
    """The places of the lines of reference lists with their headings."""
    found: set[int] = set()
    for place, line in enumerate(lines):
        if place not in found and _REFERENCES.fullmatch(line.text):
            end = _end_of_references(lines, place)
            section = [each.text for each in lines[place + 1 : end]]
            cited = sum(bool(_CITATION.search(text)) for text in section)
            is_prose = 4 * sum(bool(_PROSE.search(text)) for text in section) > len(section)
            if cited >= 2 and cited >= 0.2 * len(section) and not is_prose:
                found.update(range(place, end))
    return found


def _end_of_references(lines: Sequence[Line], heading: int) -> int:
    """The place of the next heading that is set like this one or larger, or where nothing more is cited."""
    title = lines[heading]
    body = lines[heading + 1 : heading + 2]
    is_set_apart = any((line.font, round(line.size)) != (title.font, round(title.size)) for line in body)
    last = heading + 1  # after the last line that cites
    for place in range(heading + 1, len(lines)):
        line = lines[place]
        cites = bool(_CITATION.search(line.text))
        is_heading = (
            is_set_apart and line.size > title.size - 0.3 and (line.font == title.font or line.size > title.size + 0.3)
        )
        if not cites and (is_heading or (_AFTER.fullmatch(line.text) and len(line.text) < 60)):
            return place
        if cites:
            last = place + 1
        elif place - last >= _WINDOW:
            return last
    return len(lines)
