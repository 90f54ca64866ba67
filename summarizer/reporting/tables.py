"""A comparison as tables: Markdown for a README, CSV for a spreadsheet, a table for the terminal."""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich import box
from rich.table import Table

from summarizer.evaluation.score_text import (
    SUPPORT,
    measure_label,
    measure_text,
    metric_label,
    signed,
    with_interval,
)
from summarizer.evaluation.terminal import make_support_table, table_console
from summarizer.reporting.comparison import SIGNIFICANT, ComparedSystem, Comparison
from summarizer.reporting.markdown import escape, markdown_table

# Of the measures that do not stand beside the scores, those that a README has room for.
SHOWN_MEASURES = (
    *("summary_words", "compression", "novel_bigrams", "repeated_trigrams", "coverage", "density"),
    *("numbers_not_in_source", "names_not_in_source", "truncated", "empty"),
)
CSV_COLUMNS = (
    *("system", "kind", "metric", "measure", "mean", "low", "high", "compared_with", "difference"),
    *("difference_low", "difference_high", "p_bootstrap", "p_randomization", "p_adjusted", "wins", "losses", "ties"),
)


def markdown_page(comparison: Comparison, figures: Sequence[str]) -> str:
    """Tables of scores, tests and measures, the figures, and what the scores depend on."""
    parts = [
        f"# Comparison on {comparison.num_examples:,} documents",
        score_table(comparison),
        f"ROUGE F × 100 with 95 % bootstrap intervals. `{comparison.signature}`",
        *comparison.notes,
    ]
    if comparison.published:
        sources = "; ".join(dict.fromkeys(system.source or "" for system in comparison.published))
        parts.append(f"*Published* rows were not run here, and on the test set of their authors: {sources}.")
    if comparison.tests:
        parts += [
            f"## Differences from {escape(comparison.compared_with)}",
            difference_table(comparison),
            _about_tests(comparison),
        ]
    if any(system.measures for system in comparison.systems):
        parts += ["## Measures other than ROUGE", measure_table(comparison)]
    parts += [f"![{name.removesuffix('.png').replace('_', ' ')}]({name})" for name in figures]
    return "\n\n".join(parts) + "\n"


def score_table(comparison: Comparison) -> str:
    """F × 100 with intervals, a row a system; published rows in italics, the means of the best models in bold.

    How far the documents support the summaries stands beside, where that is known.
    """
    support = [name for name in SUPPORT if any(name in system.measures for system in comparison.systems)]
    rows = []
    for system in comparison.systems:
        cells = []
        for metric in comparison.metrics:
            mean, space, interval = _score(system, metric).partition(" ")
            bold = system in comparison.best(metric)
            cells.append(f"**{mean}**{space}{interval}" if bold else f"{mean}{space}{interval}")
        if system.kind == "published":
            cells = [f"*{cell}*" if cell else "" for cell in cells]
        name = escape(system.name)
        cells += [measure_text(measure, system.measures.get(measure)) for measure in support]
        rows.append([f"*{name}*" if system.kind == "published" else name, *cells])
    return markdown_table(["system", *map(metric_label, comparison.metrics), *map(measure_label, support)], rows)


def difference_table(comparison: Comparison) -> str:
    """Differences of F × 100 with intervals and p-values, a row a test."""
    rows = [
        [
            escape(test.system),
            metric_label(test.metric),
            f"{signed(test.difference)} ({signed(test.low)} – {signed(test.high)})",
            _p_value(test.p_bootstrap),
            _p_value(test.p_randomization),
            f"**{_p_value(test.p_adjusted)}**" if test.p_adjusted < SIGNIFICANT else _p_value(test.p_adjusted),
            f"{test.wins} / {test.losses} / {test.ties}",
        ]
        for test in comparison.tests
    ]
    heads = ["system", "metric", "difference", "p (bootstrap)", "p (randomization)", "p (corrected)"]
    return markdown_table([*heads, "wins / losses / ties"], rows)


def measure_table(comparison: Comparison) -> str:
    """Means of what the texts are like, a row a system."""
    systems = [system for system in comparison.systems if system.measures]
    shown = [name for name in SHOWN_MEASURES if any(name in system.measures for system in systems)]
    rows = [
        [escape(system.name), *(measure_text(name, system.measures.get(name)) for name in shown)] for system in systems
    ]
    return markdown_table(["system", *map(measure_label, shown)], rows)


def csv_table(comparison: Comparison) -> str:
    """A row for each system, metric and measure, with the test of that system on F; scores 0..1."""
    content = io.StringIO()
    writer = csv.DictWriter(content, CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for system in comparison.systems:
        for metric, measures in system.metrics.items():
            for measure, score in measures.items():
                row = {"kind": system.kind, "measure": measure, "system": system.name, "metric": metric}
                test = comparison.test_of(system.name, metric)
                if test and measure == "fmeasure":
                    row |= {name: value for name, value in asdict(test).items() if name in CSV_COLUMNS}
                    row |= {"difference_low": test.low, "difference_high": test.high}
                writer.writerow(row | asdict(score))
    return content.getvalue()


def print_comparison(comparison: Comparison, folder: Path) -> None:
    """Print scores and tests, and where the files are."""
    console = table_console()
    table = Table(title=f"F × 100 of {comparison.num_examples} summaries", box=box.SIMPLE, pad_edge=False)
    table.add_column("", overflow="fold", min_width=10)
    for metric in comparison.metrics:
        table.add_column(metric_label(metric), justify="right", no_wrap=True)
    for system in comparison.systems:
        cells = []
        for metric in comparison.metrics:
            test = comparison.test_of(system.name, metric)
            star = "*" if test and test.p_adjusted < SIGNIFICANT else ""
            cells.append(_score(system, metric).replace(" ", f"{star}\n", 1))
        table.add_row(system.name, *cells, style="bright_black" if system.kind == "published" else None)
    console.print(table)
    if support := make_support_table({system.name: system.measures for system in comparison.run_here}):
        console.print(support)
    if comparison.tests:
        console.print(f"* differs from {comparison.compared_with}: {_about_tests(comparison)}")
    for note in comparison.notes:
        console.print(note)
    console.print(f"signature: {comparison.signature}")
    console.print(f"written: {folder}")


def _about_tests(comparison: Comparison) -> str:
    correction = {"holm": "Holm's correction", "benjamini-hochberg": "Benjamini and Hochberg's correction"}
    corrected = correction.get(comparison.correction, "no correction")
    return (
        f"p < {SIGNIFICANT} of a paired two-sided approximate randomization test, with {corrected} over the systems of"
        f" each metric. {comparison.limit_of_tests}".rstrip()
    )


def _score(system: ComparedSystem, metric: str) -> str:
    score = system.fmeasure(metric)
    return with_interval(score.mean, score.low, score.high) if score else ""


def _p_value(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
