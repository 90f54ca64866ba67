"""Whether the Hugging Face hub answers: asked once and briefly, since its clients retry for up to a minute."""

import re
from collections.abc import Callable
from typing import Any

SECONDS_TO_ANSWER = 4.0


def is_hub_id(name: str) -> bool:
    """Whether a name has the form of a hub id, [owner/]name."""
    return re.fullmatch(r"(\w[\w.-]*/)?\w[\w.-]*", name) is not None


def model_hub_is_away(name: str) -> bool:
    """Whether the hub does not answer a question about the model `name`."""
    from huggingface_hub import HfApi  # here, since the import takes longer than all others of evaluation

    return _is_away(HfApi().model_info, name)


def data_hub_is_away(name: str) -> bool:
    """Whether the hub does not answer a question about the data set `name`."""
    from huggingface_hub import HfApi

    return _is_away(HfApi().dataset_info, name)


def _is_away(ask: Callable[..., Any], name: str) -> bool:
    from huggingface_hub.errors import HfHubHTTPError

    try:
        ask(name, timeout=SECONDS_TO_ANSWER)
    except HfHubHTTPError:  # an answer, such as that there is no such name, which loading reports
        return False
    except Exception:  # the errors of connections depend on the hub client's version
        return True
    return False
