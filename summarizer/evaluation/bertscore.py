"""BERTScore (Zhang et al., 2020) by the package bert-score, with any model of transformers, also from a folder."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from rouge_score.scoring import Score

from summarizer.errors import InputError
from summarizer.optional import import_optional

PAIRS_AT_ONCE = 256
_NO_LIMIT = 10**9  # transformers gives a tokenizer without a limit one of 10^30
_USUAL_LIMIT = 512  # tokens
_OFFSET = 2  # RoBERTa does not use its first two positions


class BertScorer:
    """Scores of pairs in [-1, 1], not rescaled, without weights by word frequency; the hidden states of one layer.

    The model is loaded for the first pair.
    """

    def __init__(self, model: str, num_layers: int | None = None) -> None:
        library = import_optional("bert_score", "bertscore", "BERTScore")
        self.num_layers = num_layers or _num_layers(model, library.utils.model2layers)
        self.name = Path(model).name
        self._model = model
        self._library = library

    @property
    def description(self) -> str:
        """What the scores depend on, for a signature."""
        return f"{self.name}:layer-{self.num_layers}:{version('bert-score')}"

    def score_systems(self, examples: Iterable[tuple[Mapping[str, str], Sequence[str]]]) -> Iterator[dict[str, Score]]:
        """The scores of each example, (texts by system, references), by system."""
        remaining = iter(examples)
        while batch := list(islice(remaining, PAIRS_AT_ONCE)):
            texts = [text for systems, _ in batch for text in systems.values()]
            scores = iter(self.score(texts, [references for systems, references in batch for _ in systems]))
            for systems, _ in batch:
                yield dict(zip(systems, scores, strict=False))

    @cached_property
    def _scorer(self) -> Any:
        scorer = self._library.BERTScorer(model_type=self._model, num_layers=self.num_layers)
        if scorer._tokenizer.model_max_length > _NO_LIMIT:  # bert-score cuts texts to this length
            limit = getattr(scorer._model.config, "max_position_embeddings", _USUAL_LIMIT + _OFFSET)
            scorer._tokenizer.model_max_length = limit - _OFFSET
        return scorer

    def score(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> list[Score]:
        """One Score per prediction, the best over its references; 0 where either side is empty."""
        scores = [Score(0.0, 0.0, 0.0)] * len(predictions)
        full = [[reference for reference in texts if reference.strip()] for texts in references]
        scored = [index for index, text in enumerate(predictions) if text.strip() and full[index]]
        if scored:
            columns = self._scorer.score([predictions[index] for index in scored], [full[index] for index in scored])
            for index, *values in zip(scored, *(column.tolist() for column in columns), strict=True):
                scores[index] = Score(*values)
        return scores


def _num_layers(model: str, recommended: dict[str, int]) -> int:
    """The layer that the package recommends, or the last one for a model that it does not know."""
    if model in recommended:
        return recommended[model]
    try:
        config = json.loads((Path(model) / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{model}: unknown to bert-score; pass --bert-score-layer as well") from error
    names = ("num_hidden_layers", "n_layer", "num_layers", "n_layers")
    if not (found := [config[name] for name in names if name in config]):
        raise InputError(f"{model}/config.json: does not give the number of layers; pass --bert-score-layer")
    return found[0]
