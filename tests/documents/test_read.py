import gzip
import sys
import zipfile
from pathlib import Path

import pytest
from file_formats import pdf

from summarizer.documents.read import ReadingLimits, document_format, read_document
from summarizer.errors import InputError

JATS = """<?xml version="1.0"?>
<!DOCTYPE article PUBLIC "-//NLM//DTD JATS" "JATS-archivearticle1.dtd">
<article xmlns:xlink="http://www.w3.org/1999/xlink"><front><journal-meta><journal-title>J</journal-title></journal-meta>
<article-meta><title-group><article-title>A <italic>fine</italic>
 title</article-title></title-group>
<abstract><sec><title>Aim</title><p>To test.</p></sec></abstract>
<abstract abstract-type="graphical"><p>Picture.</p></abstract></article-meta></front>
<body><sec><label>1.</label><title>Introduction</title><p>First paragraph
 over two lines <xref>[1]</xref>.</p><p>Second,<table-wrap><p>cell</p></table-wrap> after the table.</p>
<fig><caption><p>A figure.</p></caption></fig></sec><!-- note --><sec><title>Results</title><p>a&#160;&lt;&#160;b</p>
<list><list-item><p>one</p></list-item><list-item><p>two</p></list-item></list></sec></body>
<back><ref-list><ref>Somebody 1999</ref></ref-list></back></article>"""

HTML = """<html><head><title>The title</title></head><body><nav><a href="/">Home</a> <a href="/x">Products</a></nav>
<article><h1>The title</h1>{}</article><footer>Copyright, imprint, cookies</footer></body></html>"""
PARAGRAPH = "<p>The patients were treated for six weeks, and most of them felt better at the end of it, they said.</p>"


@pytest.fixture
def read(tmp_path):
    def read(name, content):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_document(path)

    return read


@pytest.mark.parametrize("name", ["a.txt", "a.TXT", "a.md", "a.v2.txt"])
def test_text_is_read_as_it_is_and_cleaned(read, name):
    assert read(name, "\ufeff# Head\r\n\r\nSome  *text*\x00.").text == "# Head\nSome *text*."


def test_gzipped_text_is_read(read):
    assert read("a.txt.gz", gzip.compress("Grüße".encode("cp1252"))).text == "Grüße"
    assert read("a.xml.gz", gzip.compress(JATS.encode())).title == "A fine title"


@pytest.mark.parametrize("content", [b"no gzip", gzip.compress(b"some text" * 100)[:-20]], ids=["none", "cut"])
def test_a_broken_gzip_file_is_an_error(read, content):
    with pytest.raises(InputError):
        read("a.txt.gz", content)


def test_an_unknown_kind_is_read_if_it_is_text(read):
    assert read("notes", "Some text").text == "Some text"
    assert read("notes.log", "Some text".encode("utf-16")).text == "Some text"
    with pytest.raises(InputError, match="not text"):
        read("a.bin", b"\x00\x01\x02")
    for content in (b"\x89PNG\r\n\x1a\n\xff\x81\x8d", b"\x01\x02 with letters", pdf("Hello")):
        with pytest.raises(InputError, match="not text"):
            read("a.dat", content)
    with pytest.raises(InputError, match="encoding"):
        read("a.txt", b"\x89PNG\r\n\x1a\n\xff\x81\x8d")
    with pytest.raises(InputError, match=r"save it as \.docx"):
        read("a.doc", "whatever")


def test_text_may_hold_a_stray_zero_byte_but_not_many(read):
    with pytest.raises(InputError, match="zero bytes"):
        read("a.txt", bytes(50))
    with pytest.raises(InputError, match="UTF-16"):
        read("b.txt", "Some text".encode("utf-16-le"))


def test_html_gives_the_article_without_what_surrounds_it(read):
    document = read("a.html", HTML.format(PARAGRAPH * 4))
    assert document.title == "The title"
    assert document.text.count("treated for six weeks") >= 1
    assert "cookies" not in document.text
    assert "Products" not in document.text


def test_html_that_is_short_or_empty_or_in_a_declared_encoding_is_read(read):
    assert "Hello there" in read("a.htm", "<p>Hello there</p>").text
    assert read("a.html", "").text == ""
    assert read("b.html", "<html><body></body></html>").text == ""
    page = HTML.format("<p>Žluťoučký kůň úpěl ďábelské ódy, praví se.</p>" * 3)
    page = page.replace("<head>", '<head><meta http-equiv="Content-Type" content="text/html; charset=windows-1250">')
    assert "Žluťoučký kůň" in read("c.html", page.encode("cp1250")).text


def test_html_nested_deeper_than_the_parser_goes_is_an_error_and_not_empty(read):
    assert "Hello there" in read("a.html", "<div>" * 200 + "<p>Hello there</p>").text
    with pytest.raises(InputError, match="nested"):
        read("b.html", "<div>" * 300 + "<p>Hello there</p>")


def test_jats_gives_title_abstract_and_body_apart(read):
    document = read("a.nxml", JATS)
    assert [section.title for section in document.sections] == ["Introduction", "Results"]
    assert document.sections[1].text == "Results\na < b\none\ntwo"
    assert document.title == "A fine title"
    assert document.abstract == "Aim\nTo test."
    assert document.text == (
        "Introduction\nFirst paragraph over two lines [1].\nSecond, after the table.\nResults\na < b\none\ntwo"
    )


def test_jats_with_a_namespace_or_within_a_set_or_without_body_is_read(read):
    body = "<body><p>Text.</p></body>"
    assert read("a.xml", f'<article xmlns="http://jats.nlm.nih.gov">{body}</article>').text == "Text."
    assert read("b.xml", f"<pmc-articleset><article>{body}</article></pmc-articleset>").text == "Text."
    meta = "<front><article-meta><abstract><p>Short.</p></abstract></article-meta></front>"
    assert read("c.xml", f"<article>{meta}</article>").text == "Short."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<article><body>", "broken XML"),
        ("", "broken XML"),
        ("<html><p>x</p></html>", "not JATS"),
        ("<set><article/><article/></set>", "2 articles"),
    ],
)
def test_xml_that_is_no_article_is_an_error(read, content, message):
    with pytest.raises(InputError, match=message):
        read("a.xml", content)


def test_xml_entities_neither_read_files_nor_grow(read, tmp_path):
    (tmp_path / "secret.txt").write_text("SECRET")
    entities = f'<!ENTITY file SYSTEM "{(tmp_path / "secret.txt").as_uri()}"><!ENTITY a "ha"><!ENTITY b "&a;&a;">'
    xml = f"<!DOCTYPE article [{entities}]><article><body><p>x&file;y&b;z &amp; w</p></body></article>"
    assert read("a.xml", xml).text == "xyz & w"
    external = '<!DOCTYPE article SYSTEM "JATS.dtd"><article><body><p>a&nbsp;b &mdash; c</p></body></article>'
    assert read("b.xml", external).text == "a b — c"


def test_pdf_lines_are_joined_to_paragraphs_and_divided_words_mended(read):
    document = read(
        "a.pdf", pdf("Introduction", "The patients were treated for a num-", "ber of weeks. This was good.")
    )
    assert document.title == "A PDF"
    assert document.text == "Introduction\nThe patients were treated for a number of weeks. This was good."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pdf(), "without text"),
        (pdf("Hello", password="secret"), "password"),
        (b"no PDF at all", "broken PDF"),
        (pdf("Hello")[:200], "broken PDF"),
        (b"", "broken PDF"),
    ],
    ids=["scanned", "locked", "text", "cut", "empty"],
)
def test_pdfs_without_readable_text_say_why(read, content, message):
    with pytest.raises(InputError, match=message):
        read("a.pdf", content)


def test_docx_gives_paragraphs_and_tables_in_order(tmp_path):
    docx = pytest.importorskip("docx", reason="Word documents need the documents extra")
    document = docx.Document()
    document.core_properties.title = "Report"
    document.add_heading("Findings")
    document.add_paragraph("Some text.")
    table = document.add_table(1, 3)
    for cell, text in zip(table.rows[0].cells, ("a", "b", "c"), strict=True):
        cell.text = text
    table.cell(0, 0).merge(table.cell(0, 1))
    document.add_paragraph("The end.")
    document.save(str(tmp_path / "a.docx"))
    read = read_document(tmp_path / "a.docx")
    assert (read.title, read.text) == ("Report", "Findings\nSome text.\na b c\nThe end.")


def test_broken_and_oversized_word_documents_are_errors(read, tmp_path):
    with pytest.raises(InputError, match="broken Word"):
        read("a.docx", b"no zip")
    with zipfile.ZipFile(tmp_path / "b.docx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b" " * 2**20)
    with pytest.raises(InputError, match="broken Word"):
        read_document(tmp_path / "b.docx")
    small = ReadingLimits(max_bytes=2**18, max_pages=1)
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(b" " * 2**20))
    (tmp_path / "d.docx.gz").write_bytes(gzip.compress((tmp_path / "b.docx").read_bytes()))
    for name in ("b.docx", "c.txt.gz", "d.docx.gz"):
        with pytest.raises(InputError, match="larger"):
            read_document(tmp_path / name, small)
    (tmp_path / "e.pdf").write_bytes(pdf("Hello"))
    assert read_document(tmp_path / "e.pdf", small).text == "Hello"
    with pytest.raises(InputError, match="more pages"):
        read_document(tmp_path / "e.pdf", ReadingLimits(max_pages=0))


@pytest.mark.parametrize(
    ("name", "module"), [("a.pdf", "pypdf"), ("a.docx", "docx"), ("a.html", "trafilatura"), ("a.xml", "lxml.etree")]
)
def test_a_missing_library_is_named_with_how_to_install_it(read, monkeypatch, name, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=r'pip install -e "\.\[documents\]"'):
        read(name, "<p>x</p>")


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    for name in ("a.txt", "a.pdf", "a.docx", "a.html"):
        with pytest.raises(InputError, match="No such file"):
            read_document(tmp_path / name)


def test_kinds_are_told_by_suffix_whatever_its_case(tmp_path):
    kinds = {
        "a.TXT": ".txt",
        "a.md.gz": ".md",
        "a.pdf": ".pdf",
        "a.pdf.gz": ".pdf",
        "a.gz": None,
        "a": None,
        "a.png": None,
    }
    assert {name: document_format(tmp_path / name) for name in kinds} == kinds


def test_headings_of_markdown_and_word_begin_sections(read, tmp_path):
    markdown = (
        "# Book\n\nBefore.\n## One\nText of one.\n```\n## no heading\n```\n### Deeper\nMore.\n## Two\nText of two."
    )
    document = read("a.md", markdown)
    assert [(section.title, section.text.split("\n")[-1]) for section in document.sections] == [
        ("One", "More."), ("Two", "Text of two."),
    ]  # fmt: skip
    assert document.title == "Book"
    only = read("b.md", "#hashtag\n# Only one #\nText.")
    assert (only.title, only.sections) == ("Only one", ())
    assert read("d.md", "## One\nText.\n# Two\nText.").title is None
    docx = pytest.importorskip("docx", reason="Word documents need the documents extra")
    word = docx.Document()
    for heading in ("One", "Two"):
        word.add_heading(heading)
        word.add_paragraph(f"Text of {heading}.")
    word.save(str(tmp_path / "c.docx"))
    assert read_document(tmp_path / "c.docx").title is None  # neither of its two headings stands above the other
    word.add_heading("Both", level=0)
    word.save(str(tmp_path / "e.docx"))
    assert read_document(tmp_path / "e.docx").title == "Both"
    sections = read_document(tmp_path / "c.docx").sections
    assert [(section.title, section.text) for section in sections] == [
        ("One", "One\nText of One."), ("Two", "Two\nText of Two."),
    ]  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="has neither")
def test_sockets_and_devices_are_refused(tmp_path, monkeypatch):
    import socket

    monkeypatch.chdir(tmp_path)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s.txt")
        for path in (Path("s.txt"), Path("/dev/zero")):
            with pytest.raises(InputError, match="socket or a device"):
                read_document(path)
