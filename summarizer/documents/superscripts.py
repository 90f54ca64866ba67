"""Superscripts in plain text: an exponent becomes 10^6, a citation mark is dropped, 1st stays."""

import re

# A reader puts these around a superscript. They are Unicode noncharacters: no text holds them.
START, END = "\ufdd0", "\ufdd1"

_MARKED = re.compile(f"{START}([^{START}{END}]*){END}")
_CITATION = re.compile(r"[\[(]?\d[\d\s,;.–—-]*[\])]?|[*†‡§¶‖#]+|[a-z](?:\s?,\s?[a-z])*|\[[^\]]{0,30}\]")
_ORDINAL = re.compile(r"[aeoªº]\.?")
_SIGNED = re.compile(r"[+\-−–]\s?\d+(?:[.,/]\d+)?")
_ION = re.compile(r"\d?[+\-−–]")
_EXPONENT = re.compile(r"\d{1,3}|\d/\d|\d\.\d|[a-zA-Z]|[a-zA-Z\d]{1,2}\s?[+\-−–*/]\s?[a-zA-Z\d]{1,2}")
_ELEMENT = re.compile(r"[A-Z][a-z]?(?![^\W\d_])")
# What takes an exponent: a number of one or two digits, a letter, a unit of two letters, a formula in brackets.
_BASE = re.compile(
    r"(?<![\w.,])\d{1,2}$|(?<![^\W_])([^\W\d_]|[a-zµμ][a-zA-Z])$|\d\s?(?:in|ft|mi)$"
    r"|\((?:\w{1,2}|[^\s()]+[+\-−–*/][^\s()]+)\)$"
)
_WORDS = re.compile(
    "a[dhmnst]|b[ey]|d[eou]|e[lnst]|go|h[ei]|i[fnst]|l[aeo]|m[ey]|no|o[fhnrx]|s[eiou]|t[eou]|u[nps]|we|y[ae]"
)  # words of two letters, which are not units


def resolve_superscripts(text: str) -> str:
    """The text with its marked superscripts as plain text; marks without a partner are dropped."""
    if START not in text and END not in text:
        return text
    pieces, before, end = [], "", 0
    for match in _MARKED.finditer(text):
        between = text[end : match.start()]
        before = (before + between)[-24:]
        resolved = superscript(before, match.group(1).strip(), text[match.end() : match.end() + 3])
        before += resolved
        pieces += (between, resolved)
        end = match.end()
    return re.sub(f"[{START}{END}]", "", "".join((*pieces, text[end:])))


def is_citation(text: str) -> bool:
    """Whether a superscript or link says only what the mark of a note says: 3, [3], 3–5, *, †, a."""
    return bool(_CITATION.fullmatch(text.strip()))


def superscript(before: str, text: str, after: str) -> str:
    """A superscript as plain text, by what stands `before` and `after` it: empty if it is the mark of a note."""
    if not before or before[-1].isspace():  # an isotope, as in 14C, or the number of a note
        return "" if is_citation(text) and not _ELEMENT.match(after) else text
    if before[-1].isdigit() and _ORDINAL.fullmatch(text):
        return text
    if _SIGNED.fullmatch(text) and before[-1].isalnum():
        return f"^{text}"
    if _ION.fullmatch(text) and before[-1].isalnum():
        return text
    base = _BASE.search(before)
    if base and not _WORDS.fullmatch(base.group(1) or "") and _EXPONENT.fullmatch(text):
        return f"^{text}"
    return "" if is_citation(text) else text
