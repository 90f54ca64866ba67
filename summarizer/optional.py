"""Libraries of the extras: imported where they are needed, or the error says how to install them."""

import importlib
from importlib.util import find_spec
from typing import Any

from summarizer.errors import InputError


def check_optional(module: str, extra: str, purpose: str) -> None:
    """Raise the InputError of `import_optional` if a library is missing; it is not imported, which may take long."""
    if find_spec(module) is None:
        import_optional(module, extra, purpose)


def import_optional(module: str, extra: str, purpose: str) -> Any:
    """Import a library of an extra; InputError says how to install it when it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise InputError(f'{purpose} needs {name}: pip install -e ".[{extra}]" in the project\'s folder') from error
