"""The text of the parts of a Word document."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from summarizer.documents.markup import child_of, name_of
from summarizer.documents.superscripts import END, START, resolve_superscripts
from summarizer.documents.word_styles import (
    CONTENTS,
    TITLE,
    Style,
    attribute,
    level_of_name,
    paragraph_level,
    run_style,
    value_of,
)
from summarizer.text import clean_text

__all__ = ["TITLE", "WordText"]

# Elements that only wrap what is seen: content controls, tracked insertions, links, fields, tags, directions.
_WRAPPERS = frozenset({
    "sdt", "sdtContent", "customXml", "smartTag", "ins", "moveTo", "hyperlink", "fldSimple", "bdo", "dir", "ruby",
    "rubyBase", "subDoc",
})  # fmt: skip
_LEFT_OUT = frozenset({
    "del", "moveFrom", "delText", "instrText", "delInstrText", "rt", "pPr", "rPr", "tblPr", "tblGrid", "trPr", "tcPr",
    "sectPr", "sdtPr", "sdtEndPr", "smartTagPr", "customXmlPr", "rubyPr", "ctrlPr",
})  # fmt: skip
_GRAPHICS = frozenset({"drawing", "pict", "object"})
_SPACES = {"tab": " ", "ptab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_SYMBOLS = dict(
    zip(
        b"\xa3\xb0\xb1\xb2\xb3\xb4\xb6\xb8\xb9\xbb\xa5\xac\xaeabgdefhiklmnpqrstuwxyzDGLPQSW",
        "≤°±″≥×∂÷≠≈∞←→αβγδεφηικλμνπθρστυωξψζΔΓΛΠΘΣΩ",
        strict=True,
    )
)  # of Word's font Symbol

_CONTENTS_LEFT_OUT = "The table of contents was left out."
_LONGEST_ROW = 120  # characters; a longer one with several paragraphs in a cell is a page's layout, not a row of data

Lines = list[tuple[int, str]]  # level of a heading, 0, or TITLE; clean text


class WordText:
    """Reads the text of one document. remarks: what was left out, for the user."""

    def __init__(self, styles: Mapping[str, Style], notes: Mapping[tuple[str, str | None], Any]) -> None:
        self.remarks: list[str] = []
        self._styles = styles
        self._notes = notes
        self._fields: list[bool] = []  # of each open field, whether its result has begun
        self._joined = ""  # a paragraph whose end was deleted, to which the next one belongs

    def read(self, body: Any) -> Lines:
        """The lines of the document."""
        return [(level, text) for level, text in self._blocks(body) if text]

    def _blocks(self, container: Any) -> Lines:
        lines: Lines = []
        for block in _content(container):
            name = name_of(block)
            if name in ("p", "oMathPara", "oMath"):
                lines += self._paragraph(block)
            elif name == "tbl":
                lines += self._rest() + self._table(block)
            elif name == "sdt":
                self._remark(_CONTENTS_LEFT_OUT)
            elif name == "altChunk":
                self._remark("An embedded document was left out.")
        return lines + self._rest()

    def _rest(self) -> Lines:
        rest, self._joined = clean_text(resolve_superscripts(self._joined)), ""
        return [(0, rest)] if rest else []

    def _paragraph(self, paragraph: Any) -> Lines:
        properties = child_of(paragraph, "pPr")
        level = self._level(properties)
        pieces = _Pieces(self._styles.get(value_of(properties, "pStyle") or "", Style()))
        self._walk(paragraph, pieces)
        if self._fields and not self._fields[-1]:  # a field that never ends must not hide the rest of the document
            self._fields.clear()
        text = self._joined + "".join(pieces.text)
        ends = _ends(properties)
        self._joined = "" if ends else text
        if level == CONTENTS:
            self._remark(_CONTENTS_LEFT_OUT)
            return []
        lines = [(level, clean_text(resolve_superscripts(text)))] if ends else []
        for container in (*pieces.boxes, *pieces.notes):
            lines += self._apart(container)
        return lines

    def _apart(self, container: Any) -> Lines:
        """The lines of a text box or note, which stand apart from the paragraph that they are tied to."""
        outside = self._joined, self._fields, self._notes
        self._joined, self._fields = "", []
        if name_of(container) != "txbxContent":
            self._notes = {}  # a note has no notes, least of all itself
        lines = self._blocks(container)
        self._joined, self._fields, self._notes = outside
        return lines

    def _level(self, properties: Any) -> int:
        style = value_of(properties, "pStyle") or ""
        own = paragraph_level(properties)
        named = self._styles[style].level if style in self._styles else level_of_name(style)
        return named or 0 if own is None or named in (TITLE, CONTENTS) else own

    def _table(self, table: Any) -> Lines:
        lines: Lines = []
        for row in _content(table):
            if name_of(row) != "tr" or child_of(child_of(row, "trPr"), "del") is not None:
                continue
            cells = [self._blocks(cell) for cell in _content(row) if name_of(cell) == "tc" and _is_shown(cell)]
            cells = [[(level, text) for level, text in cell if text] for cell in cells]
            row_lines = [line for cell in cells for line in cell]
            text = " ".join(text.replace("\n", " ") for _, text in row_lines)
            is_layout = max(map(len, cells), default=0) > 1 and len(text) > _LONGEST_ROW
            lines += row_lines if is_layout or len(row_lines) == 1 else [(0, text)]
        return lines

    def _walk(self, element: Any, pieces: "_Pieces") -> None:
        for child in _content(element):
            name = name_of(child)
            if name == "r":
                self._run(child, pieces)
            elif name == "t" and all(self._fields):
                pieces.text.append(" ".join((child.text or "").split("\n")))
            elif name in _SPACES and all(self._fields):
                pieces.text.append(_SPACES[name])
            elif name == "sym" and all(self._fields):
                pieces.text.append(_symbol(child))
            elif name == "fldChar":
                self._field(child, pieces)
            elif name in ("footnoteReference", "endnoteReference"):
                note = self._notes.get((name.removesuffix("Reference"), attribute(child, "id")))
                pieces.notes += [] if note is None else [note]
            elif name in _GRAPHICS:
                pieces.boxes += _boxes(child)
            elif name == "sup":  # of a formula
                pieces.text.append(START)
                self._walk(child, pieces)
                pieces.text.append(END)
            else:
                pieces.text.append("/" if name == "den" else "")
                self._walk(child, pieces)

    def _run(self, run: Any, pieces: "_Pieces") -> None:
        properties = child_of(run, "rPr")
        named = self._styles.get(value_of(properties, "rStyle") or "", Style())
        shown = (run_style(properties), named, pieces.style)
        if next((style.hidden for style in shown if style.hidden is not None), False):
            return
        raised = next((style.superscript for style in shown if style.superscript is not None), False)
        if raised and pieces.text and pieces.text[-1] == END:
            pieces.text.pop()  # the superscript continues
        elif raised:
            pieces.text.append(START)
        self._walk(run, pieces)
        if raised:
            pieces.text.append(END)

    def _field(self, element: Any, pieces: "_Pieces") -> None:
        kind = attribute(element, "fldCharType")
        if kind == "begin":
            if all(self._fields):
                pieces.text.append(_chosen(child_of(child_of(element, "ffData"), "ddList")))
            self._fields.append(False)
        elif kind == "separate" and self._fields:
            self._fields[-1] = True
        elif kind == "end" and self._fields:
            self._fields.pop()

    def _remark(self, remark: str) -> None:
        if remark not in self.remarks:
            self.remarks.append(remark)


class _Pieces:
    """The text of one paragraph, and the text boxes and notes tied to it."""

    def __init__(self, style: Style) -> None:
        self.style = style
        self.text: list[str] = []
        self.boxes: list[Any] = []
        self.notes: list[Any] = []


def _content(element: Any) -> Iterator[Any]:
    """The children that are seen, without the elements that wrap them."""
    for child in element:
        name = name_of(child)
        if name == "sdt" and _is_contents(child):
            yield child
        elif name in _WRAPPERS:
            yield from _content(child)
        elif name == "AlternateContent":
            yield from _content(_alternative(child))
        elif name and name not in _LEFT_OUT:
            yield child


def _is_contents(control: Any) -> bool:
    """Whether a content control holds a table of contents, whose paragraphs may have no style of their own."""
    gallery = value_of(child_of(child_of(control, "sdtPr"), "docPartObj"), "docPartGallery")
    return gallery == "Table of Contents"


def _alternative(element: Any) -> Sequence[Any]:
    """One of the ways in which something is stored for older and newer versions of Word: the first with text."""
    ways = [way for way in element if name_of(way) in ("Choice", "Fallback")]
    return next((way for way in ways if any(name_of(each) == "t" for each in way.iter())), ways[0] if ways else ())


def _ends(properties: Any) -> bool:
    """Whether a paragraph ends a line: its end is not deleted, and it is not the large first letter of the next one."""
    mark, frame = child_of(properties, "rPr"), child_of(properties, "framePr")
    is_initial = frame is not None and attribute(frame, "dropCap") in ("drop", "margin")
    return not is_initial and child_of(mark, "del") is None and child_of(mark, "moveFrom") is None


def _boxes(element: Any) -> Iterator[Any]:
    for child in _content(element):
        if name_of(child) == "txbxContent":
            yield child
        else:
            yield from _boxes(child)


def _is_shown(cell: Any) -> bool:
    """Whether a cell is not deleted, nor the lower part of a merged cell, whose content Word does not show."""
    properties = child_of(cell, "tcPr")
    merged = value_of(properties, "vMerge")
    return child_of(properties, "cellDel") is None and merged in (None, "restart")


def _chosen(choices: Any) -> str:
    """What is chosen in a drop-down list of a form, whose field has no result."""
    entries = [] if choices is None else [attribute(each, "val") for each in choices if name_of(each) == "listEntry"]
    number = value_of(choices, "result") or "0"
    return (entries[int(number)] or "") if number.isdecimal() and int(number) < len(entries) else ""


def _symbol(element: Any) -> str:
    try:
        code = int(attribute(element, "char") or "", 16)
    except ValueError:
        return ""
    if attribute(element, "font") == "Symbol":
        return _SYMBOLS.get(code & 0xFF, "")
    return chr(code) if code < 0xD800 else ""  # the private codes of other fonts are pictures
