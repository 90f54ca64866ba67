import io
import zipfile

import pytest
from file_formats import epub, zipped

from summarizer.documents.document import ReadingOptions
from summarizer.documents.read import read_document
from summarizer.errors import InputError
from summarizer.text import guess_note

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


def test_a_missing_or_broken_chapter_is_noted_and_the_others_are_read(read):
    bodies = [CHAPTER.format(body) for body in BODIES]
    document = read(epub("A", bodies, {"OPS/0.xhtml": None}))
    assert document.text == "Two\nText of two."
    assert document.notes == ("The chapter OPS/0.xhtml is missing.",)
    package = (
        "<package><manifest><item id='a' href='A%20b.HTM'/></manifest><spine><itemref idref='a'/>{}</spine></package>"
    )
    other = {"OPS/package.opf": package.format("<itemref idref='gone'/>"), "ops/a b.htm": bodies[1]}
    document = read(epub("A", bodies, other))
    assert document.text == "Two\nText of two."
    assert document.notes == ("The chapter gone is missing.",)
    broken = epub("A", bodies).replace(b"0.xhtml", b"2.xhtml", 1)  # in the header of the file, not in the directory
    assert read(broken).notes[0].startswith("The chapter OPS/0.xhtml cannot be read")


def test_exponents_stay_and_the_marks_of_notes_go(read):
    chapter = """<p>10<sup>6</sup> fish in 2010<sup><a href="#n3">3</a></sup>, 1999<a href="#n4">[4]</a> and
        10<sup><a href="#n5">5</a></sup> of CO<sub>2</sub> per m<span style="vertical-align: super">3</span>;
        see <a href="#c">2</a>.</p><p id="n3">Note. <a href="#r">↩</a></p>"""
    assert read(epub("A", [CHAPTER.format(chapter)])).text == (
        "10^6 fish in 2010, 1999 and 10 of CO2 per m^3; see 2.\nNote."
    )


@pytest.mark.parametrize(
    ("chapter", "notes"),
    [
        ("<html><body><p>“Été” – don’t<br></p></body></html>".encode(), ()),
        (
            "<?xml version='1.0' encoding='iso-8859-1'?><html><body><p>“Été” – don’t</p></body></html>".encode(
                "cp1252"
            ),
            (),
        ),
        ("<html><body><p>“Été” – don’t</p></body></html>".encode("cp1252"), (guess_note("cp1250"),)),
        ("<html><body><p>“Été” – don’t</p></body></html>".encode("utf-16"), ()),
        ("<html><body></body></html><p>“Été” – don’t".encode(), ()),
    ],
    ids=["not well-formed", "quotes in ISO 8859-1", "not declared", "UTF-16", "behind the end"],
)
def test_no_letter_of_a_chapter_is_lost_or_garbled(read, chapter, notes):
    other = CHAPTER.format("<p>Other.</p>").encode()
    with zipfile.ZipFile(io.BytesIO(epub("A", ["", ""]))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    document = read(zipped({**parts, "OPS/0.xhtml": chapter, "OPS/1.xhtml": other}))
    assert (document.text, document.notes) == ("“Été” – don’t\nOther.", notes)


def test_a_chapter_that_is_nested_too_deep_is_noted(read):
    deep = CHAPTER.format("<div>" * 300 + "deep" + "</div>" * 300)
    note = "The chapter OPS/0.xhtml cannot be read (its tags are nested too deep)."
    assert read(epub("A", [deep, CHAPTER.format("<p>Two.</p>")])).notes == (note,)


def test_tables_and_lines_of_code_are_read_and_readings_are_not(read):
    body = (
        "<table><tr><td>Boat</td><td>Fee</td></tr><tr><td>small</td><td>40</td></tr></table><pre>one\ntwo</pre>"
        "<p><ruby>港<rp>(</rp><rt>みなと</rt><rp>)</rp></ruby>の</p>"
    )
    assert read(epub("A", [CHAPTER.format(body)])).text == "Boat Fee\nsmall 40\none\ntwo\n港の"


@pytest.mark.parametrize(
    "item", ["href='/OPS/c.xml' media-type='text/x-oeb1-document'", "href='../c%20d.htm'", "href='e%20f.htm'"]
)
def test_chapters_are_found_however_the_package_names_them(read, item):
    chapter = CHAPTER.format("<p>Found.</p>")
    package = f"<package><manifest><item id='a' {item}/></manifest><spine/></package>"
    names = ("OPS/c.xml", "c d.htm", "OPS/e%20f.htm")
    assert read(epub("A", [], {"OPS/package.opf": package, **dict.fromkeys(names, chapter)})).text == "Found."
