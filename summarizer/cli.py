"""The command line, `summarizer COMMAND`, with heavy imports inside the commands."""

import os
import sys
import traceback
from pathlib import Path
from typing import Annotated, Literal

import typer

from summarizer.cli_benchmark import benchmark
from summarizer.cli_evaluation import compare, evaluate
from summarizer.files import InputError, StoppedError
from summarizer.inference.settings import SummarySettings

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # the other cuts the names of options in a narrow terminal
    help="Train long-document summarizers, summarize files, score summaries with ROUGE, and compare.",
)
_options = {"debug": False}


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; an error is one line on stderr and exit status 1, or 2 for wrong usage."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by the shell: <&- or >&-
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 (as long as the process)
    try:
        app(arguments)
    except SystemExit as end:
        if end.code == 130:  # typer's, after Ctrl-C
            print("summarizer: stopped", file=sys.stderr)
        raise
    except StoppedError as stop:
        print(f"summarizer: {stop}", file=sys.stderr)
        sys.exit(130)
    except Exception as error:
        _report(error, 1)


def _report(error: Exception, status: int) -> None:
    """One line about an error, after its traceback where that was asked for or nobody expected it; ends the process."""
    if _options["debug"] or not isinstance(error, (InputError, OSError)):
        traceback.print_exception(error)
    _fail(" ".join(str(error).split()) or type(error).__name__, status)


def _fail(message: str, status: int) -> None:
    print(f"summarizer: error: {message}", file=sys.stderr)
    sys.exit(status)


def _show_version(wanted: bool) -> None:
    if wanted:
        from summarizer import __version__

        print(f"summarizer {__version__}")
        raise typer.Exit


@app.callback()
def _global_options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    _options["debug"] = debug


@app.command()
def train(
    config: Annotated[Path, typer.Argument(help="A YAML file, such as configs/pubmed/fastformer.yaml.")],
    overrides: Annotated[
        list[str] | None, typer.Argument(help="key=value over the file, such as training.steps=100 resume=true.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be trained, on what, and how long it would take.")
    ] = False,
    find_lr: Annotated[
        bool, typer.Option("--find-lr", help="Only try learning rates: a suggestion, a plot, the losses.")
    ] = False,
) -> None:
    """Train a model; under `accelerate launch scripts/train.py …` on any number of processes."""
    from summarizer.config import load_config
    from summarizer.reporting.run_plot import plot_run
    from summarizer.training.loop import train as run

    settings = load_config(config, overrides)
    try:
        run(settings, "dry-run" if dry_run else "find-lr" if find_lr else None)
    finally:
        if not (dry_run or find_lr):
            plot_run(Path(settings.output_dir, settings.name))


app.command()(evaluate)
app.command()(compare)


@app.command()
def summarize(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="INPUT",
            help="Files, folders, globs: text, Markdown, HTML, PDF, Word, EPUB, JATS XML; - is plain text on stdin; "
            ".jsonl, .csv and .parquet with a document a row; .gz of them.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", help="A .jsonl, .csv or .parquet file, or a folder; or the terminal."),
    ] = None,
    text_format: Annotated[
        Literal["txt", "md"],
        typer.Option("--format", help="Of the files in a folder: text, or pages of Markdown."),
    ] = "txt",
    model: Annotated[str, typer.Option("-m", "--model", help="A model folder, a hub id, or default.")] = "default",
    num_beams: Annotated[
        int | None, typer.Option(min=1, help="Beams of the search; by default the model's own.")
    ] = None,
    max_summary_tokens: Annotated[
        int | None, typer.Option(min=1, help="Most tokens of a summary; by default the model's own.")
    ] = None,
    min_summary_tokens: Annotated[int | None, typer.Option(min=0, help="Fewest tokens; likewise.")] = None,
    length: Annotated[
        Literal["short", "medium", "long"] | None, typer.Option(help="About 64, 160 or 384 tokens at most.")
    ] = None,
    num_candidates: Annotated[
        int, typer.Option(min=1, help="So many summaries of each document; needs as many beams, or --do-sample.")
    ] = 1,
    length_penalty: Annotated[float | None, typer.Option(help="Of beam search; more means longer; likewise.")] = None,
    no_repeat_words: Annotated[
        int | None, typer.Option(min=0, help="So many words in a row must not come again; 0 allows every repetition.")
    ] = None,
    no_repeat_ngram_size: Annotated[
        int | None, typer.Option(min=0, help="The same, counted in tokens, which may be parts of words.")
    ] = None,
    numbers_from_document: Annotated[
        bool | None,
        typer.Option(
            "--numbers-from-document/--any-numbers",
            help="Only numbers that the document has; by itself for models such as the default one.",
        ),
    ] = None,
    max_source_tokens: Annotated[
        int | None, typer.Option(min=1, help="Read no more of a document; by default all that the model can.")
    ] = None,
    tokens_per_batch: Annotated[
        int, typer.Option(min=1, help="Source tokens at a time; fewer take less memory.")
    ] = SummarySettings.tokens_per_batch,
    do_sample: Annotated[bool, typer.Option("--do-sample", help="Draw words by chance.")] = False,
    temperature: Annotated[float | None, typer.Option(help="Of --do-sample.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Of --do-sample.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of --do-sample.")] = SummarySettings.seed,
    dtype: Annotated[
        Literal["auto", "float32", "bfloat16", "float16"], typer.Option(help="auto: bfloat16 where that is fast.")
    ] = "auto",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps …")] = "auto",
    document_column: Annotated[str | None, typer.Option(help="By default found among the usual names.")] = None,
    files_from: Annotated[Path | None, typer.Option(help="A file that names more INPUTs, one a line.")] = None,
    by_section: Annotated[
        bool, typer.Option("--by-section", help="Also summarize each section or chapter, where the file marks them.")
    ] = False,
    max_document_mb: Annotated[int, typer.Option(min=1, help="Refuse larger files, packed or unpacked.")] = 256,
    max_pages: Annotated[int, typer.Option(min=1, help="Refuse PDFs of more pages.")] = 5000,
    read_timeout: Annotated[
        int, typer.Option(min=1, help="Seconds to read one PDF, Word, EPUB, HTML or XML file, or a row of Parquet.")
    ] = 120,
    max_documents: Annotated[int | None, typer.Option(min=1, help="Take only the first so many.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but what failed.")] = False,
    json_progress: Annotated[
        bool, typer.Option("--json-progress", help="Tell programs: a line of JSON for each event, on stderr.")
    ] = False,
) -> None:
    """Summarize documents; the exit status is 1 if any failed, 2 if there was nothing to do."""
    try:
        settings = SummarySettings(
            num_beams=num_beams,
            max_summary_tokens=max_summary_tokens,
            min_summary_tokens=min_summary_tokens,
            length=length,
            num_candidates=num_candidates,
            length_penalty=length_penalty,
            no_repeat_words=no_repeat_words,
            no_repeat_ngram_size=no_repeat_ngram_size,
            numbers_from_document=numbers_from_document,
            max_source_tokens=max_source_tokens,
            tokens_per_batch=tokens_per_batch,
            do_sample=do_sample or None,
            temperature=temperature,
            top_p=top_p,
            seed=seed,
        )
        from summarizer.data.readers import ReadingLimits
        from summarizer.inference.batch import BatchOptions, summarize_files
        from summarizer.inference.reading import ReadingOptions
        from summarizer.inference.sources import read_list

        limits = ReadingLimits(max_document_mb * 2**20, max_pages, read_timeout)
        reading = ReadingOptions(document_column, by_section, limits)
        options = BatchOptions(
            model, device, dtype, reading, text_format, max_documents, quiet, json_progress, settings
        )
        named = [*(inputs or []), *(read_list(files_from) if files_from else [])]
        report = summarize_files(named, output, options)
    except InputError as error:  # of single documents there is a record; this is about the call
        _report(error, 2)
    else:
        for line in [] if json_progress else report.failure_lines() if quiet else report.lines():
            print(line, file=sys.stderr)
        raise typer.Exit(1 if report.counts["failed"] else 0)


@app.command("tokenizer")
def train_tokenizer(
    data: Annotated[
        list[str], typer.Argument(help="Training pairs: .jsonl, .csv, .parquet, folders (their train* files), globs.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to write.")],
    vocab_size: Annotated[int, typer.Option(min=300, help="Pieces, the 256 bytes included.")] = 12_000,
    max_examples: Annotated[int, typer.Option(min=1, help="Pairs to learn from, of each input.")] = 20_000,
    lowercase: Annotated[
        bool, typer.Option("--lowercase", help="Read all as lower case; summaries get their document's capitals back.")
    ] = False,
    number_placeholder: Annotated[
        str | None,
        typer.Option(help="Read numbers that stand alone as this, such as '<dig>'; summaries get the document's."),
    ] = None,
    document_column: Annotated[str | None, typer.Option(help="By default found among the usual names.")] = None,
    summary_column: Annotated[str | None, typer.Option(help="By default found among the usual names.")] = None,
) -> None:
    """Train a SentencePiece tokenizer on training pairs; AutoTokenizer loads the folder."""
    from summarizer.config import DataConfig
    from summarizer.data.tokenizer import train_from_pairs

    config = DataConfig(document_column=document_column, summary_column=summary_column)
    lines = train_from_pairs(data, output, vocab_size, max_examples, config, lowercase, number_placeholder)
    for line in lines:
        print(line, file=sys.stderr)


app.add_typer(benchmark, name="benchmark")


if __name__ == "__main__":
    main()
