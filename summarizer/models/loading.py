"""Models by name (the default, a folder, a hub id): where they lie, on what device and in what precision they run."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from logging import CRITICAL
from pathlib import Path

import torch
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError
from transformers.utils import logging

from summarizer.errors import InputError

DTYPES = ("auto", "float32", "bfloat16", "float16")
DEFAULT_MODEL = Path(__file__).parent.parent / "assets" / "default"


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Without transformers' bars, one for every file that is loaded, and its reports of what our errors say."""
    shown, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity(CRITICAL)
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if shown:
            logging.enable_progress_bar()


def check_json(name: str, folder: Path) -> None:
    """Raises InputError for a broken file in a model folder; of some, transformers would say nothing."""
    for file in sorted(folder.glob("*.json")):
        try:
            json.loads(file.read_bytes())
        except ValueError as error:
            raise InputError(f"model '{name}': {file.name} is not valid JSON ({error})") from error


def hub_is_away(path: str) -> bool:
    """Whether `path` is a hub id and the hub gives no answer, asked once: transformers would try for a minute."""
    if Path(path).is_dir():
        return False
    try:
        HfApi().model_info(path, timeout=10)
    except HfHubHTTPError:  # an answer, such as that there is no such model, which loading reports
        return False
    except Exception:  # the errors of connections depend on the hub client's version
        return True
    return False


def can_be_hub_id(name: str) -> bool:
    """Whether `name` has the form of a hub id, with an owner or without."""
    return re.fullmatch(r"(\w[\w.-]*/)?\w[\w.-]*", name) is not None


def resolve_model(name: str) -> str:
    """What transformers loads under a user's name for a model: the packaged folder for "default", else the name.

    Raises InputError for what is neither a model folder nor can be a hub id.
    """
    if name == "default":
        if not (DEFAULT_MODEL / "config.json").is_file():
            raise InputError("this installation has no default model; name a model folder or a hub id")
        return str(DEFAULT_MODEL)
    folder = Path(name)
    if folder.is_dir() and not (folder / "config.json").is_file():
        raise InputError(f"model '{name}': a folder without config.json")
    if not folder.is_dir() and not can_be_hub_id(name):
        raise InputError(f"model '{name}': no such folder, and no hub id")
    return name


def choose_device(name: str) -> torch.device:
    """The device of that name; "auto" is an accelerator if there is one, else the CPU. Raises InputError."""
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    if name == "auto":
        return accelerator or torch.device("cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InputError(f"unknown device '{name}'; write auto, cpu, cuda, cuda:1, mps …") from None
    available = [None] if accelerator is None else [None, *range(torch.accelerator.device_count())]
    if device.type != "cpu" and (
        accelerator is None or device.type != accelerator.type or device.index not in available
    ):
        raise InputError(f"device '{name}' is not available here")
    return device


def choose_dtype(name: str, device: torch.device) -> torch.dtype:
    """The dtype of that name; "auto" is bfloat16 where the device computes in it fast, else float32."""
    if name not in DTYPES:
        raise InputError(f"unknown dtype '{name}'; choose from {', '.join(DTYPES)}")
    if name != "auto":
        return getattr(torch, name)
    if device.type == "cpu":
        can = getattr(torch.cpu, "get_capabilities", dict)()
        fast = bool(can.get("amx_bf16") or can.get("avx512_bf16"))
    else:
        fast = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.bfloat16 if fast else torch.float32
