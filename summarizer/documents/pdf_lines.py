"""The lines of a PDF's pages as PDFium finds them: their text, and where and how they are set."""

import ctypes
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from summarizer.documents.superscripts import superscript
from summarizer.documents.tex_fonts import ACCENTS, encoding_of, is_text_font, join_accents, looks_like_language
from summarizer.optional import import_optional
from summarizer.text import clean_text

# Private characters have no meaning outside their font; U+FFFD is one that is not known. Tab, line feed and carriage
# return are among the controls: PDFium writes a line break as the two last, and a ligature of TeX may be one of them.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_MEANINGLESS = re.compile(r"[\x00-\x1f\x7f-\x9f\ue000-\uf8ff\ufffd\U000f0000-\U0010fffd]")
_ACCENT = re.compile(f"[{ACCENTS}]")
_LONE_LETTER = re.compile(r"(?<= )[b-z](?= )")
_SPREAD = (0.03, 0.22)  # between letters, in sizes of the font; less is none, more is a space between words
# Digits that may end in the mark of a note or in an exponent.
_NUMBER = re.compile(r"[−–-]?\d+(?:[,–-] ?\d+){0,8}")


@dataclass
class Line:
    """A line of text. Lengths are in points; `y` is that of the baseline and grows upwards."""

    text: str
    left: float
    right: float
    y: float
    size: float
    font: str = ""


@dataclass
class Page:
    """The lines of a page in the order of the file, and what could not be read."""

    lines: list[Line] = field(default_factory=list)
    num_characters: int = 0
    num_unreadable: int = 0  # of the characters
    num_rotated: int = 0  # lines in another direction than most lines of the page; left out
    is_broken: bool = False


class _PageText:
    """The text of one page, and by its positions PDFium's knowledge of each character."""

    def __init__(self, page: Any) -> None:
        self._raw = import_optional("pypdfium2.raw", "documents", "reading this kind of file")
        self._owner = page.get_textpage()
        self._page = self._owner.raw
        self.text: str = self._owner.get_text_range()
        self._direct = len(self.text) == self._owner.count_chars()
        self._numbers = [ctypes.c_double() for _ in range(4)]
        self._rectangle = self._raw.FS_RECTF()
        self._matrix = self._raw.FS_MATRIX()
        self._name = ctypes.create_string_buffer(128)
        self._flags = ctypes.c_int()

    def close(self) -> None:
        """Free the memory that PDFium holds."""
        self._owner.close()

    def _index(self, position: int) -> int:
        """PDFium's number of the character; some characters have no text."""
        return position if self._direct else self._raw.FPDFText_GetCharIndexFromTextIndex(self._page, position)

    def advance(self, position: int) -> tuple[float, float]:
        """Left and right edge of a character with the space that it takes in the line."""
        self._raw.FPDFText_GetLooseCharBox(self._page, self._index(position), self._rectangle)
        return self._rectangle.left, self._rectangle.right

    def gap(self, before: int, after: int) -> float:
        """The space between two characters of a line."""
        return self.advance(after)[0] - self.advance(before)[1]

    def ink(self, position: int) -> tuple[float, float]:
        """Left and right edge of the ink of a character."""
        self._raw.FPDFText_GetCharBox(self._page, self._index(position), *self._numbers)
        return self._numbers[0].value, self._numbers[1].value

    def origin(self, position: int) -> tuple[float, float]:
        """Where the character stands on its baseline."""
        x, y, _, _ = self._numbers
        self._raw.FPDFText_GetCharOrigin(self._page, self._index(position), x, y)
        return x.value, y.value

    def size(self, position: int) -> tuple[float, int]:
        """Size of the font in points, and the direction of writing in degrees, in steps of 15."""
        index, matrix = self._index(position), self._matrix
        self._raw.FPDFText_GetMatrix(self._page, index, matrix)
        scale = math.hypot(matrix.c, matrix.d)
        angle = math.degrees(math.atan2(matrix.b, matrix.a))
        return self._raw.FPDFText_GetFontSize(self._page, index) * scale, round(angle / 15) * 15 % 360

    def font_name(self, position: int) -> str:
        """Name of the font, empty for bitmap fonts."""
        self._raw.FPDFText_GetFontInfo(self._page, self._index(position), self._name, len(self._name), self._flags)
        return self._name.value.decode("utf-8", "replace")

    def font(self, position: int) -> tuple[str, int | None]:
        """Name of the font, and its address, which fonts without a name differ in."""
        text_object = self._raw.FPDFText_GetTextObject(self._page, self._index(position))
        font = self._raw.FPDFTextObj_GetFont(text_object) if text_object else None
        address = ctypes.cast(font, ctypes.c_void_p).value if font else None
        return self.font_name(position), address

    def is_generated(self, position: int) -> bool:
        """Whether the file does not have the character: a space that PDFium puts where letters stand apart."""
        return self._raw.FPDFText_IsGenerated(self._page, self._index(position)) == 1

    def is_unmapped(self, position: int) -> bool:
        """Whether the font does not say which character its glyph is."""
        return self._raw.FPDFText_HasUnicodeMapError(self._page, self._index(position)) == 1


class PageReader:
    """Reads the pages of one document; what it learns about its fonts on one page holds for the next."""

    def __init__(self) -> None:
        self._seen: list[str] = []  # text in bitmap fonts
        self._spread: set[str] = set()  # fonts of which some line was spread out

    def read(self, page: Any) -> Page:
        """The lines of one page of pypdfium2."""
        text = _PageText(page)
        try:
            return self._read(text)
        finally:
            text.close()

    def _read(self, text: _PageText) -> Page:
        spans = list(_spans(text.text))
        samples = [sorted({start, (start + end) // 2, end - 1}) for start, end in spans]
        sizes = [sorted(map(text.size, places))[len(places) // 2] for places in samples]
        angles = [angle for _, angle in sizes]
        main = max(set(angles), key=angles.count, default=0)
        unmapped = any(text.is_unmapped(place) for places in samples for place in places)
        if unmapped or _CONTROLS.search(text.text.replace("\r\n", "")):
            replaced = self._replacements(text, spans)
        else:
            replaced = {}
        page = Page(num_rotated=sum(angle != main for angle in angles))
        for (start, end), (size, angle) in zip(spans, sizes, strict=True):
            if angle != main:
                continue
            characters = _marked(text, start, end, size)
            font = text.font_name((start + end) // 2)
            if angle == 0 and (font in self._spread or _LONE_LETTER.search(text.text, start, end)):
                self._spread.update([font] if _join_spread_letters(text, start, end, size, characters) else ())
            page.num_characters += end - start
            for place in range(start, end) if replaced else ():
                characters[place - start] = replaced.get(place, characters[place - start])
            page.num_unreadable += characters.count("\ufffd")
            if _ACCENT.search("".join(characters)):
                join_accents(characters, lambda place, start=start: text.ink(start + place))
            string = clean_text(_MEANINGLESS.sub("", "".join(characters)))
            if string:
                page.lines.append(Line(string, *_place(text, start, end, angle), size, font))
        page.lines = _merge_rows(page.lines)
        return page

    def _replacements(self, text: _PageText, spans: list[tuple[int, int]]) -> dict[int, str]:
        """What to put in the place of characters that their fonts do not name; U+FFFD if nobody knows."""
        fonts: dict[tuple[str, int | None], list[int]] = {}
        for place in (place for span in spans for place in range(*span)):
            if text.text[place] != " " and text.is_unmapped(place):
                fonts.setdefault(text.font(place), []).append(place)
        replaced: dict[int, str] = {}
        nameless = "".join(text.text[place] for (name, _), places in fonts.items() if not name for place in places)
        if nameless:
            lines = [text.text[start:end] for start, end in spans]
            self._seen = [*self._seen, *lines][-1000:]
        encoding = encoding_of(self._seen)
        readable = len(nameless) < 40 or looks_like_language(nameless)
        for (name, _), places in fonts.items():
            characters = "".join(text.text[place] for place in places)
            if name or not readable:
                known = len(places) >= 40 and looks_like_language(characters)
                replaced.update({} if known else dict.fromkeys(places, "\ufffd"))
            elif is_text_font(characters):
                large = len(places) >= 40  # a small one may be of formulas: only what touches a letter is replaced
                replaced.update(
                    (place, encoding[text.text[place]])
                    for place in places
                    if text.text[place] in encoding and (large or _in_word(text.text, place))
                )
        return replaced


def _in_word(text: str, place: int) -> bool:
    return any(each.isascii() and each.islower() for each in (text[place - 1 : place] + text[place + 1 : place + 2]))


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each line without the spaces around it; U+FFFE is a hyphen that ends a line."""
    start = 0
    for match in re.finditer(r"\r\n|\ufffe(?:\r\n)?|$", text):
        end = match.start() + match.group().startswith("\ufffe")
        line = text[start:end]
        if stripped := line.strip(" "):
            first = start + line.index(stripped)
            yield first, first + len(stripped)
        start = match.end()


def _marked(text: _PageText, start: int, end: int, size: float) -> list[str]:
    """The characters of a line without the marks of notes; exponents have a ^ before them."""
    line = text.text[start:end].replace("\ufffe", "-")
    characters = list(line)
    for number in _NUMBER.finditer(line):
        if number.end() == 1 + number.start() and line[number.start() - 1 : number.start()] == " ":
            continue
        first = number.end()
        while first > number.start() and text.size(start + first - 1)[0] < 0.85 * size:
            first -= 1
        if first == number.end():
            continue
        if first and text.origin(start + first)[1] < text.origin(start + first - 1)[1] + 0.1 * size:
            continue  # an index, as in CO2
        raised = superscript(line[max(0, first - 30) : first], line[first : number.end()], line[number.end() :][:3])
        characters[first : number.end()] = [raised] + [""] * (number.end() - first - 1)
    return characters


def _join_spread_letters(text: _PageText, start: int, end: int, size: float, characters: list[str]) -> bool:
    """Drop the spaces that PDFium puts between letters that are spread out, as in listings of LaTeX.

    Returns whether the line, of whose `characters` these become empty, is spread out.
    """
    spaces = [place for place in range(start + 1, end - 1) if text.text[place] == " "]
    needless = [
        place for place in spaces if text.is_generated(place) and text.gap(place - 1, place + 1) < _SPREAD[1] * size
    ]
    if not needless:
        return False
    places = [place for place in range(start, end) if text.text[place] != " "]
    num_spread = sum(_SPREAD[0] * size < text.gap(*pair) < _SPREAD[1] * size for pair in pairwise(places))
    if num_spread < 0.25 * len(places):
        return False
    for place in needless:
        characters[place - start] = ""
    return True


def _merge_rows(lines: list[Line]) -> list[Line]:
    """The lines with those joined that PDFium parts in one row, as behind an index that stands a little lower."""
    merged: list[Line] = []
    for line in lines:
        last = merged[-1] if merged else None
        if (
            last is None
            or abs(last.y - line.y) > 0.6 * max(last.size, line.size)
            or not (-0.1 * last.size < line.left - last.right < last.size)
        ):
            merged.append(line)
            continue
        space = " " if line.left - last.right > 0.15 * max(last.size, line.size) else ""
        large = max(last, line, key=lambda each: each.size)
        text = last.text + space + line.text
        merged[-1] = Line(text, last.left, line.right, large.y, large.size, large.font)
    return merged


def _place(text: _PageText, start: int, end: int, angle: int) -> tuple[float, float, float]:
    """Left and right edge and baseline of a line, turned so that it runs from left to right."""
    x, y = text.origin((start + end) // 2)
    if angle == 0:
        return text.advance(start)[0], text.advance(end - 1)[1], y
    cosine, sine = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    left, right = (text.origin(place) for place in (start, end - 1))
    return left[0] * cosine + left[1] * sine, right[0] * cosine + right[1] * sine, y * cosine - x * sine
