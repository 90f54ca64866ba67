"""Source tokens to summaries that the model writes."""

import copy
import hashlib
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from transformers import GenerationConfig, LogitsProcessorList

from summarizer.data.source_tokens import Source, special_ids
from summarizer.data.tokenizer import lowercases
from summarizer.errors import InputError
from summarizer.generation.batched import BatchedSummarizer
from summarizer.generation.beam_search import beam_search, can_search
from summarizer.generation.constraints import (
    NoRepeatedWords,
    NumbersOfDocuments,
    Pieces,
    RefuseNonFinite,
)
from summarizer.generation.options import Summary, SummarySettings
from summarizer.generation.restoring import Casing, Numbers
from summarizer.generation.selecting import read_and_score
from summarizer.text import clean_text

DEFAULT_MAX_SUMMARY_TOKENS = 512  # for a model that names no limit of its own


class SummaryWriter(BatchedSummarizer):
    """Summarizes by generating text, under constraints on what it says."""

    def __init__(self, model: Any, tokenizer: Any, settings: SummarySettings) -> None:
        super().__init__(model, tokenizer, settings)
        self._special = special_ids(tokenizer)
        self._numbers = Numbers(model, tokenizer)
        self._pieces = Pieces(tokenizer, model.config.get_text_config(decoder=True).vocab_size)
        self._generation = _generation_config(model, settings)
        self._max_new_tokens: int = self._generation.max_new_tokens
        if (settings.temperature is not None or settings.top_p is not None) and not self._generation.do_sample:
            raise InputError("temperature and top_p need do_sample")
        self._generation.num_return_sequences = count = settings.num_candidates
        if count > (self._generation.num_beams or 1) and not self._generation.do_sample:
            raise InputError(f"num_candidates={count} needs num_beams={count} or more, or do_sample")

    def _summaries(self, model: Any, sources: list[Source]) -> list[Summary]:
        config = copy.deepcopy(self._generation)
        cap = self._cap(sources[0])
        config.max_new_tokens = min(cap + self._num_forced, self._max_new_tokens)
        config.min_new_tokens = min(config.min_new_tokens or 0, cap) or None
        inputs = self._inputs(model, sources)
        numbers = NumbersOfDocuments(self._pieces, inputs["input_ids"]) if self._only_known_numbers else None
        with _evaluating(model, config), self._random_state(sources):
            if getattr(model.config, "sentence_selection", False):
                document, scored, _ = read_and_score(model, inputs, sources)
                document = model.select(document, scored)
                inputs = {"encoder_outputs": document, "attention_mask": document.source_mask}
            rows = model.generate(
                **inputs,
                generation_config=config,
                logits_processor=self._constraints(numbers),
                custom_generate=beam_search if can_search(model, config) else None,
            )
        each = self._settings.num_candidates
        summaries = []
        for number, source in enumerate(sources):
            casing = Casing(source.text) if lowercases(self._tokenizer) else None
            written = []
            for row in rows[number * each : (number + 1) * each].tolist():
                ids = [token_id for token_id in row if token_id not in self._special][:cap]
                if numbers is not None:
                    ids = numbers.without_unfinished(number, ids)
                text = clean_text(self._tokenizer.decode(ids, skip_special_tokens=True))
                text = self._numbers.restore(text, ids, source.text, source.ids)
                written.append((text if casing is None else casing.restore(text), len(ids)))
            summaries.append(self._summary(source, written))
        return summaries

    @property
    def _only_known_numbers(self) -> bool:
        asked = self._settings.numbers_from_document
        return len(self._numbers.ids) > 0 if asked is None else asked

    def _constraints(self, numbers: NumbersOfDocuments | None) -> LogitsProcessorList:
        constraints = LogitsProcessorList([RefuseNonFinite()])
        if size := getattr(self._generation, "no_repeat_words", None):
            constraints.append(NoRepeatedWords(self._pieces, size))
        if numbers is not None:
            constraints.append(numbers)
        return constraints

    @property
    def _num_forced(self) -> int:
        """New tokens that are not the summary's text: the end, and a first token that the model forces."""
        return 1 + (self._generation.forced_bos_token_id is not None)

    def _cap(self, source: Source) -> int:
        """Most text tokens of a summary: the model's limit, and never more than the document has.

        Below the limit rounded down to four binary digits, so that documents of about the same length share a batch;
        it depends on the document alone.
        """
        unit = 1 << max(0, source.num_text_tokens.bit_length() - 4)
        return min(self._max_new_tokens, source.num_text_tokens // unit * unit)

    def _may_share(self, first: Source, other: Source) -> bool:
        return not self._generation.do_sample and self._cap(first) == self._cap(other)

    def _summary(self, source: Source, written: list[tuple[str, int]]) -> Summary:
        text, num_tokens = next(((text, count) for text, count in written if text), ("", 0))
        read = (source.num_text_tokens, source.dropped_tokens)
        if not text:
            return Summary("", *read, 0, "failed", "the model wrote an empty summary")
        candidates = tuple(dict.fromkeys(text for text, _ in written if text)) if len(written) > 1 else ()
        return Summary(text, *read, num_tokens, candidates=candidates)

    @contextmanager
    def _random_state(self, sources: list[Source]) -> Iterator[None]:
        """Sampling from a random state of the seed and the document alone; the global one comes back after."""
        if not self._generation.do_sample:
            yield
            return
        key = hashlib.sha256(repr((self._settings.seed, sources[0].ids)).encode()).digest()
        device = self._model.device
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            torch.manual_seed(int.from_bytes(key[:8], "little") >> 1)
            yield


def _generation_config(model: Any, settings: SummarySettings) -> GenerationConfig:
    """The model's own generation settings under the user's; the limit on length always as max_new_tokens."""
    config = copy.deepcopy(model.generation_config)
    if settings.do_sample and settings.num_beams is None:
        settings = replace(settings, num_beams=1)  # sampling instead of beam search, whatever the model's own setting
    settings.apply_to(config)
    longest = config.max_new_tokens
    if longest is None:  # max_length counts the decoder's start token
        longest = config.max_length - 1 if (config.max_length or 0) > 1 else DEFAULT_MAX_SUMMARY_TOKENS
    decoder = getattr(model.config, "decoder", None) or model.config
    names = ("max_decoder_position_embeddings", "max_position_embeddings", "max_target_positions")
    positions = next((getattr(decoder, name) for name in names if getattr(decoder, name, None)), math.inf)
    config.max_new_tokens = int(min(longest, positions - 1))
    shortest = config.min_new_tokens or max((config.min_length or 0) - 1, 0)
    config.min_new_tokens = min(shortest, config.max_new_tokens)
    config.max_length = config.min_length = None
    config.return_dict_in_generate = False  # a model's own file may ask for it; the ids alone are needed
    return config


@contextmanager
def _evaluating(model: Any, config: GenerationConfig) -> Iterator[None]:
    """The model in evaluation mode, without gradients, under `config`; as it was afterwards.

    `generate` fills what a configuration leaves open from the model's own, so the model's own is exchanged.
    """
    own, was_training = model.generation_config, model.training
    model.generation_config = config
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.generation_config = own
        model.train(was_training)
