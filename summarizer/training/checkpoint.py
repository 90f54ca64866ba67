"""Checkpoints that appear whole or not at all, in safetensors and JSON; and model folders for use and sharing."""

import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from summarizer.errors import InputError
from summarizer.files import hash_of_file, write_json
from summarizer.training.engine import Trained, held_like, whole

STATE_FILE = "state.json"  # written last: a folder with it is complete


class TrainingError(InputError):
    """Training must stop; the message says why and names the last good checkpoint."""


class DamagedCheckpointError(InputError):
    """A checkpoint's files have changed since they were written."""


@dataclass(frozen=True)
class TrainingState:
    """Where training stands. Samples and dropout follow from the seed and the step, so nothing else is needed.

    samples: what the sequence of samples follows from, see BatchPlan.fingerprint. loss_scaler: the state of float16's
    gradient scaler, empty where there is none. validation: the metrics of the last validation. candidates: the scores
    of the best validated steps, by their numbers, where the mean of their weights is wanted. best_metric: what the
    scores are by.
    """

    step: int = 0
    seconds: float = 0.0  # spent in steps
    samples: str = ""
    best_score: float | None = None  # of the best_metric; higher is better (a loss counts negative)
    validations_without_improvement: int = 0
    skipped_steps: int = 0  # because their loss or gradient was not finite
    skipped_in_a_row: int = 0
    loss_scaler: dict[str, float] = field(default_factory=dict)
    validation: dict[str, float] = field(default_factory=dict)
    candidates: dict[str, float] = field(default_factory=dict)
    best_metric: str = "loss"


def save_checkpoint(folder: Path, state: TrainingState, trained: Trained, writes: bool = True) -> Path:
    """Write folder/step-NNNNNN: weights, optimizer, state. Returns its path; an older one of that step is replaced.

    All processes must call it, since each may hold a part of the tensors; one of them writes.
    """
    optimizer_tensors, groups = _split_optimizer(trained.optimizer)
    files = {"model": _distinct_tensors(trained.model), "optimizer": optimizer_tensors}
    if trained.average is not None:
        files["average"] = trained.average.weights
    gathered = {name: _gather(tensors, writes) for name, tensors in files.items()}

    def write(aside: Path) -> None:
        for name, tensors in gathered.items():
            save_file(tensors, aside / f"{name}.safetensors")
        write_json(aside / "optimizer.json", {**groups, "parameters": _optimized_names(trained)})
        digests = {path.name: hash_of_file(path) for path in sorted(aside.iterdir())}
        write_json(aside / STATE_FILE, {**asdict(state), "sha256": digests})

    target = folder / f"step-{state.step:06d}"
    if writes:
        write_folder(target, write)
    return target


def load_checkpoint(path: Path, trained: Trained) -> TrainingState:
    """Restore weights, optimizer and average in place and return the state.

    Raises DamagedCheckpointError for files that have changed, InputError for a checkpoint that does not fit.
    """
    try:
        for name, digest in _read_json(path)["sha256"].items():
            if hash_of_file(path / name) != digest:
                raise ValueError(f"the content of {name} has changed")
        state = read_state(path)
        weights = load_file(path / "model.safetensors")
        tensors = load_file(path / "optimizer.safetensors")
        groups = json.loads((path / "optimizer.json").read_text(encoding="utf-8"))
        averaged = load_file(path / "average.safetensors") if (path / "average.safetensors").exists() else None
    except Exception as error:  # safetensors' errors share no base class with OSError
        raise DamagedCheckpointError(f"{path} is damaged: {' '.join(str(error).split())}") from error
    if "parameters" not in groups:
        raise InputError(f"{path} was written by an earlier version and cannot be resumed; start a run of another name")
    try:
        _check_fit(trained.model, weights)
        _check_optimizer_fit(trained, groups["param_groups"], groups.pop("parameters"))
        own = trained.model.state_dict()
        trained.model.load_state_dict(
            {name: held_like(value, own[name]) for name, value in weights.items()}, strict=False
        )
        trained.optimizer.load_state_dict(_join_optimizer(tensors, groups, trained.optimizer))
    except (RuntimeError, ValueError, LookupError) as error:
        raise InputError(f"{path}: does not fit this configuration: {error}") from error
    if trained.average is not None:
        start = averaged or dict(trained.model.named_parameters())
        trained.average.restart({name: held_like(start[name], own) for name, own in trained.average.weights.items()})
    return state


def load_newest_checkpoint(paths: list[Path], trained: Trained) -> tuple[TrainingState, Path, list[str]]:
    """Restore the newest of `paths` (oldest first) that is not damaged; returns also a line for each that is.

    Raises DamagedCheckpointError if all are.
    """
    damaged: list[str] = []
    for path in reversed(paths):
        try:
            return load_checkpoint(path, trained), path, damaged
        except DamagedCheckpointError as error:
            damaged.append(str(error))
    raise DamagedCheckpointError(f"no checkpoint can be read: {'; '.join(damaged)}")


def read_state(path: Path) -> TrainingState:
    """The state that a checkpoint holds."""
    content = _read_json(path)
    del content["sha256"]
    return TrainingState(**content)


def last_good_checkpoint(run_folder: Path) -> str:
    """For error messages: the checkpoint from which the run can continue."""
    checkpoints = complete_checkpoints(run_folder / "checkpoints")
    return f"the last good checkpoint is {checkpoints[-1]}" if checkpoints else "there is no checkpoint yet"


def complete_checkpoints(folder: Path) -> list[Path]:
    """The complete checkpoints in `folder`, oldest first."""
    names = re.compile(r"step-\d+")  # not a renamed copy, such as step-000100-copy
    found = (path for path in folder.glob("step-*") if names.fullmatch(path.name) and (path / STATE_FILE).is_file())
    return sorted(found, key=lambda path: (len(path.name), path.name))  # by number, also past step 999999


def prune_checkpoints(folder: Path, keep: int, keep_every: int | None = None) -> None:
    """Delete incomplete checkpoints, and complete ones except the newest `keep` and every `keep_every`-th step."""
    complete = complete_checkpoints(folder)
    for path in complete[: max(0, len(complete) - keep)]:
        if keep_every is None or int(path.name.removeprefix("step-")) % keep_every:
            shutil.rmtree(path)
    for path in folder.glob(".*.part"):
        shutil.rmtree(path, ignore_errors=True)


def save_model_folder(
    path: Path, model: Any, tokenizer: Any, card: str, write_more: Callable[[Path], None] = lambda _: None
) -> None:
    """Write a plain Hugging Face model folder (weights, configurations, tokenizer, model card), whole or not at all.

    `write_more` may add files to the folder.
    """

    def write(aside: Path) -> None:
        model.save_pretrained(aside)
        tokenizer.save_pretrained(aside)
        (aside / "README.md").write_text(card, encoding="utf-8")
        write_more(aside)

    write_folder(path, write)


def write_folder(target: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary folder, then rename it to `target`; a folder of that name is replaced.

    Raises InputError if it cannot be written, for example because the disk is full.
    """
    finish_folder(target)
    aside = target.with_name(f".{target.name}.part")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    try:
        write(aside)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{target} cannot be written: {getattr(error, 'strerror', None) or error}") from error
    umask = os.umask(0)
    os.umask(umask)
    for path in filter(Path.is_file, aside.rglob("*")):  # safetensors makes its files private
        path.chmod(0o666 & ~umask)
    replaced = _replaced(target)
    if target.exists():
        target.replace(replaced)
    aside.replace(target)
    shutil.rmtree(replaced, ignore_errors=True)


def finish_folder(target: Path) -> None:
    """Complete a replacement that was interrupted between its two renames."""
    if (replaced := _replaced(target)).exists():
        if target.exists():
            shutil.rmtree(replaced)
        else:
            replaced.replace(target)


def _replaced(target: Path) -> Path:
    return target.with_name(f".{target.name}.old.part")


def _read_json(path: Path) -> dict[str, Any]:
    return json.loads((path / STATE_FILE).read_text(encoding="utf-8"))


def _gather(tensors: dict[str, Tensor], keep: bool) -> dict[str, Tensor]:
    """Whole tensors in main memory; on a process that does not keep them, none."""
    gathered = ((name, whole(tensor.detach())) for name, tensor in tensors.items())  # by all processes together
    return {name: value.contiguous().cpu() for name, value in gathered if keep}


def _distinct_tensors(model: nn.Module) -> dict[str, Tensor]:
    """The state without the second names of tied tensors, which safetensors refuses."""
    distinct: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        distinct.setdefault(id(tensor), (name, tensor))
    return dict(distinct.values())


def _check_fit(model: nn.Module, weights: dict[str, Tensor]) -> None:
    """Raise ValueError, naming some, if the model has other parameters than `weights`, or of other shapes."""
    own = model.state_dict(keep_vars=True)
    given = {id(own[name]) for name in weights if name in own}  # tied tensors are saved under one of their names
    absent = [name for name, tensor in own.items() if id(tensor) not in given]
    wrong = [*absent, *(name for name, value in weights.items() if name not in own or own[name].shape != value.shape)]
    if wrong:
        raise ValueError(f"other parameters, or other shapes, than the model's: {', '.join(wrong[:3])} …")


def _optimized_names(trained: Trained) -> list[list[str]]:
    """The names of the parameters in each of the optimizer's groups."""
    names = {id(parameter): name for name, parameter in trained.model.named_parameters()}
    return [[names[id(parameter)] for parameter in group["params"]] for group in trained.optimizer.param_groups]


def _check_optimizer_fit(trained: Trained, groups: list[dict[str, Any]], names: list[list[str]]) -> None:
    """Raise ValueError if the saved optimizer was another one, or trained other parameters than those in `names`.

    Its state numbers the parameters, so other parameters of the same shapes would load without an error.
    """
    own_groups = trained.optimizer.param_groups
    if ["betas" in group for group in groups] != ["betas" in group for group in own_groups]:  # AdamW's, not Muon's
        raise ValueError("training.optimizer must stay as it was")
    if names != _optimized_names(trained):
        raise ValueError("training.optimizer, training.freeze and training.lora must stay as they were")


def _split_optimizer(optimizer: torch.optim.Optimizer) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """An optimizer's state as named tensors and JSON."""
    state = optimizer.state_dict()
    tensors = {f"{index}.{name}": value for index, values in state["state"].items() for name, value in values.items()}
    return tensors, {"param_groups": state["param_groups"]}


def _join_optimizer(
    tensors: dict[str, Tensor], groups: dict[str, Any], optimizer: torch.optim.Optimizer
) -> dict[str, Any]:
    """The state that `_split_optimizer` took apart, held as the optimizer holds its parameters."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        index, name = key.split(".", 1)
        own = parameters[int(index)]
        state.setdefault(int(index), {})[name] = held_like(value, own) if value.shape == own.shape else value
    return {"state": state, **groups}
