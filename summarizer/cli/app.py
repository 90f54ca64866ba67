"""The command line, `summarizer COMMAND`, with heavy imports inside the commands."""

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from summarizer.cli.benchmark import benchmark
from summarizer.cli.evaluate import compare, evaluate
from summarizer.cli.ray import summarize_on_ray
from summarizer.cli.serve import serve
from summarizer.cli.summarize import summarize
from summarizer.cli.text import text
from summarizer.cli.train import score_run, train, train_tokenizer
from summarizer.errors import InputError, StoppedError, UsageError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # the other cuts the names of options in a narrow terminal
    help="Train long-document summarizers, summarize files, score summaries with ROUGE, and compare systems.",
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
        if _options["debug"] or not isinstance(error, (InputError, OSError)):
            traceback.print_exception(error)
        line = f"summarizer: error: {_in_one_line(error)}"
        print(line, file=sys.stderr)
        _tell_launcher(line)
        sys.exit(2 if isinstance(error, UsageError) else 1)


def _tell_launcher(line: str) -> None:
    """Give torch's launcher the line for its report, which is the last that it prints."""
    if path := os.environ.get("TORCHELASTIC_ERROR_FILE"):
        with suppress(OSError):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            details = {"py_callstack": line, "timestamp": str(int(time.time()))}
            Path(path).write_text(json.dumps({"message": {"message": line, "extraInfo": details}}), encoding="utf-8")


def _in_one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"  # without the number that str(error) begins with
    return " ".join(str(error).split()) or type(error).__name__


def run_script(script: Callable[..., None]) -> None:
    """Run a function as the command line of a script; errors end it as in `main`."""
    try:
        typer.run(script)
    except InputError as error:
        print(f"{Path(sys.argv[0]).stem}: {_in_one_line(error)}", file=sys.stderr)
        sys.exit(2 if isinstance(error, UsageError) else 1)


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


app.command()(train)
app.command("test")(score_run)
app.command()(summarize)
app.command("ray")(summarize_on_ray)
app.command()(serve)
app.command()(text)
app.command()(evaluate)
app.command()(compare)
app.command("tokenizer")(train_tokenizer)


app.add_typer(benchmark, name="benchmark")
