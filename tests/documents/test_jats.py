import gzip

import pytest

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
        ("<page><p>x</p></page>", "not JATS"),
        ("<set><article/><article/></set>", "2 articles"),
        ("<article><section><para>x</para></section></article>", "DocBook, not JATS"),
        ('<book xmlns="http://docbook.org/ns/docbook"><article/><article/></book>', "DocBook, not JATS"),
        ("<article><h1>x</h1></article>", "not JATS XML"),
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


def test_gzipped_jats_is_read(read):
    assert read("a.xml.gz", gzip.compress(JATS.encode())).title == "A fine title"


def test_exponents_stay_and_the_marks_of_references_go(read):
    text = (
        "10<sup>6</sup> in 2010<sup><xref rid='B3'>3</xref>,<xref rid='B4'>4</xref></sup>, 1999<xref rid='B5'>5</xref>."
    )
    assert read("a.xml", f"<article><body><p>{text}</p></body></article>").text == "10^6 in 2010, 1999."


def test_letters_are_those_of_the_encoding_that_browsers_would_take(read):
    article = "<?xml version='1.0' encoding='iso-8859-1'?><article><body><p>“Été” – don’t</p></body></article>"
    assert read("a.xml", article.encode("cp1252")).text == "“Été” – don’t"


def test_a_web_page_is_read_as_one(read):
    assert (
        read("a.xml", "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><p>One.</p></html>").text
        == "One."
    )
