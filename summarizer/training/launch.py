"""What a run needs before it starts: the accelerator, and a lock on the run folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.tracking import get_available_trackers
from accelerate.utils import InitProcessGroupKwargs, LoggerType

from summarizer.config import TrainingConfig
from summarizer.config_files import COMPLETE_CONFIG
from summarizer.errors import InputError
from summarizer.files import lock_file, naming_written
from summarizer.models.loading import bfloat16_is_fast, choose_device
from summarizer.outputs import check_folder
from summarizer.training.checkpoint import complete_checkpoints, finish_folder
from summarizer.training.engine import fsdp_settings

LOCK_FILE = ".lock"


def make_accelerator(settings: TrainingConfig, folder: Path) -> Accelerator:
    """The accelerator by the launcher's settings and the run's own. InputError names what is not supported."""
    for name in ("DEEPSPEED", "MEGATRON_LM"):
        if os.environ.get(f"ACCELERATE_USE_{name}", "false") == "true":
            raise InputError(
                f"the launcher asks for {name}, which is not supported; to split the model, use FSDP: "
                "configs/accelerate/fsdp.yaml"
            )
    fsdp_settings()
    precision = settings.mixed_precision
    if precision == "auto":
        precision = "bf16" if bfloat16_is_fast(choose_device("auto")) else "no"
    installed = [str(tracker) for tracker in get_available_trackers()]
    for tracker in settings.trackers:
        if tracker in LoggerType.list() and tracker not in installed:  # accelerate would ignore it
            raise InputError(f"training.trackers: {tracker} is not installed: pip install {tracker}")
    try:
        return Accelerator(
            # Without this, accelerate starts separate runs on several processes without GPUs.
            cpu=not torch.accelerator.is_available(),
            mixed_precision=precision,
            log_with=list(settings.trackers) or None,
            project_dir=folder,
            kwargs_handlers=[InitProcessGroupKwargs(timeout=timedelta(minutes=settings.timeout_minutes))],
        )
    except ValueError as error:  # a precision that this machine lacks, an unknown tracker
        raise InputError(f"training.mixed_precision or training.trackers: {error}") from error


@contextmanager
def locked(folder: Path, accelerator: Accelerator, overwrite: bool = False) -> Iterator[None]:
    """Lock the run folder for this run until its processes end, even if they are killed.

    Raises InputError if another run is writing it, and UsageError if it holds something else than a run and `overwrite`
    is false.
    """
    check_folder(folder, {"config.yaml": COMPLETE_CONFIG}, ["config.yaml"], overwrite)
    if not accelerator.is_main_process:
        yield
        return
    with naming_written(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK_FILE).open("a") as file:  # not "w", which would change the file's time
        lock_file(file, folder)
        for left in filter(Path.is_file, folder.glob(".*.part")):  # by a run that was killed while writing
            left.unlink()
        os.register_at_fork(after_in_child=file.close)  # a worker that outlives a killed run must not hold it
        try:
            yield
        finally:
            if [path.name for path in folder.iterdir()] == [LOCK_FILE]:  # nothing was begun
                (folder / LOCK_FILE).unlink()
                folder.rmdir()


def checkpoints_to_resume(folder: Path, resume: bool) -> list[Path]:
    """The complete checkpoints of the run folder, oldest first; none for a new run.

    Raises InputError if the folder holds a run and `resume` is false, or a run without checkpoints.
    """
    for name in ("best", "last", "averaged"):
        finish_folder(folder / name)
    checkpoints = complete_checkpoints(folder / "checkpoints")
    if not resume and checkpoints:
        raise InputError(f"{folder} already holds a run; pass resume=true to continue it, or another name")
    if not checkpoints and any((folder / name).exists() for name in ("best", "last")):
        raise InputError(f"{folder} holds models of a run but none of its checkpoints; pass another name")
    return checkpoints
