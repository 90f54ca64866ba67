"""Source tokens to summaries that the model writes."""

import copy
import hashlib
import itertools
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from transformers import GenerationConfig, LogitsProcessorList

from summarizer.data.selection_labels import line_break_id
from summarizer.data.source_tokens import Source, special_ids
from summarizer.errors import InputError
from summarizer.generation.batched import BatchedSummarizer
from summarizer.generation.beam_search import beam_search, can_search
from summarizer.generation.choosing import Budget
from summarizer.generation.constraints import Pieces, RefuseNonFinite
from summarizer.generation.grounded_search import grounded_search
from summarizer.generation.options import Summary, SummarySettings
from summarizer.generation.restoring import Numbers
from summarizer.generation.selecting import read_and_score
from summarizer.generation.wording import FreeWording, GroundedWording, Wording
from summarizer.models.seq2seq import EncoderOutput

DEFAULT_MAX_SUMMARY_TOKENS = 512  # for a model that names no limit of its own
TRUNCATED = "The summary is truncated: the length limit cut its last sentence."
_SENTENCE_END = re.compile(r"[.!?…。！？]['\"”’»)\]]*\Z")


class SummaryWriter(BatchedSummarizer):
    """Summarizes by generating text, under constraints on what it says."""

    def __init__(self, model: Any, tokenizer: Any, settings: SummarySettings) -> None:
        super().__init__(model, tokenizer, settings)
        self._special = special_ids(tokenizer)
        self._numbers = Numbers(model, tokenizer)
        self._pieces = Pieces(tokenizer, model.config.get_text_config(decoder=True).vocab_size)
        self._generation = _generation_config(model, settings)
        self._max_new_tokens: int = self._generation.max_new_tokens
        if (settings.max_words or settings.max_sentences) and not self._grounded:
            raise InputError("max_words and max_sentences need method=extract or grounded writing")
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
        with _evaluating(model, config), self._random_state(sources):
            chosen = None
            if getattr(model.config, "sentence_selection", False):
                document, chosen = self._select(model, inputs, sources)
                generation_inputs = {"encoder_outputs": document, "attention_mask": document.source_mask}
            else:
                generation_inputs = inputs
            wording = self._wording(sources, inputs["input_ids"], chosen, config)
            search = grounded_search if self._grounded else beam_search
            rows = model.generate(
                **generation_inputs,
                generation_config=config,
                logits_processor=LogitsProcessorList([RefuseNonFinite(), *wording.processors]),
                custom_generate=search if can_search(model, config) else None,
            )
            each = self._settings.num_candidates
            scores = self._scores(model, generation_inputs, rows) if each > 1 else [None] * len(rows)
        summaries = []
        for number, source in enumerate(sources):
            written = []
            own = slice(number * each, (number + 1) * each)
            for row, score in zip(rows[own].tolist(), scores[own], strict=True):
                ids = [token_id for token_id in row if token_id not in self._special][:cap]
                written.append(replace(self._within_limits(wording.of(number, ids)), score=score))
            summaries.append(self._summary(source, written))
        return summaries

    def _scores(self, model: Any, inputs: dict[str, Any], rows: torch.Tensor) -> list[float]:
        """The mean log probability of each candidate's text tokens, without constraints; rows [B × candidates, T]."""
        each, special = self._settings.num_candidates, torch.tensor(sorted(self._special), device=rows.device)
        scores = torch.zeros(len(rows))
        for first in range(each):  # one candidate of each document at a time, as many rows as documents
            own = rows[first::each]
            logits = model(**inputs, decoder_input_ids=own[:, :-1], use_cache=False).logits
            found = logits.float().log_softmax(dim=-1).gather(2, own[:, 1:, None])[..., 0]
            mask = ~torch.isin(own[:, 1:], special)
            scores[first::each] = ((found * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)).cpu()
        return scores.tolist()

    def _select(
        self, model: Any, inputs: dict[str, torch.Tensor], sources: list[Source]
    ) -> tuple[EncoderOutput, list[dict[int, float]]]:
        """What the decoder reads of each document, and the sentences that this comes from, with their scores."""
        document, scored, by_source = read_and_score(model, inputs, sources)
        budget = Budget(tokens=model.config.selected_tokens)
        chosen = [each.choose(budget) for each in by_source]
        mask = torch.zeros_like(scored.mask)
        for row, indices in zip(mask, chosen, strict=True):
            row[indices] = True
        return model.select(document, scored, mask), [
            {index: each.scores[index] for index in indices} for each, indices in zip(by_source, chosen, strict=True)
        ]

    def _wording(
        self,
        sources: list[Source],
        input_ids: torch.Tensor,
        chosen: list[dict[int, float]] | None,
        config: GenerationConfig,
    ) -> FreeWording | GroundedWording:
        if not self._grounded:
            no_repeat_words = getattr(config, "no_repeat_words", None)
            return FreeWording(
                self._pieces, self._tokenizer, self._numbers, sources, input_ids, no_repeat_words,
                self._only_known_numbers,
            )  # fmt: skip
        reads_lines = getattr(self._model.config, "sentence_per_line", False)
        return GroundedWording(
            self._pieces, self._tokenizer, sources, chosen,
            line_break=line_break_id(self._tokenizer) if reads_lines else None,
            ends=config.eos_token_id,  # pyright: ignore  (transformers leaves it without a type)
            max_new_tokens=config.max_new_tokens,  # pyright: ignore  (set by _generation_config)
            prompt_length=self._num_forced,
        )  # fmt: skip

    def _within_limits(self, wording: Wording) -> Wording:
        """The first lines of a grounded summary, as many as `max_words` and `max_sentences` allow, at least one."""
        words, sentences = self._settings.max_words, self._settings.max_sentences
        if wording.evidence is None or (words is None and sentences is None):
            return wording
        lines = wording.text.split("\n")
        sizes = list(itertools.accumulate(len(line.split()) for line in lines))
        kept = sum(words is None or size <= words for size in sizes) or 1
        kept = min(kept, sentences or kept)
        return replace(wording, text="\n".join(lines[:kept]), evidence=wording.evidence[:kept])

    @property
    def _grounded(self) -> bool:
        asked = self._settings.grounded
        return bool(getattr(self._model.config, "copy_mechanism", False)) if asked is None else asked

    @property
    def _only_known_numbers(self) -> bool:
        asked = self._settings.numbers_from_document
        return len(self._numbers.ids) > 0 if asked is None else asked

    @property
    def _num_forced(self) -> int:
        """New tokens that are not the summary's text: the end, and a first token that the model forces."""
        return 1 + (self._generation.forced_bos_token_id is not None)

    def _cap(self, source: Source) -> int:
        """Most text tokens of a summary: the model's limit, and never more than the document has.

        Below the limit rounded to four binary digits, so that documents of about the same length share a batch; it
        depends on the document alone. Rounded up for grounded summaries, so that a short document fits as a whole.
        """
        unit = 1 << max(0, source.num_text_tokens.bit_length() - 4)
        most = source.num_text_tokens + (unit - 1 if self._grounded else 0)
        return min(self._max_new_tokens, most // unit * unit)

    def _may_share(self, first: Source, other: Source) -> bool:
        return not self._generation.do_sample and self._cap(first) == self._cap(other)

    def _summary(self, source: Source, written: list[Wording]) -> Summary:
        read = (source.num_text_tokens, source.dropped_tokens)
        filled = [wording for wording in written if wording.text]
        if not filled:
            return Summary("", *read, 0, "failed", "the model wrote an empty summary")
        several = {wording.text: wording.score for wording in reversed(filled)} if len(written) > 1 else {}
        candidates = tuple(dict.fromkeys(wording.text for wording in filled)) if several else ()
        best = filled[0]
        cut = best.evidence is None and best.num_tokens >= self._cap(source) and not _SENTENCE_END.search(best.text)
        return Summary(
            *(best.text, *read, best.num_tokens),
            candidates=candidates,
            candidate_scores=tuple(several[text] or 0.0 for text in candidates),
            evidence=best.evidence,
            notes=(TRUNCATED,) if cut else (),
        )

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
