import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from summarizer.errors import InputError
from summarizer.text import clean_text, decode_text, decode_with_notes, statements


def test_newlines_spaces_and_blank_lines_are_made_one_kind():
    assert clean_text("a\r\nb\rc\n\n\n  d \t e\xa0 f \n\u2028g\x0ch") == "a\nb\nc\nd e f\ng\nh"


def test_control_characters_marks_and_lone_surrogates_are_gone():
    assert clean_text("\ufeffa\x00b\x07c\ud800d\xade\x7f\uffff") == "abcde"


def test_ligatures_are_spelled_out():
    assert clean_text("oﬀer, ﬁsh, ﬂow, oﬃce, baﬄe, ﬅ, ﬆ") == "offer, fish, flow, office, baffle, st, st"


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


LEGACY = {
    "cp1250": "Příští schůze družstva se koná v září. Každý člen může mít u nábřeží jeden člun.",
    "iso8859-2": "Spółdzielnia zebrała się wiosną i uchwaliła nowe zasady. Każdy członek może trzymać tam łódź.",
    "cp1254": "Kooperatif ilkbaharda toplandı ve rıhtım için yeni kurallar kabul etti. Gelmeyen kırk kron öder.",
    "cp1257": "Uosto kooperatyvas susirinko pavasarį ir priėmė naujas krantinės taisykles. Šių metų mokestis mažesnis.",
    "cp852": "Přístavní družstvo se sešlo na jaře a schválilo nová pravidla pro nábřeží, dokud platí příspěvek.",
    "cp866": "Кооператив гавани собрался весной и принял новые правила для причала.",
    "mac-roman": "La coopérative s’est réunie au printemps et a adopté de nouvelles règles pour le quai, où l’on va.",
    "cp1252": "The price is £20 or €30, said Mr. Müller of Malmö: “That is the naïve view.”",
}


@pytest.mark.parametrize("encoding", LEGACY)
def test_a_legacy_encoding_is_guessed_with_a_note_and_the_user_may_decide(encoding):
    content = LEGACY[encoding].encode(encoding)
    note = f"The encoding was guessed: {encoding}. If letters are wrong, set --encoding."
    assert decode_with_notes(content) == (LEGACY[encoding], (note,))
    assert decode_with_notes(content, encoding="latin-1") == (content.decode("latin-1"), ())
    with pytest.raises(InputError, match="is not text in utf-8"):
        decode_text(content, encoding="utf-8")


def test_hungarian_and_romanian_letters_come_out_right():
    for text in (
        "Az őszi ülésen újra szó lesz a díjról. A tűzoltók főnöke is eljön.",
        "Plăteşte taxa în două sâmbete.",
    ):
        assert decode_text(text.encode("cp1250")) == text


def test_a_few_broken_bytes_do_not_change_the_encoding_of_the_rest():
    lines = ["Grüße aus Köln.\n".encode()] * 20
    text, notes = decode_with_notes(b"".join([*lines, b"Gr\xfc\xdfe\n", *lines]))
    assert text.count("Grüße aus Köln.") == 40
    assert "\ufffd" not in text
    assert notes == ("Bytes that are not UTF-8 were dropped.",)


def test_big_endian_utf16_needs_its_mark():
    assert decode_text(codecs.BOM_UTF16_BE + "Café".encode("utf-16-be")) == "Café"


def test_a_declared_encoding_comes_before_guessing_and_after_utf8():
    assert decode_text("žluťoučký".encode("cp1250"), "cp1250") == "žluťoučký"
    assert decode_text("žluťoučký".encode(), "cp1250") == "žluťoučký"
    for declared in ("iso-8859-1", "us-ascii"):  # as browsers do; the characters of its own are never in text
        assert decode_text("“Été” – don’t".encode("cp1252"), declared) == "“Été” – don’t"
    assert decode_text(b"caf\xe9 in the old town", "no-such-encoding") == "café in the old town"


@pytest.mark.parametrize("content", [b"\xff\xfea", b"\xef\xbb\xbf\xff\xff", b"\x89PNG\r\n\x1a\n\x00\xff\x81\x8d"])
def test_what_is_no_text_is_an_error(content):
    with pytest.raises(InputError):
        decode_text(content)


def test_statements_are_sentences_that_stand_alone():
    lines = [
        "Methods",
        "We asked ten people.",
        "They answered as follows:",
        "to become a truly potent enzyme of the cell.",  # the rest of a broken sentence
        "mRNA levels rose in all cells.",
        "RELATED WORK ON ENZYMES.",
        "2 Prepositions.",
        "Table 1.",
        "?",
        "这个模型为每一个句子打分，然后选出最好的句子作为摘要。",
        "Nine of them agreed.",
    ]
    assert statements(lines) == [1, 4, 9, 10]
    small = [line.lower() for line in lines]
    assert statements(small) == [1, 3, 4, 5, 9, 10]  # a text without capitals
    assert statements(["Methods", "Results"]) == [0, 1]
