"""Word documents (.docx): the text as Word shows it, with all changes accepted; headings begin the sections."""

import posixpath
import zipfile
from typing import Any
from urllib.parse import unquote

from summarizer.documents.archive import open_archive
from summarizer.documents.document import Document, ReadingOptions
from summarizer.documents.markup import child_of, name_of, parse_xml
from summarizer.documents.word_styles import attribute, read_styles
from summarizer.documents.word_text import TITLE, WordText
from summarizer.errors import InputError


def read_word(content: bytes, options: ReadingOptions) -> Document:
    """Read a .docx file, Strict or not. Raises InputError if it is broken, protected or too large.

    The text has insertions and moved text once, no deletions, no hidden text, and each note after its paragraph. A row
    of a table is a line, unless a cell has several. Headers, footers, comments and the table of contents are left out.
    """
    if content.startswith(b"\xd0\xcf\x11\xe0"):
        raise InputError("protected by a password, or in the old .doc format; save it as .docx without a password")
    try:
        with open_archive(content, options) as archive:
            return _read(archive)
    except InputError as error:
        if str(error).startswith("broken XML"):
            raise InputError(f"broken Word document: {error}") from error
        raise
    except Exception as error:  # zipfile's and zlib's errors share no base class
        raise InputError(f"broken Word document: {error or type(error).__name__}") from error


def _read(archive: zipfile.ZipFile) -> Document:
    names = {name.lower(): name for name in archive.namelist()}  # the names of parts have no case

    def part(path: str | None) -> Any:
        """The root of a part; empty if the archive does not have it."""
        name = names.get((path or "").lower())
        return () if name is None else parse_xml(archive.read(name))

    main = _related(part("_rels/.rels"), "").get("officeDocument", "word/document.xml")
    root = part(main)
    body = child_of(root, "body")
    if body is None:
        raise InputError("broken Word document: it has no main part")
    folder, file = posixpath.split(main)
    related = _related(part(f"{folder}/_rels/{file}.rels".lstrip("/")), folder)
    notes = {
        (name_of(note), attribute(note, "id")): note
        for kind in ("footnotes", "endnotes")
        for note in part(related.get(kind))
    }
    text = WordText(read_styles(part(related.get("styles"))), notes)
    parts = text.read(body)
    titles = [line.replace("\n", " ") for level, line in parts if level == TITLE]
    return Document.from_parts([(max(level, 0), line) for level, line in parts], next(iter(titles), None), text.remarks)


def _related(relationships: Any, folder: str) -> dict[str, str]:
    """The paths of the related parts, by the last word of their types; the same in Strict files."""
    return {
        relation.get("Type", "").rpartition("/")[2]: posixpath.normpath(
            posixpath.join("/", folder, unquote(relation.get("Target", "")))
        ).lstrip("/")
        for relation in relationships
        if name_of(relation) == "Relationship" and relation.get("TargetMode") != "External"
    }
