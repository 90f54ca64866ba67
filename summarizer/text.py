"""Bytes to text, text to clean lines, lines to sentences: the same for a user's file and for training data."""

import codecs
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import IO, Literal, get_args

from summarizer.errors import InputError
from summarizer.languages import DEFAULT_LANGUAGE, sentences_of

_LINE_BREAKS = re.compile(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_SPACES = re.compile(r"[\t \xa0\u1680\u2000-\u200a\u202f\u205f\u3000]+")
# Control characters but \t and \n, soft hyphens, byte-order marks, non-characters, lone surrogates.
_UNWANTED = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\ufeff\ufffe\uffff\ud800-\udfff]")
_LIGATURES = re.compile("[\ufb00-\ufb06]")
_SPELLED_OUT = ("ff", "fi", "fl", "ffi", "ffl", "st", "st")


def clean_text(text: str) -> str:
    """Text as lines without blank ones: one kind of newline, single spaces, no control characters or lone surrogates.

    Ligatures (U+FB00 to U+FB06) are spelled out. Cleaning clean text changes nothing.
    """
    text = _UNWANTED.sub("", _LINE_BREAKS.sub("\n", text))
    text = _LIGATURES.sub(lambda match: _SPELLED_OUT[ord(match.group()) - 0xFB00], text)
    lines = (_SPACES.sub(" ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def decode_text(content: bytes, declared_encoding: str | None = None, encoding: str | None = None) -> str:
    """The text of `content`, as `decode_with_notes` finds it."""
    return decode_with_notes(content, declared_encoding, encoding)[0]


def decode_with_notes(
    content: bytes, declared_encoding: str | None = None, encoding: str | None = None
) -> tuple[str, tuple[str, ...]]:
    """The text of `content`, and a note for the user if its encoding was guessed or some bytes were dropped.

    `encoding` decides if it is given. Without it, the first that fits counts: a byte-order mark, escape sequences,
    UTF-8, the declared encoding, UTF-8 with a few broken lines, the best guess. Raises InputError when none fits.
    """
    if encoding:
        if (text := _try_decode(content, encoding)) is None:
            raise InputError(f"is not text in {encoding} (--encoding)")
        return text, ()
    if marked := marked_encoding(content):
        try:
            return content.decode(marked), ()
        except UnicodeDecodeError as error:
            name = marked.removesuffix("-sig").upper()
            raise InputError(f"has a byte-order mark of {name} but is not {name} ({error.reason})") from error
    try:
        refuse_zeros(content)
    except ValueError as error:
        raise InputError(str(error)) from None
    for certain in (escaped_encoding(content), "utf-8", _superset(declared_encoding), declared_encoding):
        if certain and (text := _try_decode(content, certain)) is not None:
            return text, ()
    if _has_broken_lines(content):
        return content.decode(errors="ignore"), ("Bytes that are not UTF-8 were dropped.",)
    if (guessed := guess_encoding(content)) is None:
        raise InputError("not text in a known encoding; save it as UTF-8, or name its encoding with --encoding")
    return content.decode(guessed), (guess_note(guessed),)


def guess_note(encoding: str) -> str:
    """The note on a guessed encoding."""
    return f"The encoding was guessed: {encoding}. If letters are wrong, set --encoding."


def is_encoding(name: str) -> bool:
    """Whether Python knows a text encoding of that name."""
    try:
        "".encode(name)
    except LookupError:
        return False
    return True


def _try_decode(content: bytes, encoding: str) -> str | None:
    try:
        return content.decode(encoding)
    except (UnicodeError, LookupError):  # LookupError: a declared encoding that Python does not know
        return None


_MARKS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def marked_encoding(content: bytes) -> str | None:
    """The encoding whose byte-order mark `content` starts with."""
    return next((encoding for mark, encoding in _MARKS if content.startswith(mark)), None)


_TO_JAPANESE = re.compile(rb"\x1b\$[@B]")


def escaped_encoding(content: bytes) -> str | None:
    """ISO-2022-JP if `content` changes to Japanese by an escape sequence; all its bytes are ASCII, as in UTF-8."""
    return "iso2022_jp" if _TO_JAPANESE.search(content) and content.isascii() else None


def refuse_zeros(content: bytes) -> None:
    """Raise ValueError where zero bytes are too many for text without a mark; a stray one is only dropped."""
    if content.count(0) > len(content) / 20:
        raise ValueError(
            "zero bytes, so not text; if it is UTF-16 without a byte-order mark, save it as UTF-8 or set --encoding"
        )


_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f]")  # never in text, common in other files
_C1_CONTROLS = re.compile(r"[\x80-\x84\x86-\x9f]")  # what other encodings have in the place of quotes and letters


_IS_ASCII = frozenset(range(128)).__contains__
_SUPERSETS = {  # what browsers read instead: it decodes more, and nothing differently that is in texts
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "shift_jis_2004": "cp932", "shift_jis": "cp932", "euc_kr": "cp949",
    "big5hkscs": "big5hkscs", "big5": "cp950",
}  # fmt: skip
_MOST_ODD = 0.1  # of the special characters of a text whose encoding is guessed
_OTHER_SCRIPTS = re.compile(r"[\u0370-\u0eff\uff61-\uff9f]")  # that do not stand in a word with Latin letters
_BEFORE_LETTERS = "¡¿†‡‰§¶"
_SIGNS_OF_WORDS = "°©®™№"
_SAMPLE = 2**16  # bytes by which an encoding is guessed


def guess_encoding(content: bytes) -> str | None:
    """The encoding of text that is not UTF-8, by the letters that are usual in each language; None if none fits."""
    if _CONTROLS.search(content.decode("latin-1")):
        return None
    import chardet  # slow to import

    sample = content if len(content) <= _SAMPLE else b"".join(_special_lines(content))[:_SAMPLE]
    modern = chardet.EncodingEra.MODERN_WEB | chardet.EncodingEra.LEGACY_ISO
    plain = bytes(filter(_IS_ASCII, sample))
    is_english = len(plain) > 0.9 * len(sample) and chardet.detect(plain)["language"] == "en"
    best, least = None, 1.0
    for eras in (modern, modern | chardet.EncodingEra.DOS | chardet.EncodingEra.LEGACY_MAC):
        found = chardet.detect_all(sample, encoding_era=eras, compat_names=False, prefer_superset=False)
        names = [each["encoding"] for each in found if each["encoding"] not in (None, "ascii", "utf-8")]
        if is_english and eras is modern:
            names.insert(0, "cp1252")  # English has special letters in names alone, which tell little
        for encoding in (each for name in names for each in (_SUPERSETS.get(name, name), name)):
            text = _try_decode(content, encoding)
            if text is None or _C1_CONTROLS.search(text):
                continue
            share = _share_of_odd_letters(text[:_SAMPLE])
            if share < _MOST_ODD:
                return encoding
            if best is None or share < 0.5 * least:
                best, least = encoding, share
    return best


def _share_of_odd_letters(text: str) -> float:
    """The share of the special characters that no word has where they stand, such as a sign or a capital within it."""
    num_special = sum(not each.isascii() for each in text)
    return sum(map(_is_odd, text, text[1:], text[2:])) / (num_special or 1)


def _is_odd(before: str, letter: str, after: str) -> bool:
    if letter.isascii() or not (before.isalpha() or after.isalpha()):
        return False
    if before.islower() and letter.isupper():
        return True
    if _OTHER_SCRIPTS.match(letter):
        return any(each.isalpha() and each < "\u0250" for each in (before, after))
    category = unicodedata.category(letter)
    if category in ("Ps", "Pi") or letter in _BEFORE_LETTERS:
        return before.isalpha()
    return category in ("Sc", "Sm", "Sk", "So") and letter not in _SIGNS_OF_WORDS


def _superset(encoding: str | None) -> str | None:
    """The superset of an encoding by any of its names, as a page that declares ISO 8859-1 may have quotes of cp1252."""
    try:
        return encoding and _SUPERSETS.get(codecs.lookup(encoding).name)
    except LookupError:
        return None


def _special_lines(content: bytes) -> list[bytes]:
    """The lines with other bytes than ASCII's."""
    return [line for line in content.splitlines(keepends=True) if not line.isascii()]


def _has_broken_lines(content: bytes) -> bool:
    """Whether nearly all lines with other bytes than ASCII's are UTF-8, but not all."""
    lines = _special_lines(content)
    return sum(map(_is_utf8, lines)) > 0.9 * len(lines)


_CHUNK = 2**20
_GROUPS = 4


def encoding_of_lines(file: IO[bytes]) -> str:
    """The encoding of a file of lines, read as far as its first ones that are not ASCII tell it.

    UTF-8 if half of those are, so that a broken line does not change what the others mean, or if nothing else fits.
    Raises ValueError if the file is not text.
    """
    chunk = file.read(_CHUNK)
    if marked := marked_encoding(chunk):
        return marked
    refuse_zeros(chunk)
    while chunk and chunk.isascii():
        if escaped := escaped_encoding(chunk):
            return escaped
        chunk = file.read(_CHUNK)
    lines = (chunk + file.read(_CHUNK)).splitlines(keepends=True)
    if len(lines) > 1 and file.read(1):
        lines.pop()  # cut off, perhaps within a character
    lines = [line for line in lines if not line.isascii()]
    if 2 * sum(map(_is_utf8, lines)) >= len(lines):
        return "utf-8"
    groups = [b"".join(lines[start::_GROUPS])[:_SAMPLE] for start in range(_GROUPS)]  # a broken line spoils but one
    guesses = Counter(guess for group in groups if group and (guess := guess_encoding(group)))
    return guesses.most_common(1)[0][0] if guesses else "utf-8"


def _is_utf8(line: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(line)  # a character that is cut off at the end may be one
    except UnicodeDecodeError:
        return False
    return True


Split = Literal["auto", "newline", "sentencex"]
_WORD = re.compile(r"[^\W\d_]{2,}")
_SMALL_BEGINNING = re.compile(r"[a-z]{2,}(?![\w-])")
_LABEL = re.compile(r"\W*(?:table|fig|figure|box|scheme|appendix|section|chapter)\.?\s+\S+\s*", re.IGNORECASE)
_FINAL_PUNCTUATION = tuple(".!?…:;。！？：；।॥؟۔")
_CLOSING = "\"'”’»)]}」』）"


def split_sentences(text: str, split: Split = "auto", language: str = DEFAULT_LANGUAGE) -> list[str]:
    """Split a text into sentences by the rules of a language, such as "de".

    `newline`: each line is a sentence. `sentencex`: line breaks count as spaces and sentencex finds the sentences,
    so that newlines never matter. `auto`: each line is split further by sentencex. Sentences are stripped, and empty
    ones dropped. Raises ValueError for an unknown `split`.
    """
    if split == "newline":
        pieces = text.split("\n")
    elif split == "sentencex":
        pieces = sentences_of(" ".join(text.split()), language)
    elif split == "auto":
        pieces = [piece for line in text.split("\n") for piece in sentences_of(line, language)]
    else:
        raise ValueError(f"unknown sentence split '{split}'; choose from {', '.join(get_args(Split))}")
    return [stripped for piece in pieces if (stripped := piece.strip())]


def ends_sentence(text: str) -> bool:
    """Whether a text ends with the punctuation that ends a sentence, closing quotes and brackets left aside."""
    return text.rstrip().rstrip(_CLOSING).endswith(_FINAL_PUNCTUATION)


def statements(sentences: Sequence[str]) -> list[int]:
    """The places of the sentences that can stand in a summary; all of them if none can.

    A statement ends as a sentence does and has some words. It is not a label (Table 1). Where most sentences begin with
    a capital letter, it is neither the rest of a broken sentence, which begins with a small letter, nor in capitals.
    """
    beginnings = [sentence[0] for sentence in sentences if sentence[:1].isalpha()]
    is_cased = 2 * sum(each.isupper() for each in beginnings) > len(beginnings)
    return [
        place
        for place, sentence in enumerate(sentences)
        if ends_sentence(sentence)
        and not sentence.rstrip().endswith((":", ";"))
        and not _LABEL.fullmatch(sentence)
        and (len(_WORD.findall(sentence)) >= 3 or sum(map(str.isalpha, sentence)) >= 20)
        and not (is_cased and (_SMALL_BEGINNING.match(sentence) or sentence.isupper()))
    ] or list(range(len(sentences)))
