"""Bytes to text, and text to clean lines: the same for a user's file and for training data."""

import codecs
import re

from summarizer.files import InputError

_LINE_BREAKS = re.compile(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_SPACES = re.compile(r"[\t \xa0\u1680\u2000-\u200a\u202f\u205f\u3000]+")
# Control characters but \t and \n, soft hyphens, byte-order marks, non-characters, lone surrogates.
_UNWANTED = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\ufeff\ufffe\uffff\ud800-\udfff]")

_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f]")  # never in text, common in other files

_BYTE_ORDER_MARKS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def clean_text(text: str) -> str:
    """Text as lines without blank ones: one kind of newline, single spaces, no control characters or lone surrogates.

    Cleaning clean text changes nothing.
    """
    text = _UNWANTED.sub("", _LINE_BREAKS.sub("\n", text))
    lines = (_SPACES.sub(" ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def decode_text(content: bytes, declared_encoding: str | None = None) -> str:
    """Text of `content` by its byte-order mark, as UTF-8, as declared, as cp1252, or as detected: the first that fits.

    Raises InputError when none does.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return _decode_marked(content, encoding)
    if content.count(0) > len(content) / 20:  # a stray zero byte is only dropped
        raise InputError("zero bytes, as in no text; if it is UTF-16 without its mark, save it as UTF-8")
    for encoding in ("utf-8", declared_encoding):
        if encoding and (text := _try_decode(content, encoding)) is not None:
            return text
    text = _try_decode(content, "cp1252")
    if text is not None and _looks_western(text):
        return text
    detected = _detect(content)
    if detected is None:
        raise InputError("not text in a known encoding; save it as UTF-8")
    return detected


def _decode_marked(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(f"starts as {encoding.removesuffix('-sig').upper()} but is not ({error.reason})") from error


def _try_decode(content: bytes, encoding: str) -> str | None:
    try:
        return content.decode(encoding)
    except (UnicodeError, LookupError):  # LookupError: a declared encoding that Python does not know
        return None


def _looks_western(text: str) -> bool:
    """Whether text decoded as cp1252 reads well: no controls or signs inside words, no three special letters in a row.

    Other alphabets, which share their bytes with Western accented letters, make whole words of those.
    """
    return not (
        _CONTROLS.search(text)
        or re.search(r"[A-Za-z][¡£¤¥¦§¨©¬®±²³µ¶¸¹¼½¾¿×÷][A-Za-z]", text)
        or re.search(r"[À-ÖØ-öø-ÿŒœŠšŽžŸƒ]{3}", text)
    )


def _detect(content: bytes) -> str | None:
    try:
        from charset_normalizer import from_bytes  # comes with the libraries that read web pages
    except ImportError:
        return None
    if _CONTROLS.search(content.decode("latin-1")):
        return None
    best = from_bytes(content).best()
    return None if best is None else str(best)
