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


def page(body):
    return f"<html><head><title>Rules</title></head><body>{body}</body></html>"


QUESTION = (
    "<div><div class='titlepage'><h2>{}. May guests use the quay?</h2></div><p>No, the steps are not safe.</p></div>"
)
ITEM = "<li><b>Rule {}.</b> Members repair the quay together on two Saturdays.</li>"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<ul>" + "".join(ITEM.format(number) for number in range(9)) + "</ul>",
         "\n".join(f"Rule {number}. Members repair the quay together on two Saturdays." for number in range(9))),
        ("".join(QUESTION.format(number) for number in range(5)),
         "\n".join(f"{number}. May guests use the quay?\nNo, the steps are not safe." for number in range(5))),
        ("<dl><dt>Boat</dt><dd>A vessel.</dd></dl><pre>one\n  two</pre><table><tr><td>a</td><td>b</td></tr></table>",
         "Boat\nA vessel.\none\ntwo\na b"),
        ("<h2>Quay<span class='mw-editsection'>[<a href='/e'>edit</a>]</span></h2><p>Text.</p><ol class='references'>"
         "<li>Holm, 1999.</li></ol>", "Quay\nText."),
        ("<p>Hello <b>there</b>, all<br>of <i>you</i>.</p><p hidden>x</p><div style='display: none'>y</div>",
         "Hello there, all\nof you."),
        ("<h1>Quay <a href='#quay'>¶</a></h1><p>10<sup>6</sup> fish in 2010<sup>3</sup> and 1999<a href='#n'>[4]</a>, "
         "with CO<sub>2</sub><sup>5</sup> in m<sup>3</sup>.</p>", "Quay\n10^6 fish in 2010 and 1999, with CO2 in m^3."),
    ],
    ids=["list", "questions", "other blocks", "encyclopedia", "inline", "superscripts"],
)  # fmt: skip
def test_all_text_of_a_page_that_is_a_document_is_read(read, body, text):
    assert read("a.html", page(body)).text == text


def test_lists_are_read_and_menus_are_not_where_a_page_has_both(read):
    menu = "<ul>" + "<li><a href='/x'>Products and offers</a></li>" * 9 + "</ul>"
    related = "<div>" + "<div>Sign up for our letter, and read more of what others read today.</div>" * 4 + "</div>"
    questions = "".join(QUESTION.format(number) for number in range(9))
    document = read(
        "a.html", page(f"{menu}<div id='main'><h1>Quay</h1>{PARAGRAPH * 2}{questions}</div>{menu}{related}")
    )
    assert document.text.count("May guests use the quay?") == 9
    assert "Products" not in document.text
    assert "Sign up" not in document.text


def test_a_page_of_links_alone_is_not_empty(read):
    assert "Chapter 8" in read("a.html", page("".join(f"<p><a href='{n}'>Chapter {n}</a></p>" for n in range(9)))).text


def test_text_behind_the_end_of_a_page_is_read(read):
    text = "The fee is the same for all boats."
    for end in (f"</body></html><p>{text}</p>", f"</html>\n<html><head><title>B</title></head><body><p>{text}</p>"):
        assert read("a.html", page(PARAGRAPH) + end).text.split("\n")[-1] == text


@pytest.mark.parametrize(
    "question",
    [
        "<h3><button aria-expanded=false>{}</button></h3><div hidden><p>{}</p></div>",
        "<button class='accordion'>{}</button><div style='display: none'><p>{}</p></div>",
        "<div><h2 class='accordion-header'><button>{}</button></h2><div class='collapse'>{}</div></div>",
        "<input type=checkbox><label>{}</label><div class=content>{}</div>",
        "<dl><dt><button>{}</button></dt><dd hidden>{}</dd></dl>",
    ],
)
def test_questions_that_open_their_answers_are_read_with_them(read, question):
    pairs = [
        (f"{number}. May guests use the quay?", "No, not at night, since the steps are not safe.") for number in "123"
    ]
    menu = "<nav><button>Menu</button></nav><button class='navbar-toggle'>Toggle navigation</button>"
    body = f"{menu}<div id=content><h1>Quay</h1>{PARAGRAPH}{''.join(question.format(*pair) for pair in pairs)}</div>"
    lines = read("a.html", page(body)).text.split("\n")
    assert lines[-6:] == [line for pair in pairs for line in pair]
    assert "Toggle navigation" not in lines


def test_a_late_declaration_counts_and_iso_8859_1_has_quotes(read):
    late = f"<html><head><style>{' ' * 5000}</style><meta charset=windows-1250></head><p>Příští schůze</p></html>"
    assert read("a.html", late.encode("cp1250")).text == "Příští schůze"
    quoted = "<html><head><meta charset=iso-8859-1></head><body><p>“Été” – don’t</p></body></html>"
    assert read("b.html", quoted.encode("cp1252")).text == "“Été” – don’t"


ARCHIVE = """From: <Saved by a browser>
MIME-Version: 1.0
Content-Type: multipart/related; type="text/html"; boundary="x"

--x
Content-Type: text/html; charset=windows-1250
Content-Transfer-Encoding: quoted-printable

<html><head><title>Quay</title></head><body><p>P=F8=ED=9At=ED =
sch=F9ze.</p></body></html>
--x
Content-Type: image/png

AAAA
--x--
"""


@pytest.mark.parametrize("name", ["a.mhtml", "a.mht", "a.html"])
def test_a_web_archive_is_read_as_its_page(read, name):
    document = read(name, ARCHIVE)
    assert (document.title, document.text) == ("Quay", "Příští schůze.")
    with pytest.raises(InputError, match="without a page"):
        read("b.mht", ARCHIVE.replace("text/html; ch", "text/css; ch"))
