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
from summarizer.hub import is_hub_id, model_hub_is_away
from summarizer.optional import check_optional, import_optional

PAIRS_AT_ONCE = 256
_NO_LIMIT = 10**9  # transformers gives a tokenizer without a limit one of 10^30
_USUAL_LIMIT = 512  # tokens
_OFFSET = 2  # RoBERTa does not use its first two positions


class BertScorer:
    """Scores of pairs in [-1, 1], not rescaled, without weights by word frequency; the hidden states of one layer.

    The library, which takes seconds to import, and the model are loaded for the first pair. Raises InputError for a
    name that cannot be one of a model, and for a folder without one.
    """

    def __init__(self, model: str, num_layers: int | None = None) -> None:
        check_optional("bert_score", "bertscore", "BERTScore")
        self._model, self._num_layers = model, num_layers
        self.name = Path(model).name
        if Path(model).is_dir():
            self._num_layers = num_layers or _last_layer(Path(model))
        elif not is_hub_id(model):
            raise InputError(f"--bert-score {model}: no such folder, and not a hub id")

    @cached_property
    def num_layers(self) -> int:
        """The layer whose hidden states count: as given, or the last of a folder, or the recommended one."""
        if self._num_layers is not None:
            return self._num_layers
        recommended = import_optional("bert_score", "bertscore", "BERTScore").utils.model2layers
        if self._model not in recommended:
            raise InputError("unknown to bert-score; pass --bert-score-layer as well")
        return recommended[self._model]

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
        model = _available(self._model)  # first: the import takes seconds
        scorer = import_optional("bert_score", "bertscore", "BERTScore").BERTScorer(
            model_type=model, num_layers=self.num_layers
        )
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


def _available(model: str) -> str:
    """The model's name, or its folder in the local cache if the hub is away. Raises InputError if it is not there."""
    from huggingface_hub import snapshot_download

    if Path(model).is_dir() or not model_hub_is_away(model):
        return model
    try:
        return snapshot_download(model, local_files_only=True)
    except Exception as error:  # the class depends on the hub client's version
        raise InputError("the hub cannot be reached, and the model is not in the local cache") from error


def _last_layer(folder: Path) -> int:
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"--bert-score {folder}: a folder without a model's config.json") from error
    names = ("num_hidden_layers", "n_layer", "num_layers", "n_layers")
    if not (found := [config[name] for name in names if name in config]):
        raise InputError(f"{folder}/config.json: does not give the number of layers; pass --bert-score-layer")
    return found[0]
