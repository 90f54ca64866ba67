"""Scripts, such as Cyrillic, that a vocabulary lacks: a model would read and write them in bytes or unknown tokens."""

import re
import unicodedata
from collections import Counter
from functools import cache, cached_property
from typing import Any

from summarizer.errors import InputError

MAX_UNKNOWN = 0.5  # of a text's letters; a text with more is refused
MIN_NOTED = 0.01
_MIN_PIECES = 50  # of a script that a vocabulary has
_ANCIENT = "\U000103a0"  # Old Persian, which no vocabulary has
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
_WORDS = re.compile(r"[^\u0000-\u036f\u1e00-\u1eff\u2000-\u2bff]+")  # in other scripts than Latin, with their marks
_MIN_LETTERS = 3  # of a word; fewer are symbols, as in formulas
_ONE_LETTER_WORDS = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL"})
_NAMES = {"CJK": "Chinese characters"}


class ScriptCheck:
    """Finds text in a script that the vocabulary of a tokenizer lacks. Every vocabulary is taken to have Latin."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def notes(self, text: str) -> tuple[str, ...]:
        """A note if part of the text is in such a script. Raises InputError if most of it is."""
        scripts = _scripts_of_words(text)
        if not scripts or self._known is None:
            return ()
        unknown = Counter({script: count for script, count in scripts.items() if script not in self._known})
        share = unknown.total() / sum(map(str.isalpha, text))
        names = ", ".join(_NAMES.get(script, script.capitalize()) for script, _ in unknown.most_common(3))
        if share > MAX_UNKNOWN:
            raise InputError(f"in a script that the model does not know ({names}); use a model for its language")
        if share < MIN_NOTED:
            return ()
        return (f"{share:.0%} of the letters are in a script that the model does not know ({names}).",)

    @cached_property
    def _known(self) -> frozenset[str] | None:
        """The scripts of which the vocabulary has many pieces; None if it has bytes or code points for all scripts."""
        ids = self._tokenizer(_ANCIENT, add_special_tokens=False, verbose=False).input_ids
        pieces = self._tokenizer.convert_ids_to_tokens(ids)
        if self._tokenizer.unk_token not in pieces and not any(map(_BYTE.fullmatch, pieces)):
            return None
        counts = Counter(script for piece in self._tokenizer.get_vocab() for script in _scripts_of_words(piece))
        return frozenset(script for script, count in counts.items() if count >= _MIN_PIECES)


def _scripts_of_words(text: str) -> Counter[str]:
    """The number of letters of each script other than Latin, in words."""
    counts = Counter[str]()
    for word in _WORDS.findall(text):
        scripts = [_script(letter) for letter in word if letter.isalpha()]
        if len(scripts) >= _MIN_LETTERS or _ONE_LETTER_WORDS.intersection(scripts):
            counts.update(scripts)
    del counts["LATIN"]  # such as full-width letters
    return counts


@cache
def _script(letter: str) -> str:
    """The first word of a letter's name in Unicode, such as CYRILLIC."""
    return unicodedata.name(unicodedata.normalize("NFKC", letter)[0], "UNKNOWN").split()[0]
