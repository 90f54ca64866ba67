"""Whether the Hugging Face hub answers: asked once and briefly, since its clients retry for up to a minute."""

from collections.abc import Callable
from typing import Any

from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError

SECONDS_TO_ANSWER = 4.0


def model_hub_is_away(name: str) -> bool:
    """Whether the hub does not answer a question about the model `name`."""
    return _is_away(HfApi().model_info, name)


def data_hub_is_away(name: str) -> bool:
    """Whether the hub does not answer a question about the data set `name`."""
    return _is_away(HfApi().dataset_info, name)


def _is_away(ask: Callable[..., Any], name: str) -> bool:
    try:
        ask(name, timeout=SECONDS_TO_ANSWER)
    except HfHubHTTPError:  # an answer, such as that there is no such name, which loading reports
        return False
    except Exception:  # the errors of connections depend on the hub client's version
        return True
    return False
