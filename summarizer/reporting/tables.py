"""A comparison as tables: Markdown for a README, CSV for a spreadsheet, a table for the terminal."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from summarizer.evaluation.terminal import METRIC_NAMES, table_console

SIGNIFICANT = 0.05
# Of all measures those that a README has room for, with their heads.
MEASURE_HEADS = {
    "summary_words": "words",
    "compression": "compression",
    "novel_bigrams": "new bigrams",
    "repeated_trigrams": "repeated trigrams",
    "coverage": "copied words",
    "density": "copied span",
    "numbers_not_in_source": "numbers not in source",
    "names_not_in_source": "names not in source",
    "truncated": "cut off",
    "empty": "empty",
}
_PLAIN_NUMBERS = ("summary_words", "compression", "density")  # the others are shares
CSV_COLUMNS = (
    *("system", "kind", "metric", "measure", "mean", "low", "high", "baseline", "difference"),
    *("difference_low", "difference_high", "p_bootstrap", "p_randomization", "p_adjusted", "wins", "losses", "ties"),
)


def markdown_page(comparison: dict[str, Any], figures: Sequence[str]) -> str:
    """Tables of scores, tests and measures, the figures, and what the scores depend on."""
    parts = [
        f"# Comparison on {comparison['num_examples']:,} documents",
        score_table(comparison),
        f"ROUGE F × 100 with 95 % bootstrap intervals. `{comparison['signature']}`",
    ]
    if any(system["kind"] == "published" for system in comparison["systems"]):
        sources = dict.fromkeys(system["source"] for system in comparison["systems"] if "source" in system)
        parts.append(f"*Published* rows were not run here, and on the test set of their authors: {'; '.join(sources)}.")
    if comparison["tests"]:
        parts += [
            f"## Differences from {_escaped(comparison['baseline'])}",
            difference_table(comparison),
            _about(comparison),
        ]
    if any(system.get("measures") for system in comparison["systems"]):
        parts += ["## The texts", measure_table(comparison)]
    parts += [f"![{name.removesuffix('.png').replace('_', ' ')}]({name})" for name in figures]
    return "\n\n".join(parts) + "\n"


def score_table(comparison: dict[str, Any]) -> str:
    """F × 100 with intervals, a row a system; published rows in italics, the best model's mean in bold."""
    metrics = comparison["metrics"]
    best = {metric: _best(comparison, metric) for metric in metrics}
    rows = []
    for system in comparison["systems"]:
        cells = []
        for metric in metrics:
            cell = _score(system, metric)
            if system["name"] == best[metric]:
                mean, space, interval = cell.partition(" ")
                cell = f"**{mean}**{space}{interval}"
            cells.append(f"*{cell}*" if system["kind"] == "published" and cell else cell)
        name = _escaped(system["name"])
        rows.append([f"*{name}*" if system["kind"] == "published" else name, *cells])
    return _markdown(["system", *(METRIC_NAMES[metric] for metric in metrics)], rows)


def difference_table(comparison: dict[str, Any]) -> str:
    """Differences of F × 100 with intervals and p-values, a row a test."""
    rows = [
        [
            _escaped(test["system"]),
            METRIC_NAMES[test["metric"]],
            f"{100 * test['difference']:+.2f} ({100 * test['low']:+.2f} – {100 * test['high']:+.2f})",
            _p_value(test["p_bootstrap"]),
            _p_value(test["p_randomization"]),
            f"**{_p_value(test['p_adjusted'])}**" if test["p_adjusted"] < SIGNIFICANT else _p_value(test["p_adjusted"]),
            f"{test['wins']} / {test['losses']} / {test['ties']}",
        ]
        for test in comparison["tests"]
    ]
    heads = ["system", "metric", "difference", "p (bootstrap)", "p (randomization)", "p (corrected)"]
    return _markdown([*heads, "better / worse / same"], rows)


def measure_table(comparison: dict[str, Any]) -> str:
    """Means of what the texts are like, a row a system."""
    systems = [system for system in comparison["systems"] if system.get("measures")]
    shown = [name for name in MEASURE_HEADS if any(name in system["measures"] for system in systems)]
    rows = [
        [_escaped(system["name"]), *(_measure(name, system["measures"].get(name)) for name in shown)]
        for system in systems
    ]
    return _markdown(["system", *(MEASURE_HEADS[name] for name in shown)], rows)


def csv_table(comparison: dict[str, Any]) -> str:
    """A row for each system, metric and measure, with the test of that system on F; scores 0..1."""
    tests = {(test["system"], test["metric"]): test for test in comparison["tests"]}
    content = io.StringIO()
    writer = csv.DictWriter(content, CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for system in comparison["systems"]:
        for metric, measures in system["metrics"].items():
            for measure, interval in measures.items():
                row = {
                    "system": system["name"],
                    "kind": system["kind"],
                    "metric": metric,
                    "measure": measure,
                    **interval,
                }
                test = tests.get((system["name"], metric))
                if test and measure == "fmeasure":
                    row |= {name: test[name] for name in CSV_COLUMNS if name in test}
                    row |= {"low": interval["low"], "high": interval["high"]}
                    row |= {"difference_low": test["low"], "difference_high": test["high"]}
                writer.writerow(row)
    return content.getvalue()


def print_comparison(comparison: dict[str, Any], folder: Path) -> None:
    """Print scores and tests, and where the files are."""
    console = table_console()
    metrics = comparison["metrics"]
    table = Table(title=f"F × 100 of {comparison['num_examples']} summaries", box=box.SIMPLE, pad_edge=False)
    table.add_column("", overflow="fold", min_width=10)
    for metric in metrics:
        table.add_column(METRIC_NAMES[metric], justify="right", no_wrap=True)
    tests = {(test["system"], test["metric"]): test for test in comparison["tests"]}
    for system in comparison["systems"]:
        cells = []
        for metric in metrics:
            test = tests.get((system["name"], metric))
            star = "*" if test and test["p_adjusted"] < SIGNIFICANT else ""
            cells.append(_score(system, metric).replace(" ", f"{star}\n", 1))
        style = "bright_black" if system["kind"] == "published" else None
        table.add_row(system["name"], *cells, style=style)
    console.print(table)
    if tests:
        console.print(f"* differs from {comparison['baseline']}: {_about(comparison)}")
    console.print(f"signature: {comparison['signature']}")
    console.print(f"written: {folder}")


def _about(comparison: dict[str, Any]) -> str:
    correction = {"holm": "Holm's correction", "benjamini-hochberg": "Benjamini and Hochberg's correction"}
    corrected = correction.get(comparison["correction"], "no correction")
    return (
        f"p < {SIGNIFICANT} of a paired two-sided approximate randomization test, with {corrected} over the systems of"
        " each metric."
    )


def _best(comparison: dict[str, Any], metric: str) -> str | None:
    models = [system for system in comparison["systems"] if system["kind"] == "model"]
    if len(models) < 2:
        return None
    return max(models, key=lambda system: system["metrics"][metric]["fmeasure"]["mean"])["name"]


def _score(system: dict[str, Any], metric: str) -> str:
    interval = system["metrics"].get(metric, {}).get("fmeasure")
    if not interval:
        return ""
    ends = f" ({100 * interval['low']:.2f} – {100 * interval['high']:.2f})" if "low" in interval else ""
    return f"{100 * interval['mean']:.2f}{ends}"


def _measure(name: str, value: float | None) -> str:
    if value is None:
        return ""
    if name in _PLAIN_NUMBERS:
        return f"{value:.1f}"
    return f"{100 * value:.1f} %"


def _p_value(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _escaped(name: str) -> str:
    """A name that can break no table and brings no markup."""
    for character in "\\`*_<>[]|":
        name = name.replace(character, f"\\{character}")
    return " ".join(name.split())
