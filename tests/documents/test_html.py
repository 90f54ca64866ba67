import pytest

from summarizer.errors import InputError

HTML = """<html><head><title>The title</title></head><body><nav><a href="/">Home</a> <a href="/x">Products</a></nav>
<article><h1>The title</h1>{}</article><footer>Copyright, imprint, cookies</footer></body></html>"""
PARAGRAPH = "<p>The patients were treated for six weeks, and most of them felt better at the end of it, they said.</p>"


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
