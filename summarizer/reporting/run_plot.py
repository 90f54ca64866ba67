"""A picture of a training run: losses, validation metrics and the learning rate against the step."""

import json
import os
from pathlib import Path
from typing import Any

from summarizer.outputs import png_of, write_all

TITLES = {"loss": "training loss", "validation_loss": "validation loss", "learning_rate": "learning rate"}
NOT_SHOWN = ("grad_norm", "source_tokens_per_second", "documents_per_second", "peak_memory_mb")


def plot_run(folder: Path) -> None:
    """Write folder/metrics.png from folder/metrics.jsonl, where that holds anything; on the main process only."""
    path = folder / "metrics.jsonl"
    if os.environ.get("RANK", "0") != "0" or not path.is_file():
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
        for name in names:
            points = [(line["step"], line[name]) for line in lines if name in line]
            if points:
                marker = "o" if len(points) < 40 and name not in ("loss", "learning_rate") else ""
                axes.plot(*zip(*points, strict=True), marker=marker, label=TITLES.get(name, name))
        axes.set_xlabel("step")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
        axes.legend()
    figure.suptitle(folder.name)
    write_all({folder / "metrics.png": png_of(figure)})


def _scores(lines: list[dict[str, Any]]) -> tuple[str, ...]:
    """The validation metrics beside the loss: ROUGE, or accuracy and macro-F1."""
    names = {name: None for line in lines for name in line}
    return tuple(name for name in names if name not in (*TITLES, *NOT_SHOWN, "step"))
