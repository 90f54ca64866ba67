"""Write the picture of the README, docs/encoder_cost.png, from the encoder benchmarks in results/benchmarks/."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs/encoder_cost.png"
LENGTH = 16384
NAMES = {"fastformer": "Fastformer", "full": "full attention", "led": "LED", "pegasus_x": "PEGASUS-X"}
# Both colors are readable on a white page and on a dark one; the background is transparent.
GREY, GREEN = "#7d8590", "#2da44e"
STYLE: Any = {
    **{f"{part}.color": GREY for part in ("text", "xtick", "ytick", "grid")},
    **{"axes.edgecolor": GREY, "axes.labelcolor": GREY, "axes.titlecolor": GREY, "font.size": 11},
    **{"axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 11, "axes.titlepad": 10},
}


def values() -> dict[str, dict[str, float]]:
    """Return Fastformer's seconds by length, and the seconds and megabytes of all encoders at `LENGTH`."""
    growth, encoders = (
        json.loads((ROOT / f"results/benchmarks/{name}.json").read_text(encoding="utf-8"))["rows"]
        for name in ("encoders_growth", "encoders")
    )
    at_length = sorted((row for row in encoders if row["length"] == LENGTH), key=lambda row: row["forward_ms"])
    return {
        "growth": {str(row["length"]): row["forward_ms"] / 1000 for row in growth},
        "seconds": {NAMES[row["encoder"]]: row["forward_ms"] / 1000 for row in at_length},
        "megabytes": {NAMES[row["encoder"]]: row["forward_peak_mb"] for row in at_length},
    }


def picture(numbers: dict[str, dict[str, float]]) -> Figure:
    """Draw three panels: time against length, time of each encoder, memory of each encoder."""
    with rc_context(STYLE):
        figure = Figure(figsize=(11, 2.9), layout="constrained")
        growth, seconds, megabytes = figure.subplots(1, 3, gridspec_kw={"wspace": 0.06})
        lengths = [int(length) / 1000 for length in numbers["growth"]]
        growth.plot(lengths, list(numbers["growth"].values()), "o-", color=GREEN, linewidth=2)
        growth.set(title="Seconds to encode with Fastformer", xlabel="thousand source tokens")
        growth.set(xlim=(0, None), ylim=(0, None))
        growth.grid(alpha=0.3)
        _bars(seconds, numbers["seconds"], f"Seconds to encode {LENGTH:,} tokens", "{:.2f}")
        _bars(megabytes, numbers["megabytes"], f"Peak memory in MB, {LENGTH:,} tokens", "{:,.0f}")
    return figure


def _bars(axis: Axes, numbers: dict[str, float], title: str, label: str) -> None:
    colors = [GREEN if name == NAMES["fastformer"] else GREY for name in numbers]
    bars = axis.barh(list(numbers), list(numbers.values()), color=colors, height=0.6)
    axis.bar_label(bars, [label.format(number) for number in numbers.values()], padding=4)
    axis.set(title=title, xticks=[])
    axis.tick_params(axis="y", length=0)
    axis.spines["bottom"].set_visible(False)
    axis.invert_yaxis()
    axis.margins(x=0.18)


if __name__ == "__main__":
    ArgumentParser(description=__doc__).parse_args()  # --help, and no other argument
    numbers = values()
    # The numbers are stored in the file: tests/test_encoder_cost.py compares them with the result files.
    picture(numbers).savefig(PICTURE, dpi=120, transparent=True, metadata={"Description": json.dumps(numbers)})
