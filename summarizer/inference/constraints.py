"""What a summary must not say: numbers that its document does not have, and the same words over and over."""

import itertools
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import torch
from transformers import LogitsProcessor

_REACH = 32  # last tokens of a summary that are looked at for its last unit
_WORD_STARTS = ("▁", "Ġ")  # of SentencePiece, and of byte-level pieces
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


class NonFiniteLogitsError(RuntimeError):
    """The model's next-token scores hold NaN or infinity."""


class RefuseNonFinite(LogitsProcessor):
    """Stops generation at the first score that is no number. One reduction over [rows, vocabulary] a step."""

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores [rows, V] as they are. Raises NonFiniteLogitsError."""
        if not torch.isfinite(scores.amax(dim=-1)).all():  # NaN and ∞ both survive a maximum
            raise NonFiniteLogitsError("the model's scores are not finite")
        return scores


class Pieces:
    """A tokenizer's vocabulary as text, with a space before what starts a word.

    A unit is a number or a word that may hold digits: 12, 1,234.5, covid, 19, p53; what joins two, as in covid-19, is
    outside. A number's placeholder counts as one.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        placeholder = re.escape(tokenizer.init_kwargs.get("number_placeholder") or "") or r"\d"
        self.unit = re.compile(rf"(?:{placeholder}|[^\W_])+(?:[.,](?:{placeholder}|\d)+)*")
        self.last_unit = re.compile(rf"{self.unit.pattern}[.,]?$")
        self._number = re.compile(rf"{placeholder}|\d")

    @cached_property
    def texts(self) -> list[str]:
        """By id; special tokens are nothing, as in a summary, and parts of characters a sign of no word."""
        special = set(self._tokenizer.all_special_ids)
        texts = []
        for token_id, piece in enumerate(self._tokenizer.convert_ids_to_tokens(range(len(self._tokenizer)))):
            if token_id in special or piece is None:
                texts.append("")
            elif byte := _BYTE.fullmatch(piece):
                texts.append(chr(int(byte[1], 16)) if byte[1] < "80" else "\ufffd")
            else:
                texts.append(f" {piece[1:]}" if piece.startswith(_WORD_STARTS) else piece)
        return texts

    @cached_property
    def ids(self) -> dict[str, int]:
        """Ids of the pieces that do not start a word, by their texts."""
        return {text: token_id for token_id, text in enumerate(self.texts) if not text.startswith(" ")}

    @cached_property
    def continues_unit(self) -> torch.Tensor:
        """[V]: whether a piece begins with a letter or a digit, and so goes on with the unit before it."""
        return torch.tensor([bool(self.unit.match(text)) for text in self.texts])

    @cached_property
    def with_number(self) -> list[int]:
        """Ids of the pieces that hold a digit or are a placeholder."""
        return [token_id for token_id, text in enumerate(self.texts) if self.has_number(text)]

    def has_number(self, text: str) -> bool:
        """Whether a text holds a digit or a placeholder."""
        return bool(self._number.search(text))

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids as far as words go: spaces in it are not exact."""
        return "".join(self.texts[token_id] for token_id in ids)


class NumbersOfDocuments(LogitsProcessor):
    """Lets a summary have only numbers, and words with digits, that its document has as a whole.

    `sources` are the ids [B, N] of B documents; the rows of scores are their beams.
    """

    def __init__(self, pieces: Pieces, sources: torch.Tensor) -> None:
        self._pieces = pieces
        self._known = [_KnownNumbers(pieces, ids) for ids in sources.tolist()]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Scores [rows, V] after the summaries so far [rows, T], with what is forbidden at minus infinity."""
        beams = scores.shape[0] // len(self._known)
        forbidden = []
        for row, written in enumerate(input_ids[:, -_REACH:].tolist()):
            last = self._pieces.last_unit.search(self._pieces.decode(written))
            forbidden.append(self._known[row // beams].forbidden_after(last.group() if last else ""))
        return scores.masked_fill(torch.stack(forbidden).to(scores.device), -torch.inf)


class _KnownNumbers:
    """The numbers and words with digits of one document, and what may follow a beginning of them."""

    def __init__(self, pieces: Pieces, source: Sequence[int]) -> None:
        self._pieces = pieces
        self._whole = {unit for unit in pieces.unit.findall(pieces.decode(source)) if pieces.has_number(unit)}
        self._begun = {unit[:end] for unit in self._whole for end in range(1, len(unit) + 1)}
        self._forbidden: dict[str, torch.Tensor] = {}

    def forbidden_after(self, last: str) -> torch.Tensor:
        """[V]: the pieces that must not follow a summary whose last unit is `last`, a point or comma after it included.

        A number goes on as one of the document's does, and ends where one does.
        """
        if last not in self._forbidden:
            pieces = self._pieces
            ends = pieces.continues_unit.clone()
            forbidden = torch.zeros_like(ends)
            if pieces.has_number(last):
                forbidden = ends.clone() if last.rstrip(".,") in self._whole else torch.ones_like(ends)
                goes_on = [unit[len(last) :] for unit in self._begun if unit.startswith(last) and unit != last]
                forbidden[[pieces.ids[text] for text in goes_on if text in pieces.ids]] = False
                if forbidden.all():  # the vocabulary has no piece to go on with
                    forbidden = ends
            for token_id in pieces.with_number:
                forbidden[token_id] |= not self._knows(last + pieces.texts[token_id])
            self._forbidden[last] = forbidden
        return self._forbidden[last]

    def _knows(self, text: str) -> bool:
        """Whether all numbers in a text are the document's, the last of them perhaps unfinished."""
        return all(
            match.group() in (self._begun if match.end() == len(text) else self._whole)
            for match in self._pieces.unit.finditer(text)
            if self._pieces.has_number(match.group())
        )


class NoRepeatedWords(LogitsProcessor):
    """Forbids what would repeat `size` words in a row, a sign such as a comma or hyphen being a word of its own.

    Where the last size - 1 words stand earlier in the summary, the first piece of the word that followed them there
    must not begin the next word. Words are never cut short by it, as they are where n-grams of pieces are blocked.
    """

    def __init__(self, pieces: Pieces, size: int) -> None:
        self._size = size
        self._goes_on = [text[:1].isalnum() for text in pieces.texts]
        self._ends_open = [text[-1:].isalnum() for text in pieces.texts]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Scores [rows, V] after the summaries so far [rows, T], with what is forbidden at minus infinity."""
        for row, written in enumerate(input_ids.tolist()):
            forbidden = self._forbidden(written)
            if forbidden:
                scores[row, forbidden] = -torch.inf
        return scores

    def _forbidden(self, written: list[int]) -> list[int]:
        inside = [False] + [
            self._goes_on[token_id] and self._ends_open[before] for before, token_id in itertools.pairwise(written)
        ]
        starts = [index for index, within in enumerate(inside) if not within]
        if len(starts) < self._size:
            return []
        last = written[starts[1 - self._size] :] if self._size > 1 else []
        return [
            written[start + len(last)]
            for start in starts[: 1 - self._size or None]
            if written[start : start + len(last)] == last and not inside[start + len(last)]
        ]
