from pathlib import Path

import pytest
from file_formats import pdf, pdf_of_lines, pdf_of_streams

from summarizer.errors import InputError

FILES = Path(__file__).parent / "files"
BODY = (
    "The cooperative of the harbour met in spring and agreed on new rules for",
    "the quay, which every member has to follow from the first of May onward,",
    "and the harbour master, who was absent because of storms, will put them",
)
TEXT = " ".join(BODY)


def page_of(*lines, top=700, left=72, size=12):
    """Lines one below the other."""
    return [(left, top - 14 * number, size, line) for number, line in enumerate(lines)]


def bitmap_font(names=True):
    """A font as dvips makes it: its glyphs are called after their codes, which are those of TeX's encodings."""
    names = " ".join(f"{code} /a{code}" for code in range(256))
    widths = " ".join(["5"] * 256)
    return (
        "<< /Type /Font /Subtype /Type3 /FontBBox [0 0 5 10] /FontMatrix [0.1 0 0 0.1 0 0] /FirstChar 0 /LastChar 255 "
        f"/Widths [{widths}] /CharProcs << >> /Encoding << /Type /Encoding /Differences [{names}] >> >>"
    ).encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pdf(), "without text"),
        (pdf("Hello", password="secret"), "protected by a password"),
        ((FILES / "aes256_locked.pdf").read_bytes(), "protected by a password"),
        (b"no PDF at all", "broken PDF"),
        (pdf("Hello")[:200], "broken PDF"),
        (b"", "broken PDF"),
    ],
    ids=["scanned", "locked", "locked by AES", "text", "cut", "empty"],
)
def test_pdfs_without_readable_text_say_why(read, content, message):
    with pytest.raises(InputError, match=message):
        read("a.pdf", content)


def test_pdf_lines_are_joined_to_paragraphs_and_hyphenated_words_joined(read):
    document = read(
        "a.pdf", pdf("Introduction", "The patients were treated for a num-", "ber of weeks. This was good.")
    )
    assert document.title == "A PDF"
    assert document.text == "Introduction\nThe patients were treated for a number of weeks. This was good."


def test_encrypted_files_that_open_without_a_password_are_read(read):
    assert read("a.pdf", pdf("Hello", password="")).text == "Hello"
    for name in ("aes128.pdf", "aes256.pdf"):
        assert read("a.pdf", (FILES / name).read_bytes()).text.startswith(
            "The cooperative of the harbour met in spring"
        )


@pytest.mark.parametrize(
    ("before", "after", "joined"),
    [
        ("We quan-", "tify it.", "We quantify it."),
        ("We compare two-", "and three-year plans.", "two- and three-year plans."),
        ("A mid-term report on short- or mid-", "term effects.", "short- or mid-term effects."),
        ("This is a paper by Smith-", "Jones and others.", "Smith-Jones and others."),
        ("It is based on RNA-", "binding proteins.", "RNA-binding proteins."),
        ("Vor-", "und nachher ist das so.", "Vor- und nachher ist das so."),
        ("It is a well known and established law, a well-", "established rule.", "a well-established rule."),
    ],
)
def test_hyphens_are_joined_at_the_end_of_a_line_only_where_they_divide_a_word(read, before, after, joined):
    assert read("a.pdf", pdf(before, after)).text.endswith(joined)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We de\\034ne a coe\\036cient of e\\033ort for the \\034sh of the lake, and its \\035ow.", "T1"),
        ("We de\\014ne a coe\\016cient of e\\013ort for the \\014sh of the lake, and its \\015ow.", "OT1"),
    ],
)
def test_ligatures_of_bitmap_fonts_without_names_are_found(read, text, expected):
    document = read("a.pdf", pdf_of_streams([f"BT /F1 11 Tf 60 700 Td ({text}) Tj ET".encode()], bitmap_font()))
    assert document.text == "We define a coefficient of effort for the fish of the lake, and its flow."


def test_quotes_dashes_and_letters_of_bitmap_fonts_are_those_of_their_encoding(read):
    old = '\\\\A new e\\013ort" is paid { the \\014rst of the coast | in stra\\031e and lake of the river.'
    new = "\\020A new e\\033ort\\021 is paid \\025 the \\034rst of the coast \\026 in stra\\377e and lake of the river."
    for text in (old, new):
        document = read("a.pdf", pdf_of_streams([f"BT /F1 11 Tf 60 700 Td ({text}) Tj ET".encode()], bitmap_font()))
        assert document.text == "“A new effort” is paid – the first of the coast — in straße and lake of the river."


def test_accents_set_over_letters_are_joined_with_them(read):
    # TeX sets the accent, goes back by its width, and sets the letter.
    stream = "BT /F1 12 Tf 72 700 Td [(Bericht f) -20 (\\250) 470 (ur den Caf) (\\264) 420 (e von `a` bis `z`.)] TJ ET"
    assert read("a.pdf", pdf_of_streams([stream.encode()])).text == "Bericht für den Café von `a` bis `z`."


def test_running_headers_footers_and_page_numbers_never_stand_in_a_sentence(read):
    headers = ("Annual report", "Chapter 1. The quay", "Annual report", "Chapter 2. The nets", "Annual report")
    towns = ("Aberdeen", "Bergen", "Calais", "Dover", "Emden")
    pages = [
        [
            (72, 750, 9, f"{header}      {number + 5}"),
            *page_of(*(f"{line} {town}" for line in BODY)),
            (300, 40, 9, f"- {number + 5} -"),
        ]
        for number, (header, town) in enumerate(zip(headers, towns, strict=True))
    ]
    document = read("a.pdf", pdf_of_lines(pages))
    assert not any(word in document.text for word in ("report", "Chapter", "-", "5", "9"))
    assert all(document.text.count(town) == 3 for town in towns)
    assert document.notes == ("10 lines left out as running headers, footers and page numbers",)


def test_a_file_whose_pages_all_say_the_same_is_not_left_out(read):
    assert read("a.pdf", pdf(*BODY, num_pages=3)).text.startswith(TEXT)


def test_a_heading_at_the_top_of_a_page_is_kept(read):
    pages = [page_of(f"{name} of the report", size=16) + page_of(*BODY, top=660) for name in ("Start", "Middle", "End")]
    assert read("a.pdf", pdf_of_lines(pages)).text.count("of the report") == 3


def test_line_numbers_are_removed(read):
    lines = BODY * 4
    page = [*page_of(*lines), *((40, 700 - 14 * number, 8, str(number + 101)) for number in range(12))]
    document = read("a.pdf", pdf_of_lines([page]))
    assert document.text == " ".join(lines)
    assert document.notes == ("12 lines left out as line numbers",)


def test_contents_and_dot_leaders_are_left_out(read):
    entries = [f"{number}. The harbour of the town {'. ' * 20}{number * 3}" for number in range(1, 5)]
    plain = [f"{number} The nets of the fishers {number + 2}" for number in range(1, 6)]
    pages = [page_of("Contents", *entries), page_of("List of figures", *plain, "", *BODY)]
    document = read("a.pdf", pdf_of_lines(pages))
    assert document.text == TEXT
    assert "11 lines left out of contents" in document.notes


def test_the_reference_list_is_left_out_and_what_follows_it_is_kept(read):
    references = [f"[{n}] A. Author, The nets of the fishers. Journal of Harbours {n} (199{n}), 3-4." for n in range(6)]
    page = [
        *page_of(*BODY),
        *page_of("References", top=640, size=16),
        *page_of(*references, top=620),
        *page_of("A Further results", top=520, size=16),
        *page_of(*BODY, top=500),
    ]
    document = read("a.pdf", pdf_of_lines([page]))
    assert document.text == f"{TEXT}\nA Further results\n{TEXT}"
    assert document.notes == ("7 lines left out of references",)


def test_a_section_that_is_only_called_references_is_kept(read):
    page = page_of("References", size=16) + page_of("A reference names an object.", *BODY, top=660)
    assert "A reference names an object." in read("a.pdf", pdf_of_lines([page])).text


def test_footnotes_follow_the_sentence_that_goes_on_on_the_next_page(read):
    first = page_of(*BODY) + page_of("A note about the quay that is set small.", top=80, size=8)
    document = read("a.pdf", pdf_of_lines([first, page_of("up at the gate.", "The gate is open.")]))
    assert document.text.startswith(f"{TEXT} up at the gate.")
    assert "A note about the quay" in document.text


def test_marks_of_notes_are_dropped_and_exponents_marked(read):
    stream = (
        "BT /F1 12 Tf 72 700 Td (It grew in 2010) Tj /F1 7 Tf 5 Ts (3) Tj /F1 12 Tf 0 Ts ( by 3 x 10) Tj /F1 7 Tf 5 Ts "
        "(6) Tj /F1 12 Tf 0 Ts ( boats.) Tj /F1 7 Tf 5 Ts (12) Tj /F1 12 Tf 0 Ts ( Then it fell.) Tj ET"
    )
    document = read("a.pdf", pdf_of_streams([stream.encode()]))
    assert document.text == "It grew in 2010 by 3 x 10^6 boats. Then it fell."
    for before, rise, mark, expected in (
        ("CaCO", -2, "3", "CaCO3"), ("per m", 5, "2", "per m^2"), ("as of", 5, "2", "as of"), ("10", 5, "-3", "10^-3"),
    ):  # fmt: skip
        small = f"/F1 7 Tf {rise} Ts ({mark}) Tj /F1 12 Tf 0 Ts"
        stream = f"BT /F1 12 Tf 72 700 Td (There was {before}) Tj {small} ( in it.) Tj ET"
        assert read("b.pdf", pdf_of_streams([stream.encode()])).text == f"There was {expected} in it."


def test_notes_tell_what_could_not_be_read(read):
    garbled = "KDUERXU RI WKH WRZQ PHW LQ VSULQJ DQG DJUHHG RQ QHZ UXOHV"
    text = b"BT /F1 11 Tf 60 700 Td 14 TL " + b" ".join(f"({line}) Tj T*".encode() for line in BODY * 4) + b" ET"
    other = f"BT /F2 11 Tf 60 400 Td ({garbled}) Tj ET BT /F1 9 Tf 0 1 -1 0 30 300 Tm (A stamp) Tj ET".encode()
    content = pdf_of_streams([text + other, b"", b" "], second_font=bitmap_font())
    before, page, after = content.rpartition(b"/Type /Page /")
    content = before + page.replace(b"Page", b"Pxge") + after
    assert read("a.pdf", content).notes == (
        "1 page cannot be read",
        "1 page without text, perhaps scanned",
        f"{len(garbled.replace(' ', ''))} characters left out, of fonts that do not say which character a sign is",
        "1 line left out, in another direction than the text",
    )


def test_fonts_that_do_not_name_their_characters_fail_or_are_noted(read):
    garbled = "KDUERXU RI WKH WRZQ PHW LQ VSULQJ DQG DJUHHG RQ QHZ UXOHV IRU WKH TXDB ZKLFK HYHUB PHPEHU KDV WR"
    stream = f"BT /F1 11 Tf 60 700 Td ({garbled}) Tj ET".encode()
    with pytest.raises(InputError, match="fonts do not say which characters"):
        read("a.pdf", pdf_of_streams([stream], bitmap_font()))


def test_titles_that_programs_put_in_are_not_titles(read):
    for title, expected in (
        ("untitled", None),
        ("Microsoft Word - Plan of the quay", "Plan of the quay"),
        ("a.dvi", None),
    ):
        content = pdf("Hello").replace(b"(A PDF)", f"({title})".encode())
        assert read("a.pdf", content).title == expected


def test_long_lines_take_no_time_that_grows_with_their_square(read):
    for pattern in ("x", "1,", ". ", "x-"):
        line = pattern * 10_000
        assert read("a.pdf", pdf_of_lines([page_of(line), page_of(line)])).text


def test_letters_that_are_spread_out_stay_words_and_so_do_narrow_spaces(read):
    lines = ["# The kernel image will be installed", "if the following line is filled in"]
    spread = [" ".join(f"({letter}) -170" for letter in line) for line in lines]
    shown = " ".join(f"BT /F1 9 Tf 72 {720 - 12 * n} Td [{line}] TJ ET" for n, line in enumerate(spread))
    assert read("a.pdf", pdf_of_streams([shown.encode()])).text.split() == " ".join(lines).split()
    words = "[(I) -230 (s) -230 (a) -230 (w) -230 (x) -230 (and) -230 (the) -230 (harbour)] TJ"
    assert (
        read("a.pdf", pdf_of_streams([f"BT /F1 9 Tf 72 720 Td {words} ET".encode()])).text
        == "I s a w x and the harbour"
    )


def test_a_section_of_references_that_is_prose_is_text(read):
    prose = [
        "You may find more in the manual pages, which were written",
        "in 2010 and can be had from https://example.org, where we",
        "should say that you will need them (see pp. 3) as of 2012.",
    ]
    page = page_of(*BODY) + page_of("References", top=640, size=16) + page_of(*prose, top=600)
    assert "You may find more" in read("a.pdf", pdf_of_lines([page])).text
