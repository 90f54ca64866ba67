"""Models by name (the default, a folder, a hub id): how they are found and loaded, on what device, in what dtype."""

import json
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from logging import CRITICAL
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoTokenizer
from transformers.utils import logging

from summarizer.errors import InputError
from summarizer.hub import is_hub_id, model_hub_is_away

DTYPES = ("auto", "float32", "bfloat16", "float16")
DEFAULT_MODEL = Path(__file__).parent.parent / "assets" / "default"


class ModelFiles:
    """The files of a model or tokenizer, found by a user's name: "default", a folder or a hub id.

    `setting` is what the user gave the name for; errors begin with both. Every method raises InputError.
    """

    def __init__(self, name: str, setting: str = "model", needs_config: bool = True) -> None:
        self._called = f"{setting} '{name}'"
        self._path = resolve_model(name, setting)
        folder = Path(self._path)
        if needs_config and folder.is_dir() and not (folder / "config.json").is_file():
            raise InputError(f"{self._called}: a folder without config.json")
        for file in sorted(folder.glob("*.json")):  # transformers ignores some broken files
            try:
                json.loads(file.read_bytes())
            except ValueError as error:
                raise InputError(f"{self._called}: {file.name} is not valid JSON ({error})") from error
        self._cached_only = not folder.is_dir() and model_hub_is_away(self._path)

    def config(self) -> Any:
        """The model's configuration."""
        with self._loading("configuration"):
            return AutoConfig.from_pretrained(self._path, local_files_only=self._cached_only)

    def tokenizer(self, **options: Any) -> Any:
        """The tokenizer. `options` are those of `from_pretrained`."""
        with self._loading("tokenizer"):
            return AutoTokenizer.from_pretrained(self._path, local_files_only=self._cached_only, **options)

    def weights(
        self, auto_class: Any, device: torch.device | None = None, **options: Any
    ) -> tuple[Any, dict[str, Any]]:
        """A model of `auto_class` with these weights, from safetensors only, and transformers' report of what fitted.

        `options` are those of `from_pretrained`.
        """
        with self._loading("weights"):
            model, report = auto_class.from_pretrained(
                self._path,
                local_files_only=self._cached_only,
                use_safetensors=True,
                output_loading_info=True,
                **options,
            )
            return model if device is None else model.to(device), report

    @contextmanager
    def _loading(self, part: str) -> Iterator[None]:
        try:
            with _quiet_transformers():
                yield
        except Exception as error:  # safetensors', tokenizers', torch's and the hub's errors share no base class
            reason = textwrap.shorten(str(error) or type(error).__name__, 300, placeholder=" …")
            if self._cached_only and isinstance(error, OSError):
                reason = "the hub cannot be reached, and the model is not in the local cache"
            raise InputError(f"{self._called}: {part} cannot be loaded: {reason}") from error


@contextmanager
def _quiet_transformers() -> Iterator[None]:
    """Without transformers' progress bar for each file, and without its reports of what our errors tell."""
    shown, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity(CRITICAL)
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if shown:
            logging.enable_progress_bar()


def resolve_model(name: str, setting: str = "model") -> str:
    """What transformers loads under a user's name for a model: the packaged folder for "default", else the name.

    Raises InputError for a name that is neither a folder nor has the form of a hub id, [owner/]name.
    """
    if name == "default":
        if not (DEFAULT_MODEL / "config.json").is_file():
            raise InputError("this installation has no default model; name a model folder or a hub id")
        return str(DEFAULT_MODEL)
    if not Path(name).is_dir() and not is_hub_id(name):
        raise InputError(f"{setting} '{name}': no such folder, and not a hub id")
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
    return torch.bfloat16 if bfloat16_is_fast(device) else torch.float32


def bfloat16_is_fast(device: torch.device) -> bool:
    """Whether the device computes in bfloat16 faster than in float32."""
    if device.type == "cpu":
        can = getattr(torch.cpu, "get_capabilities", dict)()
        return bool(can.get("amx_bf16") or can.get("avx512_bf16"))
    return device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
