"""Documents to extracts: their best sentences, word for word, in the order of the document."""

from typing import Any

import torch

from summarizer.data.source_tokens import Source
from summarizer.generation.batched import BatchedSummarizer
from summarizer.generation.options import Summary
from summarizer.generation.selecting import ScoredSource, read_and_score


class Extractor(BatchedSummarizer):
    """Summarizes by choosing sentences; the model scores them and writes nothing."""

    @torch.no_grad()
    def _summaries(self, model: Any, sources: list[Source]) -> list[Summary]:
        was_training = model.training
        model.eval()
        try:
            _, _, scored = read_and_score(model, self._inputs(model, sources), sources)
        finally:
            model.train(was_training)
        return [self._extract(each) for each in scored]

    def _may_share(self, first: Source, other: Source) -> bool:
        return True

    def _extract(self, scored: ScoredSource) -> Summary:
        source = scored.source
        chosen = scored.choose(scored.budget(self._settings))
        spans = scored.spans()
        return Summary(
            "\n".join(scored.sentences[index] for index in chosen),
            source.num_text_tokens,
            source.dropped_tokens,
            sum(scored.num_tokens[index] for index in chosen),
            evidence=[[spans[index]] for index in chosen],
        )
