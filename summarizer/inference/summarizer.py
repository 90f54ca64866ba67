"""Texts to summaries with a model by name: the default, a model folder, or any seq2seq model of the hub."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
from transformers.utils import logging

import summarizer.models  # noqa: F401 (registers our models with the Auto classes)
from summarizer.files import InputError
from summarizer.inference.generation import generate_in_batches, in_order
from summarizer.inference.settings import Summary, SummarySettings

DTYPES = ("auto", "float32", "bfloat16", "float16")
DEFAULT_MODEL = Path(__file__).parent.parent / "assets" / "default"


class Summarizer:
    """A loaded model with its tokenizer, ready to summarize."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.model = model
        self.tokenizer = tokenizer

    @property
    def dtype(self) -> str:
        """In what the model computes, such as "bfloat16"."""
        return str(self.model.dtype).removeprefix("torch.")

    @classmethod
    def from_pretrained(cls, name: str = "default", device: str = "auto", dtype: str = "auto") -> "Summarizer":
        """Load "default", a model folder or a hub id; safetensors only, and no code from the hub.

        `device` is "auto" or torch's name of one; `dtype` one of DTYPES. Raises InputError when there is no such
        model, or it is not a seq2seq model, or the device is not there.
        """
        place = choose_device(device)
        precision = choose_dtype(dtype, place)
        path = resolve_model(name)
        try:
            with _without_progress_bars():
                tokenizer = AutoTokenizer.from_pretrained(path)
                model = AutoModelForSeq2SeqLM.from_pretrained(path, dtype=precision, use_safetensors=True)
        except (OSError, ValueError, KeyError, ImportError) as error:
            raise InputError(f"model '{name}' cannot be loaded: {' '.join(str(error).split())}") from error
        return cls(model.to(place).eval(), tokenizer)

    def summarize(self, texts: Iterable[str], settings: SummarySettings | None = None, **options: Any) -> list[Summary]:
        """Summarize texts, in order; `options` are fields of SummarySettings, such as num_beams=1."""
        return list(self.stream(texts, settings, **options))

    def stream(
        self, texts: Iterable[str], settings: SummarySettings | None = None, **options: Any
    ) -> Iterator[Summary]:
        """Like `summarize`, one summary after the other while `texts` are read a bounded number ahead."""
        return in_order(self.batches(texts, settings, **options))

    def batches(
        self, texts: Iterable[str], settings: SummarySettings | None = None, **options: Any
    ) -> Iterator[list[tuple[int, Summary]]]:
        """Like `stream`, but as the batches are finished: lists of (position in `texts`, summary)."""
        settings = replace(settings or SummarySettings(), **options)
        return generate_in_batches(self.model, self.tokenizer, texts, settings)


@contextmanager
def _without_progress_bars() -> Iterator[None]:
    """Without transformers' own bars, one for every file that is loaded."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


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
    if not folder.is_dir() and not re.fullmatch(r"(\w[\w.-]*/)?\w[\w.-]*", name):
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
        fast = bool(getattr(torch.cpu, "get_capabilities", dict)().get("amx_bf16"))
    else:
        fast = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.bfloat16 if fast else torch.float32
