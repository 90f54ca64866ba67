"""Bytes to text, and text to clean lines: the same for a user's file and for training data."""

import re

from summarizer.encodings import escaped_encoding, guess_encoding, marked_encoding, refuse_zeros
from summarizer.files import InputError

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
        return _decode_marked(content, encoding)
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
