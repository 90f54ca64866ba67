"""The command line: `summarizer train | summarize | evaluate | tokenizer`. Heavy imports stay inside the commands."""

import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer

from summarizer.files import InputError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Train long-document summarizers, summarize files, and score summaries with ROUGE.",
)
_options = {"debug": False}


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; an error is one line on stderr and exit status 1, or 2 for wrong usage."""
    try:
        app(arguments)
    except KeyboardInterrupt:
        _fail("interrupted", 130)
    except Exception as error:
        if _options["debug"] or not isinstance(error, (InputError, OSError)):
            traceback.print_exc()
        _fail(" ".join(str(error).split()) or type(error).__name__, 1)


def _fail(message: str, status: int) -> None:
    print(f"summarizer: error: {message}", file=sys.stderr)
    sys.exit(status)


@app.callback()
def _global_options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    _options["debug"] = debug
    if version:
        from summarizer import __version__

        print(f"summarizer {__version__}")
        raise typer.Exit


@app.command()
def train(
    config: Annotated[Path, typer.Argument(help="A YAML file, such as configs/pubmed/fastformer.yaml.")],
    overrides: Annotated[
        list[str] | None, typer.Argument(help="key=value over the file, such as training.steps=100 resume=true.")
    ] = None,
) -> None:
    """Train a model; under `accelerate launch scripts/train.py …` on any number of processes."""
    from summarizer.config import load_config
    from summarizer.training.loop import train as run

    run(load_config(config, overrides))


if __name__ == "__main__":
    main()
