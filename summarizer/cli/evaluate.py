"""The commands `summarizer evaluate` and `summarizer compare`."""

from pathlib import Path
from typing import Annotated, Literal

import typer


def evaluate(
    predictions: Annotated[
        Path,
        typer.Argument(
            help="Summaries: .jsonl, .json, .csv or .parquet with ids, a text file, one a line, or a folder."
        ),
    ],
    references: Annotated[
        Path, typer.Argument(help="What they are compared with, in the same kinds of files; documents may stand there.")
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="By default PREDICTIONS.scores.json, beside them.")
    ] = None,
    baselines: Annotated[
        bool, typer.Option("--baselines", help="Score Lead-k, random-k and the greedy oracle too; needs the documents.")
    ] = False,
    lead_k: Annotated[
        int | None, typer.Option(min=1, help="Sentences of Lead and random; by default the references' mean number.")
    ] = None,
    validation: Annotated[
        Path | None, typer.Option(help="Fit that number on these documents and references instead.")
    ] = None,
    lexrank: Annotated[
        bool, typer.Option("--lexrank", help="LexRank among the baselines; slow on long documents.")
    ] = False,
    bert_score: Annotated[
        str | None, typer.Option(help="BERTScore with this model: a folder, or a name that bert-score knows.")
    ] = None,
    bert_score_layer: Annotated[int | None, typer.Option(min=1, help="By default as recommended, or the last.")] = None,
    several_references: Annotated[
        Literal["best", "best-f", "mean"],
        typer.Option(help="Of several references the one of the best recall, of the best F, or all counted together."),
    ] = "best",
    tokenizer: Annotated[
        Literal["default", "unicode"], typer.Option(help="rouge-score's, for a-z and 0-9 only, or one for any script.")
    ] = "default",
    stemmer: Annotated[bool, typer.Option(help="Compare the stems of English words.")] = True,
    split: Annotated[
        Literal["auto", "newline", "sentencex"],
        typer.Option(help="Sentences: lines and their parts by sentencex, lines alone, or sentencex alone."),
    ] = "auto",
    on_mismatch: Annotated[
        Literal["error", "intersect", "zero"],
        typer.Option(help="About ids that are not in both files: stop, leave them out, or 0 for a missing prediction."),
    ] = "error",
    on_duplicates: Annotated[
        Literal["error", "first", "last"], typer.Option(help="What to do about ids that stand in a file twice.")
    ] = "error",
    on_empty: Annotated[
        Literal["zero", "drop", "error"], typer.Option(help="What to do about empty predictions and references.")
    ] = "zero",
    store_texts: Annotated[
        bool, typer.Option("--store-texts", help="Keep all texts in scores.examples.jsonl, for `compare`.")
    ] = False,
    bootstrap_samples: Annotated[int, typer.Option(min=1, help="Resamples behind the 95 % intervals.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the intervals and of the random baseline.")] = 1,
    processes: Annotated[int, typer.Option(min=1, help="Processes that score; the numbers stay the same.")] = 1,
    prediction_column: Annotated[str | None, typer.Option(help="Of the predictions; by default `summary`.")] = None,
    summary_column: Annotated[str | None, typer.Option(help="Of the references; found by usual names.")] = None,
    document_column: Annotated[str | None, typer.Option(help="Of the references; found by usual names.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Write the files and print nothing.")] = False,
) -> None:
    """Score summaries with ROUGE and 95 % intervals: scores.json, scores.examples.jsonl, a table."""
    from summarizer.evaluation.evaluate import EvaluationOptions
    from summarizer.evaluation.evaluate import evaluate as run
    from summarizer.evaluation.examples import Policy
    from summarizer.evaluation.files_of_texts import Columns
    from summarizer.evaluation.rouge import RougeSettings
    from summarizer.evaluation.terminal import print_evaluation

    options = EvaluationOptions(
        rouge=RougeSettings(tokenizer, stemmer, split, several_references),
        columns=Columns(prediction_column, summary_column, document_column),
        policy=Policy(on_mismatch, on_duplicates, on_empty),
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
    )
    evaluation = run(predictions, references, output, options, quiet)
    if not quiet:
        print_evaluation(evaluation, predictions.stem)


def compare(
    scores: Annotated[
        list[str],
        typer.Argument(metavar="[NAME=]SCORES…", help="Files of `evaluate`; others are tested against the first."),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to write.")],
    correction: Annotated[
        Literal["holm", "benjamini-hochberg", "none"],
        typer.Option(help="Of the p-values, over all systems, for each metric."),
    ] = "holm",
    on_mismatch: Annotated[
        Literal["error", "intersect"], typer.Option(help="What to do about examples that not all systems have.")
    ] = "error",
    published: Annotated[
        Literal["pubmed", "cnn_dailymail"] | None,
        typer.Option(help="Show the Fastformer paper's numbers on this data set too; they are not run here."),
    ] = None,
    training: Annotated[
        list[str] | None, typer.Option(metavar="NAME=PATH", help="The metrics.jsonl of a training run; repeatable.")
    ] = None,
    benchmarks: Annotated[
        Path | None, typer.Option(help="The JSON file of `benchmark encoders`, for speed and memory by length.")
    ] = None,
    max_examples: Annotated[int, typer.Option(min=0, help="Texts to show: the best, worst and most disputed.")] = 200,
    samples: Annotated[int, typer.Option(min=1, help="Resamples, and swaps, behind the tests.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0)] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", help="Write the files and print nothing.")] = False,
) -> None:
    """Compare systems on the same examples: paired tests, tables (Markdown, CSV, JSON), plots, an HTML page."""
    from summarizer.reporting.compare import ComparisonOptions, compare_files
    from summarizer.reporting.tables import print_comparison

    options = ComparisonOptions(
        correction, on_mismatch, published, tuple(training or ()), benchmarks, max_examples, samples, seed
    )
    comparison = compare_files(scores, output, options)
    if not quiet:
        print_comparison(comparison, output)
