import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from summarizer.errors import InputError
from summarizer.text import clean_text, decode_text


def test_newlines_spaces_and_blank_lines_are_made_one_kind():
    assert clean_text("a\r\nb\rc\n\n\n  d \t e\xa0 f \n\u2028g\x0ch") == "a\nb\nc\nd e f\ng\nh"


def test_control_characters_marks_and_lone_surrogates_are_gone():
    assert clean_text("\ufeffa\x00b\x07c\ud800d\xade\x7f\uffff") == "abcde"


@given(st.text(st.characters()))
def test_clean_text_is_encodable_and_stays_as_it_is(text):
    clean = clean_text(text)
    clean.encode("utf-8")
    assert clean_text(clean) == clean
    assert all(line.strip() for line in clean.split("\n")) or clean == ""


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8", "Café – naïve 中文 🙂"),
        ("utf-8-sig", "Café"),
        ("utf-16", "Café 中文"),
        ("utf-32", "Café 中文"),
        ("cp1252", "The patient’s “naïve” café – 5 µg"),
        ("cp1251", "Пациенты получали лечение в течение шести недель. Результаты показали улучшение состояния."),
        ("iso2022_jp", "The patient: 患者は六週間治療を受けた。"),
        ("shift_jis", "患者は六週間治療を受けた。結果は改善を示した。日本語の文章です。"),
    ],
)
def test_text_in_a_known_encoding_is_decoded(encoding, text):
    assert decode_text(text.encode(encoding)) == text


def test_big_endian_utf16_needs_its_mark():
    assert decode_text(codecs.BOM_UTF16_BE + "Café".encode("utf-16-be")) == "Café"


def test_a_declared_encoding_comes_before_guessing_and_after_utf8():
    assert decode_text("žluťoučký".encode("cp1250"), "cp1250") == "žluťoučký"
    assert decode_text("žluťoučký".encode(), "cp1250") == "žluťoučký"
    assert decode_text(b"caf\xe9 in the old town", "no-such-encoding") == "café in the old town"


@pytest.mark.parametrize("content", [b"\xff\xfea", b"\xef\xbb\xbf\xff\xff", b"\x89PNG\r\n\x1a\n\x00\xff\x81\x8d"])
def test_what_is_no_text_is_an_error(content):
    with pytest.raises(InputError):
        decode_text(content)
