"""Log-log plots of time and memory against length."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from summarizer.files import write_whole

Points = Sequence[tuple[float, float]]


def plot_growth(path: Path, panels: Mapping[str, Mapping[str, Points]], floor: str | None = None) -> None:
    """One log-log panel for each name of a quantity; in it one line of (length, value) for each system.

    The system called `floor` is drawn dashed.
    """
    figure = Figure(figsize=(6 * len(panels), 5), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)
    for axis, (quantity, systems) in zip(axes[0], panels.items(), strict=True):
        for name, points in systems.items():
            if points:
                style = "kx--" if name == floor else "o-"  # with marks: of one length there is no line
                axis.plot(*zip(*sorted(points), strict=True), style, label=name)
        axis.set(xscale="log", yscale="log", xlabel="source tokens", ylabel=quantity)
        axis.grid(visible=True, which="both", alpha=0.3)
        axis.legend()
    with write_whole(path, "wb") as file:
        figure.savefig(file, format="png", dpi=120)
