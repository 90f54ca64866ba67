"""Constraints on what a summary says: no numbers that its document lacks, no repeated words."""

import itertools
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import torch
from transformers import LogitsProcessor

from summarizer.text import clean_text

_WORD = re.compile(r"[^\W_]+")
_REACH = 32  # last tokens of a summary that are looked at for its last unit
# Thai to Burmese, Khmer, Chinese and Japanese, written without spaces: a number among them stands alone.
_WITHOUT_SPACES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uf900-\ufaff\U00020000-\U0003ffff"


class NonFiniteLogitsError(RuntimeError):
    """The model's next-token scores hold NaN or infinity."""


class RefuseNonFinite(LogitsProcessor):
    """Stops generation at the first score that is NaN or infinite. One reduction over [rows, vocabulary] a step."""

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores [rows, V] as they are. Raises NonFiniteLogitsError."""
        if not torch.isfinite(scores.amax(dim=-1)).all():  # NaN and ∞ both survive a maximum
            raise NonFiniteLogitsError("the model's scores are not finite")
        return scores


class Pieces:
    """A vocabulary of `size` ids (by default the tokenizer's) as text, with a space before what starts a word.

    A unit is a number or a word that may hold digits: 12, 1,234.5, covid, 19, p53; what joins two, as in covid-19, is
    outside. A number's placeholder counts as one. Digits that a tokenizer spells in several bytes are not seen.
    """

    def __init__(self, tokenizer: Any, size: int | None = None) -> None:
        self._tokenizer = tokenizer
        self._size = size or len(tokenizer)
        placeholder = re.escape(tokenizer.init_kwargs.get("number_placeholder") or "") or r"\d"
        self.unit = re.compile(rf"(?:{placeholder}|\d|[^\W_{_WITHOUT_SPACES}])+(?:[.,](?:{placeholder}|\d)+)*")
        self.last_unit = re.compile(rf"{self.unit.pattern}[.,]?\Z")
        self._joining = re.compile(rf"{self.unit.pattern}|[.,](?:{placeholder}|\d)")
        self._number = re.compile(rf"{placeholder}|\d")

    @cached_property
    def texts(self) -> list[str]:
        """By id, as in a summary between two letters; special tokens and ids without a piece are nothing."""
        letter = self._tokenizer.tokenize("a")
        start = len(self._tokenizer.convert_tokens_to_string(letter))
        texts = [""] * self._size
        special = set(self._tokenizer.all_special_ids)
        for piece, token_id in self._tokenizer.get_vocab().items():
            if token_id < self._size and token_id not in special:
                text = self._tokenizer.convert_tokens_to_string([*letter, piece])
                texts[token_id] = clean_text(f"{text}a")[start:-1]
        return texts

    @cached_property
    def ids(self) -> dict[str, int]:
        """Ids of the pieces that do not start a word, by their texts."""
        return {text: token_id for token_id, text in enumerate(self.texts) if not text.startswith(" ")}

    @cached_property
    def longest(self) -> int:
        """Characters of the longest piece."""
        return max(map(len, self.texts))

    @cached_property
    def continues_unit(self) -> torch.Tensor:
        """[V]: whether a piece begins with a letter or a digit, and so continues the unit before it."""
        return torch.tensor([bool(self.unit.match(text)) for text in self.texts])

    @cached_property
    def with_number(self) -> list[int]:
        """Ids of the pieces that hold a digit or are a placeholder."""
        return [token_id for token_id, text in enumerate(self.texts) if self.has_number(text)]

    @cached_property
    def joining(self) -> list[int]:
        """Those of them whose number may be one with the unit before: 5, p53, .5."""
        return [token_id for token_id in self.with_number if self._joining.match(self.texts[token_id])]

    def has_number(self, text: str) -> bool:
        """Whether a text holds a digit or a placeholder."""
        return bool(self._number.search(text))

    def decode(self, ids: Iterable[int], unknown: str = "") -> str:
        """The text of ids as far as words go, with `unknown` for the unknown token: spaces in it are not exact."""
        unknown_id = self._tokenizer.unk_token_id
        return "".join(unknown if token_id == unknown_id else self.texts[token_id] for token_id in ids)


class NumbersOfDocuments(LogitsProcessor):
    """Lets a summary have only numbers, and words with digits, that its document has as a whole.

    `sources` are the ids [B, N] of B documents; the rows of scores are their beams. This must be the last
    processor: where others forbid every continuation of a number, it allows them again.
    """

    def __init__(self, pieces: Pieces, sources: torch.Tensor) -> None:
        self._pieces = pieces
        self._known = [_KnownNumbers(pieces, ids) for ids in sources.tolist()]
        self._scored = self._known

    def keep_documents(self, places: list[int]) -> None:
        """From now on there are scores for these only of the documents that there were scores for so far."""
        self._scored = [self._scored[place] for place in places]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Scores [rows, V] after the summaries so far [rows, T], with what is forbidden at minus infinity."""
        beams = scores.shape[0] // len(self._scored)
        forbidden = torch.stack(
            [
                self._scored[row // beams].forbidden_after(self._last_unit(written))
                for row, written in enumerate(input_ids[:, -_REACH:].tolist())
            ]
        ).to(scores.device)
        scores = scores.masked_fill(forbidden, -torch.inf)
        stuck = torch.isneginf(scores.amax(dim=-1, keepdim=True))
        return scores.masked_fill(stuck & ~forbidden, 0.0)

    def without_unfinished(self, document: int, ids: list[int]) -> list[int]:
        """The ids of a summary of this document, without a number at its end that the limit on length cut off."""
        while not self._known[document].may_end(self._last_unit(ids[-_REACH:])):
            ids = ids[:-1]
        return ids

    def _last_unit(self, ids: Sequence[int]) -> str:
        last = self._pieces.last_unit.search(self._pieces.decode(ids))
        return last.group() if last else ""


class _KnownNumbers:
    """The numbers and words with digits of one document, and what may follow a beginning of them."""

    def __init__(self, pieces: Pieces, source: Sequence[int]) -> None:
        self._pieces = pieces
        text = pieces.decode(source, unknown="\ufffd")  # which parts what is on its sides, unlike in a summary
        self._whole = {unit for unit in pieces.unit.findall(text) if pieces.has_number(unit)}
        self._sorted = sorted(self._whole)
        self._unknown = torch.zeros_like(pieces.continues_unit)  # numbers that are not the document's, or join others
        self._unknown[[each for each in pieces.with_number if not self._knows(pieces.texts[each])]] = True
        self._unknown[pieces.joining] = True
        self._continuing: dict[str, list[int]] = {}

    def forbidden_after(self, last: str) -> torch.Tensor:
        """[V]: the pieces that must not follow a summary whose last unit is `last`, a point or comma after it included.

        A number is continued as one of the document's numbers, and ends where that one ends.
        """
        continuing = self._continuations(last)
        forbidden = self._unknown.clone()
        if self._pieces.has_number(last):
            forbidden |= self._pieces.continues_unit
            if continuing and not self.may_end(last):  # else the vocabulary has no piece to continue it with
                forbidden[:] = True
        forbidden[continuing] = False
        return forbidden

    def may_end(self, last: str) -> bool:
        """Whether a summary may end in `last`."""
        return not self._pieces.has_number(last) or last.rstrip(".,") in self._whole

    def _continuations(self, last: str) -> list[int]:
        """Ids of the pieces that make another beginning, or all, of one of the document's numbers from `last`."""
        if not self._begun(last):
            return []
        if last not in self._continuing:
            pieces = self._pieces
            joined = [each for each in pieces.joining if self._knows(last + pieces.texts[each])]
            if pieces.has_number(last):
                rests = {unit[len(last) :][: pieces.longest] for unit in self._beginning_with(last)}
                texts = {rest[:end] for rest in rests for end in range(1, len(rest) + 1)}
                joined += [pieces.ids[text] for text in texts if text in pieces.ids]
            self._continuing[last] = joined
        return self._continuing[last]

    def _knows(self, text: str) -> bool:
        """Whether all numbers in a text are the document's, the last of them perhaps unfinished."""
        return all(
            self._begun(match.group()) if match.end() == len(text) else match.group() in self._whole
            for match in self._pieces.unit.finditer(text)
            if self._pieces.has_number(match.group())
        )

    def _begun(self, text: str) -> bool:
        return next(self._beginning_with(text), None) is not None

    def _beginning_with(self, text: str) -> Iterator[str]:
        for index in range(bisect_left(self._sorted, text), len(self._sorted)):
            if not self._sorted[index].startswith(text):
                break
            yield self._sorted[index]


class NoRepeatedWords(LogitsProcessor):
    """Forbids what would repeat `size` words in a row. Case, and signs such as a comma or a hyphen, make no difference.

    Where the last size - 1 words stand earlier in the summary, the word that followed them there must not come again,
    in whatever pieces. The piece that began it there must not begin the next word: so no word is cut short.
    """

    def __init__(self, pieces: Pieces, size: int) -> None:
        self._size = size
        self._texts = [text.lower() for text in pieces.texts]
        self._by_first_word: dict[str, list[int]] = defaultdict(list)
        for token_id, text in enumerate(self._texts):
            if word := _WORD.search(text):
                self._by_first_word[word.group()].append(token_id)

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Scores [rows, V] after the summaries so far [rows, T], with what is forbidden at minus infinity."""
        for row, written in enumerate(input_ids.tolist()):
            forbidden = self._forbidden(written)
            if forbidden:
                scores[row, forbidden] = -torch.inf
        return scores

    def _forbidden(self, written: list[int]) -> list[int]:
        starts = [0, *itertools.accumulate(len(self._texts[token_id]) for token_id in written)]
        text = "".join(self._texts[token_id] for token_id in written)
        matches = list(_WORD.finditer(text))
        words = [match.group() for match in matches]
        unfinished = words[-1] if text[-1:].isalnum() else ""

        def followers(last: list[str]) -> Iterator[int]:
            """Places of the words that follow `last` where it stands."""
            if len(last) == self._size - 1:
                places = range(len(last), len(words))
                yield from (place for place in places if words[place - len(last) : place] == last)

        forbidden = []
        for place in followers(words[len(words) - self._size + 1 :]):  # where a word begins
            first = written[bisect_right(starts, matches[place].start()) - 1]
            forbidden += [
                token_id
                for token_id in (first, *self._by_first_word.get(words[place], ()))
                if not (unfinished and self._texts[token_id][:1].isalnum())
            ]
        if unfinished:
            finished = words[:-1]
            for place in followers(finished[len(finished) - self._size + 1 :]):
                rest = words[place].removeprefix(unfinished)
                if place < len(finished) and rest != words[place]:
                    forbidden += [each for each in self._by_first_word.get(rest, ()) if self._texts[each][0].isalnum()]
        return forbidden
