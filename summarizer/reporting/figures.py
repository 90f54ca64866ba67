"""The figures of a comparison, drawn once by matplotlib: as PNG files, and as SVG that follows the page's theme.

Every figure is a row of panels. A system has the same colour and marker in all of them; published numbers are grey.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

from summarizer.evaluation.score_text import metric_label
from summarizer.outputs import png_of
from summarizer.reporting.comparison import Comparison, Score
from summarizer.reporting.svg import page_svg

FIGURES = ("rouge", "differences", "rouge_by_length", "lengths", "training", "encoders")  # names of their PNG files
# The light theme's colours in assets/page.css, whose dark ones the page puts in their place.
SERIES = ("#1f5fbf", "#c2410c", "#15803d", "#a21caf", "#0e7490", "#8a6400", "#be123c", "#4b5563")
TEXT, MUTED, RULE, CARD = "#1b2027", "#59636f", "#d9dee5", "#ffffff"
MARKERS = {"o": "●", "s": "■", "^": "▲", "D": "◆", "v": "▼"}  # matplotlib's name, and the sign of a legend in HTML
_WIDTH, _HEIGHT, _ROW_HEIGHT = 3.9, 2.9, 0.42  # inches of a panel, and of a system in a panel of intervals
_MOST_POINTS = 200  # of a training curve; more cannot be seen
_NAME_LENGTH = 30  # characters
_BENCHMARKS = {
    "forward_ms": ("Reading a document", "milliseconds"),
    "forward_backward_ms": ("Reading and learning from it", "milliseconds"),
    "peak_mb": ("Memory at its peak", "MB"),
}
_STYLE: dict[Any, Any] = {
    **{"font.size": 10.0, "axes.titlesize": 10.0, "axes.titleweight": "bold", "text.parse_math": False},
    **{"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": MUTED, "axes.labelcolor": MUTED},
    **{"xtick.color": MUTED, "ytick.color": MUTED, "text.color": TEXT, "grid.color": RULE, "grid.linewidth": 0.8},
    **{"axes.grid": True, "axes.axisbelow": True, "lines.linewidth": 1.7, "lines.markersize": 5.5},
    **{"svg.fonttype": "none", "figure.facecolor": CARD, "axes.facecolor": CARD, "legend.frameon": False},
}


@dataclass(frozen=True)
class Style:
    """How a system's marks look."""

    color: str
    marker: str
    hollow: bool = False

    @property
    def of_marks(self) -> dict[str, Any]:
        """Arguments of matplotlib's functions that draw lines and markers."""
        return {"color": self.color, "marker": self.marker, "markerfacecolor": CARD if self.hollow else self.color}


@dataclass(frozen=True)
class Panel:
    """One chart: what it shows, in words for those who cannot see it, and a function that draws it."""

    title: str
    description: str
    draw: Callable[[Axes], None]
    height: float = _HEIGHT  # inches
    tooltips: Mapping[str, str] = field(default_factory=dict)  # by the `gid` of what is drawn


@dataclass(frozen=True)
class Panels:
    """The charts of a figure, and the legend that holds for all of them; none where the charts name their marks."""

    panels: Sequence[Panel]
    legend: Mapping[str, Style] = field(default_factory=dict)


def make_figures(comparison: Comparison) -> dict[str, Panels]:
    """The figures for which the comparison has numbers, by the name of their PNG file."""
    styles = system_styles(comparison)
    figures = (
        _scores(comparison, styles),
        _differences(comparison, styles),
        _by_length(comparison, styles),
        _lengths(comparison, styles),
        _training(comparison, styles),
        _encoders(comparison),
    )
    return {name: figure for name, figure in zip(FIGURES, figures, strict=True) if figure.panels}


def draw_figures(comparison: Comparison) -> dict[str, bytes]:
    """The figures as PNG files, by name."""
    with _drawing():
        return {f"{name}.png": png_of(_draw_together(panels)) for name, panels in make_figures(comparison).items()}


def draw_svg(panel: Panel, key: str) -> str:
    """A panel as an SVG element for the page; `key` keeps its ids apart from those of the other panels."""
    content = BytesIO()
    with _drawing(), matplotlib.rc_context({"svg.hashsalt": key}):
        figure = Figure(figsize=(_WIDTH, panel.height), layout="constrained")
        panel.draw(figure.subplots())
        figure.savefig(content, format="svg", transparent=True, metadata={"Date": None})
    colors = {color: f"--series-{number}" for number, color in enumerate(SERIES)}
    colors |= {TEXT: "--text", MUTED: "--muted", RULE: "--rule", CARD: "--card"}
    return page_svg(content.getvalue(), key, f"{panel.title}. {panel.description}", colors, panel.tooltips)


def system_styles(comparison: Comparison) -> dict[str, Style]:
    """The style of each system and run, the same in all figures."""
    styles = {system.name: Style(MUTED, "o", hollow=True) for system in comparison.published}
    named = dict.fromkeys([*(system.name for system in comparison.run_here), *comparison.training])
    return {**_numbered(named), **styles}


def _numbered(names: Mapping[str, Any]) -> dict[str, Style]:
    markers = tuple(MARKERS)
    return {
        name: Style(SERIES[number % len(SERIES)], markers[number % len(markers)]) for number, name in enumerate(names)
    }


@contextmanager
def _drawing() -> Iterator[None]:
    """Our style, without matplotlib's warning about letters that its font lacks: the page uses other fonts."""
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .*missing from font")
        yield


def _draw_together(figure: Panels) -> Figure:
    height = max(panel.height for panel in figure.panels) + (0.35 if figure.legend else 0)
    drawn = Figure(figsize=(_WIDTH * len(figure.panels), height), layout="constrained")
    drawn.set_layout_engine("constrained", wspace=0.08)
    for axes, panel in zip(drawn.subplots(1, len(figure.panels), squeeze=False)[0], figure.panels, strict=True):
        panel.draw(axes)
        axes.set_title(panel.title)
    if figure.legend:
        handles = [Line2D([], [], **style.of_marks) for style in figure.legend.values()]
        names = [_shortened(name) for name in figure.legend]
        drawn.legend(handles, names, loc="outside lower center", ncols=min(len(names), 5))
    return drawn


def _scores(comparison: Comparison, styles: Mapping[str, Style]) -> Panels:
    """F of every system with its interval, a panel a metric."""
    panels = []
    for metric in comparison.metrics:
        rows = {system.name: score for system in comparison.systems if (score := system.fmeasure(metric))}
        if rows:
            panels.append(_intervals_panel(metric_label(metric), rows, styles))
    return Panels(panels)


def _differences(comparison: Comparison, styles: Mapping[str, Style]) -> Panels:
    """The paired differences from the first system with their intervals, a panel a metric."""
    panels = []
    for metric in dict.fromkeys(test.metric for test in comparison.tests):
        tests = [test for test in comparison.tests if test.metric == metric]
        rows = {test.system: Score(test.difference, test.low, test.high) for test in tests}
        panels.append(_intervals_panel(metric_label(metric), rows, styles, signed=True))
    return Panels(panels)


def _intervals_panel(title: str, rows: Mapping[str, Score], styles: Mapping[str, Style], signed: bool = False) -> Panel:
    """A row a system: its name and number above its mean and interval; `signed`: with the line of no difference."""
    tooltips = {f"tip-{number}": f"{name}: {_score_text(score)}" for number, (name, score) in enumerate(rows.items())}

    def draw(axes: Axes) -> None:
        for number, (name, score) in enumerate(rows.items()):
            style = styles[name]
            mean = 100 * score.mean
            if score.low is not None and score.high is not None:
                axes.plot([100 * score.low, 100 * score.high], [number] * 2, color=style.color)
            axes.plot(mean, number, **style.of_marks, gid=f"tip-{number}")
            color = MUTED if style.hollow else TEXT
            text = f"{mean:+.2f}".replace("-", "−") if signed else f"{mean:.2f}"
            place = {"xycoords": ("axes fraction", "data"), "color": color, "annotation_clip": False}
            axes.annotate(_shortened(name), (0, number - 0.42), ha="left", va="center", **place)
            axes.annotate(text, (1, number - 0.42), ha="right", va="center", **place)
        if signed:
            axes.axvline(0, color=MUTED, linewidth=1)
        axes.set_ylim(len(rows) - 0.6, -0.8)  # the first on top
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.margins(x=0.06)
        axes.xaxis.set_major_locator(MaxNLocator(5))

    description = "; ".join(tooltips.values())
    return Panel(title, description, draw, 0.55 + _ROW_HEIGHT * len(rows), tooltips)


def _by_length(comparison: Comparison, styles: Mapping[str, Style]) -> Panels:
    """Mean F in groups of documents of similar length, a panel a metric, a line a system."""
    groups = comparison.by_length
    if not groups:
        return Panels([])
    names = list(groups[0].scores)
    words = [group.median for group in groups]
    panels = []
    for metric in comparison.metrics:
        lines = {
            name: {
                length: group.scores[name][metric] for length, group in zip(words, groups, strict=True)
            } for name in names
        }  # fmt: skip

        def draw(axes: Axes, lines: Mapping[str, Mapping[float, Score]] = lines) -> None:
            for number, (name, scores) in enumerate(lines.items()):
                style = styles[name]
                axes.plot(words, [100 * score.mean for score in scores.values()], **style.of_marks, gid=f"tip-{number}")
                low, high = ([100 * (getattr(score, end)) for score in scores.values()] for end in ("low", "high"))
                axes.fill_between(words, low, high, color=style.color, alpha=0.15, linewidth=0)
            axes.set(xlabel="words of the document", ylabel="F × 100")
            axes.xaxis.set_major_locator(MaxNLocator(4))
            axes.xaxis.set_major_formatter(_PLAIN)

        tooltips = {
            f"tip-{number}": f"{name}: " + ", ".join(f"{_score_text(score)} at {x:,.0f}" for x, score in line.items())
            for number, (name, line) in enumerate(lines.items())
        }
        panels.append(Panel(metric_label(metric), "; ".join(tooltips.values()), draw, tooltips=tooltips))
    return Panels(panels, {name: styles[name] for name in names})


def _lengths(comparison: Comparison, styles: Mapping[str, Style]) -> Panels:
    """Words of the documents, and of the references and the systems' summaries."""
    documents = comparison.documents
    if not documents:
        return Panels([])
    sources = [document.source_words for document in documents if document.source_words is not None]
    texts = {"references": [document.reference_words for document in documents]}
    for name in documents[0].summary_words:
        texts[name] = [document.summary_words[name] for document in documents]
    looks = {"references": Style(MUTED, "o", hollow=True), **styles}
    panels = [_histogram("Documents", {"documents": sources}, looks)] if sources else []
    return Panels([*panels, _histogram("Summaries", texts, looks)], {name: looks[name] for name in texts})


def _histogram(title: str, samples: Mapping[str, Sequence[float]], styles: Mapping[str, Style]) -> Panel:
    """Shares of the values by size, the first sample filled, the others as steps.

    The largest two percent are counted in the last bin, so that a few giants leave room for the rest.
    """
    values = np.concatenate([np.asarray(sample, float) for sample in samples.values()])
    last = max(float(np.quantile(values, 0.98)), float(values.min()) + 1)
    tooltips = {
        f"tip-{number}": f"{name}: median {np.median(sample):,.0f} words"
        for number, (name, sample) in enumerate(samples.items())
    }

    def draw(axes: Axes) -> None:
        for number, (name, sample) in enumerate(samples.items()):
            color = styles[name].color if name in styles else MUTED
            clipped = np.minimum(sample, last)
            shares = np.full(len(clipped), 100 / len(clipped))
            look = {"histtype": "stepfilled", "alpha": 0.3} if not number else {"histtype": "step", "linewidth": 1.7}
            *_, drawn = axes.hist(clipped, bins=16, range=(values.min(), last), weights=shares, color=color, **look)
            drawn[0].set_gid(f"tip-{number}")  # pyright: ignore  (a list of one patch, typed as a container)
        axes.set(xlabel="words", ylabel="% of the texts")
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(_PLAIN)

    return Panel(title, "; ".join(tooltips.values()), draw, tooltips=tooltips)


def _training(comparison: Comparison, styles: Mapping[str, Style]) -> Panels:
    """Loss of each run by step, in training and in validation."""
    panels, shown = [], {}
    for key, title in (("loss", "Training loss"), ("validation_loss", "Validation loss")):
        lines = {}
        for name, steps in comparison.training.items():
            points = [(step["step"], step[key]) for step in steps if step.get(key) is not None]
            if points:
                lines[name] = _thinned(np.array(points, float))
                shown[name] = styles[name]
        if lines:
            labels = ("step", "loss per target token")
            panels.append(_lines_panel(title, labels, lines, shown, markers=key == "validation_loss"))
    return Panels(panels, shown)


def _encoders(comparison: Comparison) -> Panels:
    """Time and memory of each encoder against length, both axes logarithmic."""
    rows = comparison.benchmarks
    several_types = len({row.get("dtype") for row in rows}) > 1
    series: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        series.setdefault(f"{row['encoder']}, {row['dtype']}" if several_types else row["encoder"], []).append(row)
    styles = _numbered(series)
    panels = []
    for key, (title, unit) in _BENCHMARKS.items():
        lines = {}
        for name, measured in series.items():
            points = sorted((row["length"], row[key]) for row in measured if (row.get(key) or 0) > 0)
            if points:
                lines[name] = np.array(points, float)
        if lines:
            panels.append(_lines_panel(title, ("tokens of the document", unit), lines, styles, log=True))
    return Panels(panels, styles)


def _lines_panel(
    title: str,
    labels: tuple[str, str],  # of x and y
    lines: Mapping[str, np.ndarray],  # [points, x | y]
    styles: Mapping[str, Style],
    markers: bool = True,
    log: bool = False,
) -> Panel:
    tooltips = {
        f"tip-{number}": f"{name}: {points[0, 1]:,.4g} at {points[0, 0]:,.10g}, "
        f"{points[-1, 1]:,.4g} at {points[-1, 0]:,.10g}"
        for number, (name, points) in enumerate(lines.items())
    }

    def draw(axes: Axes) -> None:
        for number, (name, points) in enumerate(lines.items()):
            look: dict[str, Any] = styles[name].of_marks if markers else {"color": styles[name].color}
            axes.plot(points[:, 0], points[:, 1], gid=f"tip-{number}", **look)
        axes.set(xlabel=labels[0], ylabel=labels[1])
        if log:
            axes.set(xscale="log", yscale="log")
            axes.set_xticks(sorted({x for points in lines.values() for x in points[:, 0]}))
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter(_PLAIN)
            axes.yaxis.set_minor_formatter(NullFormatter())
        else:
            axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.xaxis.set_major_formatter(_PLAIN)

    return Panel(title, "; ".join(tooltips.values()), draw, tooltips=tooltips)


_PLAIN = StrMethodFormatter("{x:,.10g}")


def _thinned(points: np.ndarray) -> np.ndarray:
    """Means of neighbours where there are more points [points, x | y] than can be seen."""
    parts = np.array_split(points, min(len(points), _MOST_POINTS))
    return np.array([part.mean(axis=0) for part in parts])


def _score_text(score: Score) -> str:
    interval = "" if score.low is None or score.high is None else f" ({100 * score.low:.2f} to {100 * score.high:.2f})"
    return f"{100 * score.mean:.2f}{interval}"


def _shortened(name: str) -> str:
    return name if len(name) <= _NAME_LENGTH else f"{name[: _NAME_LENGTH - 1]}…"
