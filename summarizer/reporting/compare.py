"""Several systems on the same examples → a comparison: tests, tables, figures and a page, in a folder."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from summarizer.errors import InputError
from summarizer.evaluation.rouge import MEASURES
from summarizer.evaluation.score_table import mean_measures
from summarizer.evaluation.signature import Signature
from summarizer.evaluation.significance import Correction, adjust, paired_tests, smallest_p_value
from summarizer.evaluation.statistics import Interval, bootstrap_intervals
from summarizer.evaluation.text_measures import MEASURE_NAMES
from summarizer.files import json_text
from summarizer.outputs import MARKED, Form, check_folder, form, write_all
from summarizer.reporting.comparison import (
    SIGNIFICANT,
    ComparedSystem,
    Comparison,
    DocumentLengths,
    LengthGroup,
    Score,
    ShownExample,
    SystemTest,
)
from summarizer.reporting.example_texts import choose_examples, read_texts
from summarizer.reporting.figures import FIGURES, draw_figures
from summarizer.reporting.page import render_page
from summarizer.reporting.paper_scores import published_systems
from summarizer.reporting.scored_files import ScoredFile, System, check_comparable, read_files, shared_ids
from summarizer.reporting.tables import CSV_COLUMNS, csv_table, markdown_page

INTERVAL_SAMPLES = 1000  # as `evaluate` draws them by default, so that a mean has the same interval here
LENGTH_GROUPS = 5
_FORMS = {
    "comparison.json": form("json", "metrics", "systems", "num_examples", "signature", "tests"),
    "comparison.csv": Form("csv", frozenset(CSV_COLUMNS)),
    **dict.fromkeys(("comparison.md", "comparison.html", *(f"{name}.png" for name in FIGURES)), MARKED),
}


@dataclass(frozen=True)
class ComparisonOptions:
    """How systems are compared, and what is shown beside them."""

    correction: Correction = "holm"
    on_mismatch: str = "error"  # or "intersect"
    published: str | None = None  # a data set of `paper_scores.PUBLISHED`
    training: tuple[str, ...] = ()  # NAME=PATH of metrics.jsonl files
    benchmarks: Path | None = None
    max_examples: int = 200
    samples: int = 10_000
    seed: int = 1
    overwrite: bool = False  # replace files in the folder that are not an earlier comparison


def compare_files(scores: Sequence[str], folder: Path, options: ComparisonOptions = ComparisonOptions()) -> Comparison:
    """Compare the systems of `[NAME=]PATH` files of `evaluate` and write the comparison into `folder`.

    Raises InputError for files that cannot be read or compared.
    """
    check_folder(folder, _FORMS, ["comparison.json"], options.overwrite)
    comparison = make_comparison(read_files(scores), options)
    figures = draw_figures(comparison)
    contents: dict[str, str | bytes] = {
        "comparison.csv": csv_table(comparison),
        "comparison.md": markdown_page(comparison, list(figures)),
        "comparison.html": render_page(comparison),
        **figures,
        "comparison.json": json_text(comparison.to_json()),
    }
    write_all({folder / name: content for name, content in contents.items()})
    return comparison


def make_comparison(files: Sequence[ScoredFile], options: ComparisonOptions) -> Comparison:
    """The systems of the files and their baselines, tests against the first, and what else was asked for."""
    check_comparable(files)
    ids = shared_ids(files, options.on_mismatch)
    metrics = [metric for metric in files[0].model.metrics if all(metric in file.model.metrics for file in files)]
    systems = {file.model.name: file.model.select(ids) for file in files}
    for baseline in (baseline for file in files for baseline in file.baselines):
        systems.setdefault(baseline.name, baseline.select(ids))  # the same in every file, but for another seed
    measured = list(systems.values())
    lengths = _lengths(ids, measured)
    examples, notes = _examples(files, measured, metrics, options.max_examples)
    return Comparison(
        metrics=metrics,
        compared_with=measured[0].name,
        num_examples=len(ids),
        signature=str(_signature(files[0], len(ids), options)),
        correction=options.correction,
        systems=[
            *(_describe(system, metrics) for system in measured),
            *(published_systems(options.published) if options.published else []),
        ],
        tests=_tests(measured[0], measured[1:], metrics, options),
        limit_of_tests=_limit_of_tests(len(ids), len(measured) - 1, options),
        by_length=_by_length(measured, metrics, lengths),
        documents=lengths,
        examples=examples,
        training={name: _read_training(path) for name, path in map(_named_path, options.training)},
        benchmarks=_read_benchmarks(options.benchmarks) if options.benchmarks else (),
        notes=notes,
    )


def _signature(file: ScoredFile, num_examples: int, options: ComparisonOptions) -> Signature:
    parts = {
        **file.signature.of_a_score,
        "n": str(num_examples),
        "bs": str(INTERVAL_SAMPLES),
        "ci": "0.95",
        "tests": str(options.samples),
        "correction": options.correction,
        "seed": str(options.seed),
        "fastformer-summarizer": version("fastformer-summarizer"),
    }
    return Signature(file.signature.metrics, parts)


def _describe(system: System, metrics: Sequence[str]) -> ComparedSystem:
    columns = [(metric, measure) for metric in metrics for measure in MEASURES]
    chosen = system.scores[:, [system.metrics.index(metric) for metric in metrics]].reshape(len(system.ids), -1)
    found: dict[str, dict[str, Score]] = {metric: {} for metric in metrics}
    for (metric, measure), interval in zip(columns, bootstrap_intervals(chosen, INTERVAL_SAMPLES), strict=True):
        found[metric][measure] = _score(interval)
    return ComparedSystem(system.name, system.kind, found, len(system.ids), mean_measures(system.measures))


def _score(interval: Interval) -> Score:
    return Score(interval.mean, interval.low, interval.high)


def _tests(
    first: System, others: Sequence[System], metrics: Sequence[str], options: ComparisonOptions
) -> list[SystemTest]:
    """Every other system against the first, p-values corrected over the systems for each metric."""
    of_first = first.fmeasures(metrics)
    found = [
        paired_tests(system.fmeasures(metrics) - of_first, options.samples, options.seed) for system in others
    ]  # [systems][metrics]
    adjusted = [
        adjust([by_metric[column].p_randomization for by_metric in found], options.correction)
        for column in range(len(metrics))
    ]  # [metrics][systems]
    return [
        SystemTest(system.name, first.name, metric, p_adjusted=adjusted[column][row], **vars(found[row][column]))
        for row, system in enumerate(others)
        for column, metric in enumerate(metrics)
    ]


def _limit_of_tests(num_examples: int, num_tests: int, options: ComparisonOptions) -> str:
    """Why no test can find a difference, if none can."""
    smallest = smallest_p_value(num_examples, num_tests, options.samples, options.correction)
    if not num_tests or smallest < SIGNIFICANT:
        return ""
    number = f"{num_examples} {'example is' if num_examples == 1 else 'examples are'} too few"
    if 2**num_examples > options.samples:
        number = f"--samples {options.samples} is too small"
    return f"{number} for the tests: no p-value can be below {smallest:.2g}, so no difference can be significant."


def _lengths(ids: Sequence[str], systems: Sequence[System]) -> list[DocumentLengths]:
    """For each example the words of its texts."""
    source, reference, summary = (
        MEASURE_NAMES.index(name) for name in ("source_words", "reference_words", "summary_words")
    )
    first = systems[0].measures
    return [
        DocumentLengths(
            row_id,
            None if np.isnan(first[row, source]) else int(first[row, source]),
            int(first[row, reference]),
            {system.name: int(system.measures[row, summary]) for system in systems},
        )
        for row, row_id in enumerate(ids)
    ]


def _by_length(
    systems: Sequence[System], metrics: Sequence[str], lengths: Sequence[DocumentLengths]
) -> list[LengthGroup]:
    """Mean F with intervals in groups of documents of growing length, of about as many documents each."""
    words = np.array([document.source_words for document in lengths if document.source_words is not None])
    if len(words) < len(lengths) or len(words) < 2 * LENGTH_GROUPS:
        return []
    groups = []
    for rows in np.array_split(np.argsort(words, kind="stable"), LENGTH_GROUPS):
        scores: dict[str, dict[str, Score]] = {}
        for system in systems:
            intervals = bootstrap_intervals(system.fmeasures(metrics)[rows], INTERVAL_SAMPLES)
            scores[system.name] = dict(zip(metrics, map(_score, intervals), strict=True))
        chosen = words[rows]
        groups.append(LengthGroup(int(chosen.min()), int(chosen.max()), float(np.median(chosen)), len(rows), scores))
    return groups


def _examples(
    files: Sequence[ScoredFile], systems: Sequence[System], metrics: Sequence[str], count: int
) -> tuple[list[ShownExample], list[str]]:
    """The examples to show with their texts, and why the texts of some systems are not there."""
    means = np.stack([system.fmeasures(metrics).mean(axis=1) for system in systems], axis=1)
    chosen = choose_examples(means, count)
    fmeasures = {system.name: system.fmeasures(metrics) for system in systems}
    ids = systems[0].ids
    texts, notes = read_texts(files, [ids[position] for position in chosen])
    examples = []
    for position in chosen:
        found = texts[ids[position]]
        scores = {name: dict(zip(metrics, rows[position].tolist(), strict=True)) for name, rows in fmeasures.items()}
        shown = ShownExample(ids[position], found.document, found.reference, found.predictions, scores, found.evidence)
        examples.append(shown)
    return examples, notes


def _named_path(argument: str) -> tuple[str, Path]:
    name, equals, path = argument.partition("=")
    if not equals:
        raise InputError(f"--training {argument}: expected NAME=PATH")
    return name, Path(path)


def _read_training(path: Path) -> list[dict[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        steps = [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    if not all(isinstance(step, dict) and "step" in step for step in steps):
        raise InputError(f"{path}: is not the metrics.jsonl of a training run")
    return steps


def _read_benchmarks(path: Path) -> list[dict[str, Any]]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))["rows"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: is not a file that `summarizer benchmark encoders` wrote: {error}") from error
