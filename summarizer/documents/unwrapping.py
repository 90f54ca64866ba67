"""Text with hard line breaks, as in mails and manuals: the lines of a paragraph are joined."""

import itertools
import operator
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from summarizer.text import ends_sentence

_WIDTHS = range(40, 131)  # at which text may be wrapped, in characters
_ITEM = re.compile(r"\s*(?:[-*+•–—◦▪·]|\(?(?:\d{1,3}|[A-Za-z]|[ivx]{1,4})[.)])\s")
# Headings, quotations, rules and rows of a table.
_OWN_LINE = re.compile(r"\s*(?:[#>|]|[-=*_~+]{2,}|.*\S(?:\t|\s{4,}|\s\|\s)\S)")
_QUOTE_MARK = re.compile(r"(?!>>>)(?:>(?: |(?=>)|$)){1,2}")  # of mails; >>> is that of Python's examples
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")  # letters that take two columns
_WORD = re.compile(r"[^\W\d_]+")


def unwrap(text: str) -> str:
    """The text with each paragraph as one line where the lines are wrapped at some width.

    A blank line, a list item, a row of a table and a deeper indentation begin a paragraph.
    """
    lines = [line.rstrip() for line in text.expandtabs().splitlines()]
    lines = _single_spaced(list(_without_quote_marks(lines)))
    usual_width = _width_of(lines)
    words = words_of(lines)
    paragraphs: list[str] = []
    for is_text, block in itertools.groupby(lines, bool):
        block = list(block)
        width = (usual_width or _width_of(block)) if is_text else None
        paragraphs += block if width is None else _paragraphs(block, width, words)
    return "\n".join(paragraphs)


def words_of(lines: Iterable[str]) -> set[str]:
    """The words of the lines, in lower case."""
    return {word.lower() for line in lines for word in _WORD.findall(line)}


def join_line(text: str, line: str, words: Collection[str]) -> str:
    """The text and the next line of its paragraph; a hyphen goes if the word is one of `words` without it."""
    if not text or not line or text.endswith("\u00ad"):
        return text + line
    if text.endswith("-") and text[-2:-1].isalpha() and line[0].isalpha() and line[0].isupper() == text[-2].isupper():
        word = _WORD.findall(text)[-1] + _WORD.findall(line)[0]
        return text[:-1] + line if word.lower() in words else text + line
    return text + line if _WIDE.match(text[-1]) and _WIDE.match(line) else f"{text} {line}"


def _without_quote_marks(lines: Sequence[str]) -> Iterator[str]:
    """The lines without the marks of quoted mails; a blank line stands where a quotation begins or ends."""
    for depth, block in itertools.groupby(lines, _quote_depth):
        block = list(block)
        if depth and len(block) > 1:
            yield from ["", *(_QUOTE_MARK.sub("", line) for line in block), ""]
        else:
            yield from block


def _quote_depth(line: str) -> int:
    mark = _QUOTE_MARK.match(line)
    return mark.group().count(">") if mark else 0


def _single_spaced(lines: list[str]) -> list[str]:
    """The lines with one blank line less between them if each line of a wrapped text is followed by a blank one."""
    shown = [line for line in lines if line]
    if any(map(operator.and_, map(bool, lines), map(bool, lines[1:]))) or _width_of(shown) is None:
        return lines
    blocks = [(is_text, list(block)) for is_text, block in itertools.groupby(lines, bool)]
    return [line for is_text, block in blocks for line in (block if is_text else block[1:])]


def _width_of(lines: Sequence[str]) -> int | None:
    """The width at which the lines are wrapped; None if they are not."""
    pairs = [pair for pair in itertools.pairwise(lines) if _may_continue(*pair, True)]
    if not pairs:
        return None
    lengths = sorted(_length(line) for line, _ in pairs)
    width = lengths[int(0.95 * (len(lengths) - 1))]
    full = [pair for pair in pairs if _is_full(*pair, width)]
    within = sum(_is_within_sentence(*pair) for pair in full)
    # A list of names or sentences may have lines of like length too, but they begin with capitals or end in full stops.
    return width if width in _WIDTHS and 2 * len(full) >= len(pairs) and within >= 0.4 * len(full) else None


def _may_continue(line: str, following: str, is_item: bool) -> bool:
    """Whether the second line may continue the paragraph of the first. A deeper one continues only a list item."""
    if not line or not following or _ITEM.match(following) or _OWN_LINE.match(following) or _OWN_LINE.match(line):
        return False
    return is_item or _indentation(following) <= _indentation(line)


def _is_full(line: str, following: str, width: int) -> bool:
    """Whether the first word of the second line had no room in the first, which is not a paragraph of its own."""
    word = following.split(maxsplit=1)[0]
    return width - (1 if _WIDE.match(word) else len(word)) <= _length(line) < 2 * width


def _is_within_sentence(line: str, following: str) -> bool:
    first = following.lstrip()[0]
    return first.isalpha() and not first.isupper() and not ends_sentence(line)


def _paragraphs(lines: Sequence[str], width: int, words: Collection[str]) -> Iterator[str]:
    """The paragraphs; `words` are those of the text, in lower case."""
    paragraph, last, is_item = "", "", False
    for line in lines:
        continues = _may_continue(last, line, is_item) and (
            _is_full(last, line, width) or _is_within_sentence(last, line)
        )
        if continues:
            paragraph = join_line(paragraph, line.lstrip(), words)
        else:
            if last:
                yield paragraph
            paragraph, is_item = line, bool(_ITEM.match(line))
        last = line
    yield paragraph


def _length(line: str) -> int:
    """The length in columns."""
    return len(line) + len(_WIDE.findall(line))


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())
