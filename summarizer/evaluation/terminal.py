"""The table that `summarizer evaluate` prints."""

from collections.abc import Mapping
from dataclasses import replace

from rich import box
from rich.console import Console
from rich.table import Table

from summarizer.evaluation.evaluate import BERT_SCORE, Evaluation
from summarizer.evaluation.score_files import examples_path
from summarizer.evaluation.score_table import Intervals
from summarizer.evaluation.score_text import SUPPORT, measure_label, measure_text, metric_label, with_interval

WIDTH_IN_FILES = 140


def table_console() -> Console:
    """A console for a table and lines beneath it; wide enough for the table where nothing says how wide it is."""
    console = Console(highlight=False, markup=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = max(console.width, WIDTH_IN_FILES)
    return console


def make_table(evaluation: Evaluation, name: str) -> Table:
    """F-measures × 100 over their intervals: the predictions (called `name`), and the baselines beneath."""
    table = Table(title=f"F × 100 of {evaluation.num_examples} summaries", box=box.SIMPLE, pad_edge=False)
    table.add_column("", overflow="fold", min_width=10)
    for metric in evaluation.scores:
        table.add_column(metric_label(metric), justify="right", no_wrap=True)
    table.add_row(name, *_cells(evaluation.scores), end_section=True)
    for baseline, scores in evaluation.baselines.items():
        table.add_row(baseline, *_cells(scores))
    return table


def make_support_table(measures: Mapping[str, Mapping[str, float]]) -> Table | None:
    """The length of the summaries and how far their documents support them, by system; None without documents."""
    shown = [name for name in ("summary_words", *SUPPORT) if any(name in found for found in measures.values())]
    if shown == ["summary_words"]:
        return None
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("", overflow="fold", min_width=10)
    for name in shown:
        table.add_column(measure_label(name), justify="right", no_wrap=True)
    for system, found in measures.items():
        table.add_row(system, *(measure_text(name, found.get(name)) for name in shown))
    return table


def print_evaluation(evaluation: Evaluation, name: str) -> None:
    """Print the table, what was counted or measured beside it, the signature, and where the files are."""
    console = table_console()
    console.print(make_table(evaluation, name))
    if support := make_support_table({name: evaluation.text_measures, **evaluation.baseline_measures}):
        console.print(support)
    for note in evaluation.notes:
        console.print(f"note: {note}")
    counts = [f"{count} {what.replace('_', ' ')}" for what, count in evaluation.counts.items() if count]
    if counts:
        console.print(f"counted: {', '.join(counts)}")
    measures = [
        f"{measure_label(what)} {measure_text(what, value)}" for what, value in evaluation.text_measures.items()
    ]
    console.print(f"texts: {', '.join(measures)}")
    console.print(f"signature: {evaluation.signature}")
    console.print(f"written: {evaluation.output}, {examples_path(evaluation.output)}")


def print_bert_scores(evaluation: Evaluation, name: str) -> None:
    """Print what BERTScore adds to an evaluation that `print_evaluation` has shown."""
    systems = {system: {BERT_SCORE: scores[BERT_SCORE]} for system, scores in evaluation.baselines.items()}
    only = replace(evaluation, scores={BERT_SCORE: evaluation.scores[BERT_SCORE]}, baselines=systems)
    console = table_console()
    console.print(make_table(only, name))
    console.print(f"signature: {evaluation.signature}")


def _cells(scores: Intervals) -> list[str]:
    return [with_interval(**vars(measures["fmeasure"])).replace(" ", "\n", 1) for measures in scores.values()]
