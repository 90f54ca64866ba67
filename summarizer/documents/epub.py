"""EPUB books: a ZIP archive of XHTML chapters, with a package file that lists them in order."""

import posixpath
import zipfile
from typing import Any
from urllib.parse import unquote, urlsplit

from summarizer.documents.archive import open_archive
from summarizer.documents.document import Document, ReadingOptions, Section
from summarizer.documents.markup import child_of, name_of, parse_xml, running_text
from summarizer.errors import InputError
from summarizer.optional import import_optional

_LEFT_OUT = frozenset({"head", "script", "style", "nav", "table", "figure", "svg", "math", "img", "audio", "video"})
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_LINES = frozenset({
    *_HEADINGS, "p", "div", "section", "article", "header", "footer", "aside", "li", "ul", "ol", "dl", "dt", "dd",
    "blockquote", "pre", "br", "hr", "body",
})  # fmt: skip


def read_epub(content: bytes, options: ReadingOptions) -> Document:
    """Read the chapters of a book in reading order, each a section. Raises InputError if broken, protected or large."""
    try:
        with open_archive(content, options) as archive:
            return _read(archive)
    except InputError:
        raise
    except Exception as error:  # zipfile's and zlib's errors share no base class
        raise InputError(f"broken EPUB: {error}") from error


def _read(archive: zipfile.ZipFile) -> Document:
    container = parse_xml(archive.read("META-INF/container.xml"))
    rootfiles = [element for element in container.iter() if name_of(element) == "rootfile"]
    if not rootfiles:
        raise InputError("broken EPUB: its container names no package")
    package_path = rootfiles[0].get("full-path", "")
    package = parse_xml(archive.read(package_path))
    chapters = _chapters(package, posixpath.dirname(package_path))
    if locked := _encrypted(archive).intersection(chapters):
        raise InputError(f"protected against copying (DRM): {min(locked)}")
    bodies = [_body(archive.read(path)) for path in chapters]
    texts = [(running_text(_heading(body), _LINES, ()), running_text(body, _LINES, _LEFT_OUT)) for body in bodies]
    sections = tuple(Section(heading.replace("\n", " ") or None, text) for heading, text in texts if text)
    title = running_text(child_of(child_of(package, "metadata"), "title"), (), ())
    return Document("\n".join(section.text for section in sections), title or None, sections=sections)


def _chapters(package: Any, folder: str) -> list[str]:
    """Names of the chapters in the archive, in the order of the spine, without the table of contents."""
    manifest, spine = child_of(package, "manifest"), child_of(package, "spine")
    if manifest is None or spine is None:
        raise InputError("broken EPUB: its package has no manifest or no spine")
    items = {item.get("id"): item for item in manifest if name_of(item) == "item"}
    listed = [items.get(reference.get("idref")) for reference in spine if name_of(reference) == "itemref"]
    pages = [item for item in listed if item is not None and "html" in item.get("media-type", "")]
    content = [item for item in pages if "nav" not in item.get("properties", "").split()]
    return [posixpath.normpath(posixpath.join(folder, _path(item.get("href", "")))) for item in content]


def _path(reference: str) -> str:
    return unquote(urlsplit(reference).path)


def _encrypted(archive: zipfile.ZipFile) -> set[str]:
    try:
        encryption = parse_xml(archive.read("META-INF/encryption.xml"))
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
    return child_of(root, "body")


def _heading(body: Any) -> Any:
    return None if body is None else next((element for element in body.iter() if name_of(element) in _HEADINGS), None)
