"""Beam search, greedy with one beam, in which a document leaves the batch as soon as its summary is written.

It finds what transformers' own finds. There every document is carried on until the last of the batch has ended.

Shapes: B documents still being written, k beams each, C candidates each, T tokens so far, V vocabulary.
"""

from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig, LogitsProcessorList, StoppingCriteriaList
from transformers.generation.configuration_utils import GenerationMode

from summarizer.models.seq2seq import SummarizerPreTrainedModel

_NEVER = -1e9  # the log probability of what cannot be chosen, as in transformers
# What knows rows by their number, or has a cache whose number of rows is fixed.
_OF_FIXED_ROWS = (
    "encoder_repetition_penalty", "encoder_no_repeat_ngram_size", "guidance_scale", "cache_implementation",
)  # fmt: skip


def can_search(model: Any, config: GenerationConfig) -> bool:
    """Whether `beam_search` does what `config` asks for: greedy or plain beams, a cache, and no need of all rows."""
    asked = [getattr(config, name, None) for name in _OF_FIXED_ROWS]
    return (
        isinstance(model, SummarizerPreTrainedModel)
        and config.use_cache is not False
        and config.get_generation_mode() in (GenerationMode.GREEDY_SEARCH, GenerationMode.BEAM_SEARCH)
        and not any(asked)
    )


def beam_search(
    model: Any,
    input_ids: Tensor,
    logits_processor: LogitsProcessorList,
    stopping_criteria: StoppingCriteriaList,
    generation_config: GenerationConfig,
    **model_inputs: Any,
) -> Tensor:
    """For `generate(custom_generate=…)`: the best summaries [documents × num_return_sequences, T], padded at the end.

    A processor whose scores depend on the document has `keep_documents`, which gets the places of those that remain.
    """
    end = SearchEnd(generation_config, input_ids.shape[1])
    document, cache = model_inputs["encoder_outputs"], model_inputs["cache"]
    sequences: Any = input_ids  # transformers wants a LongTensor
    num_beams = end.num_beams
    numbers = list(range(len(sequences) // num_beams))  # of the documents still being written
    best: list[list[tuple[float, Tensor]]] = [[] for _ in numbers]
    scores = torch.zeros(len(numbers), num_beams, device=input_ids.device)
    scores[:, 1:] = _NEVER  # the beams start alike: only the first one counts
    unread = sequences
    while True:
        output = model(decoder_input_ids=unread, encoder_outputs=document, cache=cache, use_cache=True)
        logits = output.logits[:, -1].float()
        if num_beams > 1:  # processors that scale scores, as for repetition, get those that transformers gives them
            logits = logits.log_softmax(dim=-1)
        processed = logits_processor(sequences, logits).view(len(numbers), num_beams, -1)
        vocabulary = processed.shape[-1]
        totals = (processed + scores[..., None] if num_beams > 1 else processed).flatten(1)
        top, index = totals.topk(end.num_candidates)  # [B, C]
        first_rows = torch.arange(0, len(sequences), num_beams, device=index.device)
        parents = first_rows[:, None] + index // vocabulary
        candidates = torch.cat([sequences[parents.flatten()], (index % vocabulary).view(-1, 1)], dim=1)
        ends = stopping_criteria(candidates, None).view(top.shape)  # pyright: ignore  (there are no scores to give it)
        candidates = candidates.view(*top.shape, -1)
        scores, chosen = (top + _NEVER * ends).topk(num_beams)
        length = candidates.shape[-1] - input_ids.shape[1]
        found = [best[number] for number in numbers]
        remaining = _remaining(end, found, candidates, top, ends, scores[:, 0].tolist(), length)
        if not remaining:
            return end.result(best)
        chosen = chosen[remaining]
        rows = parents[remaining].gather(1, chosen).flatten()
        sequences = candidates[remaining].take_along_dim(chosen[..., None], dim=1).flatten(0, 1)
        unread, scores = sequences[:, -1:], scores[remaining]
        if num_beams > 1 or len(remaining) < len(numbers):
            cache.self_attention_cache.reorder_cache(rows)
        if len(remaining) < len(numbers):
            document = document.select(torch.tensor(remaining, device=rows.device))
            numbers = [numbers[place] for place in remaining]
            for processor in logits_processor:
                if hasattr(processor, "keep_documents"):
                    processor.keep_documents(remaining)


class SearchEnd:
    """What ends a summary and a search, by a generation configuration. Lengths are in tokens without the prompt."""

    def __init__(self, config: GenerationConfig, prompt_length: int) -> None:
        self.num_beams = config.num_beams or 1
        self.ends = config.eos_token_id if isinstance(config.eos_token_id, list) else [config.eos_token_id]
        self.longest = int(config.max_length or 0) - prompt_length
        self.num_candidates = max(2, 1 + len(self.ends)) * self.num_beams  # enough of them do not end
        self._early_stopping = config.early_stopping if self.num_beams > 1 else True
        self._length_penalty = config.length_penalty if self.num_beams > 1 else 0.0
        self._num_wanted = config.num_return_sequences or 1
        pad_id = config.pad_token_id
        self.filling = pad_id if pad_id is not None else self.ends[0] or 0

    def add(self, found: list[tuple[float, Tensor]], score: float, length: int, sequence: Tensor) -> None:
        """Add a summary that has ended, with its log probability, to those of its document; the best ones stay."""
        found.append((score / length**self._length_penalty, sequence))
        found.sort(key=lambda scored: -scored[0])
        del found[self.num_beams :]

    def is_reached(self, found: list[tuple[float, Tensor]], score: float, length: int) -> bool:
        """Whether a document's search is over; `score` and `length` are those of its best unfinished summary."""
        if len(found) < self.num_beams:
            return False
        hoped_for = self.longest if self._early_stopping == "never" and self._length_penalty > 0 else length
        return self._early_stopping is True or score / hoped_for**self._length_penalty <= found[-1][0]

    def result(self, best: list[list[tuple[float, Tensor]]]) -> Tensor:
        """The wanted number of each document's best, [documents × wanted, T]; the last repeats if there are fewer."""
        rows = [
            sequence for found in best for _, sequence in (found + found[-1:] * self._num_wanted)[: self._num_wanted]
        ]
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=self.filling)


def _remaining(
    end: SearchEnd,
    found: list[list[tuple[float, Tensor]]],
    candidates: Tensor,
    top: Tensor,
    ends: Tensor,
    best_open: list[float],
    length: int,
) -> list[int]:
    """Add the candidates [B, C, T] that end to those `found`; the places of the documents that are not finished.

    top [B, C]: the candidates' log probabilities, sorted. best_open: that of each document's best unfinished one.
    """
    remaining = []
    for place, ended in enumerate(ends.tolist()):
        for rank in range(end.num_beams):
            if ended[rank]:
                end.add(found[place], float(top[place, rank]), length, candidates[place, rank])
        if not all(ended) and not end.is_reached(found[place], best_open[place], length):
            remaining.append(place)
    return remaining
