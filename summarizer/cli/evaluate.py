"""The commands `summarizer evaluate` and `summarizer compare`."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from summarizer.cli.options import Overwrite


def evaluate(
    predictions: Annotated[
        Path,
        typer.Argument(
            help="Summaries: a .jsonl, .json, .csv or .parquet file, a text file with a summary per line, or a folder."
        ),
    ],
    references: Annotated[
        Path, typer.Argument(help="References, in any of these formats. The file may also hold the documents.")
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The JSON file to write. Defaults to PREDICTIONS.scores.json.")
    ] = None,
    baselines: Annotated[
        bool, typer.Option("--baselines", help="Score Lead-k, random-k and oracle-k too; needs the documents.")
    ] = False,
    lead_k: Annotated[
        int | None, typer.Option(min=1, help="Sentences of each baseline. Defaults to the mean of the references.")
    ] = None,
    validation: Annotated[
        Path | None, typer.Option(help="Choose --lead-k on the documents and references of this file.")
    ] = None,
    lexrank: Annotated[
        bool, typer.Option("--lexrank", help="Also score LexRank, with --baselines; slow on long documents.")
    ] = False,
    bert_score: Annotated[
        str | None, typer.Option(help="Add BERTScore with this model: a folder, or a name that bert-score knows.")
    ] = None,
    bert_score_layer: Annotated[
        int | None, typer.Option(min=1, help="Layer for BERTScore. Defaults to the recommended one, or the last.")
    ] = None,
    several_references: Annotated[
        Literal["best", "best-f", "mean"],
        typer.Option(help="Several references: use the one with best recall or best F, or sum the counts of all."),
    ] = "best",
    tokenizer: Annotated[
        Literal["default", "unicode"],
        typer.Option(help="default: only a-z and 0-9, like rouge-score; unicode: any script."),
    ] = "default",
    stemmer: Annotated[bool, typer.Option(help="Compare the stems of English words.")] = True,
    split: Annotated[
        Literal["auto", "newline", "sentencex"],
        typer.Option(help="Split sentences at line breaks (newline), with sentencex, or with both (auto)."),
    ] = "auto",
    on_mismatch: Annotated[
        Literal["error", "intersect", "zero"],
        typer.Option(help="For ids in only one file: stop, leave them out, or score a missing prediction 0."),
    ] = "error",
    on_duplicates: Annotated[
        Literal["error", "first", "last", "references"],
        typer.Option(help="For ids that occur twice: stop, keep one, or score against all rows of an id."),
    ] = "error",
    on_empty: Annotated[
        Literal["zero", "drop", "error"], typer.Option(help="For empty texts: score 0, leave out, or stop.")
    ] = "zero",
    pair_by: Annotated[
        Literal["id", "line"], typer.Option(help="Pair predictions and references by id, or the rows in order.")
    ] = "id",
    store_texts: Annotated[
        bool, typer.Option("--store-texts", help="Keep all texts in scores.examples.jsonl, for `compare`.")
    ] = False,
    bootstrap_samples: Annotated[int, typer.Option(min=1, help="Number of resamples for the 95 % intervals.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the intervals and of the random baseline.")] = 1,
    processes: Annotated[int, typer.Option(min=1, help="Number of processes. The scores do not depend on it.")] = 1,
    prediction_column: Annotated[
        str | None, typer.Option(help="Column of the summaries; by default, a usual name.")
    ] = None,
    summary_column: Annotated[
        str | None, typer.Option(help="Column of the references; by default, a usual name.")
    ] = None,
    document_column: Annotated[
        str | None, typer.Option(help="Column of the documents; by default, a usual name.")
    ] = None,
    id_column: Annotated[
        str | None, typer.Option(help="Column of the ids, in one file or in both; by default, a usual name.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Write the files and print nothing.")] = False,
    overwrite: Overwrite = False,
) -> None:
    """Score summaries with ROUGE and 95 % intervals. Writes two files and prints a table."""
    from summarizer.evaluation.evaluate import Evaluation, EvaluationOptions
    from summarizer.evaluation.evaluate import evaluate as run
    from summarizer.evaluation.examples import Policy
    from summarizer.evaluation.files_of_texts import Columns
    from summarizer.evaluation.rouge import RougeSettings
    from summarizer.evaluation.terminal import print_bert_scores, print_evaluation

    name = predictions.stem

    def show(evaluation: Evaluation) -> None:
        if not quiet:
            print_evaluation(evaluation, name)
            sys.stdout.flush()

    options = EvaluationOptions(
        rouge=RougeSettings(tokenizer, stemmer, split, several_references),
        columns=Columns(prediction_column, summary_column, document_column, id_column),
        policy=Policy(on_mismatch, on_duplicates, on_empty, pair_by),
        baselines=baselines,
        lexrank=lexrank,
        lead_k=lead_k,
        validation=validation,
        bert_score=bert_score,
        bert_score_layer=bert_score_layer,
        store_texts=store_texts,
        bootstrap_samples=bootstrap_samples,
        seed=seed,
        processes=processes,
        overwrite=overwrite,
    )
    evaluation = run(predictions, references, output, options, quiet, show)
    if not bert_score:
        show(evaluation)
    elif not quiet:
        print_bert_scores(evaluation, name)


def compare(
    scores: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]SCORES…", help="Score files of `evaluate`. The first system is compared with all others."
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to write.")],
    correction: Annotated[
        Literal["holm", "benjamini-hochberg", "none"],
        typer.Option(help="Correction of the p-values of each metric for the number of systems."),
    ] = "holm",
    on_mismatch: Annotated[
        Literal["error", "intersect"], typer.Option(help="For examples that some systems lack: stop, or skip them.")
    ] = "error",
    published: Annotated[
        Literal["pubmed", "cnn_dailymail"] | None,
        typer.Option(help="Also show the scores that the Fastformer paper reports on this data set."),
    ] = None,
    training: Annotated[
        list[str] | None, typer.Option(metavar="NAME=PATH", help="Training curve to add: a metrics.jsonl; repeatable.")
    ] = None,
    benchmarks: Annotated[
        Path | None, typer.Option(help="The JSON file of `benchmark encoders`, for speed and memory by length.")
    ] = None,
    max_examples: Annotated[int, typer.Option(min=0, help="Maximum number of examples whose texts are shown.")] = 200,
    samples: Annotated[int, typer.Option(min=1, help="Number of resamples or swaps per test.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the tests.")] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", help="Write the files and print nothing.")] = False,
    overwrite: Overwrite = False,
) -> None:
    """Compare systems on the same examples with paired tests. Writes tables, plots and an HTML page."""
    from summarizer.reporting.compare import ComparisonOptions, compare_files
    from summarizer.reporting.tables import print_comparison

    options = ComparisonOptions(
        correction, on_mismatch, published, tuple(training or ()), benchmarks, max_examples, samples, seed, overwrite
    )
    comparison = compare_files(scores, output, options)
    if not quiet:
        print_comparison(comparison, output)
