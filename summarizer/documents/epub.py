"""EPUB books: a ZIP archive of XHTML chapters, with a package file that lists them in order."""

import posixpath
import zipfile
from typing import Any
from urllib.parse import unquote, urlsplit

from summarizer.documents.archive import open_archive
from summarizer.documents.document import Document, ReadingOptions, Section
from summarizer.documents.markup import (
    END_TAGS,
    child_of,
    declared_encoding,
    is_too_deep,
    name_of,
    parse_xml,
    running_text,
    without_declaration,
)
from summarizer.documents.note_marks import resolve_marks
from summarizer.errors import InputError
from summarizer.optional import import_optional
from summarizer.text import decode_with_notes

_LEFT_OUT = frozenset({"head", "script", "style", "nav", "figcaption", "svg", "math", "img", "audio", "video"})
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_LINES = frozenset({
    *_HEADINGS, "p", "div", "section", "article", "header", "footer", "aside", "li", "ul", "ol", "dl", "dt", "dd",
    "blockquote", "pre", "table", "caption", "tr", "br", "hr", "body", "html",
})  # fmt: skip


def read_epub(content: bytes, options: ReadingOptions) -> Document:
    """Read the chapters of a book in reading order, each a section; a note names each chapter that cannot be read.

    Raises InputError if the book is broken, protected or large, or if no chapter can be read.
    """
    try:
        with open_archive(content, options) as archive:
            return _read(archive, options)
    except InputError:
        raise
    except Exception as error:  # zipfile's and zlib's errors share no base class
        raise InputError(f"broken EPUB: {error}") from error


def _read(archive: zipfile.ZipFile, options: ReadingOptions) -> Document:
    container = parse_xml(_part(archive, "META-INF/container.xml"))
    rootfiles = [element for element in container.iter() if name_of(element) == "rootfile"]
    if not rootfiles:
        raise InputError("broken EPUB: its container names no package")
    package_path = unquote(rootfiles[0].get("full-path", ""))
    package = parse_xml(_part(archive, package_path))
    chapters = _chapters(package, posixpath.dirname(package_path))
    if locked := _encrypted(archive).intersection(map(unquote, chapters)):
        raise InputError(f"protected against copying (DRM): {min(locked)}")
    sections, notes = _sections(archive, chapters, options.encoding)
    title = running_text(child_of(child_of(package, "metadata"), "title"), (), ())
    text = "\n".join(section.text for section in sections)
    return Document(text, title or None, sections=tuple(sections), notes=tuple(notes))


def _sections(archive: zipfile.ZipFile, chapters: list[str], encoding: str | None) -> tuple[list[Section], list[str]]:
    """The chapters with text, and a note for each that is missing or broken. Raises InputError if none can be read."""
    sections, notes = [], []
    num_failed = 0
    for path in chapters:
        try:
            page, guesses = _page(_part(archive, path), encoding)
        except Exception as error:  # zipfile's and zlib's errors share no base class
            num_failed += 1
            reason = "is missing" if isinstance(error, KeyError) else f"cannot be read ({error})"
            notes.append(f"The chapter {path} {reason}.")
            continue
        notes += [note for note in guesses if note not in notes]
        heading = running_text(_heading(page), _LINES, ()).replace("\n", " ")
        if text := running_text(page, _LINES, _LEFT_OUT):
            sections.append(Section(heading or None, text))
    if num_failed and num_failed == len(chapters):
        raise InputError(f"broken EPUB: no chapter can be read. {notes[0]}")
    return sections, notes


def _part(archive: zipfile.ZipFile, path: str) -> bytes:
    """The file that a path in the book refers to; if there is none, one whose name differs in case. Raises KeyError."""
    for name in (path, unquote(path)):
        if name in archive.NameToInfo:
            return archive.read(name)
    wanted = unquote(path)
    return archive.read(next((name for name in archive.namelist() if name.lower() == wanted.lower()), wanted))


def _chapters(package: Any, folder: str) -> list[str]:
    """Names of the chapters in the archive, in the order of the spine, without the table of contents."""
    manifest, spine = child_of(package, "manifest"), child_of(package, "spine")
    if manifest is None or spine is None:
        raise InputError("broken EPUB: its package has no manifest or no spine")
    items = {item.get("id"): item for item in manifest if name_of(item) == "item"}
    references = [reference.get("idref", "") for reference in spine if name_of(reference) == "itemref"] or list(items)
    paths = []
    for reference in references:
        item = items.get(reference)
        if item is None:
            paths.append(reference)  # no file has this name, so the chapter counts as missing
        elif _is_page(item) and "nav" not in item.get("properties", "").split():
            path = posixpath.join("/", folder, urlsplit(item.get("href", "")).path)
            paths.append(posixpath.normpath(path).lstrip("/"))
    return paths


def _is_page(item: Any) -> bool:
    kind, path = item.get("media-type", ""), urlsplit(item.get("href", "")).path.lower()
    return "html" in kind or "oeb1-document" in kind or path.endswith(("html", ".htm"))


def _encrypted(archive: zipfile.ZipFile) -> set[str]:
    try:
        encryption = parse_xml(_part(archive, "META-INF/encryption.xml"))
    except KeyError:
        return set()
    return {unquote(element.get("URI", "")) for element in encryption.iter() if name_of(element) == "CipherReference"}


def _page(content: bytes, encoding: str | None) -> tuple[Any, tuple[str, ...]]:
    """The root of a chapter, None without a text, and notes. What is not well-formed is read as by a browser.

    Raises InputError for a chapter that is not text, or whose tags are nested too deep.
    """
    source, notes = decode_with_notes(content, declared_encoding(content) or encoding)
    source = without_declaration(source)
    try:
        root = parse_xml(source)
    except InputError:
        etree = import_optional("lxml.etree", "documents", "reading this kind of file")
        try:
            root = etree.fromstring(END_TAGS.sub("", source), etree.HTMLParser(no_network=True, huge_tree=False))
        except (etree.XMLSyntaxError, ValueError):  # an empty file
            return None, ()
        if root is not None and is_too_deep(root):
            raise InputError("its tags are nested too deep") from None
    if child_of(root, "body") is None:
        return None, ()
    resolve_marks(root)
    return root, notes


def _heading(page: Any) -> Any:
    return None if page is None else next((element for element in page.iter() if name_of(element) in _HEADINGS), None)
