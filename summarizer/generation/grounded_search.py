"""Beam search for grounded writing, in which the model reads all tokens up to the next decision in one step.

Once it is clear which sentence a line compresses, most tokens are forced: they are the only ones that are grounded. So
a summary of 400 tokens takes some 40 steps. The beams of a document are a tree: what they share is read once, and a
mask shows each token its own beam. Beams are compared after the same number of decisions, not of tokens. With one beam,
the summary is the one that `beam_search` finds.

Shapes: B documents, T tokens that a step reads of each, L tokens read so far and now, V vocabulary.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import GenerationConfig, LogitsProcessorList, StoppingCriteriaList

from summarizer.generation.beam_search import SearchEnd, beam_search
from summarizer.generation.constraints import RefuseNonFinite
from summarizer.generation.grounding import Choices, GroundedWriting, WritingState

_NO_CHOICES = Choices([], [])


@dataclass
class _Beam:
    """A summary being written.

    tokens: with the start token. choices: what may follow them. slots: the places in the model's cache of the tokens
    that it has read. border: the number of tokens after which the summary may also end, if that is among the unread
    ones; border_choices: the ends, and the token that is there.
    """

    tokens: list[int]
    state: WritingState
    choices: Choices
    score: float = 0.0
    slots: list[int] = field(default_factory=list)
    border: int | None = None
    border_choices: Choices = _NO_CHOICES


def grounded_search(
    model: Any,
    input_ids: Tensor,
    logits_processor: LogitsProcessorList,
    stopping_criteria: StoppingCriteriaList,
    generation_config: GenerationConfig,
    **model_inputs: Any,
) -> Tensor:
    """For `generate(custom_generate=…)`: the best summaries [documents × num_return_sequences, T], padded at the end.

    This is `beam_search` where other processors have a say beside the grounding, or the first token is forced.
    """
    processors = list(logits_processor)
    if [type(each) for each in processors] != [RefuseNonFinite, GroundedWriting] or input_ids.shape[1] > 1:
        return beam_search(model, input_ids, logits_processor, stopping_criteria, generation_config, **model_inputs)
    end = SearchEnd(generation_config, prompt_length=1)
    reader = _Reader(model, model_inputs["encoder_outputs"], model_inputs["cache"], end.filling)
    starts = input_ids[:: end.num_beams, 0].tolist()
    searches = [_Search(processors[1], end, number, start) for number, start in enumerate(starts)]
    writing = searches
    while writing:
        beams = [beam for search in writing for beam in search.beams]
        logits = [processors[0](input_ids, each) for each in reader.read([search.beams for search in writing])]
        at_border = iter(_log_probabilities(logits[0], [beam.border_choices for beam in beams]))
        at_last = iter(_log_probabilities(logits[1], [beam.choices for beam in beams]))
        for search in writing:
            search.go_on(at_border, at_last)
        remaining = [place for place, search in enumerate(writing) if search.beams]
        if remaining and len(remaining) < len(writing):
            reader.keep(remaining)
        writing = [writing[place] for place in remaining]
    return end.result([search.best for search in searches]).to(input_ids.device)


class _Candidate(NamedTuple):
    """A beam after a choice: its score, its tokens, whether it has ended, and with which choices it goes on."""

    score: float
    tokens: list[int]
    is_ended: bool
    beam: _Beam
    at_last: list[float]


class _Search:
    """The search for the best summaries of one document."""

    def __init__(self, grounding: GroundedWriting, end: SearchEnd, number: int, start: int) -> None:
        self._grounding, self._end = grounding, end
        self.best: list[tuple[float, Tensor]] = []
        state = grounding.start(number)
        self.beams = [_Beam([start], state, grounding.choices(state, 1))]

    def go_on(self, at_border: Iterator[list[float]], at_last: Iterator[list[float]]) -> None:
        """One step; no beams are left when the search has ended.

        at_border, at_last: for each beam the log probabilities of its `border_choices` and `choices`.
        """
        candidates: list[_Candidate] = []
        for beam in self.beams:
            border, last = next(at_border), next(at_last)
            for token_id, log_probability in zip(beam.border_choices.ids, border, strict=True):
                is_ended = token_id in self._end.ends
                tokens = [*beam.tokens[: beam.border], token_id] if is_ended else beam.tokens
                candidates.append(_Candidate(beam.score + log_probability, tokens, is_ended, beam, last))
            if not border:
                candidates.append(_Candidate(beam.score, beam.tokens, False, beam, last))
        candidates = [
            each._replace(
                score=each.score + log_probability,
                tokens=[*each.tokens, token_id],
                is_ended=token_id in self._end.ends or len(each.tokens) == self._end.longest,
            )
            for each in self._without_ended(candidates)
            for token_id, log_probability in zip(each.beam.choices.ids, each.at_last, strict=True)
        ]
        self.beams = [self._advanced(candidate) for candidate in self._without_ended(candidates)]

    def _without_ended(self, candidates: list[_Candidate]) -> list[_Candidate]:
        """The best candidates, as many as beams; those that have ended are moved to `best`. None if that is enough."""
        ranked = sorted(candidates, key=lambda candidate: -candidate.score)
        for candidate in ranked[: self._end.num_beams]:
            if candidate.is_ended:
                tokens = torch.tensor(candidate.tokens)
                self._end.add(self.best, candidate.score, len(candidate.tokens) - 1, tokens)
        kept = [each for each in ranked if not each.is_ended][: self._end.num_beams]
        if kept and self._end.is_reached(self.best, kept[0].score, len(kept[0].tokens) - 1):
            return []
        return kept

    def _advanced(self, candidate: _Candidate) -> _Beam:
        """The beam after the candidate's last token and all that follows from it."""
        tokens, parent = candidate.tokens, candidate.beam
        state = parent.state.following[tokens[-1]]
        choices = self._grounding.choices(state, len(tokens))
        border, border_choices = None, _NO_CHOICES
        while len(tokens) < self._end.longest:
            others = [token_id for token_id in choices.ids if token_id not in self._end.ends]
            if len(others) != 1 or (len(choices.ids) > 1 and border is not None):
                break
            if len(choices.ids) > 1:
                border, border_choices = len(tokens), choices
            tokens.append(others[0])
            state = state.following[others[0]]
            choices = self._grounding.choices(state, len(tokens))
        return _Beam(tokens, state, choices, candidate.score, list(parent.slots), border, border_choices)


def _log_probabilities(logits: Tensor, choices: Sequence[Choices]) -> list[list[float]]:
    """Of each row's choices, by its logits [R, V]."""
    sizes = [len(each.ids) for each in choices]
    device = logits.device
    rows = torch.arange(len(choices), device=device).repeat_interleave(torch.tensor(sizes, device=device))
    ids = torch.tensor([token_id for each in choices for token_id in each.ids], dtype=torch.long, device=device)
    preferences = logits.new_tensor([value for each in choices for value in each.preferences])
    scores = (logits[rows, ids] + preferences).split(sizes)
    return [of_row.log_softmax(dim=0).tolist() for of_row in scores]


class _Reader:
    """The decoder, and the keys and values of what it has read of each document's summaries."""

    def __init__(self, model: Any, document: Any, cache: Any, filling: int) -> None:
        self._model, self._document, self._cache, self._filling = model, document, cache, filling

    def read(self, documents: Sequence[Sequence[_Beam]]) -> tuple[Tensor, Tensor]:
        """Reads the unread tokens of all beams of each document, and notes their slots.

        Logits [beams, V] at the border, if there is one, and after the last token.
        """
        past = int(self._cache.get_seq_length())
        longest = max(sum(len(beam.tokens) - len(beam.slots) for beam in beams) for beams in documents)
        ids = torch.full((len(documents), longest), self._filling)
        mask = torch.zeros(len(documents), 1, longest, past + longest, dtype=torch.bool)
        mask[:, :, :, past:] = torch.eye(longest, dtype=torch.bool)  # no row without a key
        places = torch.zeros(len(documents), 2 * max(map(len, documents)), dtype=torch.long)
        found = []  # the row of each beam, and where in `places` its border and its last token stand
        for row, beams in enumerate(documents):
            start = 0
            for number, beam in enumerate(beams):
                read, size = len(beam.slots), len(beam.tokens) - len(beam.slots)
                own = slice(start, start + size)
                ids[row, own] = torch.tensor(beam.tokens[read:])
                mask[row, 0, own, beam.slots] = True
                mask[row, 0, own, past + start : past + start + size] = torch.ones(size, size, dtype=torch.bool).tril()
                beam.slots += range(past + start, past + start + size)
                start += size
                places[row, 2 * number] = start - 1 - (0 if beam.border is None else len(beam.tokens) - beam.border)
                places[row, 2 * number + 1] = start - 1
                found.append((row, 2 * number, 2 * number + 1))
        device = self._model.device
        states = self._model.model(
            decoder_input_ids=ids.to(device),
            decoder_attention_mask=mask.to(device),
            encoder_outputs=self._document,
            cache=self._cache,
            use_cache=True,
        ).last_hidden_state
        states = states.take_along_dim(places.to(device)[..., None], dim=1)
        logits = self._model.logits(states, self._document.copy_source).float()
        rows, borders, lasts = torch.tensor(found, device=device).unbind(dim=1)
        return logits[rows, borders], logits[rows, lasts]

    def keep(self, places: list[int]) -> None:
        """From now on only these of the documents, by their places in the batch, are read."""
        kept = torch.tensor(places, device=self._model.device)
        self._document = self._document.select(kept)
        self._cache.self_attention_cache.batch_select_indices(kept)
