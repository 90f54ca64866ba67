"""Libraries that only some kinds of file need."""

import importlib
from typing import Any

from summarizer.files import InputError


def optional_library(module: str) -> Any:
    """Import a library of the extra `documents`; InputError says how to install it when it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise InputError(
            f'reading this kind of file needs {name}: pip install -e ".[documents]" in the project\'s folder'
        ) from error
