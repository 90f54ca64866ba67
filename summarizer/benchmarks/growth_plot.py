"""Plots of time and memory: log-log curves over the length, or bars where there is one length."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from summarizer.outputs import png_of, write_all

Points = Sequence[tuple[float, float]]
PLAIN_NUMBERS = StrMethodFormatter("{x:,.10g}")


def plot_growth(path: Path, panels: Mapping[str, Mapping[str, Points]], floor: str | None = None) -> None:
    """One panel for each name of a quantity; in it the (length, value) points of each system.

    Several lengths become log-log curves, one becomes bars. The system called `floor` is drawn apart.
    """
    figure = Figure(figsize=(6 * len(panels), 5), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)
    for axis, (quantity, systems) in zip(axes[0], panels.items(), strict=True):
        lengths = sorted({length for points in systems.values() for length, _ in points})
        if len(lengths) == 1:
            _bars(axis, systems, floor)
            axis.set(xlabel=quantity, title=f"{lengths[0]:,} source tokens")
        else:
            _curves(axis, systems, floor)
            axis.set(xlabel="source tokens", ylabel=quantity)
            axis.set_xticks(lengths, [f"{length:,}" for length in lengths])
    write_all({path: png_of(figure)})


def _curves(axis: Axes, systems: Mapping[str, Points], floor: str | None) -> None:
    for name, points in systems.items():
        if points:
            axis.plot(*zip(*sorted(points), strict=True), "kx--" if name == floor else "o-", label=name)
    axis.set(xscale="log", yscale="log")
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter(PLAIN_NUMBERS)
    for direction in (axis.xaxis, axis.yaxis):
        direction.set_minor_formatter(NullFormatter())
    axis.grid(visible=True, which="both", alpha=0.3)
    axis.legend()


def _bars(axis: Axes, systems: Mapping[str, Points], floor: str | None) -> None:
    values = {name: points[0][1] for name, points in systems.items() if points}
    colors = ["0.6" if name == floor else f"C{number}" for number, name in enumerate(values)]
    bars = axis.barh(list(values), list(values.values()), color=colors)
    axis.bar_label(bars, [f"{value:,.0f}" if value >= 10 else f"{value:.2g}" for value in values.values()], padding=3)
    axis.invert_yaxis()  # the first on top
    axis.margins(x=0.15)
    axis.xaxis.set_major_formatter(PLAIN_NUMBERS)
