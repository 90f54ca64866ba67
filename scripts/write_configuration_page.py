"""Write docs/configuration.md, the page of all configuration keys, from the metadata of the data classes."""

from argparse import ArgumentParser
from dataclasses import Field, fields, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import yaml

from summarizer.config import LoraConfig, RunConfig
from summarizer.models.configuration import SummarizerConfig

PAGE = Path(__file__).parent.parent / "docs" / "configuration.md"
HEAD = """# Configuration

This page lists every key of a run's YAML file with its type and default. `key=value` on the command line overrides the
file, as in `training.steps=100`. `scripts/write_configuration_page.py` generates this page from the data classes.
"""


def page() -> str:
    """The text of the page."""
    run = RunConfig()
    sections = {
        "": run,
        "data": run.data,
        "training": run.training,
        "training.lora": LoraConfig(),
        "generation": run.generation,
        "model": SummarizerConfig(),
    }
    return HEAD + "".join(_section(name, defaults) for name, defaults in sections.items())


def _section(name: str, defaults: Any) -> str:
    """The heading, one sentence and the tables of a section; fields without a help text are not the user's to set."""
    summary = (type(defaults).__doc__ or "").partition("\n")[0]
    lines = ["", f"## {f'`{name}`' if name else 'Top level'}", "", summary, ""]
    settings = [each for each in fields(defaults) if "help" in each.metadata]
    for position, each in enumerate(settings):
        if heading := each.metadata["heading"]:
            lines += [*([""] if position else []), f"### {heading}", ""]
        if heading or not position:
            lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
        lines.append(_row(f"{name}." if name else "", each, getattr(defaults, each.name)))
    return "\n".join([*lines, ""])


def _row(prefix: str, setting: Field, default: Any) -> str:
    shown = yaml.safe_dump(default, default_flow_style=True, width=1000).removesuffix("...\n").strip()
    cells = (f"`{prefix}{setting.name}`", _type(setting.type), f"`{shown}`", setting.metadata["help"])
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _type(kind: Any) -> str:
    """A type as a user of YAML names it: the choices, or `list of str`."""
    if kind is NoneType:
        return "`null`"
    if is_dataclass(kind):
        return "the keys below"
    if get_origin(kind) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(kind))
    if get_origin(kind) is list:
        return f"list of {_type(get_args(kind)[0])}"
    if get_origin(kind) is dict or kind is dict:
        return "keys and values"
    if arguments := get_args(kind):
        return ", ".join(map(_type, arguments))
    return f"`{kind.__name__}`"


if __name__ == "__main__":
    ArgumentParser(description=__doc__).parse_args()  # --help, and no other argument
    PAGE.write_text(page(), encoding="utf-8")
