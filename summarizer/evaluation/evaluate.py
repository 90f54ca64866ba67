"""Predictions and references → scores per example → means with intervals → scores.json."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from summarizer.evaluation.baselines import document_sentences, lead, oracle, random_sentences
from summarizer.evaluation.inputs import Columns, Example, Examples, OnMismatch, read_examples
from summarizer.evaluation.rouge import (
    MEASURES,
    ROUGE_TYPES,
    RougeSettings,
    Scores,
    open_map,
    score_pair,
    score_sentences,
)
from summarizer.evaluation.statistics import Interval, bootstrap_intervals, mean
from summarizer.evaluation.text_measures import TextMeasures, mean_measures, measure_text
from summarizer.files import InputError, write_whole
from summarizer.sentences import Split, split_sentences

Intervals = dict[str, dict[str, Interval]]  # by ROUGE type, then by measure; 0..1


@dataclass(frozen=True)
class EvaluationOptions:
    """How predictions are scored."""

    rouge: RougeSettings = field(default_factory=RougeSettings)
    columns: Columns = field(default_factory=Columns)
    on_mismatch: OnMismatch = "error"
    baselines: bool = False  # Lead-k, random-k and the oracle too; needs the documents
    lead_k: int | None = None  # None: the mean number of sentences of the references, rounded
    bootstrap_samples: int = 1000
    confidence: float = 0.95
    seed: int = 1
    processes: int = 1


@dataclass(frozen=True)
class Evaluation:
    """The scores of a file of predictions, as written to `output`, with the scores of each example."""

    signature: str
    scores: Intervals
    counts: dict[str, int]
    text_measures: dict[str, float]
    baselines: dict[str, Intervals]  # by name: lead-K, random-K, oracle; empty if not asked for
    ids: list[str] = field(repr=False)
    example_scores: list[Scores] = field(repr=False)
    output: Path

    @property
    def num_examples(self) -> int:
        """How many predictions were scored, failed and empty ones included."""
        return len(self.ids)

    def to_json(self) -> dict[str, Any]:
        """The content of scores.json."""
        return {
            "num_examples": self.num_examples,
            "signature": self.signature,
            "scores": _plain(self.scores),
            "counts": self.counts,
            "text_measures": self.text_measures,
            "baselines": {name: _plain(scores) for name, scores in self.baselines.items()},
        }


@dataclass(frozen=True)
class _Result:
    """What is computed for one example."""

    scores: Scores
    measures: TextMeasures
    baselines: dict[str, Scores]


def evaluate(
    predictions_path: Path,
    references_path: Path,
    output: Path | None = None,
    options: EvaluationOptions = EvaluationOptions(),
    progress: Callable[[Iterable[Any], int], Iterable[Any]] = lambda results, total: results,
) -> Evaluation:
    """Score a file of predictions against a file of references and write `output` and the examples beside it.

    A failed or empty prediction scores 0. `progress` wraps the stream of results of a known number. Raises
    InputError for files that cannot be read or paired (see `read_examples`) and for baselines without documents.
    """
    output = output or default_output(predictions_path)
    _check_output(output, (predictions_path, references_path))
    if options.lead_k is not None and (options.lead_k < 1 or not options.baselines):
        raise InputError("lead_k is a number of sentences, at least 1, of the baselines; ask for them too")
    paired = read_examples(predictions_path, references_path, options.columns, options.on_mismatch)
    examples = paired.examples
    lead_k = None
    if options.baselines:
        if missing := [example.id for example in examples if example.document is None]:
            raise InputError(
                f"{references_path}: baselines need the documents, and '{missing[0]}' has none; see --document-column"
            )
        lead_k = options.lead_k or mean_sentences([example.reference for example in examples], options.rouge.split)
    score = partial(_score_example, settings=options.rouge, lead_k=lead_k, seed=options.seed)
    with open_map(options.processes) as map_jobs:
        results: list[_Result] = list(progress(map_jobs(score, examples), len(examples)))
    baselines = results[0].baselines
    evaluation = Evaluation(
        signature=make_signature(options, len(examples), lead_k),
        scores=_intervals([result.scores for result in results], options),
        counts=_counts(paired),
        text_measures=mean_measures([result.measures for result in results]),
        baselines={name: _intervals([result.baselines[name] for result in results], options) for name in baselines},
        ids=[example.id for example in examples],
        example_scores=[result.scores for result in results],
        output=output,
    )
    _write(evaluation)
    return evaluation


def default_output(predictions_path: Path) -> Path:
    """`summaries.scores.json` for `summaries.jsonl`, beside it."""
    stem = predictions_path.stem if predictions_path.suffix != ".gz" else Path(predictions_path.stem).stem
    return predictions_path.with_name(f"{stem}.scores.json")


def examples_path(output: Path) -> Path:
    """Where the scores of each example stand: `scores.examples.jsonl` beside `scores.json`."""
    return output.with_suffix(".examples.jsonl")


def mean_sentences(references: Sequence[str], split: Split = "auto") -> int:
    """The mean number of sentences of the references, rounded; at least 1."""
    return max(1, round(mean([len(split_sentences(text, split)) for text in references])))


def make_signature(options: EvaluationOptions, num_examples: int, lead_k: int | None = None) -> str:
    """What the scores depend on, in one line: two results with the same signature can be compared."""
    rouge = options.rouge
    parts = [
        "+".join(ROUGE_TYPES),
        f"tok:{rouge.tokenizer}",
        f"stem:{'porter' if rouge.stemmer else 'no'}",
        f"split:{rouge.split}",
        f"n:{num_examples}",
        f"bs:{options.bootstrap_samples}",
        f"ci:{options.confidence:g}",
        f"seed:{options.seed}",
        *([f"lead-k:{lead_k}"] if lead_k else []),
        *(f"{name}:{version(name)}" for name in ("rouge-score", "sentencex", "fastformer-summarizer")),
    ]
    return "|".join(parts)


def _score_example(example: Example, settings: RougeSettings, lead_k: int | None, seed: int) -> _Result:
    baselines = {}
    if lead_k is not None:
        tokenizer = settings.make_tokenizer()
        reference = split_sentences(example.reference, settings.split)
        sentences = document_sentences(example.document or "", settings.split)
        chosen = {
            f"lead-{lead_k}": lead(sentences, lead_k),
            f"random-{lead_k}": random_sentences(sentences, lead_k, seed, example.id),
            "oracle": oracle(sentences, reference, tokenizer),
        }
        baselines = {name: score_sentences(summary, reference, tokenizer) for name, summary in chosen.items()}
    return _Result(
        score_pair(example.prediction, example.reference, settings),
        measure_text(example.prediction, example.reference, example.document),
        baselines,
    )


def _intervals(scores: Sequence[Scores], options: EvaluationOptions) -> Intervals:
    columns = [(name, measure) for name in ROUGE_TYPES for measure in MEASURES]
    values = np.array([[getattr(score[name], measure) for name, measure in columns] for score in scores])
    found = bootstrap_intervals(values, options.bootstrap_samples, options.seed, options.confidence)
    intervals: Intervals = {name: {} for name in ROUGE_TYPES}
    for (name, measure), interval in zip(columns, found, strict=True):
        intervals[name][measure] = interval
    return intervals


def _counts(paired: Examples) -> dict[str, int]:
    examples = paired.examples
    return {
        "empty": sum(not example.prediction.strip() and not example.failed for example in examples),
        "failed": sum(example.failed for example in examples),
        "empty_references": sum(not example.reference.strip() for example in examples),
        "predictions_left_out": paired.predictions_left_out,
        "references_left_out": paired.references_left_out,
    }


def _check_output(output: Path, inputs: Sequence[Path]) -> None:
    if output.is_dir():
        raise InputError(f"{output}: is a folder; name a file, such as {output / 'scores.json'}")
    for written in (output, examples_path(output)):
        if written.resolve() in [path.resolve() for path in inputs]:
            raise InputError(f"{written}: would be written over, and is one of the inputs; choose another -o")


def _write(evaluation: Evaluation) -> None:
    """Write both files aside before either takes its name."""
    content = json.dumps(evaluation.to_json(), indent=2, ensure_ascii=False, allow_nan=False)
    with write_whole(evaluation.output) as scores_file, write_whole(examples_path(evaluation.output)) as examples_file:
        scores_file.write(content + "\n")
        for row_id, scores in zip(evaluation.ids, evaluation.example_scores, strict=True):
            line = {"id": row_id} | {name: scores[name]._asdict() for name in ROUGE_TYPES}
            examples_file.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")


def _plain(intervals: Intervals) -> dict[str, dict[str, dict[str, float]]]:
    return {
        name: {measure: asdict(interval) for measure, interval in measures.items()}
        for name, measures in intervals.items()
    }
