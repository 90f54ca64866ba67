"""Sentences of documents with their scores by a model that selects sentences, and where they stand in the text."""

from dataclasses import dataclass
from typing import Any

import torch

from summarizer.data.source_tokens import Source
from summarizer.evidence import SourceSpan
from summarizer.generation.choosing import Budget, choose_sentences, expected_words
from summarizer.generation.constraints import NonFiniteLogitsError
from summarizer.generation.options import SummarySettings
from summarizer.models.sentences import ScoredSentences
from summarizer.models.seq2seq import EncoderOutput


@dataclass(frozen=True)
class ScoredSource:
    """A document's sentences as far as the model read it, with their scores and numbers of tokens."""

    source: Source
    scores: list[float]
    num_tokens: list[int]

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences that were read; of the last one perhaps only the beginning."""
        return self.source.sentences[: len(self.scores)]

    def choose(self, budget: Budget) -> list[int]:
        """The best sentences up to a budget, in the order of the document."""
        return choose_sentences(self.sentences, self.scores, budget, self.num_tokens)

    def budget(self, settings: SummarySettings) -> Budget:
        """The size of an extract: what the settings say, else as many words as the training's labels would select."""
        budget = Budget(settings.max_words, settings.max_sentences, settings.token_limits[1])
        return Budget(words=expected_words(self.sentences, self.scores)) if budget == Budget() else budget

    def spans(self) -> list[SourceSpan]:
        """Where each sentence stands in the document's text."""
        starts = self.source.sentence_starts()
        return [
            SourceSpan(start=start, end=start + len(sentence), text=sentence)
            for start, sentence in zip(starts, self.sentences, strict=False)  # only the sentences that were read
        ]


def read_and_score(
    model: Any, inputs: dict[str, torch.Tensor], sources: list[Source]
) -> tuple[EncoderOutput, ScoredSentences, list[ScoredSource]]:
    """What the encoder returns for a batch, the scores of its sentences, and the same for each document.

    Raises NonFiniteLogitsError where a score is NaN or infinite.
    """
    encoder = model.get_encoder()
    document = encoder(inputs["input_ids"], inputs["attention_mask"])
    scored = model.scorer.score_document(encoder, document)
    if not torch.isfinite(scored.scores).all():
        raise NonFiniteLogitsError("the model's scores are not finite")
    by_source = []
    for source, ids, scores in zip(sources, scored.sentence_ids.cpu(), scored.scores.float().cpu(), strict=True):
        counts = ids[ids >= 0].bincount().tolist()
        found = len(counts)
        if found > len(source.sentences) or (not source.dropped_tokens and found < len(source.sentences)):
            raise ValueError(f"the tokenizer reads {len(source.sentences)} sentences as {found} lines")
        by_source.append(ScoredSource(source, scores[:found].tolist(), counts))
    return document, scored, by_source
