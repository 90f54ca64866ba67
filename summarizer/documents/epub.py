"""EPUB books: a ZIP archive of XHTML chapters, with a package file that lists them in order."""

import posixpath
import zipfile
from typing import Any
from urllib.parse import unquote, urlsplit

from summarizer.documents.archive import open_archive
from summarizer.documents.document import Document, ReadingOptions, Section
from summarizer.documents.markup import child_of, name_of, parse_xml, running_text
from summarizer.documents.note_marks import resolve_marks
from summarizer.errors import InputError
from summarizer.optional import import_optional

_LEFT_OUT = frozenset({"head", "script", "style", "nav", "table", "figure", "svg", "math", "img", "audio", "video"})
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_LINES = frozenset({
    *_HEADINGS, "p", "div", "section", "article", "header", "footer", "aside", "li", "ul", "ol", "dl", "dt", "dd",
    "blockquote", "pre", "br", "hr", "body",
})  # fmt: skip


def read_epub(content: bytes, options: ReadingOptions) -> Document:
    """Read the chapters of a book in reading order, each a section; a note names each chapter that cannot be read.

    Raises InputError if the book is broken, protected or large, or if no chapter can be read.
    """
    try:
        with open_archive(content, options) as archive:
            return _read(archive)
    except InputError:
        raise
    except Exception as error:  # zipfile's and zlib's errors share no base class
        raise InputError(f"broken EPUB: {error}") from error


def _read(archive: zipfile.ZipFile) -> Document:
    container = parse_xml(_part(archive, "META-INF/container.xml"))
    rootfiles = [element for element in container.iter() if name_of(element) == "rootfile"]
    if not rootfiles:
        raise InputError("broken EPUB: its container names no package")
    package_path = unquote(rootfiles[0].get("full-path", ""))
    package = parse_xml(_part(archive, package_path))
    chapters = _chapters(package, posixpath.dirname(package_path))
    if locked := _encrypted(archive).intersection(chapters):
        raise InputError(f"protected against copying (DRM): {min(locked)}")
    sections, notes = _sections(archive, chapters)
    title = running_text(child_of(child_of(package, "metadata"), "title"), (), ())
    text = "\n".join(section.text for section in sections)
    return Document(text, title or None, sections=tuple(sections), notes=tuple(notes))


def _sections(archive: zipfile.ZipFile, chapters: list[str]) -> tuple[list[Section], list[str]]:
    """The chapters with text, and a note for each that is missing or broken. Raises InputError if none can be read."""
    sections, notes = [], []
    for path in chapters:
        try:
            body = _body(_part(archive, path))
        except Exception as error:  # zipfile's and zlib's errors share no base class
            reason = "is missing" if isinstance(error, KeyError) else f"cannot be read ({error})"
            notes.append(f"The chapter {path} {reason}.")
            continue
        heading = running_text(_heading(body), _LINES, ()).replace("\n", " ")
        if text := running_text(body, _LINES, _LEFT_OUT):
            sections.append(Section(heading or None, text))
    if notes and len(notes) == len(chapters):
        raise InputError(f"broken EPUB: no chapter can be read. {notes[0]}")
    return sections, notes


def _part(archive: zipfile.ZipFile, path: str) -> bytes:
    """A file of the archive; if there is none of this name, one that differs only in case. Raises KeyError."""
    if path in archive.NameToInfo:
        return archive.read(path)
    names = [name for name in archive.namelist() if name.lower() == path.lower()]
    return archive.read(names[0] if names else path)


def _chapters(package: Any, folder: str) -> list[str]:
    """Names of the chapters in the archive, in the order of the spine, without the table of contents."""
    manifest, spine = child_of(package, "manifest"), child_of(package, "spine")
    if manifest is None or spine is None:
        raise InputError("broken EPUB: its package has no manifest or no spine")
    items = {item.get("id"): item for item in manifest if name_of(item) == "item"}
    references = [reference.get("idref", "") for reference in spine if name_of(reference) == "itemref"]
    paths = []
    for reference in references:
        item = items.get(reference)
        if item is None:
            paths.append(reference)  # no file has this name, so the chapter counts as missing
        elif _is_page(item) and "nav" not in item.get("properties", "").split():
            paths.append(posixpath.normpath(posixpath.join(folder, _path(item.get("href", "")))))
    return paths


def _is_page(item: Any) -> bool:
    return "html" in item.get("media-type", "") or _path(item.get("href", "")).lower().endswith(("html", ".htm"))


def _path(reference: str) -> str:
    return unquote(urlsplit(reference).path)


def _encrypted(archive: zipfile.ZipFile) -> set[str]:
    try:
        encryption = parse_xml(_part(archive, "META-INF/encryption.xml"))
    except KeyError:
        return set()
    return {_path(element.get("URI", "")) for element in encryption.iter() if name_of(element) == "CipherReference"}


def _body(content: bytes) -> Any:
    """The body of a chapter; a chapter that is not well-formed is read as a browser would."""
    try:
        root = parse_xml(content)
    except InputError:
        etree = import_optional("lxml.etree", "documents", "reading this kind of file")
        try:
            root = etree.fromstring(content, etree.HTMLParser(no_network=True, huge_tree=False))
        except (etree.XMLSyntaxError, ValueError):  # an empty file
            return None
    body = child_of(root, "body")
    if body is not None:
        resolve_marks(body)
    return body


def _heading(body: Any) -> Any:
    return None if body is None else next((element for element in body.iter() if name_of(element) in _HEADINGS), None)
