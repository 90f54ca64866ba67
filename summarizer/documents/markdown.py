"""Markdown: its text without the markup; headings begin the sections."""

import functools
import html
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from summarizer.documents.document import Document, ReadingOptions
from summarizer.documents.superscripts import END, START, resolve_superscripts
from summarizer.documents.unwrapping import join_line, words_of
from summarizer.errors import InputError
from summarizer.text import clean_text, decode_with_notes

_FRONT_MATTER = re.compile(
    r"\s*(---|\+\+\+)[ \t]*\n(?=[ \t]*(?:#|[\w\"'-]+[ \t]*[:=]))(.*?\n)(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.S
)
_TITLE = re.compile(r"^title[ \t]*[:=][ \t]*(.+)$", re.M)
_NOTE = re.compile(r"^ {0,3}\[\^[^\]\n]+\]:", re.M)  # its text; without this, the parser takes it for a link
_CONTAINER = re.compile(r"^ {0,3}:{3,}.*$", re.M)  # the marks of admonitions in Pandoc's and other dialects
_LEFT_OUT = re.compile(
    r"\[\^[^\[\]\s]{1,80}\]"  # the mark of a note
    r"|(?:https?|ftp)://[^\s<>()]*[^\s<>().,;:!?'\"*]|\bwww\.[^\s<>()]*[^\s<>().,;:!?'\"*]"
    r"|\s*\{[#.:][^{}\n]*\}|\{\{[<%][^{}\n]*[>%]\}\}|\{%[^%\n]*%\}"  # attributes; tags of templates
    r"|^\[[ xX]\]\s|^\[!\w+\]|^\[\[?_?toc_?\]\]?$|^(?:!!!|\?\?\?)\+?\s\w+",  # a box to tick, admonitions, contents
    re.I,
)
# Of Obsidian and wikis: comments, files shown in the text, the name of a page before the words of its link.
_WIKI_LEFT_OUT = re.compile(r"(?<!\S)%%.+?%%(?!\S)|!\[\[[^\[\]\n]*\]\]")
_WIKI_LINK = re.compile(r"\[\[(?:[^\[\]|\n]*\|)?([^\[\]|\n]*[^\W\d][^\[\]|\n]*)\]\]")
_HIGHLIGHT = re.compile(r"(?<![\w=])==(?=[^\s=])([^=\n]+)(?<=\S)==(?![\w=])")
_TRACES = re.compile(r"\s?(?:\(\s*\)|<\s*>)|\s+(?=[,.;](?:\s|$))")  # of URLs that were left out
_UNSEEN = re.compile(r"<!--.*?(?:-->|\Z)|<(script|style|svg|head)\b.*?(?:</\1\s*>|\Z)", re.S | re.I)
_BLOCK_TAG = re.compile(
    r"</?(?:p|div|h[1-6]|li|ul|ol|tr|br|hr|table|details|summary|blockquote|pre|dt|dd)\b[^<>]*>", re.I
)
_HEADING_TAG = re.compile(r"\s*(?:<(?:div|p|a|center)\b[^<>]*>\s*)*<h([1-6])\b", re.I)

_SOFT_BREAK = "\x00"  # not in a source
_MAX_NESTING = 100  # tokens; two of them open an item of a list


def read_markdown(content: bytes, options: ReadingOptions) -> Document:
    """Read Markdown, each paragraph, heading, list item and row of a table as a line.

    Front matter, comments, images, URLs and the marks of notes are left out. Code stays. Raises InputError if it is not
    text, or nested too deep.
    """
    from markdown_it import MarkdownIt  # slow to import

    if content.startswith(b"%PDF-"):
        raise InputError("not text but a PDF; give it a name that ends in .pdf")
    source, notes = decode_with_notes(content, encoding=options.encoding)
    source = source.replace("\x00", "").replace("\r\n", "\n")
    front = _FRONT_MATTER.match(source)
    title = _TITLE.search(front.group(2)) if front else None
    source = source[front.end() :] if front else source
    source = _CONTAINER.sub("", _NOTE.sub("\n", source))
    parser = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).enable(["table", "strikethrough"])
    tokens = parser.parse(source)
    if any(token.level >= _MAX_NESTING - 1 for token in tokens):  # the parser drops what is deeper
        raise InputError(f"lists or quotations nested more than {_MAX_NESTING // 2} deep cannot be read")
    parts = [(level, clean_text(resolve_superscripts(text))) for level, text in _parts(tokens, words_of([source]))]
    return Document.from_parts(parts, clean_text(title.group(1)).strip("\"'") if title else None, notes)


def _parts(tokens: Sequence[Any], words: Collection[str]) -> Iterator[tuple[int, str]]:
    """The level as a heading and the text of each block; `words` are those of the document."""
    level, row = 0, None
    for token in tokens:
        if token.type == "heading_open":
            level = int(token.tag[1])
        elif token.type == "tr_open":
            row = []
        elif token.type == "tr_close":
            yield 0, " ".join(row or ())
            row = None
        elif token.type == "inline" and row is not None:
            row.append(_inline(token.children or (), words))
        elif token.type == "inline":
            yield level, _inline(token.children or (), words)
            level = 0
        elif token.type in ("fence", "code_block"):
            yield 0, token.content
        elif token.type == "html_block":
            yield _block_of_html(token.content)


def _inline(tokens: Sequence[Any], words: Collection[str]) -> str:
    pieces = []
    for token in tokens:
        if token.type == "text":
            pieces.append(_plain(token.content))
        elif token.type == "code_inline":
            pieces.append(token.content)
        elif token.type == "softbreak":
            pieces.append(_SOFT_BREAK)
        elif token.type == "hardbreak":
            pieces.append("\n")
        elif token.type == "html_inline":
            tag = re.sub(r"[\s/>].*", "", token.content.lower().replace("</", "<-"), flags=re.S)
            pieces.append({"<br": "\n", "<sup": START, "<-sup": END}.get(tag, ""))
    lines = "".join(pieces).split(_SOFT_BREAK)
    return _TRACES.sub("", functools.reduce(lambda text, line: join_line(text, line, words), lines))


def _plain(text: str) -> str:
    """A text without the markup that the parser does not know."""
    text = _WIKI_LEFT_OUT.sub("", _LEFT_OUT.sub("", text))
    return _HIGHLIGHT.sub(r"\1", _WIKI_LINK.sub(r"\1", text))


def _block_of_html(source: str) -> tuple[int, str]:
    heading = _HEADING_TAG.match(source)
    source = re.sub(r"</t[dh]\s*>", " ", _BLOCK_TAG.sub("\n", _UNSEEN.sub("", source)))
    source = re.sub(r"<sup\b[^<>]*>", START, source).replace("</sup>", END)
    text = clean_text(_LEFT_OUT.sub("", html.unescape(re.sub(r"<[^<>]*>", "", source))))
    return int(heading.group(1)) if heading and "\n" not in text else 0, text
