"""Texts to summaries with a model by name: the default, a model folder, or any seq2seq model of the hub."""

import json
import re
import textwrap
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from logging import CRITICAL
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError
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
        _check_json(name, Path(path))
        cached_only = _hub_is_away(path)
        part = "tokenizer"
        try:
            with _quiet_transformers():
                tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=cached_only)
                part = "weights"
                model, loaded = AutoModelForSeq2SeqLM.from_pretrained(
                    path,
                    dtype=precision,
                    use_safetensors=True,
                    local_files_only=cached_only,
                    output_loading_info=True,
                    ignore_mismatched_sizes=True,  # they are said below
                )
            model = model.to(place).eval()
        except Exception as error:  # safetensors', tokenizers', torch's and the hub's errors share no base class
            reason = "the hub cannot be reached, and " if cached_only else ""
            message = textwrap.shorten(str(error) or type(error).__name__, 300, placeholder=" …")
            raise InputError(f"model '{name}': {reason}its {part} cannot be loaded: {message}") from error
        learned = {key for key, parameter in model.named_parameters() if parameter.requires_grad}
        bad = sorted(learned.intersection([*loaded["missing_keys"], *(key for key, *_ in loaded["mismatched_keys"])]))
        if bad:
            raise InputError(f"model '{name}': its weights lack {len(bad)} of its parameters, such as {bad[0]}")
        return cls(model, tokenizer)

    def summarize(self, texts: Iterable[str], settings: SummarySettings | None = None, **options: Any) -> list[Summary]:
        """Summarize texts, in order; `options` are fields of SummarySettings, such as num_beams=1."""
        return list(self.stream(texts, settings, **options))

    def stream(
        self, texts: Iterable[str], settings: SummarySettings | None = None, **options: Any
    ) -> Iterator[Summary]:
        """Like `summarize`, one summary after the other while `texts` are read a bounded number ahead."""
        return in_order(self.batches(texts, settings, **options))

    def batches(
        self, texts: Iterable[str], settings: SummarySettings | None = None, ahead: bool = False, **options: Any
    ) -> Generator[list[tuple[int, Summary]], None, None]:
        """Like `stream`, but as the batches are finished: lists of (position in `texts`, summary).

        With `ahead`, `texts` are read in a thread of its own while the model works.
        """
        settings = replace(settings or SummarySettings(), **options)
        return generate_in_batches(self.model, self.tokenizer, _checked(texts), settings, ahead)


def _checked(texts: Iterable[str]) -> Iterable[str]:
    """The texts as they come. Raises TypeError for what is no text, and at once for a single one."""
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        raise TypeError(f"expected several texts, such as [text], not one {type(texts).__name__}")

    def each() -> Iterator[str]:
        for number, text in enumerate(texts):
            if not isinstance(text, str):
                raise TypeError(f"text {number} is no str, but {type(text).__name__}")
            yield text

    return each()


@contextmanager
def _quiet_transformers() -> Iterator[None]:
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


def _check_json(name: str, folder: Path) -> None:
    """Raises InputError for a broken file in a model folder; of some, transformers would say nothing."""
    for file in sorted(folder.glob("*.json")):
        try:
            json.loads(file.read_bytes())
        except ValueError as error:
            raise InputError(f"model '{name}': {file.name} is not valid JSON ({error})") from error


def _hub_is_away(path: str) -> bool:
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
