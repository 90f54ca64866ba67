"""Scores of lists of texts, for programs: the same numbers as `evaluate` gives for files."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean

from summarizer.errors import InputError
from summarizer.evaluation.example_scores import MODEL, BaselineSettings, score_example
from summarizer.evaluation.examples import Example
from summarizer.evaluation.parallel import open_map
from summarizer.evaluation.rouge import ROUGE_TYPES, RougeSettings, Scores
from summarizer.evaluation.score_table import Intervals, ScoreTable
from summarizer.evaluation.signature import Signature, rouge_parts, version_parts
from summarizer.text import split_sentences

CONFIDENCE = 0.95
DEFAULT_ROUGE = RougeSettings()


@dataclass(frozen=True)
class SummaryScores:
    """The scores of a list of summaries.

    scores, baselines: by ROUGE type and measure (precision, recall, fmeasure), a mean from 0 to 1 with the `low` and
    `high` end of its 95 % interval. examples: by ROUGE type, the scores of each summary. signature: what the scores
    depend on.
    """

    num_examples: int
    scores: Intervals
    baselines: dict[str, Intervals]
    text_measures: dict[str, float]  # such as the share of copied words; some need the documents
    examples: list[Scores] = field(repr=False)
    signature: str

    def __getitem__(self, metric: str) -> float:
        """The mean F-measure of a ROUGE type, 0 to 1: scores["rouge1"]."""
        return self.scores[metric]["fmeasure"].mean


def evaluate_summaries(
    summaries: Sequence[str],
    references: Sequence[str | Sequence[str]],
    documents: Sequence[str] | None = None,
    *,
    rouge: RougeSettings = DEFAULT_ROUGE,
    baselines: bool = False,
    lead_k: int | None = None,
    bootstrap_samples: int = 1000,
    seed: int = 1,
    processes: int = 1,
) -> SummaryScores:
    """Score summaries with ROUGE against the references at the same places; several for one summary are a list.

    `baselines` scores Lead, random sentences and the oracle of `documents` too; `lead_k` is their number of sentences
    and defaults to the mean of the references. Raises TypeError for one text instead of a list, and InputError for
    lists of different lengths, empty lists, and baselines without documents.
    """
    for name, texts in (("summaries", summaries), ("references", references), ("documents", documents)):
        if isinstance(texts, str):
            raise TypeError(f"{name} must be a list of texts, such as [text], not one text")
        if texts is not None and len(texts) != len(summaries):
            raise InputError(f"{len(summaries)} summaries, but {len(texts)} {name}")
    if not summaries:
        raise InputError("there are no summaries to score")
    if baselines and documents is None:
        raise InputError("baselines need the documents")
    every = [[given] if isinstance(given, str) else list(given) for given in references]
    examples = [
        Example(str(number), summary, given[0], document, other_references=tuple(given[1:]))
        for number, (summary, given, document) in enumerate(
            zip(summaries, every, documents or [None] * len(summaries), strict=True), start=1
        )
    ]
    k = lead_k or max(1, round(fmean(len(split_sentences(given[0], rouge.split)) for given in every)))
    chosen = BaselineSettings(k, seed) if baselines else None
    table, scored = ScoreTable(ROUGE_TYPES), []
    with open_map(processes) as map_jobs:
        for result in map_jobs(partial(score_example, settings=rouge, baselines=chosen), examples):
            table.add(result.scores, result.measures)
            scored.append(result.scores[MODEL])
    intervals = table.intervals(bootstrap_samples, seed, CONFIDENCE)
    parts = {
        **rouge_parts(rouge),
        **({"refs": rouge.references} if any(len(given) > 1 for given in every) else {}),
        "n": str(len(examples)),
        **{"bs": str(bootstrap_samples), "ci": f"{CONFIDENCE:g}", "seed": str(seed)},
        **({"lead-k": str(k)} if chosen else {}),
        **version_parts(),
    }
    own, measures = intervals.pop(MODEL), table.mean_measures()[MODEL]
    return SummaryScores(len(examples), own, intervals, measures, scored, str(Signature(ROUGE_TYPES, parts)))
