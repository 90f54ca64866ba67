import io
import zipfile

import pytest
from file_formats import epub

from summarizer.documents.document import ReadingOptions
from summarizer.documents.read import read_document
from summarizer.errors import InputError

CHAPTER = "<html xmlns='http://www.w3.org/1999/xhtml'><head><title>x</title></head><body>{}</body></html>"
BODIES = ["<h1>One</h1><p>First&#160;text<br/>of one.</p><script>no()</script>", "<h2>Two</h2><p>Text of two.</p>"]


@pytest.fixture
def read(tmp_path):
    def read(content, limits=None):
        (tmp_path / "a.epub").write_bytes(content)
        return read_document(tmp_path / "a.epub", limits)

    return read


def test_chapters_come_in_the_order_of_the_spine_without_the_table_of_contents(read):
    document = read(epub("A &amp; B", [CHAPTER.format(body) for body in BODIES]))
    assert document.title == "A & B"
    assert document.text == "One\nFirst text\nof one.\nTwo\nText of two."
    assert [(section.title, section.text.count("\n")) for section in document.sections] == [("One", 2), ("Two", 1)]


def test_a_chapter_that_is_not_well_formed_is_read_and_an_empty_book_is_empty(read):
    assert read(epub("A", ["<html><body><p>One<p>Two &nbsp; three</body>"])).text == "One\nTwo three"
    assert read(epub("A", ["", CHAPTER.format("")])).text == ""


def test_entities_of_a_chapter_are_not_expanded(read, tmp_path):
    (tmp_path / "secret").write_text("SECRET")
    entities = f"<!DOCTYPE html [<!ENTITY f SYSTEM '{(tmp_path / 'secret').as_uri()}'><!ENTITY a 'ha'>]>"
    assert read(epub("A", [entities + CHAPTER.format("<p>x&f;y&a;z</p>")])).text == "xyz"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no zip", "broken EPUB"),
        (b"", "broken EPUB"),
        (epub("A", [CHAPTER])[:-30], "broken EPUB"),
        (epub("A", [CHAPTER], {"META-INF/container.xml": "<container/>"}), "names no package"),
        (epub("A", [CHAPTER], {"OPS/package.opf": "<package/>"}), "no manifest"),
        (epub("A", [CHAPTER], {"OPS/0.xhtml": None}), "broken EPUB"),
        (epub("A", [CHAPTER], {"META-INF/encryption.xml": "<e><CipherReference URI='OPS/0.xhtml'/></e>"}), "DRM"),
    ],
    ids=["text", "empty", "cut", "container", "package", "missing", "locked"],
)
def test_a_broken_or_protected_book_says_why(read, content, message):
    with pytest.raises(InputError, match=message):
        read(content)


def test_what_unpacks_to_too_much_is_refused_and_lies_about_sizes_do_not_help(read):
    bomb = epub("A", [CHAPTER.format("<p>" + "x" * 2**21 + "</p>")])
    with pytest.raises(InputError, match="larger"):
        read(bomb, ReadingOptions(max_document_mb=1))
    with zipfile.ZipFile(io.BytesIO(bomb)) as archive:
        size = archive.getinfo("OPS/0.xhtml").file_size
    liar = bomb.replace(size.to_bytes(4, "little"), (100).to_bytes(4, "little"))
    with pytest.raises(InputError, match="broken EPUB"):
        read(liar, ReadingOptions(max_document_mb=1))
