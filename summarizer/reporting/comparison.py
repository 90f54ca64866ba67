"""Several systems on the same examples → comparison.json, and tables, plots and a page made of it."""

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from summarizer.errors import InputError
from summarizer.evaluation.rouge import MEASURES
from summarizer.evaluation.score_table import mean_measures
from summarizer.evaluation.significance import Correction, adjust, paired_tests
from summarizer.evaluation.statistics import bootstrap_intervals
from summarizer.evaluation.text_measures import MEASURE_NAMES
from summarizer.files import write_json, write_whole
from summarizer.reporting.example_texts import choose_examples, read_texts
from summarizer.reporting.figures import draw_figures
from summarizer.reporting.page import render_page
from summarizer.reporting.paper_scores import published_systems
from summarizer.reporting.scored_files import ScoredFile, System, check_comparable, read_files, shared_ids
from summarizer.reporting.tables import csv_table, markdown_page

INTERVAL_SAMPLES = 1000  # as `evaluate` draws them by default, so that a mean has the same interval here
LENGTH_GROUPS = 5


@dataclass(frozen=True)
class ComparisonOptions:
    """How systems are compared, and what is shown beside them."""

    correction: Correction = "holm"
    on_mismatch: str = "error"  # or "intersect"
    published: str | None = None  # a data set of `published.PUBLISHED`
    training: tuple[str, ...] = ()  # NAME=PATH of metrics.jsonl files
    benchmarks: Path | None = None
    max_examples: int = 200
    samples: int = 10_000
    seed: int = 1


def compare_files(scores: Sequence[str], folder: Path, options: ComparisonOptions = ComparisonOptions()) -> dict:
    """Compare the systems of `[NAME=]PATH` files of `evaluate` and write the comparison into `folder`.

    Returns the content of comparison.json. Raises InputError for files that cannot be read or compared.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; name a folder")
    comparison = make_comparison(read_files(scores), options)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "comparison.json", comparison)
    with write_whole(folder / "comparison.csv") as file:
        file.write(csv_table(comparison))
    figures = draw_figures(comparison, folder)
    with write_whole(folder / "comparison.md") as file:
        file.write(markdown_page(comparison, figures))
    write_page(folder, comparison)
    return comparison


def write_page(folder: Path, comparison: dict) -> None:
    """Write the page for a browser."""
    with write_whole(folder / "comparison.html") as file:
        file.write(render_page(comparison))


def make_comparison(files: Sequence[ScoredFile], options: ComparisonOptions) -> dict:
    """The content of comparison.json: systems, tests against the first, examples, and what was asked for beside."""
    check_comparable(files)
    ids = shared_ids(files, options.on_mismatch)
    metrics = [metric for metric in files[0].model.metrics if all(metric in file.model.metrics for file in files)]
    systems = {file.model.name: file.model.select(ids) for file in files}
    for baseline in (baseline for file in files for baseline in file.baselines):
        systems.setdefault(baseline.name, baseline.select(ids))  # the same in every file, but for another seed
    first, *others = systems.values()
    lengths = _lengths(ids, list(systems.values()))
    return {
        "metrics": metrics,
        "baseline": first.name,
        "num_examples": len(ids),
        "signature": _signature(files[0], len(ids), options),
        "correction": options.correction,
        "systems": [
            *(_describe(system, metrics) for system in systems.values()),
            *_means_alone(files, systems.keys(), ids, metrics),
            *(published_systems(options.published) if options.published else []),
        ],
        "tests": _tests(first, others, metrics, options),
        "by_length": _by_length(list(systems.values()), metrics, lengths),
        "documents": lengths,
        "examples": _examples(files, list(systems.values()), metrics, options.max_examples),
        "training": {name: _read_training(path) for name, path in map(_named_path, options.training)},
        **({"benchmarks": _read_json(options.benchmarks)} if options.benchmarks else {}),
    }


def _signature(file: ScoredFile, num_examples: int, options: ComparisonOptions) -> str:
    first, *rest = file.content["signature"].split("|")
    shared = [part for part in rest if part.partition(":")[0] in file.signature]
    tests = [f"n:{num_examples}", f"bs:{INTERVAL_SAMPLES}", "ci:0.95", f"tests:{options.samples}"]
    ours = [f"correction:{options.correction}", f"seed:{options.seed}"]
    return "|".join([first, *shared, *tests, *ours, f"fastformer-summarizer:{version('fastformer-summarizer')}"])


def _describe(system: System, metrics: Sequence[str]) -> dict[str, Any]:
    columns = [(metric, measure) for metric in metrics for measure in MEASURES]
    chosen = system.scores[:, [system.metrics.index(metric) for metric in metrics]].reshape(len(system.ids), -1)
    found: dict[str, dict] = {metric: {} for metric in metrics}
    intervals = bootstrap_intervals(chosen, INTERVAL_SAMPLES)
    for (metric, measure), interval in zip(columns, intervals, strict=True):
        found[metric][measure] = asdict(interval)
    return {
        "name": system.name,
        "kind": system.kind,
        "num_examples": len(system.ids),
        "metrics": found,
        "measures": {} if system.measures is None else mean_measures(system.measures),
    }


def _means_alone(
    files: Sequence[ScoredFile], known: Collection[str], ids: Sequence[str], metrics: Sequence[str]
) -> list[dict[str, Any]]:
    """Baselines of which only the means over these very examples were kept."""
    found = {
        name: {
            "name": name,
            "kind": "baseline",
            "num_examples": len(ids),
            "metrics": {metric: scores[metric] for metric in metrics},
            "measures": {},
        }
        for file in files
        for name, scores in file.content.get("baselines", {}).items()
        if name not in known and set(file.model.ids) == set(ids)
    }
    return list(found.values())


def _tests(
    first: System, others: Sequence[System], metrics: Sequence[str], options: ComparisonOptions
) -> list[dict[str, Any]]:
    """Every other system against the first, p-values corrected over the systems for each metric."""
    baseline = first.fmeasures(metrics)
    tests = [
        {"system": system.name, "baseline": first.name, "metric": metric, **asdict(test)}
        for system in others
        for metric, test in zip(
            metrics, paired_tests(system.fmeasures(metrics) - baseline, options.samples, options.seed), strict=True
        )
    ]
    for metric in metrics:
        family = [test for test in tests if test["metric"] == metric]
        adjusted = adjust([test["p_randomization"] for test in family], options.correction)
        for test, p_value in zip(family, adjusted, strict=True):
            test["p_adjusted"] = p_value
    return tests


def _lengths(ids: Sequence[str], systems: Sequence[System]) -> list[dict[str, Any]]:
    """For each example the words of its texts, as far as `evaluate` wrote them down."""
    first = systems[0].measures
    if first is None:
        return []
    documents = []
    for position, row_id in enumerate(ids):
        words = dict(zip(MEASURE_NAMES, first[position], strict=True))
        documents.append(
            {
                "id": row_id,
                "source_words": None if np.isnan(words["source_words"]) else int(words["source_words"]),
                "reference_words": int(words["reference_words"]),
                "summary_words": {
                    system.name: int(system.measures[position, MEASURE_NAMES.index("summary_words")])
                    for system in systems
                    if system.measures is not None
                },
            }
        )
    return documents


def _by_length(
    systems: Sequence[System], metrics: Sequence[str], lengths: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Mean F with intervals in groups of documents of growing length, of about as many documents each."""
    words = np.array([document["source_words"] for document in lengths if document["source_words"] is not None])
    if len(words) < len(lengths) or len(words) < 2 * LENGTH_GROUPS:
        return []
    groups = []
    for rows in np.array_split(np.argsort(words, kind="stable"), LENGTH_GROUPS):
        scores: dict[str, dict] = {}
        for system in systems:
            intervals = bootstrap_intervals(system.fmeasures(metrics)[rows], INTERVAL_SAMPLES)
            scores[system.name] = {
                metric: asdict(interval) for metric, interval in zip(metrics, intervals, strict=True)
            }
        chosen = words[rows]
        groups.append(
            {
                "shortest": int(chosen.min()),
                "longest": int(chosen.max()),
                "median": float(np.median(chosen)),
                "num_examples": len(rows),
                "scores": scores,
            }
        )
    return groups


def _examples(
    files: Sequence[ScoredFile], systems: Sequence[System], metrics: Sequence[str], count: int
) -> list[dict[str, Any]]:
    means = np.stack([system.fmeasures(metrics).mean(axis=1) for system in systems], axis=1)
    chosen = choose_examples(means, count)
    fmeasures = {system.name: system.fmeasures(metrics) for system in systems}
    ids = systems[0].ids
    texts = read_texts(files, [ids[position] for position in chosen])
    return [
        {
            "id": ids[position],
            "document": texts[ids[position]].get("document"),
            "reference": texts[ids[position]].get("reference"),
            "predictions": texts[ids[position]]["predictions"],
            "scores": {
                name: dict(zip(metrics, values[position].tolist(), strict=True)) for name, values in fmeasures.items()
            },
        }
        for position in chosen
    ]


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
        raise InputError(f"{path}: is no metrics.jsonl of a training run")
    return steps


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
