"""BERTScore (Zhang et al., 2020) by the package bert-score, with any model of transformers, also from a folder."""

import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from rouge_score.scoring import Score

from summarizer.errors import InputError
from summarizer.optional import import_optional

PAIRS_AT_ONCE = 256


class BertScorer:
    """Scores of pairs in [-1, 1], not rescaled, without weights by word frequency; the hidden states of one layer."""

    def __init__(self, model: str, num_layers: int | None = None) -> None:
        library = import_optional("bert_score", "bertscore", "BERTScore")
        self.num_layers = num_layers or _num_layers(model, library.utils.model2layers)
        self.name = Path(model).name
        self._scorer = library.BERTScorer(model_type=model, num_layers=self.num_layers)

    @property
    def description(self) -> str:
        """What the scores depend on, for a signature."""
        return f"{self.name}:layer-{self.num_layers}:{version('bert-score')}"

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
