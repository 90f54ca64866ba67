"""Bytes to text, text to clean lines, lines to sentences: the same for a user's file and for training data."""

import codecs
import re
from typing import IO, Literal, get_args

from sentencex import segment  # pyright: ignore[reportAttributeAccessIssue]  # compiled, without types

from summarizer.errors import InputError

_LINE_BREAKS = re.compile(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_SPACES = re.compile(r"[\t \xa0\u1680\u2000-\u200a\u202f\u205f\u3000]+")
# Control characters but \t and \n, soft hyphens, byte-order marks, non-characters, lone surrogates.
_UNWANTED = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\ufeff\ufffe\uffff\ud800-\udfff]")


def clean_text(text: str) -> str:
    """Text as lines without blank ones: one kind of newline, single spaces, no control characters or lone surrogates.

    Cleaning clean text changes nothing.
    """
    text = _UNWANTED.sub("", _LINE_BREAKS.sub("\n", text))
    lines = (_SPACES.sub(" ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def decode_text(content: bytes, declared_encoding: str | None = None) -> str:
    """Text of `content` by its byte-order mark or escape sequences, as UTF-8, as declared, as cp1252, or as detected.

    The first that fits counts; raises InputError when none does.
    """
    if encoding := marked_encoding(content):
        try:
            return content.decode(encoding)
        except UnicodeDecodeError as error:
            name = encoding.removesuffix("-sig").upper()
            raise InputError(f"has a byte-order mark of {name} but is not {name} ({error.reason})") from error
    try:
        refuse_zeros(content)
    except ValueError as error:
        raise InputError(str(error)) from None
    for encoding in (escaped_encoding(content), "utf-8", declared_encoding):
        if encoding and (text := _try_decode(content, encoding)) is not None:
            return text
    guessed = guess_encoding(content)
    if guessed is None:
        raise InputError("not text in a known encoding; save it as UTF-8")
    return content.decode(guessed)


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
        raise ValueError("zero bytes, so not text; if it is UTF-16 without a byte-order mark, save it as UTF-8")


_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f]")  # never in text, common in other files


def guess_encoding(content: bytes) -> str | None:
    """The encoding of text that is not UTF-8: cp1252 where that reads well, or as detected; None if none fits."""
    try:
        text = content.decode("cp1252")
    except UnicodeDecodeError:
        text = None
    if text is not None and _looks_western(text):
        return "cp1252"
    if _CONTROLS.search(content.decode("latin-1")):
        return None
    from charset_normalizer import from_bytes  # slow to import

    best = from_bytes(content).best()
    return None if best is None else best.encoding


def _looks_western(text: str) -> bool:
    """Whether text decoded as cp1252 reads well: no controls or signs inside words, no three special letters in a row.

    Other alphabets, which share their bytes with Western accented letters, make whole words of those.
    """
    return not (
        _CONTROLS.search(text)
        or re.search(r"[A-Za-z][¡£¤¥¦§¨©¬®±²³µ¶¸¹¼½¾¿×÷][A-Za-z]", text)
        or re.search(r"[À-ÖØ-öø-ÿŒœŠšŽžŸƒ]{3}", text)
    )


_CHUNK = 2**20
_SAMPLE = 2**16  # bytes of which an encoding is guessed


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
    sample = b""
    for line in lines:
        if len(sample) < _SAMPLE:
            sample += line
    return guess_encoding(sample) or "utf-8"


def _is_utf8(line: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(line)  # a character that is cut off at the end may be one
    except UnicodeDecodeError:
        return False
    return True


Split = Literal["auto", "newline", "sentencex"]
_FINAL_PUNCTUATION = tuple(".!?…:;。！？：；।॥؟۔")
_CLOSING = "\"'”’»)]}」』）"
LANGUAGE = "en"  # sentencex's rules; they also know the full stops of Chinese, Japanese, Russian and Hindi


def split_sentences(text: str, split: Split = "auto") -> list[str]:
    """Split a text into sentences, for ROUGE-Lsum and for the extractive baselines.

    `newline`: each line is a sentence. `sentencex`: line breaks count as spaces and sentencex finds the sentences,
    so that newlines never matter. `auto`: each line is split further by sentencex. Sentences are stripped, and empty
    ones dropped. Raises ValueError for an unknown `split`.
    """
    if split == "newline":
        pieces = text.split("\n")
    elif split == "sentencex":
        pieces = segment(LANGUAGE, " ".join(text.split()))
    elif split == "auto":
        pieces = [piece for line in text.split("\n") for piece in segment(LANGUAGE, line)]
    else:
        raise ValueError(f"unknown sentence split '{split}'; choose from {', '.join(get_args(Split))}")
    return [stripped for piece in pieces if (stripped := piece.strip())]


def ends_sentence(text: str) -> bool:
    """Whether a text ends with the punctuation that ends a sentence, closing quotes and brackets left aside."""
    return text.rstrip().rstrip(_CLOSING).endswith(_FINAL_PUNCTUATION)
