"""The command `summarizer ray`."""

import sys
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from summarizer.batch.options import BatchOptions
from summarizer.batch.ray_options import RayOptions
from summarizer.cli.options import from_options, options_of
from summarizer.errors import InputError, UsageError


@dataclass(frozen=True)
class _Settings:
    batch: BatchOptions
    cluster: RayOptions


@options_of(_Settings)
def summarize_on_ray(
    inputs: Annotated[list[str], typer.Argument(metavar="INPUT", help="Files, folders and globs as for summarize.")],
    output: Annotated[str, typer.Option("-o", "--output", help="A .parquet, .jsonl or .csv file, or a folder.")],
    **values: Any,
) -> None:
    """Summarize documents on a Ray cluster, into the same records as summarize. Exit status as for summarize."""
    try:
        options, cluster = from_options(BatchOptions, values), from_options(RayOptions, values)
        from summarizer.batch.ray_pipeline import summarize_with_ray

        report = summarize_with_ray(inputs, output, options, cluster)
    except InputError as error:
        raise UsageError(str(error)) from error
    for line in [] if options.json_progress else report.failure_lines() if options.quiet else report.lines():
        print(line, file=sys.stderr)
    raise typer.Exit(1 if report.counts["failed"] else 0)
