"""Text to sentences, offline."""

from typing import Literal, get_args

from sentencex import segment  # pyright: ignore[reportAttributeAccessIssue]  # compiled, without types

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
