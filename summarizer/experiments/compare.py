"""Configurations → runs → one table, comparison.json, comparison.md and a picture of the validation losses."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from summarizer import __version__
from summarizer.benchmarks.machine import describe_machine
from summarizer.experiments.runs import Comparison, run_all
from summarizer.experiments.table import markdown, summarize_runs
from summarizer.files import InputError, write_json, write_whole


def compare(
    configs: list[Path], output: Path, overrides: list[str], seeds: list[int], control: str, launcher: str
) -> str:
    """Train and test every configuration, and return the table of all.

    OUTPUT/comparison.{json,md,png} are written anew after each run, and say of how many. The first configuration is the
    reference of the differences. Raises InputError for what cannot be compared.
    """
    if len(configs) < 2:
        raise InputError("name at least two configurations")
    comparison = Comparison(configs, output, overrides, seeds, launcher)
    table = ""
    for results in run_all(comparison, lambda line: print(line, file=sys.stderr)):
        table = _write(results, comparison, control)
    return table


def _write(results: Sequence[dict[str, Any]], comparison: Comparison, control: str) -> str:
    """Write the table, the figures and the picture of the runs so far; returns the table."""
    output, num_runs = comparison.output, len(comparison.configs) * len(comparison.seeds)
    reference = results[0]["name"]
    has_control = any(result["name"] == control for result in results)
    rows = summarize_runs(results, reference, control if has_control else None)
    table = markdown(rows, reference)
    content = {
        "version": __version__,
        "machine": describe_machine(torch.device("cpu" if not torch.cuda.is_available() else "cuda")),
        "settings": {"reference": reference, "control": control if has_control else None, "seeds": comparison.seeds},
        "overrides": [override for override in comparison.overrides if "/" not in override],
        "runs": {"finished": len(results), "wanted": num_runs},
        "signature": results[0].get("signature"),
        "num_examples": len(next(iter(results[0]["examples"].values()))),
        "rows": rows,
        "curves": {
            f"{result['name']}-seed{result['seed']}": {key: result[key] for key in ("training_loss", "validation")}
            for result in results
        },
    }
    write_json(output / "comparison.json", content)
    with write_whole(output / "comparison.md") as file:
        file.write(table + "\n" + (f"\n{len(results)} of {num_runs} runs so far.\n" if len(results) < num_runs else ""))
    _plot(results, output / "comparison.png")
    return table


def _plot(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Validation losses: the reference in black, the others in as many colours and dashes as it takes."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    columns = 1 + (len(results) - 1) // 25
    figure = Figure(figsize=(7 + 2.2 * columns, 5), layout="constrained")
    axes = figure.subplots()
    colours = colormaps["tab10"].colors  # type: ignore[attr-defined]  # it is a list of colours
    reference = results[0]["name"]
    for number, result in enumerate(results):
        points = [(line["step"], line["validation_loss"]) for line in result["validation"]]
        is_reference = result["name"] == reference
        axes.plot(
            *zip(*points, strict=True),
            marker=".",
            label=f"{result['name']} ({result['seed']})",
            color="black" if is_reference else colours[number % 10],
            linewidth=2.2 if is_reference else 1.2,
            linestyle=("-", "--", ":", "-.")[number // 10 % 4],
        )
    axes.set_xlabel("step")
    axes.set_ylabel("validation loss, nats per label")
    axes.grid(alpha=0.3)
    figure.legend(fontsize="small", ncols=columns, loc="outside right upper")
    with write_whole(path, "wb") as file:
        figure.savefig(file, format="png", dpi=120)
