"""Checkpoints that appear whole or not at all, in safetensors and JSON; and model folders for use and sharing."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from summarizer.files import InputError, write_json

STATE_FILE = "state.json"  # written last: a folder with it is complete


@dataclass(frozen=True)
class TrainingState:
    """Where training stands. Samples and dropout follow from the seed and the step, so nothing else is needed.

    `loss_scaler` is the state of float16's gradient scaler, empty where there is none.
    """

    step: int = 0
    best_score: float | None = None  # of the best_metric; higher is better (a loss counts negative)
    validations_without_improvement: int = 0
    loss_scaler: dict[str, float] = field(default_factory=dict)


def save_checkpoint(folder: Path, state: TrainingState, model: nn.Module, optimizer: torch.optim.Optimizer) -> Path:
    """Write folder/step-NNNNNN: weights, optimizer, state. Returns its path; an older one of that step is replaced."""

    def write(aside: Path) -> None:
        save_file(_distinct_tensors(model), aside / "model.safetensors")
        tensors, groups = _split_optimizer(optimizer)
        save_file(tensors, aside / "optimizer.safetensors")
        write_json(aside / "optimizer.json", groups)
        write_json(aside / STATE_FILE, asdict(state))

    target = folder / f"step-{state.step:06d}"
    write_folder(target, write)
    return target


def load_checkpoint(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> TrainingState:
    """Restore weights and optimizer in place and return the state. Raises InputError for what does not fit."""
    try:
        weights = load_file(path / "model.safetensors")
        tensors = load_file(path / "optimizer.safetensors")
        groups = json.loads((path / "optimizer.json").read_text(encoding="utf-8"))
        state = json.loads((path / STATE_FILE).read_text(encoding="utf-8"))
    except Exception as error:  # safetensors' errors share no base class with OSError
        raise InputError(f"{path}: cannot be read: {error}") from error
    try:
        _check_fit(model, weights)
        model.load_state_dict(weights, strict=False)
        optimizer.load_state_dict(_join_optimizer(tensors, groups))
    except (RuntimeError, ValueError, KeyError) as error:
        raise InputError(f"{path}: does not fit this configuration: {error}") from error
    names = [own.name for own in fields(TrainingState)]
    return TrainingState(**{name: state[name] for name in names if name in state})


def complete_checkpoints(folder: Path) -> list[Path]:
    """The complete checkpoints in `folder`, oldest first."""
    found = (path for path in folder.glob("step-*") if (path / STATE_FILE).is_file())
    return sorted(found, key=lambda path: (len(path.name), path.name))  # by number, also past step 999999


def prune_checkpoints(folder: Path, keep: int) -> None:
    """Delete all but the newest `keep` complete checkpoints, and what interrupted writing left."""
    complete = complete_checkpoints(folder)
    for path in complete[: max(0, len(complete) - keep)]:
        shutil.rmtree(path)
    for path in folder.glob(".*.part"):
        shutil.rmtree(path)


def save_model_folder(path: Path, model: Any, tokenizer: Any, card: str) -> None:
    """Write a plain Hugging Face model folder (weights, configurations, tokenizer, model card), whole or not at all."""

    def write(aside: Path) -> None:
        model.save_pretrained(aside)
        tokenizer.save_pretrained(aside)
        (aside / "README.md").write_text(card, encoding="utf-8")

    write_folder(path, write)


def write_folder(target: Path, write: Callable[[Path], None]) -> None:
    """Fill a folder aside by `write`, then give it the name `target`; a folder of that name is replaced."""
    aside = target.with_name(f".{target.name}.part")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    write(aside)
    umask = os.umask(0)
    os.umask(umask)
    for path in filter(Path.is_file, aside.iterdir()):  # safetensors makes its files private
        path.chmod(0o666 & ~umask)
    replaced = target.with_name(f".{target.name}.old.part")
    shutil.rmtree(replaced, ignore_errors=True)
    if target.exists():
        target.replace(replaced)
    aside.replace(target)
    shutil.rmtree(replaced, ignore_errors=True)


def _distinct_tensors(model: nn.Module) -> dict[str, Tensor]:
    """The state without the second names of tied tensors, which safetensors refuses."""
    seen: set[int] = set()
    distinct = {}
    for name, tensor in model.state_dict().items():
        if tensor.data_ptr() not in seen or tensor.numel() == 0:
            seen.add(tensor.data_ptr())
            distinct[name] = tensor.detach().contiguous().cpu()
    return distinct


def _check_fit(model: nn.Module, weights: dict[str, Tensor]) -> None:
    """Raise ValueError, naming some, if the model has other parameters than `weights`, or of other shapes."""
    own = model.state_dict()
    absent = [name for name in own if name not in weights and not _is_tied(name, model, weights)]
    wrong = [*absent, *(name for name, value in weights.items() if name not in own or own[name].shape != value.shape)]
    if wrong:
        raise ValueError(f"other parameters, or other shapes, than the model's: {', '.join(wrong[:3])} …")


def _is_tied(name: str, model: nn.Module, weights: dict[str, Tensor]) -> bool:
    """Whether the tensor `name` shares its memory with one that the checkpoint holds."""
    state = model.state_dict()
    return any(state[other].data_ptr() == state[name].data_ptr() for other in weights if other in state)


def _split_optimizer(optimizer: torch.optim.Optimizer) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """An optimizer's state as named tensors and JSON."""
    state = optimizer.state_dict()
    tensors = {
        f"{index}.{name}": value.detach().contiguous().cpu()
        for index, values in state["state"].items()
        for name, value in values.items()
    }
    return tensors, {"param_groups": state["param_groups"]}


def _join_optimizer(tensors: dict[str, Tensor], groups: dict[str, Any]) -> dict[str, Any]:
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = value
    return {"state": state, **groups}
