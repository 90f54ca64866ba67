"""The commands `summarizer train`, `summarizer test` and `summarizer tokenizer`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from summarizer.cli.options import Overwrite


def train(
    config: Annotated[Path, typer.Argument(help="A YAML file, such as configs/pubmed/fastformer.yaml.")],
    overrides: Annotated[
        list[str] | None,
        typer.Argument(help="key=value pairs that override the file, such as training.steps=100 resume=true."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the data, the model and the estimated time, and do not train.")
    ] = False,
    find_lr: Annotated[
        bool, typer.Option("--find-lr", help="Try rising learning rates, print the best one, write a plot.")
    ] = False,
    overwrite: Overwrite = False,
) -> None:
    """Train a model. To use several processes, run `accelerate launch scripts/train.py …` instead."""
    from summarizer.config_files import COMPLETE_CONFIG, load_config
    from summarizer.reporting.run_plot import plot_run
    from summarizer.training.loop import train as run

    settings = load_config(config, overrides)
    folder = Path(settings.output_dir, settings.name)
    try:
        run(settings, "dry-run" if dry_run else "find-lr" if find_lr else None, overwrite)
    finally:
        if not (dry_run or find_lr) and COMPLETE_CONFIG.fits(folder / "config.yaml"):
            plot_run(folder)


def score_run(
    run: Annotated[Path, typer.Argument(help="The folder of a finished run, such as runs/NAME.")],
    overrides: Annotated[
        list[str] | None,
        typer.Argument(help="key=value pairs that override the run's configuration, such as 'data.test=[FILE]'."),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="averaged, best or last. Defaults to the first of them that the run has.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Score the best model of a run on the test data of its configuration. Writes the folder test/ in the run."""
    from summarizer.evaluation.terminal import print_evaluation
    from summarizer.training.testing import Evaluation, score_test_data

    tested, scores = score_test_data(run, overrides, model, overwrite)
    if isinstance(scores, Evaluation):
        print_evaluation(scores, tested.name)
    else:
        print("  ".join(f"{name} {value:.3f}" for name, value in scores.items()))


def train_tokenizer(
    data: Annotated[
        list[str], typer.Argument(help="Training pairs: .jsonl, .csv, .parquet, folders (their train* files), globs.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to write.")],
    vocab_size: Annotated[int, typer.Option(min=300, help="Vocabulary size, including 256 byte tokens.")] = 12_000,
    max_examples: Annotated[int, typer.Option(min=1, help="Maximum pairs to read from each input.")] = 20_000,
    lowercase: Annotated[
        bool, typer.Option("--lowercase", help="Lower-case all text; summaries get the capitals of their document.")
    ] = False,
    number_placeholder: Annotated[
        str | None,
        typer.Option(help="Token for standalone numbers, such as '<dig>'. Summaries get the document's numbers."),
    ] = None,
    document_column: Annotated[str | None, typer.Option(help="Defaults to the first usual name found.")] = None,
    summary_column: Annotated[str | None, typer.Option(help="Defaults to the first usual name found.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Train a SentencePiece tokenizer on training pairs; AutoTokenizer loads the folder."""
    from summarizer.config import DataConfig
    from summarizer.data.tokenizer import train_from_pairs

    config = DataConfig(document_column=document_column, summary_column=summary_column)
    lines = train_from_pairs(data, output, vocab_size, max_examples, config, lowercase, number_placeholder, overwrite)
    for line in lines:
        print(line, file=sys.stderr)
