"""Documents to extracts with a sentence selector: a score for each sentence, then the best ones up to a budget."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from summarizer.data.batching import cut_by_tokens
from summarizer.data.source_tokens import Source, SourceEncoder
from summarizer.errors import InputError
from summarizer.generation.choosing import Budget, choose_sentences
from summarizer.generation.limits import source_limit
from summarizer.generation.options import SummarySettings
from summarizer.models import FastformerSummarizerForSentenceSelection
from summarizer.models.loading import ModelFiles, choose_device, choose_dtype
from summarizer.padding import pad_with_mask
from summarizer.text import clean_text, split_sentences


@dataclass(frozen=True)
class ScoredSentences:
    """A document's sentences as far as the model read it, with their scores and numbers of tokens."""

    sentences: list[str]
    scores: list[float]
    num_tokens: list[int]
    source_tokens: int = 0  # of text, read by the model
    dropped_tokens: int = 0  # of the end of the document, not read

    def extract(self, budget: Budget) -> str:
        """The chosen sentences in the order of the document, one a line; empty for a document without text."""
        chosen = choose_sentences(self.sentences, self.scores, budget, self.num_tokens)
        return "\n".join(self.sentences[index] for index in chosen)


def load_selector(name: str, device: str = "auto", dtype: str = "auto") -> tuple[Any, Any]:
    """A sentence selector by its folder or hub id, and its tokenizer. Raises InputError where it is not one."""
    place = choose_device(device)
    files = ModelFiles(name)
    tokenizer = files.tokenizer()
    options = {"dtype": choose_dtype(dtype, place), "ignore_mismatched_sizes": True}
    model, loaded = files.weights(FastformerSummarizerForSentenceSelection, place, **options)
    if loaded["missing_keys"] or loaded["mismatched_keys"]:
        raise InputError(f"model '{name}' is not a sentence selector; train one with task=selection")
    return model.eval(), tokenizer


def score_sentences(
    model: Any, tokenizer: Any, documents: Sequence[str], settings: SummarySettings | None = None
) -> list[ScoredSentences]:
    """The sentences of each document with their scores by a selector, in batches of `settings.tokens_per_batch`.

    The model is used on its device and in its dtype. In float32 the scores of a document do not depend on the others.
    """
    settings = settings or SummarySettings()
    encoder = SourceEncoder(tokenizer, source_limit(model, tokenizer, settings), sentence_per_line=True)
    texts = [clean_text(document) for document in documents]
    sources = encoder.encode_many(texts)
    by_length = sorted(range(len(sources)), key=lambda index: len(sources[index].ids))
    lengths = [len(source.ids) for source in sources]
    scored: dict[int, ScoredSentences] = {}
    was_training = model.training
    model.eval()
    for batch in cut_by_tokens(by_length, lengths, settings.tokens_per_batch):
        found = _scores(model, [sources[index] for index in batch], tokenizer.pad_token_id)
        for index, (scores, counts) in zip(batch, found, strict=True):
            scored[index] = _scored(texts[index], sources[index], scores, counts)
    model.train(was_training)
    return [scored[index] for index in range(len(sources))]


@torch.no_grad()
def _scores(model: Any, sources: list[Source], pad_token_id: int) -> list[tuple[list[float], list[int]]]:
    """Scores and numbers of tokens of each source's lines."""
    batch = pad_with_mask([source.ids for source in sources], pad_token_id)
    ids, mask = batch["input_ids"].to(model.device), batch["attention_mask"].to(model.device).bool()
    encoder = model.get_encoder()
    scored = model.scorer.score_document(encoder, encoder(ids, mask))
    sentence_ids, logits = scored.sentence_ids, scored.scores.float().cpu()
    found = []
    for row, scores in zip(sentence_ids.cpu(), logits, strict=True):
        counts = row[row >= 0].bincount()
        found.append((scores[: len(counts)].tolist(), counts.tolist()))
    return found


def _scored(text: str, source: Source, scores: list[float], counts: list[int]) -> ScoredSentences:
    sentences = split_sentences(text)
    if len(scores) > len(sentences) or (not source.dropped_tokens and len(scores) < len(sentences)):
        raise ValueError(f"the tokenizer reads {len(sentences)} sentences as {len(scores)} lines")
    return ScoredSentences(sentences[: len(scores)], scores, counts, source.num_text_tokens, source.dropped_tokens)
