"""What TeX's fonts leave out of a PDF: the names of ligatures, quotes and dashes, and accents set over letters.

Bitmap fonts of LaTeX do not say which characters their glyphs are. Their codes are those of TeX's text encodings OT1
and T1 (Cork), which agree with ASCII for letters and digits.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable

_LIGATURES = ("ff", "fi", "fl", "ffi", "ffl")
_OT1: dict[str, str] = dict(
    zip(
        map(chr, (*range(0x20), 0x22, 0x3C, 0x3E, 0x5C, 0x60, 0x27, *range(0x7B, 0x80))),
        (*"ΓΔΘΛΞΠΣΥΦΨΩ", *_LIGATURES, *"ıȷ`´ˇ˘¯˚¸ßæœøÆŒØ", *"”¡¿“‘’–—˝˜¨"),
        strict=True,
    )
)
_T1: dict[str, str] = dict(
    zip(
        map(chr, (*range(0x20), 0x60, 0x27, *range(0x80, 0x100))),
        (
            *(*"`´ˆ˜¨˝˚ˇ˘¯˙¸˛‚‹›“”„«»–—", "", "", *"ıȷ", *_LIGATURES, *"‘’"),
            *"ĂĄĆČĎĚĘĞĹĽŁŃŇŊŐŔŘŚŠŞŤŢŰŮŸŹŽŻĲİđ§ăąćčďěęğĺľłńňŋőŕřśšşťţűůÿźžżĳ¡¿£",
            *"ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖŒØÙÚÛÜÝÞẞàáâãäåæçèéêëìíîïðñòóôõöœøùúûüýþß",
        ),
        strict=True,
    )
)
_OT1_LIGATURES = re.compile(r"(?<=[a-z])[\x0b-\x0f]|[\x0b-\x0f](?=[a-z])")
_T1_LIGATURES = re.compile(r"(?<=[a-z])[\x1b-\x1f]|[\x1b-\x1f](?=[a-z])")


def encoding_of(texts: Iterable[str]) -> dict[str, str]:
    """The encoding, code to characters, of the text fonts of a document of which `texts` are some lines."""
    counts = [[len(found.findall(text)) for found in (_OT1_LIGATURES, _T1_LIGATURES)] for text in texts]
    return _OT1 if sum(old for old, _ in counts) > sum(new for _, new in counts) else _T1


def is_text_font(characters: str) -> bool:
    """Whether these characters of one font are those of running text, not of formulas."""
    return 2 * sum(each.islower() for each in characters) >= len(characters)


def looks_like_language(text: str) -> bool:
    """Whether a text in Latin letters could be that of a language: mostly lower case, with the usual letters.

    The nine commonest letters make up 54 (Polish) to 70 % (English) of a language's letters, and about 35 % of the
    letters of a text whose letters were exchanged at random.
    """
    letters = [each for each in text if each.isascii() and each.isalpha()]
    lower = sum(each.islower() for each in letters)
    common = sum(each in "etaoinsrl" for each in letters)
    return len(letters) >= 0.5 * len(text) and lower >= 0.6 * len(letters) and common >= 0.48 * lower


# Accents that stand for themselves, with the combining character of each.
_COMBINING = {
    "`": "\u0300", "´": "\u0301", "ˆ": "\u0302", "˜": "\u0303", "¯": "\u0304", "˘": "\u0306", "˙": "\u0307",
    "¨": "\u0308", "˚": "\u030a", "˝": "\u030b", "ˇ": "\u030c", "¸": "\u0327", "˛": "\u0328",
}  # fmt: skip
ACCENTS = "".join(_COMBINING)
_DOTLESS = {"ı": "i", "ȷ": "j"}


def join_accents(characters: list[str], extent: Callable[[int], tuple[float, float]]) -> None:
    """Put accents that stand over or under a letter of the line onto this letter.

    `characters` are those of a line, changed in place; `extent` tells the left and right edge of the ink of each.
    """
    for place, accent in enumerate(characters):
        if accent not in _COMBINING:
            continue
        left, right = extent(place)
        middle = (left + right) / 2
        around = range(max(0, place - 12), min(len(characters), place + 13))
        for other in sorted(around, key=lambda other: (abs(other - place), other < place)):
            letter = _DOTLESS.get(characters[other], characters[other])
            joined = unicodedata.normalize("NFC", letter + _COMBINING[accent]) if letter.isalpha() else ""
            if len(joined) == 1 and _holds(extent(other), middle):
                characters[other], characters[place] = joined, ""
                _drop_needless_space(characters, place, extent)
                break


def _holds(extent: tuple[float, float], middle: float) -> bool:
    left, right = extent
    slack = 0.1 * (right - left)  # accents of italic letters lean to the right
    return left - slack <= middle <= right + slack


def _drop_needless_space(characters: list[str], place: int, extent: Callable[[int], tuple[float, float]]) -> None:
    """Drop the space before a moved accent if another follows, or if the letters around it touch."""
    if place == 0 or characters[place - 1] != " ":
        return
    next_left, next_right = extent(place + 1) if place + 1 < len(characters) else (0.0, 0.0)
    touches = place >= 2 and next_left - extent(place - 2)[1] < 0.25 * (next_right - next_left)
    if touches or characters[place + 1 : place + 2] in ([], [" "]):
        characters[place - 1] = ""
