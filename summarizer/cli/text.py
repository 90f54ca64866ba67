"""The command `summarizer text`."""

import os
import sys
from typing import Annotated, Any

import typer

from summarizer.cli.options import from_options, options_of
from summarizer.documents.document import ReadingOptions
from summarizer.errors import InputError, UsageError


@options_of(ReadingOptions, without=("by_section",))
def text(
    inputs: Annotated[
        list[str], typer.Argument(metavar="INPUT", help="Files, folders and globs as for summarize; - for stdin.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON per document.")] = False,
    language: Annotated[
        str | None, typer.Option(help="Language by which sentences are split, such as de. By default, it is detected.")
    ] = None,
    **values: Any,
) -> None:
    """Print documents as a model will read them. Exit status: 0 if all were read; 1 if any failed; 2 if misused."""
    try:
        reading = from_options(ReadingOptions, {**values, "by_section": False})
        from summarizer.batch.texts import print_texts

        num_failed = print_texts(inputs, reading, language, as_json)
    except InputError as error:
        raise UsageError(str(error)) from error
    except BrokenPipeError:  # the reader of the output, such as head, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    raise typer.Exit(1 if num_failed else 0)
