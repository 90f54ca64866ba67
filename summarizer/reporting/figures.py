"""A comparison as PNG figures: scores with intervals, scores and texts by length, training curves, speed and memory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from summarizer.evaluation.terminal import METRIC_NAMES
from summarizer.files import write_whole

GREY = "0.6"
_BENCHMARK_PANELS = {"forward_ms": "forward pass, ms", "peak_mb": "peak memory, MB"}


def draw_figures(comparison: dict[str, Any], folder: Path) -> list[str]:
    """Write those figures for which the comparison has the numbers; returns the names of the files."""
    written = []
    for name, draw in FIGURES.items():
        figure = draw(comparison)
        if figure is None:
            continue
        with write_whole(folder / name, "wb") as file:
            figure.savefig(file, format="png", dpi=120)
        written.append(name)
    return written


def scores_figure(comparison: dict[str, Any]) -> Figure:
    """F with intervals by system, a panel a metric; published numbers in grey, without intervals."""
    systems = comparison["systems"][::-1]  # the first on top
    figure, panels = _panels(len(comparison["metrics"]), height=1.2 + 0.3 * len(systems))
    colors = _colors(comparison)
    for axes, metric in zip(panels, comparison["metrics"], strict=True):
        for position, system in enumerate(systems):
            interval = system["metrics"].get(metric, {}).get("fmeasure")
            if interval:
                mean = 100 * interval["mean"]
                ends = [[mean - 100 * interval["low"]], [100 * interval["high"] - mean]] if "low" in interval else None
                axes.errorbar(mean, position, xerr=ends, fmt="o", capsize=3, color=colors.get(system["name"], GREY))
        axes.set(title=METRIC_NAMES[metric], xlabel="F × 100", ylim=(-0.6, len(systems) - 0.4))
        axes.set_yticks(range(len(systems)), [system["name"] for system in systems] if axes is panels[0] else [])
        axes.grid(visible=True, axis="x", alpha=0.3)
    return figure


def by_length_figure(comparison: dict[str, Any]) -> Figure | None:
    """F with intervals against the length of the document, a panel a metric."""
    groups = comparison["by_length"]
    if not groups:
        return None
    figure, panels = _panels(len(comparison["metrics"]))
    colors = _colors(comparison)
    for axes, metric in zip(panels, comparison["metrics"], strict=True):
        for name in groups[0]["scores"]:
            intervals = [group["scores"][name][metric] for group in groups]
            words = [group["median"] for group in groups]
            axes.plot(words, [100 * of["mean"] for of in intervals], "o-", label=name, color=colors[name])
            low, high = ([100 * of[end] for of in intervals] for end in ("low", "high"))
            axes.fill_between(words, low, high, alpha=0.15, color=colors[name], linewidth=0)
        axes.set(title=METRIC_NAMES[metric], xlabel="words of the document", ylabel="F × 100")
        axes.grid(visible=True, alpha=0.3)
    panels[0].legend(fontsize="small")
    return figure


def lengths_figure(comparison: dict[str, Any]) -> Figure | None:
    """Histograms of the words of documents, and of references and summaries."""
    documents = comparison["documents"]
    if not documents:
        return None
    sources = [document["source_words"] for document in documents if document["source_words"] is not None]
    figure, panels = _panels(2 if sources else 1)
    if sources:
        panels[0].hist(sources, bins=30, color=GREY)
        panels[0].set(xlabel="words of the document", ylabel="documents")
    colors = _colors(comparison)
    texts = {"references": [document["reference_words"] for document in documents]}
    for name in documents[0]["summary_words"]:
        texts[name] = [document["summary_words"][name] for document in documents]
    longest = max(max(words) for words in texts.values())
    for name, words in texts.items():
        color = colors.get(name, "0.0")
        panels[-1].hist(words, bins=30, range=(0, longest), histtype="step", label=name, color=color)
    panels[-1].set(xlabel="words of the summary", ylabel="summaries")
    for axes in panels:
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    panels[-1].legend(fontsize="small")
    return figure


def training_figure(comparison: dict[str, Any]) -> Figure | None:
    """Loss by step of the runs, and at validation."""
    runs = comparison["training"]
    if not runs:
        return None
    figure, (axes,) = _panels(1)
    for number, (name, steps) in enumerate(runs.items()):
        for key, label, style in (("loss", name, "-"), ("validation_loss", f"{name}, validation", "o--")):
            points = [(step["step"], step[key]) for step in steps if step.get(key) is not None]
            if points:
                axes.plot(*zip(*points, strict=True), style, label=label, color=f"C{number % 10}", markersize=4)
    axes.set(xlabel="step", ylabel="loss, nats per token")
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize="small")
    return figure


def benchmarks_figure(comparison: dict[str, Any]) -> Figure | None:
    """Time and memory of encoders against length, both on logarithmic axes."""
    rows = comparison.get("benchmarks", {}).get("rows", [])
    shown = {key: label for key, label in _BENCHMARK_PANELS.items() if any(row.get(key) for row in rows)}
    if not shown:
        return None
    figure, panels = _panels(len(shown))
    for axes, (key, label) in zip(panels, shown.items(), strict=True):
        for encoder, dtype in dict.fromkeys((row["encoder"], row["dtype"]) for row in rows):
            own = [row for row in rows if (row["encoder"], row["dtype"]) == (encoder, dtype) and row.get(key)]
            points = sorted((row["length"], row[key]) for row in own)
            if points:
                axes.plot(*zip(*points, strict=True), "o-", label=f"{encoder}, {dtype}", markersize=4)
        axes.set(xscale="log", yscale="log", xlabel="source tokens", ylabel=label)
        axes.grid(visible=True, alpha=0.3)
    panels[0].legend(fontsize="small")
    return figure


FIGURES: dict[str, Callable[[dict[str, Any]], Figure | None]] = {
    "rouge.png": scores_figure,
    "rouge_by_length.png": by_length_figure,
    "lengths.png": lengths_figure,
    "training.png": training_figure,
    "encoders.png": benchmarks_figure,
}


def _panels(count: int, height: float = 4.0) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(4.2 * count + 0.6, height), layout="constrained")
    return figure, list(figure.subplots(1, count, squeeze=False)[0])


def _colors(comparison: dict[str, Any]) -> dict[str, str]:
    """A colour for each system that was run, the same in every figure."""
    run_here = [system["name"] for system in comparison["systems"] if system["kind"] != "published"]
    return {name: f"C{number % 10}" for number, name in enumerate(run_here)}
