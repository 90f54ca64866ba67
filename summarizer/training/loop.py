"""The training loop: steps on any number of processes, validation, checkpoints, and the models that are kept."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal

from transformers.utils.logging import disable_progress_bar

from summarizer.config import RunConfig
from summarizer.config_files import to_yaml
from summarizer.errors import StoppedError
from summarizer.files import write_whole
from summarizer.memory import keep_freed_memory
from summarizer.training.checkpoint import TrainingError, last_good_checkpoint
from summarizer.training.classification import Classification
from summarizer.training.distributed import naming_absent_processes
from summarizer.training.extensions import Callback, Extensions, Metric
from summarizer.training.launch import checkpoints_to_resume, locked, make_accelerator
from summarizer.training.rehearsals import REHEARSALS, check_trial_files
from summarizer.training.run import Run
from summarizer.training.run_log import RunLog, StepWindow, peak_memory
from summarizer.training.sentence_selection import SentenceSelection
from summarizer.training.starting_model import check_new_model
from summarizer.training.summarization import Summarization

TASKS: dict[str, Any] = {
    "summarization": Summarization,
    "classification": Classification,
    "selection": SentenceSelection,
}


def train(
    config: RunConfig,
    rehearsal: Literal["dry-run", "find-lr"] | None = None,
    overwrite: bool = False,
    *,
    callbacks: Sequence[Callback] = (),
    metrics: Mapping[str, Metric] | None = None,
) -> Path:
    """Train as `config` says and return the run folder. Raises InputError if the run is impossible.

    A rehearsal writes no run folder: `dry-run` prints what would be done and how long it would take, `find-lr` tries
    learning rates. `callbacks` are called with each TrainingEvent; `metrics` are further metrics of the validation
    summaries, by name. Raises UsageError for a folder or files that are not of a run, unless `overwrite` is true.
    """
    folder = Path(config.output_dir, config.name)
    extensions = Extensions(callbacks, metrics or {})
    extensions.check(config)
    check_new_model(config)
    keep_freed_memory()
    disable_progress_bar()  # transformers' progress bar for every file that it writes
    if rehearsal == "find-lr":
        check_trial_files(folder, overwrite)
    accelerator = make_accelerator(config.training, folder)
    with nullcontext() if rehearsal else locked(folder, accelerator, overwrite), naming_absent_processes(accelerator):
        with accelerator.main_process_first():
            checkpoints = [] if rehearsal else checkpoints_to_resume(folder, config.resume)
        task = TASKS[config.task](config)
        if isinstance(task, Summarization):
            task.extra_metrics = extensions.metrics
        run = Run(config, folder, accelerator, task)
        if rehearsal:
            REHEARSALS[rehearsal](run)
        elif (log := begin(run, checkpoints, callbacks)) is not None:
            take_steps(run, log)
    return folder


def begin(run: Run, checkpoints: list[Path], callbacks: Sequence[Callback] = ()) -> RunLog | None:
    """Resume from the newest good checkpoint, write the configuration, and print what will be done.

    Returns the log of the run, or None if nothing is left to do: then no file is changed.
    """
    settings, accelerator = run.settings, run.accelerator
    notes = run.resume(checkpoints) if checkpoints else []
    if (run.folder / "last").exists():
        is_over = run.best_models.stops_early(run.state, notes.append)
        if is_over or not run.in_budget():
            if accelerator.is_main_process:
                run.say("\n".join([*notes, f"nothing is left to do after step {run.state.step} of {settings.steps}"]))
            return None
    if accelerator.is_main_process:
        with write_whole(run.folder / "config.yaml") as file:  # first: it marks the folder as that of a run
            file.write(to_yaml(run.config))
    if settings.trackers:
        accelerator.init_trackers("tensorboard" if settings.trackers == ["tensorboard"] else "summarizer")
    log = RunLog(run.folder / "metrics.jsonl", accelerator, run.state.step, settings.steps)
    log.callbacks, log.stop = callbacks, run.stop.request
    run.say = log.say
    for line in [*run.description(), *notes]:
        log.say(line)
    return log


def take_steps(run: Run, log: RunLog) -> None:
    """Train until the last step, early stopping, or a signal. At the end, the newest state is on disk."""
    settings, window, stopped = run.settings, StepWindow(), False
    saved = run.state.step or None  # the last step with a checkpoint; a resumed run starts at one
    shares = run.shares(settings.num_workers)
    with log, run.stop:
        while run.in_budget() and not run.best_models.stops_early(run.state, run.say):
            taken = run.step(next(shares))
            step, is_last = run.state.step, not run.in_budget()
            window.add(taken)
            log.advance()
            if step % settings.log_every == 0 or is_last:
                log.record(step, {**window.metrics(), **peak_memory(run.accelerator)}, window.shown())
                window = StepWindow()
            validates = step % settings.validate_every == 0 or is_last
            if validates:
                with window.paused():
                    run.state = run.best_models.validate(run.state, log)
            stopped = taken["stop"] > 0 and not is_last
            if stopped:
                break
            # The first best model needs a checkpoint beside it: without one, a killed run could not be resumed.
            saves = step % settings.save_every == 0 or (validates and saved is None)
            if saves and not run.state.skipped_in_a_row:  # the weights may be unusable
                with window.paused():
                    run.save_checkpoint()
                saved = step
        if run.state.skipped_in_a_row:
            raise TrainingError(
                f"the run ends with a loss or gradient that is not finite at step {run.state.step}; "
                f"{last_good_checkpoint(run.folder)}; a lower training.learning_rate may help"
            )
        if saved != run.state.step:
            run.save_checkpoint()
        if not stopped:
            run.best_models.save_mean_of_best(run.state, log)
        run.best_models.save("last", run.state.step, run.state.validation)
    run.accelerator.end_training()
    if stopped:
        path = run.folder / "checkpoints" / f"step-{run.state.step:06d}"
        raise StoppedError(f"stopped after step {run.state.step}; resume=true continues from {path}")
    run.say(f"done: {run.folder}")
