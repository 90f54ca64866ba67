"""One table of many runs: scores with intervals, differences from a reference, speeds, memory, and the control."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from summarizer.evaluation.statistics import bootstrap_means
from summarizer.reporting.markdown import markdown_table

DEPARTED = 0.05  # nats per token below the control's validation loss, from some step on


def summarize_runs(results: Sequence[dict[str, Any]], reference: str, control: str | None) -> list[dict[str, Any]]:
    """One row for each configuration, in the given order: means and 95 % intervals over documents and seeds.

    All configurations have the same seeds. `difference` is the difference from `reference` on the same documents and
    with the same seeds (paired bootstrap). `departs_at` is the first validation from which on the loss stays DEPARTED
    below the control's.
    """
    names = list(dict.fromkeys(result["name"] for result in results))
    groups = {name: [result for result in results if result["name"] == name] for name in names}
    scores = {name: _scores(group) for name, group in groups.items()}
    return [
        {
            "name": name,
            "seeds": [result["seed"] for result in group],
            "steps": fmean([result["steps"] for result in group]),
            "parameters": group[0]["parameters"],
            "training_source_tokens_per_second": _mean(group, "training_source_tokens_per_second"),
            "documents_per_second": _mean(group, "documents_per_second"),
            "peak_memory_mb": _mean(group, "peak_memory_mb"),
            "scores": intervals(scores[name]),
            "macro_f1": _mean(group, "macro_f1"),
            "difference": None if name == reference else _differences(group, groups[reference]),
            "validation_loss": fmean([min(line["validation_loss"] for line in run["validation"]) for run in group]),
            "departs_at": departure(_curve(group), _curve(groups[control])) if control else None,
        }
        for name, group in groups.items()
    ]


def departure(curve: dict[int, float], control: dict[int, float]) -> int | None:
    """The first step from which on `curve` stays DEPARTED below `control`, where both were validated; else None."""
    first = None
    for step in sorted(set(curve) & set(control)):
        if control[step] - curve[step] < DEPARTED:
            first = None
        elif first is None:
            first = step
    return first


def markdown(rows: Sequence[dict[str, Any]], reference: str) -> str:
    """The table for a page."""
    metrics = list(rows[0]["scores"])
    head = [
        "encoder",
        *(f"{metric} (95 %)" for metric in metrics),
        *(["macro-F1"] if rows[0]["macro_f1"] is not None else []),
        f"{metrics[0]} − {reference}",
        "validation loss",
        "leaves the control at",
        "parameters",
        "training, tokens/s",
        "documents/s",
        "memory, MB",
    ]
    lines = []
    for row in rows:
        difference = row["difference"]
        cells = [
            row["name"],
            *(interval_text(row["scores"][metric]) for metric in metrics),
            *([f"{row['macro_f1']:.1f}"] if row["macro_f1"] is not None else []),
            "" if difference is None else interval_text(difference[metrics[0]], "+.2f"),
            f"{row['validation_loss']:.3f}",
            "–" if row["departs_at"] is None else f"step {row['departs_at']:,}",
            f"{row['parameters']:,}",
            f"{row['training_source_tokens_per_second']:,.0f}",
            "" if row["documents_per_second"] is None else f"{row['documents_per_second']:.2f}",
            "" if row["peak_memory_mb"] is None else f"{row['peak_memory_mb']:,.0f}",
        ]
        lines.append(cells)
    return markdown_table(head, lines, right=True)


def study_table(path: Path) -> str:
    """The table of a study.json for a page, and the machine that it was measured on."""
    content = json.loads(path.read_text(encoding="utf-8"))
    machine, settings = content["machine"], content["settings"]
    seeds = ", ".join(map(str, settings["seeds"]))
    device = machine.get("accelerator", machine["processor"])
    made = f"{content['num_examples']} test documents, seed {seeds}. {device}, {machine['threads']} thread(s)."
    return "\n".join([markdown(content["rows"], settings["reference"]), "", made])


def _scores(group: Sequence[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Each metric's scores [seeds, documents]."""
    return {metric: np.array([run["examples"][metric] for run in group]) for metric in group[0]["examples"]}


def intervals(scores: dict[str, np.ndarray]) -> dict[str, dict[str, float]]:
    """The mean of each metric's scores [documents] or [seeds, documents], with its 95 % interval.

    Documents are resampled, and so are seeds; each resample has the same documents for all of its seeds.
    """
    return {metric: _interval(np.atleast_2d(values)) for metric, values in scores.items()}


def _interval(values: np.ndarray) -> dict[str, float]:
    num_seeds = len(values)
    of_seeds = bootstrap_means(values.T)  # [resamples, seeds]
    times_drawn = np.random.default_rng(1).multinomial(num_seeds, [1 / num_seeds] * num_seeds, size=len(of_seeds))
    low, high = np.quantile((of_seeds * times_drawn).sum(axis=1) / num_seeds, [0.025, 0.975])
    return {"mean": fmean(values.mean(axis=0).tolist()), "low": float(low), "high": float(high)}


def _differences(group: Sequence[dict[str, Any]], reference: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    of_reference = {run["seed"]: run for run in reference}
    own, other = _scores(group), _scores([of_reference[run["seed"]] for run in group])
    return intervals({metric: own[metric] - other[metric] for metric in own})


def _curve(group: Sequence[dict[str, Any]]) -> dict[int, float]:
    """Validation loss by step, averaged over the seeds that were validated there."""
    losses: dict[int, list[float]] = {}
    for run in group:
        for line in run["validation"]:
            losses.setdefault(line["step"], []).append(line["validation_loss"])
    return {step: fmean(values) for step, values in losses.items()}


def _mean(group: Sequence[dict[str, Any]], key: str) -> float | None:
    values = [run[key] for run in group if run.get(key) is not None]
    return math.fsum(values) / len(values) if values else None


def interval_text(interval: dict[str, float], form: str = ".2f") -> str:
    """The mean and its interval; `form` is the format of each number."""
    return f"{interval['mean']:{form}} ({interval['low']:{form}} – {interval['high']:{form}})"
