"""The command line: a module a command group, with heavy imports inside the commands."""

from summarizer.cli.app import main, run_script

__all__ = ["main", "run_script"]
