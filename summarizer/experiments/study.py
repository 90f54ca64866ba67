"""A study: configurations → runs → study.json, study.md with one table, and study.png with the validation losses."""

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch

from summarizer import __version__
from summarizer.benchmarks.machine import describe_machine
from summarizer.errors import InputError
from summarizer.experiments.runs import Study, run_all
from summarizer.experiments.study_table import study_table, summarize_runs
from summarizer.files import write_json
from summarizer.outputs import MARK, png_of, write_all


def run_study(study: Study) -> str:
    """Train and test every configuration, and return the table of all.

    OUTPUT/study.{json,md,png} are rewritten after each run and say how many runs they include. Raises InputError for
    what cannot be compared.
    """
    if len(study.configs) < 2:
        raise InputError("name at least two configurations")
    table = ""
    for results in run_all(study, lambda line: print(line, file=sys.stderr)):
        table = _write(results, study)
    return table


def _write(results: Sequence[dict[str, Any]], study: Study) -> str:
    """Write the files of the runs so far; returns the table.

    Only seeds that every configuration has finished are compared. Before there is one, it is the first run's seed.
    """
    output, num_finished = study.output, len(results)
    num_configs, num_runs = len(study.configs), len(study.configs) * len(study.seeds)
    by_seed = Counter(result["seed"] for result in results)
    seeds = [seed for seed in study.seeds if by_seed[seed] == num_configs] or [results[0]["seed"]]
    results = [result for result in results if result["seed"] in seeds]
    reference = study.configs[0].stem
    if all(result["name"] != reference for result in results):
        return ""  # the reference has no run with these seeds yet
    control = study.control if any(result["name"] == study.control for result in results) else None
    rows = summarize_runs(results, reference, control)
    content = {
        "version": __version__,
        "machine": describe_machine(torch.device("cpu" if not torch.cuda.is_available() else "cuda")),
        "settings": {"reference": reference, "control": control, "seeds": seeds},
        "overrides": [override for override in study.overrides if "/" not in override],
        "runs": {"finished": num_finished, "wanted": num_runs},
        "signature": results[0].get("signature"),
        "num_examples": len(next(iter(results[0]["examples"].values()))),
        "rows": rows,
        "curves": {
            f"{result['name']}-seed{result['seed']}": {key: result[key] for key in ("training_loss", "validation")}
            for result in results
        },
    }
    write_json(output / "study.json", content)
    table = study_table(output / "study.json")
    so_far = f"\n{num_finished} of {num_runs} runs so far.\n" if num_finished < num_runs else ""
    page = f"{table}\n{so_far}\n<!-- {MARK} -->\n"
    write_all({output / "study.md": page, output / "study.png": _plot(results)})
    return table


def _plot(results: Sequence[dict[str, Any]]) -> bytes:
    """Plot validation losses: the reference in black; seeds of one configuration look the same."""
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
    return png_of(figure)
