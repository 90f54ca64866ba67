"""The command `summarizer summarize`."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from summarizer.batch.options import BatchOptions
from summarizer.cli.options import from_options, options_of
from summarizer.errors import InputError, UsageError


@options_of(BatchOptions)
def summarize(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="INPUT",
            help="Files, folders (read recursively) and globs: text, Markdown, HTML, PDF, Word, EPUB and JATS XML; "
            ".jsonl, .csv, .tsv and .parquet with one document per row; any of these as .gz; - for text on stdin.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", help="A .jsonl, .csv or .parquet file, or a folder. Defaults to the terminal."),
    ] = None,
    files_from: Annotated[Path | None, typer.Option(help="File with more INPUTs, one per line.")] = None,
    **values: Any,
) -> None:
    """Summarize documents. Exit status: 0 if all succeeded; 1 if any failed; 2 if the command could not start."""
    try:
        options = from_options(BatchOptions, values)
        from summarizer.batch.inputs import read_list
        from summarizer.batch.summarize_files import summarize_files

        named = [*(inputs or []), *(read_list(files_from) if files_from else [])]
        report = summarize_files(named, output, options)
    except InputError as error:  # about the call; a document that fails has a record
        raise UsageError(str(error)) from error
    for line in [] if options.json_progress else report.failure_lines() if options.quiet else report.lines():
        print(line, file=sys.stderr)
    raise typer.Exit(1 if report.counts["failed"] else 0)
