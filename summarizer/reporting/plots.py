"""The plots of a comparison: from its numbers to charts, each with the legend that it needs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from summarizer.reporting.scales import Axis
from summarizer.reporting.svg import Line, Point, Row, Sample, histogram, interval_chart, line_chart, swatch

_METRIC_LABELS = {
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "rougeL": "ROUGE-L",
    "rougeLsum": "ROUGE-Lsum",
    "bertscore": "BERTScore",
}
_BENCHMARKS = {
    "forward_ms": ("Reading a document", "milliseconds"),
    "forward_backward_ms": ("Reading and learning from it", "milliseconds"),
    "peak_mb": ("Memory at its peak", "MB"),
}
_MOST_POINTS = 200  # of a training curve; more cannot be seen


@dataclass(frozen=True)
class Panel:
    """A titled chart."""

    title: str
    chart: Markup


@dataclass(frozen=True)
class Plots:
    """Panels that belong together, and the legend that holds for all of them: (marker, name)."""

    panels: list[Panel]
    legend: list[tuple[Markup, str]]


def metric_label(metric: str) -> str:
    """`ROUGE-1` for `rouge1`; other metrics under their own name."""
    return _METRIC_LABELS.get(metric, metric)


def system_styles(comparison: Mapping[str, Any]) -> dict[str, int | None]:
    """The style of each system's marks, the same in all plots of the page; None for published numbers."""
    run_here = [system["name"] for system in comparison["systems"] if system["kind"] != "published"]
    named = dict.fromkeys([*run_here, *(comparison.get("training") or ())])
    styles: dict[str, int | None] = dict.fromkeys((system["name"] for system in comparison["systems"]), None)
    return styles | {name: style for style, name in enumerate(named)}


def score_plots(comparison: Mapping[str, Any]) -> Plots | None:
    """F of every system with its interval, a panel a metric."""
    styles = system_styles(comparison)
    panels = {}
    for metric in comparison["metrics"]:
        measured = [system for system in comparison["systems"] if metric in system["metrics"]]
        rows = []
        for system in measured:
            scores = system["metrics"][metric]["fmeasure"]
            ends = [None if scores.get(end) is None else 100 * scores[end] for end in ("low", "high")]
            rows.append(Row(system["name"], styles[system["name"]], 100 * scores["mean"], *ends))
        panels[metric_label(metric)] = rows
    return _plots({title: (rows,) for title, rows in panels.items() if rows}, interval_chart)


def difference_plots(comparison: Mapping[str, Any]) -> Plots | None:
    """The paired differences from the baseline with their intervals, a panel a metric."""
    styles = system_styles(comparison)
    panels: dict[str, tuple[list[Row], bool]] = {}
    for test in comparison.get("tests") or ():
        rows, _ = panels.setdefault(metric_label(test["metric"]), ([], True))
        ends = [100 * test[name] for name in ("difference", "low", "high")]
        rows.append(Row(test["system"], styles.get(test["system"]), *ends))
    return _plots(panels, interval_chart)


def length_plots(comparison: Mapping[str, Any]) -> Plots | None:
    """Mean F in groups of documents of like length, a panel a metric, a line a system."""
    groups = comparison.get("by_length") or ()
    names = [name for name in system_styles(comparison) if groups and name in groups[0]["scores"]]
    styles = {name: system_styles(comparison)[name] or 0 for name in names}
    panels = {}
    for metric in comparison["metrics"]:
        lines = []
        for name, style in styles.items():
            points = []
            for group in groups:
                scores = group["scores"][name][metric]
                points.append(Point(group["median"], *(100 * scores[end] for end in ("mean", "low", "high"))))
            lines.append(Line(name, style, points))
        if lines:
            panels[metric_label(metric)] = (lines, Axis("words of the document"), Axis("F, 0 to 100"))
    return _plots(panels, line_chart, styles)


def training_plots(comparison: Mapping[str, Any]) -> Plots | None:
    """Loss of each run by step, in training and in validation."""
    styles = system_styles(comparison)
    axes = (Axis("step"), Axis("loss per target token"))
    panels, legend = {}, {}
    for field, title in (("loss", "Training loss"), ("validation_loss", "Validation loss")):
        lines = []
        for name, steps in (comparison.get("training") or {}).items():
            points = [Point(step["step"], step[field]) for step in steps if step.get(field) is not None]
            if points:
                legend[name] = styles[name] or 0
                lines.append(Line(name, legend[name], _thinned(points), markers=field == "validation_loss"))
        if lines:
            panels[title] = (lines, *axes)
    return _plots(panels, line_chart, legend)


def benchmark_plots(comparison: Mapping[str, Any]) -> Plots | None:
    """Time and memory of each encoder against length, both axes logarithmic."""
    rows = (comparison.get("benchmarks") or {}).get("rows") or ()
    several_types = len({row.get("dtype") for row in rows}) > 1
    series: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        series.setdefault(f"{row['encoder']}, {row['dtype']}" if several_types else row["encoder"], []).append(row)
    styles = {name: style for style, name in enumerate(series)}
    panels = {}
    for field, (title, unit) in _BENCHMARKS.items():
        lines = []
        for name, measured in series.items():
            points = [Point(row["length"], row[field]) for row in measured if (row.get(field) or 0) > 0]
            if points:
                lines.append(Line(name, styles[name], sorted(points, key=lambda point: point.x)))
        if lines:
            panels[title] = (lines, Axis("tokens of the document", log=True), Axis(unit, log=True))
    return _plots(panels, line_chart, styles)


def histogram_plots(comparison: Mapping[str, Any]) -> Plots | None:
    """Words of the documents, and of the references and the systems' summaries."""
    documents = comparison.get("documents") or ()
    sources = [words for document in documents if (words := document.get("source_words")) is not None]
    samples = [Sample("references", None, [document["reference_words"] for document in documents])]
    for name, style in system_styles(comparison).items():
        words = [document["summary_words"][name] for document in documents if name in document.get("summary_words", {})]
        if words:
            samples.append(Sample(name, style, words))
    panels = {"Documents": ([Sample("documents", None, sources)], Axis("words"))} if sources else {}
    if documents:
        panels["Summaries"] = (samples, Axis("words"))
    return _plots(panels, histogram, {sample.name: sample.style for sample in samples})


def _plots(
    panels: Mapping[str, tuple[Any, ...]], draw: Callable[..., Markup], legend: Mapping[str, int | None] | None = None
) -> Plots | None:
    """The panels drawn, each as wide as leaves room for the others; None if there are none."""
    if not panels:
        return None
    width = 260 if len(panels) > 3 else 370
    drawn = [Panel(title, draw(title, *arguments, width=width)) for title, arguments in panels.items()]
    return Plots(drawn, [(swatch(style), name) for name, style in (legend or {}).items()])


def _thinned(points: Sequence[Point]) -> list[Point]:
    """Means of neighbours where there are more points than can be seen."""
    parts = np.array_split(np.arange(len(points)), min(len(points), _MOST_POINTS))
    return [
        Point(
            float(np.mean([points[index].x for index in part])),
            float(np.mean([points[index].y for index in part])),
        )
        for part in parts
    ]
