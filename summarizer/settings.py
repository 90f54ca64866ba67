"""A setting of a data class: its default, its help text for a page or the command line, and the range of its value."""

import math
import operator
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import field, fields
from difflib import get_close_matches
from typing import Any

from summarizer.errors import InputError

_LIMITS = {"at least": operator.ge, "more than": operator.gt, "less than": operator.lt}


def setting(
    default: Any,
    help: str,
    *,
    at_least: float | None = None,
    more_than: float | None = None,
    less_than: float | None = None,
    heading: str = "",
    option: str = "",
    infinite: bool = False,
) -> Any:
    """A data class's field. `heading` opens a group of settings on the page, which ends at the next heading.

    A number must be finite unless `infinite` is set. `option` names the option of the command line, such as
    "-m --model", where it is not called like the field.
    """
    limits = {"at least": at_least, "more than": more_than, "less than": less_than}
    limits = {words: limit for words, limit in limits.items() if limit is not None}
    metadata = {"help": help, "heading": heading, "option": option, "limits": limits, "infinite": infinite}
    if isinstance(default, (list, dict)):
        return field(default_factory=lambda: copy(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def check_settings(section: Any, name: str) -> None:
    """Raise InputError if a value of the data class is out of its range; `name` is the section's key in a YAML file."""
    for each in fields(section):
        value = getattr(section, each.name)
        if isinstance(value, float) and not (math.isfinite(value) or each.metadata.get("infinite")):
            raise InputError(f"{name}{each.name} must be a finite number, not {value}")
        for words, limit in each.metadata.get("limits", {}).items():
            if value is not None and not _LIMITS[words](value, limit):
                raise InputError(f"{name}{each.name} must be {words} {limit}, not {value}")


def unknown_key(name: str, choices: Iterable[str], elsewhere: Sequence[str] = ()) -> str:
    """What a message says of an unknown key: the key that was probably meant, or else all `choices`.

    elsewhere: keys of the same name in other sections.
    """
    choices = sorted(choices)
    if meant := get_close_matches(name, choices, n=1, cutoff=0.7) or elsewhere[:1]:
        return f"unknown key; did you mean {meant[0]}?"
    return f"unknown key; choose from {', '.join(choices)}"
