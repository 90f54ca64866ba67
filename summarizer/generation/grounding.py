"""Grounded writing: every line of a summary is a compression of one sentence of its document.

A compression leaves out spans that `optional_spans` finds, and nothing else. So a line ends where its sentence ends,
each sentence is written at most once, and a summary needs no other constraint on its numbers or on repetition.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import torch
from transformers import LogitsProcessor

from summarizer.errors import InputError
from summarizer.generation.choosing import MOST_REPEATED
from summarizer.generation.clauses import Span, optional_spans
from summarizer.generation.constraints import Pieces
from summarizer.text import split_sentences

_NEVER = -1e9  # finite: a search that finds no other continuation takes this one rather than an end
_LAST_RESORT = -1e4  # the score of what another processor forbids, where it forbids all that is grounded
_LINE_START = -1
SELECTION_WEIGHT = 8.0  # of a sentence's score beside the log probabilities of its first tokens

Place = tuple[int, int]  # a sentence and the position of its next token, or (_LINE_START, 0)


@dataclass(frozen=True)
class GroundedLine:
    """A line of a summary: the index of its sentence, and the positions in it of the line's tokens, ascending."""

    sentence: int
    positions: tuple[int, ...]


class GroundedWriting(LogitsProcessor):
    """Lets each line of a summary be a compression of one sentence of its document, for beams, samples and batches.

    documents: the sentences of each of B documents, each as text token ids (no special ones, no line break). The rows
    of scores are the documents' beams. line_break: the token between lines; None where the model has none: its
    sentences follow one another. ends: the end tokens. max_new_tokens: as in the generation configuration, the end
    included: no line begins that does not fit the rest. prompt_length: tokens before the first written one, 1 or, with
    a forced first token, 2. sentence_scores: of a model that selects sentences, the log odds that each is selected.
    Where a token decides between sentences, the score of the best one that it can belong to is added to its own.

    A sentence is written once, and not after one that has more than `MOST_REPEATED` of its token trigrams. A
    summary may end where a line ends, and always can. If no sentence fits max_new_tokens, the shortest is written and
    cut off. Raises InputError where the document has tokens that the model cannot write.

    This must be the last processor. Others may forbid what is grounded, the end before a least length included, as
    long as they leave something of it: else it is allowed again.
    """

    def __init__(
        self,
        pieces: Pieces,
        documents: Sequence[Sequence[Sequence[int]]],
        line_break: int | None,
        ends: int | Sequence[int],
        max_new_tokens: int,
        prompt_length: int = 1,
        sentence_scores: Sequence[Sequence[float]] | None = None,
    ) -> None:
        if any(token_id >= len(pieces.texts) for each in documents for ids in each for token_id in ids):
            raise InputError("this model cannot write all tokens that it reads, so its summaries cannot be grounded")
        self._documents = [
            _Document(pieces, sentences, line_break, None if sentence_scores is None else sentence_scores[number])
            for number, sentences in enumerate(documents)
        ]
        self._scored = self._documents
        self._ends = [ends] if isinstance(ends, int) else list(ends)
        self._max_new_tokens = max_new_tokens
        self._prompt_length = prompt_length

    def keep_documents(self, places: list[int]) -> None:
        """From now on there are scores for these only of the documents that there were scores for so far."""
        self._scored = [self._scored[place] for place in places]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Log probabilities [rows, V] among what is grounded, by the scores after the summaries so far [rows, T].

        What is not grounded is at −1e9, or −∞ if an end. Tokens without an alternative thus cost nothing: else a long
        summary, whose every token is a word of the document, would be less likely than a short one.
        """
        if input_ids.shape[1] < self._prompt_length:
            return scores
        beams = scores.shape[0] // len(self._scored)
        written = input_ids[:, self._prompt_length :].tolist()
        choices: list[Choices] = []
        for number, document in enumerate(self._scored):
            states = document.states_after(written[number * beams : (number + 1) * beams])
            ends = [] if any(states) else self._ends
            ended = Choices(ends, [0.0] * len(ends))
            choices += [self.choices(state, input_ids.shape[1]) if state else ended for state in states]
        row_of_each = [row for row, each in enumerate(choices) for _ in each.ids]
        rows = torch.tensor(row_of_each, device=scores.device)
        ids = torch.tensor([token_id for each in choices for token_id in each.ids], device=scores.device)
        grounded = torch.full_like(scores, _NEVER)
        grounded[:, self._ends] = -torch.inf
        preferences = scores.new_tensor([value for each in choices for value in each.preferences])
        grounded[rows, ids] = scores[rows, ids] + preferences
        stuck = (grounded.amax(dim=-1) <= _NEVER)[rows]
        grounded[rows[stuck], ids[stuck]] = 0.0
        penalty = torch.zeros_like(scores[:, :1])
        penalty[rows[stuck]] = _LAST_RESORT
        return torch.where(grounded > _NEVER, grounded.log_softmax(dim=-1) + penalty, grounded)

    def lines(self, document: int, ids: Sequence[int]) -> list[GroundedLine] | None:
        """The sentence, and its positions, that each line of a summary of this document compresses, in order.

        ids: the summary's tokens without special ones. None where they are not grounded: a search for several summaries
        fills up with such where the document has fewer. The best one is always grounded.
        """
        return self._documents[document].lines(ids)

    def start(self, document: int) -> "WritingState":
        """The state of a summary of this document before its first token."""
        return self._documents[document].start

    def choices(self, state: "WritingState", num_tokens: int) -> "Choices":
        """What may follow a summary of so many tokens, the prompt included."""
        ids = self._allowed(state, self._max_new_tokens - (num_tokens - 1))
        preferences = state.preferences if len(ids) > 1 else {}
        return Choices(ids, [preferences.get(token_id, 0.0) for token_id in ids])

    def _allowed(self, state: "WritingState", left: int) -> list[int]:
        """Ids that may follow, so that the line, once begun, and the end token fit the `left` tokens."""
        ids = self._ends if state.may_end else []
        room = left - 2  # without this token and the end
        if state.most_needed <= room:
            return ids + state.next_ids
        fitting = [token_id for token_id, needed in zip(state.next_ids, state.needed, strict=True) if needed <= room]
        if fitting or ids:
            return ids + fitting
        least = min(state.needed)
        return [token_id for token_id, needed in zip(state.next_ids, state.needed, strict=True) if needed == least]


class _Sentence:
    """Where a compression of a sentence of N tokens may go on.

    following[p]: the positions whose token may be the next one after the one before p; N stands for the end.
    needed[p]: the fewest tokens from there to the end.
    """

    def __init__(self, pieces: Pieces, ids: Sequence[int]) -> None:
        self.ids = list(ids)
        texts = [pieces.texts[token_id] for token_id in ids]
        self.text = "".join(texts)
        starts = {0: 0}
        for position, offset in enumerate(accumulate(map(len, texts)), start=1):
            starts.setdefault(offset, position)
        size = len(self.ids)
        jumps: dict[int, list[int]] = {}
        for start, end in optional_spans(self.text):
            if start in starts and end in starts and starts[end] < size:
                jumps.setdefault(starts[start], []).append(starts[end])
        self.following: list[tuple[int, ...]] = [(size,)] * (size + 1)
        self.needed = [0] * (size + 1)
        for position in range(size - 1, -1, -1):
            targets = jumps.get(position, [])
            reached = {position}.union(*(self.following[target] for target in targets))
            self.following[position] = tuple(sorted(reached))
            self.needed[position] = min([1 + self.needed[position + 1], *(self.needed[target] for target in targets)])


@dataclass(frozen=True)
class Choices:
    """The tokens that may follow, and what is added to the score of each."""

    ids: list[int]
    preferences: list[float]


@dataclass(frozen=True)
class _Past:
    """How a place was reached: the place before, and the sentences that may not be written any more."""

    before: Place | None
    closed: frozenset[int]


class WritingState:
    """All places where the tokens written so far can have led, and what may follow."""

    def __init__(self, document: "_Document", places: dict[Place, _Past]) -> None:
        self._document = document
        self.places = places

    @cached_property
    def following(self) -> dict[int, "WritingState"]:
        """The next state for each token that may follow."""
        return {
            token: WritingState(self._document, places) for token, places in self._document.follow(self.places).items()
        }

    @cached_property
    def next_ids(self) -> list[int]:
        """The tokens that may follow."""
        return list(self.following)

    @cached_property
    def preferences(self) -> dict[int, float]:
        """For each token that a sentence goes on with, the weighted score of the best one that it can belong to."""
        scores = self._document.scores
        if scores is None:
            return {}
        sentences = {token_id: {index for index, _ in state.places} for token_id, state in self.following.items()}
        return {
            token_id: SELECTION_WEIGHT * max(scores[index] for index in indices)
            for token_id, indices in sentences.items()
            if _LINE_START not in indices
        }

    @cached_property
    def needed(self) -> list[int]:
        """For each token that may follow, the fewest tokens after it to the end of a line."""
        return [min(map(self._document.needed, state.places.items())) for state in self.following.values()]

    @cached_property
    def most_needed(self) -> int:
        """The largest of them."""
        return max(self.needed, default=0)

    @cached_property
    def may_end(self) -> bool:
        """Whether a line ends here; a document without sentences ends at once."""
        return not self.following or self.last_place is not None

    @cached_property
    def last_place(self) -> Place | None:
        """A place at which a line ends."""
        return next((place for place in self.places if self._document.ends_at(place)), None)


class _Document:
    """The sentences of one document, and the states of the summaries being written of it, by what is written."""

    def __init__(
        self,
        pieces: Pieces,
        sentences: Sequence[Sequence[int]],
        line_break: int | None,
        scores: Sequence[float] | None = None,
    ) -> None:
        self.scores = scores
        self._sentences = [_Sentence(pieces, ids) for ids in sentences]
        self._line_break = line_break
        closed = frozenset(place for place, each in enumerate(self._sentences) if not each.text.strip())
        self.start = WritingState(self, {(_LINE_START, 0): _Past(None, closed)})
        self._states: dict[tuple[int, ...], WritingState | None] = {(): self.start}
        self._starts: dict[frozenset[int], list[tuple[int, Place]]] = {}
        self._least_needed: dict[frozenset[int], int] = {}
        self._closed: dict[int, set[int]] = {}
        self._trigrams = [set(zip(each.ids, each.ids[1:], each.ids[2:], strict=False)) for each in self._sentences]

    def states_after(self, rows: list[list[int]]) -> list[WritingState | None]:
        """The state after what each row has written; None where that is not grounded or has ended."""
        states = {tuple(row): self._state_after(tuple(row)) for row in rows}
        self._states = states
        return [states[tuple(row)] for row in rows]

    def lines(self, ids: Sequence[int]) -> list[GroundedLine] | None:
        """As GroundedWriting.lines."""
        states = [self.start]
        for token_id in ids:
            state = states[-1].following.get(token_id)
            if state is None:
                return None
            states.append(state)
        place = states[-1].last_place or next(iter(states[-1].places))
        lines: list[GroundedLine] = []
        for state in reversed(states[1:]):
            sentence, position = place
            if sentence != _LINE_START:
                if not lines or lines[-1].sentence != sentence:
                    lines.append(GroundedLine(sentence, ()))
                lines[-1] = GroundedLine(sentence, (position - 1, *lines[-1].positions))
            place = state.places[place].before or (_LINE_START, 0)
        return lines[::-1]

    def follow(self, places: dict[Place, _Past]) -> dict[int, dict[Place, _Past]]:
        """For each token that may follow one of the places, where it leads."""
        found: dict[int, dict[Place, _Past]] = {}
        for place, past in places.items():
            index, position = place
            closed = past.closed
            if index != _LINE_START:
                sentence = self._sentences[index]
                after = _Past(place, closed)
                for target in sentence.following[position]:
                    if target < len(sentence.ids):
                        found.setdefault(sentence.ids[target], {}).setdefault((index, target + 1), after)
                if not self.ends_at(place):
                    continue
                closed = closed | self._closed_by(index)
                if self._line_break is not None:
                    if len(closed) < len(self._sentences):
                        found.setdefault(self._line_break, {}).setdefault((_LINE_START, 0), _Past(place, closed))
                    continue
            after = _Past(place, closed)
            for token_id, target in self._starts_without(closed):
                found.setdefault(token_id, {}).setdefault(target, after)
        return found

    def ends_at(self, place: Place) -> bool:
        """Whether a line ends at this place."""
        index, position = place
        return index != _LINE_START and position == len(self._sentences[index].ids)

    def needed(self, item: tuple[Place, _Past]) -> int:
        """The fewest tokens from a place to the end of a line."""
        (index, position), past = item
        if index != _LINE_START:
            return self._sentences[index].needed[position]
        if past.closed not in self._least_needed:
            open_ = (each.needed[0] for index, each in enumerate(self._sentences) if index not in past.closed)
            self._least_needed[past.closed] = min(open_)
        return self._least_needed[past.closed]

    def _state_after(self, written: tuple[int, ...]) -> WritingState | None:
        if written in self._states:
            return self._states[written]
        if written[:-1] in self._states:
            before = self._states[written[:-1]]
            return before and before.following.get(written[-1])
        state: WritingState | None = self.start
        for token_id in written:
            state = state and state.following.get(token_id)
        return state

    def _starts_without(self, closed: frozenset[int]) -> list[tuple[int, Place]]:
        """The tokens that a line may begin with, and the places after them."""
        if closed not in self._starts:
            self._starts[closed] = [
                (sentence.ids[target], (index, target + 1))
                for index, sentence in enumerate(self._sentences)
                if index not in closed
                for target in sentence.following[0]
            ]
        return self._starts[closed]

    def _closed_by(self, index: int) -> set[int]:
        """A sentence and those that repeat it."""
        if index not in self._closed:
            own = self._trigrams[index]
            self._closed[index] = {index} | {
                other
                for other, trigrams in enumerate(self._trigrams)
                if len(trigrams & own) > MOST_REPEATED * len(trigrams)
            }
        return self._closed[index]


def sentences_of(pieces: Pieces, ids: Sequence[int]) -> list[list[int]]:
    """Text token ids as sentences, for a tokenizer without a line break: they end where a sentence's last piece ends.

    Sentences that share a piece are one.
    """
    texts = [pieces.texts[token_id] for token_id in ids]
    text = "".join(texts)
    borders, found = set(), 0
    for sentence in split_sentences(text):
        found = text.index(sentence, found) + len(sentence)
        borders.add(found)
    sentences: list[list[int]] = [[]]
    for token_id, offset in zip(ids, accumulate(map(len, texts)), strict=True):
        sentences[-1].append(token_id)
        if offset in borders:
            sentences.append([])
    return [sentence for sentence in sentences if sentence]


def compress(text: str, offsets: Sequence[Span], positions: Sequence[int]) -> tuple[str, list[Span]]:
    """A line in the words of the document, capitals and numbers included, and where those stand in it.

    text: the document. offsets: for each token of the line's sentence, its start and end in `text`, as tokenizers give
    them. positions: as in GroundedLine. The spans (start, end) have no spaces at their ends. If a capitalized beginning
    of the sentence is left out, the first word that stays gets the capital.
    """
    runs: list[list[int]] = []
    for position in positions:
        if runs and runs[-1][-1] == position - 1:
            runs[-1].append(position)
        else:
            runs.append([position])
    spans = [_stripped(text, offsets[run[0]][0], offsets[run[-1]][1]) for run in runs]
    spans = [(start, end) for start, end in spans if start < end]
    line = ""
    for start, end in spans:
        space = " " if line and text[start - 1].isspace() else ""
        line += space + " ".join(text[start:end].split())
    first = text[slice(*_stripped(text, *offsets[0]))]
    if spans and positions[0] > 0 and first[:1].isupper() and re.match(r"[a-z]+\b", line):
        line = line[0].upper() + line[1:]
    return line, spans


def _stripped(text: str, start: int, end: int) -> Span:
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())
