import gzip
import sys
import zipfile
from pathlib import Path

import pytest
from file_formats import pdf

from summarizer.documents.document import ReadingOptions
from summarizer.documents.read import document_format, needs_parser, read_document
from summarizer.errors import InputError
from summarizer.text import guess_note


@pytest.mark.parametrize("name", ["a.txt", "a.TXT", "a.v2.txt"])
def test_text_is_read_as_it_is_and_cleaned(read, name):
    assert read(name, "\ufeff# Head\r\n\r\nSome  *text*\x00.").text == "# Head\nSome *text*."


def test_gzipped_text_is_read(read):
    assert read("a.txt.gz", gzip.compress("Grüße".encode("cp1252"))).text == "Grüße"


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
    for name, content, better in (("a.doc", "x", "docx"), ("a.txt", "{\\rtf1 x}", "docx"), ("a.xlsx", "x", "csv")):
        with pytest.raises(InputError, match=rf"save it as \.{better}"):
            read(name, content)


def test_text_may_hold_a_stray_zero_byte_but_not_many(read):
    with pytest.raises(InputError, match="zero bytes"):
        read("a.txt", bytes(50))
    with pytest.raises(InputError, match="UTF-16"):
        read("b.txt", "Some text".encode("utf-16-le"))


def test_broken_and_oversized_word_documents_are_errors(read, tmp_path):
    with pytest.raises(InputError, match="broken Word"):
        read("a.docx", b"no zip")
    with zipfile.ZipFile(tmp_path / "b.docx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b" " * 2**21)
    with pytest.raises(InputError, match="broken Word"):
        read_document(tmp_path / "b.docx")
    small = ReadingOptions(max_document_mb=1, max_pages=1)
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(b" " * 2**21))
    (tmp_path / "d.docx.gz").write_bytes(gzip.compress((tmp_path / "b.docx").read_bytes()))
    for name in ("b.docx", "c.txt.gz", "d.docx.gz"):
        with pytest.raises(InputError, match="larger"):
            read_document(tmp_path / name, small)
    (tmp_path / "e.pdf").write_bytes(pdf("Hello"))
    assert read_document(tmp_path / "e.pdf", small).text == "Hello"
    with pytest.raises(InputError, match="more pages"):
        read_document(tmp_path / "e.pdf", ReadingOptions(max_pages=0))


@pytest.mark.parametrize(
    ("name", "module"), [("a.pdf", "pypdfium2"), ("a.html", "trafilatura"), ("a.xml", "lxml.etree")]
)
def test_a_missing_library_is_named_with_how_to_install_it(read, monkeypatch, name, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=r'pip install -e "\.\[documents\]"'):
        read(name, "<article><body><p>x</p></body></article>")


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


@pytest.mark.skipif(sys.platform == "win32", reason="has neither")
def test_sockets_and_devices_are_refused(tmp_path, monkeypatch):
    import socket

    monkeypatch.chdir(tmp_path)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s.txt")
        for path in (Path("s.txt"), Path("/dev/zero")):
            with pytest.raises(InputError, match="socket or a device"):
                read_document(path)


@pytest.mark.parametrize("start", ["<!DOCTYPE html>\n<html>", "\ufeff<?xml version='1.0'?>\n<!-- > -->\n<HTML id='a'>"])
def test_a_web_page_is_read_as_one_whatever_the_name_says(read, tmp_path, start):
    document = read("a.txt", f"{start}<body><p>Hello there, all of you.</p></body></html>")
    assert (document.text, document.reader) == ("Hello there, all of you.", "html")
    assert read("c.txt", "<html><p>In UTF-16.".encode("utf-16")).reader == "html"
    assert needs_parser(tmp_path / "a.txt")
    assert read("d.txt", "<div class='a'><p>Hello <a href='b'>there</a>.</p></div>").text == "Hello there."
    assert read("b.txt", "<p>is how HTML begins a paragraph.").reader == "plain"
    assert not needs_parser(tmp_path / "b.txt")


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html"])
def test_a_guessed_encoding_is_noted_and_the_option_decides(tmp_path, name):
    text = "Příští schůze družstva se koná v září. Každý člen může mít u nábřeží jeden člun."
    path = tmp_path / name
    path.write_bytes((f"<p>{text}</p>" if name == "a.html" else text).encode("cp1250"))
    guessed = read_document(path)
    assert (guessed.text, guessed.notes) == (text, (guess_note("cp1250"),))
    decided = read_document(path, ReadingOptions(encoding="cp1250"))
    assert (decided.text, decided.notes) == (text, ())


def test_markdown_with_wrapped_lines_is_unwrapped(read):
    wrapped = "The court ruled that the boats\nmay stay in the harbour till\nautumn.\n\n- an item that\n  is wrapped\n"
    expected = ["The court ruled that the boats may stay in the harbour till autumn.", "an item that is wrapped"]
    assert read("a.md", wrapped).text.split("\n") == expected
