"""Configurations → runs → one table, comparison.json, comparison.md and a picture of the validation losses."""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from summarizer import __version__
from summarizer.benchmarks.machine import describe_machine
from summarizer.errors import InputError
from summarizer.experiments.runs import Comparison, run_all
from summarizer.experiments.study_table import comparison_table, summarize_runs
from summarizer.files import write_json, write_whole


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
    """Write the table, the figures and the picture of the runs so far; returns the table.

    Seeds that some configuration still lacks are left out, but for the first: else rows of unlike seeds were compared.
    """
    output, num_finished = comparison.output, len(results)
    num_configs, num_runs = len(comparison.configs), len(comparison.configs) * len(comparison.seeds)
    by_seed = Counter(result["seed"] for result in results)
    seeds = [seed for seed in comparison.seeds if by_seed[seed] == num_configs] or [results[0]["seed"]]
    results = [result for result in results if result["seed"] in seeds]
    reference = comparison.configs[0].stem
    if all(result["name"] != reference for result in results):
        return ""  # nothing yet to compare with
    has_control = any(result["name"] == control for result in results)
    rows = summarize_runs(results, reference, control if has_control else None)
    content = {
        "version": __version__,
        "machine": describe_machine(torch.device("cpu" if not torch.cuda.is_available() else "cuda")),
        "settings": {"reference": reference, "control": control if has_control else None, "seeds": seeds},
        "overrides": [override for override in comparison.overrides if "/" not in override],
        "runs": {"finished": num_finished, "wanted": num_runs},
        "signature": results[0].get("signature"),
        "num_examples": len(next(iter(results[0]["examples"].values()))),
        "rows": rows,
        "curves": {
            f"{result['name']}-seed{result['seed']}": {key: result[key] for key in ("training_loss", "validation")}
            for result in results
        },
    }
    write_json(output / "comparison.json", content)
    table = comparison_table(output / "comparison.json")
    with write_whole(output / "comparison.md") as file:
        file.write(table + "\n" + (f"\n{num_finished} of {num_runs} runs so far.\n" if num_finished < num_runs else ""))
    _plot(results, output / "comparison.png")
    return table


def _plot(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Validation losses: the reference in black, the others in as many colours and dashes as it takes; seeds alike."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(result["name"] for result in results))
    columns = 1 + (len(names) - 1) // 25
    figure = Figure(figsize=(7 + 2.2 * columns, 5), layout="constrained")
    axes = figure.subplots()
    colours = colormaps["tab10"].colors  # type: ignore[attr-defined]  # it is a list of colours
    for number, name in enumerate(names):
        is_reference = number == 0
        for seed, result in enumerate(result for result in results if result["name"] == name):
            points = [(line["step"], line["validation_loss"]) for line in result["validation"]]
            axes.plot(
                *zip(*points, strict=True),
                marker=".",
                label=name if seed == 0 else None,
                color="black" if is_reference else colours[number % 10],
                linewidth=2.2 if is_reference else 1.2,
                linestyle=("-", "--", ":", "-.")[number // 10 % 4],
            )
    axes.set_xlabel("step")
    axes.set_ylabel("validation loss, nats")
    axes.grid(alpha=0.3)
    figure.legend(fontsize="small", ncols=columns, loc="outside right upper")
    with write_whole(path, "wb") as file:
        figure.savefig(file, format="png", dpi=120)
