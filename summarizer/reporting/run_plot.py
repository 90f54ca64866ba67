"""A picture of a training run: losses, validation metrics and the learning rate against the step."""

import json
import os
from pathlib import Path
from typing import Any

from summarizer.outputs import png_of, write_all

TITLES = {"loss": "training loss", "validation_loss": "validation loss", "learning_rate": "learning rate"}
DASHES = ("-", "--", "-.", ":")
NOT_SHOWN = ("grad_norm", "source_tokens_per_second", "documents_per_second", "peak_memory_mb")


def plot_run(folder: Path) -> None:
    """Write folder/metrics.png if folder/metrics.jsonl is newer and not empty; on the main process only."""
    path = folder / "metrics.jsonl"
    if os.environ.get("RANK", "0") != "0" or not path.is_file():
        return
    picture = folder / "metrics.png"
    if picture.is_file() and picture.stat().st_mtime_ns >= path.stat().st_mtime_ns:
        return
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if not lines:
        return
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    panels = [("loss", "validation_loss"), _scores(lines), ("learning_rate",)]
    panels = [names for names in panels if any(name in line for line in lines for name in names)]
    figure = Figure(figsize=(4.5 * len(panels), 3.4), layout="constrained")
    for axes, names in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        shown = [name for name in names if any(name in line for line in lines)]
        for number, name in enumerate(shown):
            points = [(line["step"], line[name]) for line in lines if name in line]
            marker = "o" if len(points) < 40 and name not in ("loss", "learning_rate") else ""
            # Thinner and dashed from curve to curve: equal ones, such as rougeL and rougeLsum, stay visible.
            width, dashes = 1.2 + 1.2 * (len(shown) - 1 - number), DASHES[number % len(DASHES)]
            axes.plot(
                *zip(*points, strict=True), marker=marker, markersize=2 + 2 * width, linewidth=width,
                linestyle=dashes, label=TITLES.get(name, name),
            )  # fmt: skip
        axes.set_xlabel("step")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
        axes.legend()
    figure.suptitle(folder.name)
    write_all({picture: png_of(figure)})


def _scores(lines: list[dict[str, Any]]) -> tuple[str, ...]:
    """The validation metrics beside the loss: ROUGE, or accuracy and macro-F1."""
    names = {name: None for line in lines for name in line}
    return tuple(name for name in names if name not in (*TITLES, *NOT_SHOWN, "step"))
