"""The training loop, the only one: steps of micro-batches on any number of processes, validation, checkpoints.

A step is the same whatever the number of processes: the same micro-batches, the loss over all their labels, and
dropout that follows from the seed, the step and the micro-batch. So is what is resumed.
"""

import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from accelerate import Accelerator
from torch import Tensor
from transformers.utils.logging import disable_progress_bar

from summarizer.config import RunConfig, changed_keys, load_config, to_yaml
from summarizer.data.batching import BatchPlan, load_shares, num_labels_in
from summarizer.data.pairs import find_pairs
from summarizer.data.preparation import PreparedData
from summarizer.errors import InputError, StoppedError
from summarizer.files import write_whole
from summarizer.memory import keep_freed_memory
from summarizer.training.adaptation import choose_what_is_trained
from summarizer.training.best_models import Selection
from summarizer.training.checkpoint import (
    TrainingError,
    TrainingState,
    last_good_checkpoint,
    load_newest_checkpoint,
    prune_checkpoints,
    save_checkpoint,
)
from summarizer.training.classification import Classification
from summarizer.training.description import describe, estimate, peak_memory
from summarizer.training.distributed import naming_absent_processes, sum_over_processes
from summarizer.training.engine import clip_gradients, make_engine
from summarizer.training.gradients import BatchTooLargeError, Gradients
from summarizer.training.launch import checkpoints_to_resume, locked, make_accelerator
from summarizer.training.optim import learning_rate_at, set_learning_rate
from summarizer.training.rate_finder import report, save_trial, try_rates
from summarizer.training.run_log import RunLog, StepWindow
from summarizer.training.stopping import StopSignals
from summarizer.training.summarization import Summarization
from summarizer.training.task import Task

STEPS_TIMED = 3  # of a dry run
TASKS: dict[str, Any] = {"summarization": Summarization, "classification": Classification}


def train(config: RunConfig, rehearsal: Literal["dry-run", "find-lr"] | None = None) -> Path:
    """Train by `config` and return the run folder. Raises InputError (one clear line) for what cannot be done.

    A rehearsal writes no run folder: `dry-run` says what would be done and how long it would take, `find-lr` tries
    learning rates.
    """
    folder = Path(config.output_dir, config.name)
    keep_freed_memory()
    disable_progress_bar()  # transformers' own, for every file that is written
    accelerator = make_accelerator(config.training, folder)
    with nullcontext() if rehearsal else locked(folder, accelerator), naming_absent_processes(accelerator):
        with accelerator.main_process_first():
            checkpoints = [] if rehearsal else checkpoints_to_resume(folder, config.resume)
        run = _Run(config, folder, accelerator, TASKS[config.task](config))
        if rehearsal == "dry-run":
            run.estimate()
        elif rehearsal == "find-lr":
            run.find_learning_rate()
        elif run.start(checkpoints):
            run.loop()
    return folder


class _Run:
    """One training run on this process."""

    def __init__(self, config: RunConfig, folder: Path, accelerator: Accelerator, task: Task) -> None:
        self.config, self.settings, self.folder = config, config.training, folder
        self.accelerator, self.task = accelerator, task
        self.num_processes = accelerator.num_processes
        self.say: Callable[[str], None] = partial(print, file=sys.stderr)  # until there is a log
        with accelerator.main_process_first():  # the others find what the main process has prepared
            training_data = task.prepare("train")
            others = {"validation": task.prepare("validation"), "test": self._test_data()}
        if training_data is None:
            raise InputError("data.train is empty")
        self.training_data = training_data
        self.data = {"train": training_data, **{split: data for split, data in others.items() if data is not None}}
        self.plan = BatchPlan(
            training_data.source_lengths,
            training_data.target_lengths,
            self.settings.tokens_per_batch,
            max(self.settings.batches_per_step, self.num_processes),  # nobody may stay without work
            config.seed,
        )
        model = task.make_model()
        sizes = {
            "parameters": model.num_parameters(),
            "documents": len(training_data),
            "validation_documents": len(self.data.get("validation", [])),
        }
        choose_what_is_trained(model, self.settings)
        num_trained = model.num_parameters(only_trainable=True)
        self.model_line = f"{sizes['parameters']:,} parameters" + (
            f", {num_trained:,} trained" if num_trained != sizes["parameters"] else ""
        )
        self.engine = make_engine(accelerator, model, self.settings)
        self.trained = self.engine.trained
        self.selection = Selection(config, folder, self.engine, task, self.data.get("validation"), sizes)
        self.gradients = Gradients(self.engine, task, self.settings, config.seed, training_data.rows[0])
        self.stop = StopSignals()
        samples = self.plan.fingerprint(self.settings.batches_per_step)
        self.state = TrainingState(samples=samples, best_metric=self.settings.best_metric)

    def start(self, checkpoints: list[Path]) -> bool:
        """Resume from the newest good checkpoint, write the configuration, and say what will be done.

        Returns whether anything is left to do.
        """
        notes = self._resume(checkpoints) if checkpoints else []
        if self.settings.trackers:
            self.accelerator.init_trackers("tensorboard" if self.settings.trackers == ["tensorboard"] else "summarizer")
        self.log = RunLog(self.folder / "metrics.jsonl", self.accelerator, self.state.step, self.settings.steps)
        self.say = self.log.say
        if self.accelerator.is_main_process:
            with write_whole(self.folder / "config.yaml") as file:
                file.write(to_yaml(self.config))
        for line in [*self._description(), *notes]:
            self.say(line)
        finished = not self._in_budget() and (self.folder / "last").exists()
        if finished:
            self.say(f"nothing is left to do: step {self.state.step} of {self.settings.steps} is done")
        return not finished

    def estimate(self) -> None:
        """Say what a run would be, and how long its steps would take by the median of a few."""
        shares, seconds = self._shares(), []
        for _ in range(1 + STEPS_TIMED):
            before = self.state.seconds
            self._step(next(shares))
            seconds.append(self.state.seconds - before)
        lines = [
            *self._description(),
            *estimate(self.plan, self.settings, statistics.median(seconds[1:])),
            *(f"{value:,.0f} MB of memory" for value in peak_memory(self.accelerator).values()),
        ]
        if self.accelerator.is_main_process:
            print("\n".join(lines), file=sys.stderr)

    def find_learning_rate(self) -> None:
        """Try learning rates on the training data; says the best and writes the trial beside the run folder."""
        shares = self._shares()
        trial = try_rates(lambda rate: self._step(next(shares), rate)["loss"])
        if self.accelerator.is_main_process:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            report(trial, save_trial(trial, self.folder.with_name(f"{self.folder.name}-learning-rate")))

    def loop(self) -> None:
        """Take steps until the last one, early stopping, or a signal; the newest state is always on disk at the end."""
        settings, window, stopped = self.settings, StepWindow(), False
        saved = self.state.step or None  # the last step with a checkpoint: a run that goes on begins at one
        shares = self._shares(settings.num_workers)
        with self.log, self.stop:
            while self._in_budget() and not self.selection.stops_early(self.state, self.say):
                taken = self._step(next(shares))
                step, is_last = self.state.step, not self._in_budget()
                window.add(taken)
                self.log.advance()
                if step % settings.log_every == 0 or is_last:
                    self.log.record(step, {**window.metrics(), **peak_memory(self.accelerator)}, window.shown())
                    window = StepWindow()
                validates = step % settings.validate_every == 0 or is_last
                if validates:
                    with window.paused():
                        self.state = self.selection.validate(self.state, self.log)
                stopped = taken["stop"] > 0 and not is_last
                if stopped:
                    break
                # A run that has a best model needs a checkpoint, too: without one it could not go on when it is killed.
                saves = step % settings.save_every == 0 or (validates and saved is None)
                if saves and not self.state.skipped_in_a_row:  # the weights may be spoilt
                    with window.paused():
                        self._save_checkpoint()
                    saved = step
            if self.state.skipped_in_a_row:
                raise TrainingError(
                    f"the run ends with a loss or gradient that is not finite at step {self.state.step}; "
                    f"{last_good_checkpoint(self.folder)}; a lower training.learning_rate may help"
                )
            if saved != self.state.step:
                self._save_checkpoint()
            if not stopped:
                self.selection.save_mean_of_best(self.state, self.log)
            self.selection.save("last", self.state.step, self.state.validation)
        self.accelerator.end_training()
        if stopped:
            path = self.folder / "checkpoints" / f"step-{self.state.step:06d}"
            raise StoppedError(f"stopped after step {self.state.step}; resume=true goes on from {path}")
        self.say(f"done: {self.folder}")

    def _shares(self, num_workers: int = 0) -> Iterator[list[list[dict[str, Any]]]]:
        """This process's micro-batches of each step from the present one on."""
        first, process = self.state.step, self.accelerator.process_index
        return load_shares(self.training_data.rows, self.plan, first, process, self.num_processes, num_workers)

    def _resume(self, checkpoints: list[Path]) -> list[str]:
        """Restore the newest good checkpoint; returns lines about it. Raises InputError for what cannot change."""
        expected = self.state.samples
        try:
            self.state, path, notes = load_newest_checkpoint(checkpoints, self.trained)
        except InputError as error:
            raise TrainingError(str(error)) from error
        changed = self._changes()
        if self.state.samples != expected:
            raise TrainingError(
                f"{path} cannot be resumed: seed, data, tokenizer, limits, training.tokens_per_batch and "
                f"training.batches_per_step must stay as they were; changed: {', '.join(changed) or 'the data'}"
            )
        if self.accelerator.scaler is not None and self.state.loss_scaler:
            self.accelerator.scaler.load_state_dict(self.state.loss_scaler)
        notes += [f"resumed from {path}", *(f"changed since then: {line}" for line in changed)]
        self.state = self.selection.resumed(self.state, notes.append)
        return notes

    def _changes(self) -> list[str]:
        try:
            return changed_keys(load_config(self.folder / "config.yaml"), self.config)
        except InputError:  # not there, or of another version
            return []

    def _description(self) -> list[str]:
        described = describe(self.data, self.model_line + self.engine.note, self.plan, self.accelerator, self.settings)
        return [*described, *self.task.notes]

    def _in_budget(self) -> bool:
        minutes = self.settings.max_minutes
        return self.state.step < self.settings.steps and (minutes is None or self.state.seconds < 60 * minutes)

    def _step(self, micro_batches: list[list[dict[str, Any]]], learning_rate: float | None = None) -> dict[str, float]:
        """One optimizer step over this process's micro-batches; returns the step's statistics over all processes.

        The learning rate is that of the schedule, if none is given.
        """
        accelerator, started = self.accelerator, time.perf_counter()
        tensors = [self.gradients.tensors(rows) for rows in micro_batches]
        own_labels = sum(map(num_labels_in, tensors))
        own_source_tokens = sum(len(row["input_ids"]) for rows in micro_batches for row in rows)
        own_documents = sum(map(len, micro_batches))
        labels, source_tokens, documents = sum_over_processes(
            accelerator, [own_labels, own_source_tokens, own_documents]
        )
        own_loss = self._add_gradients(tensors, labels)
        if learning_rate is None:
            learning_rate = learning_rate_at(self.state.step, self.settings, self.state.seconds)
        set_learning_rate(self.trained.optimizer, learning_rate)
        norm = clip_gradients(self.engine, self.settings.max_grad_norm)
        # A signal may have reached one process only; all must stop after the same step. So with the time that is up.
        seconds = (time.perf_counter() - started) / self.num_processes
        loss_sum, stop, seconds = sum_over_processes(accelerator, [own_loss, self.stop.received, seconds])
        self.state = replace(self.state, seconds=self.state.seconds + seconds)
        loss = loss_sum / labels
        # With float16 the loss scaler skips steps whose gradients overflow.
        skipped = not math.isfinite(loss) or not (math.isfinite(norm) or accelerator.mixed_precision == "fp16")
        if skipped:
            self._count_skipped(loss, norm, micro_batches)
        else:
            self.trained.optimizer.step()
            self.state = replace(self.state, step=self.state.step + 1, skipped_in_a_row=0)
            if self.trained.average is not None:
                self.trained.average.update(self.trained.model, self.state.step)
        self.trained.optimizer.zero_grad(set_to_none=True)
        return {
            "loss": loss,
            "labels": labels,
            "source_tokens": source_tokens,
            "documents": documents,
            "learning_rate": learning_rate,
            "grad_norm": norm,
            "skipped": skipped,
            "stop": stop,
        }

    def _add_gradients(self, batches: list[dict[str, Tensor]], num_labels: float) -> float:
        try:
            return self.gradients.add(batches, num_labels, self.state.step, self.say)
        except BatchTooLargeError as error:
            raise TrainingError(
                f"out of memory at step {self.state.step + 1} with {error}; lower training.tokens_per_batch (more "
                "training.batches_per_step make up for it) or data.max_source_tokens, or set "
                "training.gradient_checkpointing or training.split_on_out_of_memory; "
                f"{last_good_checkpoint(self.folder)}"
            ) from error

    def _count_skipped(self, loss: float, norm: float, micro_batches: list[list[dict[str, Any]]]) -> None:
        """Pass over a step that is not finite; too many in a row end the run."""
        state = self.state
        self.state = replace(
            state,
            step=state.step + 1,
            skipped_steps=state.skipped_steps + 1,
            skipped_in_a_row=state.skipped_in_a_row + 1,
        )
        ids = [row["id"] for rows in micro_batches for row in rows]
        what = (
            f"the loss ({loss}) or its gradient ({norm}) is not finite at step {self.state.step}, "
            f"with the documents {', '.join(ids[:8])}"
        )
        if self.state.skipped_in_a_row > self.settings.max_skipped_in_a_row:
            raise TrainingError(f"{what}; {last_good_checkpoint(self.folder)}; a lower training.learning_rate may help")
        self.say(f"step skipped: {what}")

    def _test_data(self) -> PreparedData | None:
        """The test documents, which are only compared with the others: training needs them not.

        A hub's are not fetched for that where the training documents are one's own.
        """
        data = self.config.data
        try:
            if data.test and find_pairs(data.test, "test").hub_id and not find_pairs(data.train, "train").hub_id:
                return None
            return self.task.prepare("test")
        except InputError as error:
            if self.accelerator.is_main_process:
                self.say(f"warning: test documents are not compared with those of training: {error}")
            return None

    def _save_checkpoint(self) -> None:
        checkpoints, scaler = self.folder / "checkpoints", self.accelerator.scaler
        state = replace(self.state, loss_scaler=scaler.state_dict() if scaler is not None else {})
        writes = self.accelerator.is_main_process
        save_checkpoint(checkpoints, state, self.trained, writes)
        if writes:
            prune_checkpoints(checkpoints, self.settings.keep_checkpoints, self.settings.keep_every)
            self.selection.forget_candidates()
        self.accelerator.wait_for_everyone()
