"""Text to the tokens that ROUGE compares."""

import unicodedata
from functools import lru_cache
from typing import Literal, get_args

from nltk.stem.porter import PorterStemmer
from rouge_score import tokenize as rouge_tokenize
from rouge_score import tokenizers

TokenizerName = Literal["default", "unicode"]
_UNSPACED_SCRIPTS = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")  # of Unicode names


def is_mostly_not_counted(text: str) -> bool:
    """Whether the default tokenizer counts less than half of the letters of a text: it counts only a to z."""
    if text.isascii():
        return False
    letters = [character for character in text if character.isalpha()]
    return sum(map(str.isascii, letters)) < len(letters) / 2


class _CachedStemmer:
    """The Porter stemmer, each word stemmed once: most of ROUGE's tokenizing time goes into repeated words."""

    def __init__(self) -> None:
        self.stem = lru_cache(maxsize=1 << 17)(PorterStemmer().stem)


class DefaultTokenizer(tokenizers.Tokenizer):
    """rouge-score's own tokens: runs of a-z and 0-9 in lower case, those of more than three letters stemmed."""

    def __init__(self, stemmer: bool = True) -> None:
        self._stemmer = _CachedStemmer() if stemmer else None

    def tokenize(self, text: str) -> list[str]:
        """The tokens of `text`, the same as rouge-score's."""
        return rouge_tokenize.tokenize(text, self._stemmer)


class UnicodeTokenizer(tokenizers.Tokenizer):
    """Runs of letters, marks and digits of any script; a character is a token where words are not spaced apart.

    Text is NFKC-normalised and in lower case. The stemmer sees only what it knows: words of a-z and 0-9.
    """

    def __init__(self, stemmer: bool = True) -> None:
        self._stemmer = _CachedStemmer() if stemmer else None

    def tokenize(self, text: str) -> list[str]:
        """The tokens of `text`."""
        tokens = "".join(map(_spaced, unicodedata.normalize("NFKC", text).lower())).split()
        if self._stemmer is None:
            return tokens
        stem = self._stemmer.stem
        return [stem(token) if len(token) > 3 and token.isascii() else token for token in tokens]


@lru_cache(maxsize=1 << 16)
def _spaced(character: str) -> str:
    if unicodedata.category(character)[0] not in "LMN":
        return " "
    if unicodedata.name(character, "").startswith(_UNSPACED_SCRIPTS):
        return f" {character} "
    return character


@lru_cache(maxsize=4)
def make_tokenizer(name: TokenizerName = "default", stemmer: bool = True) -> tokenizers.Tokenizer:
    """The tokenizer of that name, one a process. Raises ValueError for an unknown name."""
    if name == "default":
        return DefaultTokenizer(stemmer)
    if name == "unicode":
        return UnicodeTokenizer(stemmer)
    raise ValueError(f"unknown tokenizer '{name}'; choose from {', '.join(get_args(TokenizerName))}")
