"""The training loop, the only one: steps of micro-batches on any number of processes, validation, checkpoints.

A step is the same whatever the number of processes: the same micro-batches, the loss over all their labels, and
dropout that follows from the seed, the step and the micro-batch. So is what is resumed.
"""

import math
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
import yaml
from accelerate import Accelerator
from torch import Tensor
from transformers.utils.logging import disable_progress_bar

from summarizer.config import RunConfig, changed_keys, load_config, to_yaml
from summarizer.data.batching import BatchPlan, load_shares, num_labels_in
from summarizer.data.preparation import identical_documents
from summarizer.files import InputError, StoppedError, write_whole
from summarizer.memory import keep_freed_memory, peak_memory_mb
from summarizer.training.adaptation import choose_what_is_trained, without_adapters
from summarizer.training.card import make_card, without_paths
from summarizer.training.checkpoint import (
    TrainingState,
    complete_checkpoints,
    finish_folder,
    load_newest_checkpoint,
    prune_checkpoints,
    save_checkpoint,
    save_model_folder,
)
from summarizer.training.classification import Classification
from summarizer.training.distributed import naming_absent_processes, sum_over_processes
from summarizer.training.engine import clip_gradients, make_engine
from summarizer.training.gradients import BatchTooLargeError, Gradients
from summarizer.training.launch import bfloat16_is_fast, locked, make_accelerator
from summarizer.training.optim import learning_rate_at, set_learning_rate
from summarizer.training.progress import RunLog, StepWindow
from summarizer.training.stopping import StopSignals
from summarizer.training.summarization import Summarization
from summarizer.training.task import Task
from summarizer.training.validation import validation_loss

STEPS_TIMED = 3  # of a dry run
TASKS: dict[str, Any] = {"summarization": Summarization, "classification": Classification}


class TrainingError(InputError):
    """Training cannot go on; the message says why and which checkpoint is the last good one."""


def train(config: RunConfig, dry_run: bool = False) -> Path:
    """Train by `config` and return the run folder. Raises InputError (one clear line) for what cannot be done.

    A dry run says what would be done and how long it would take, and writes no run folder.
    """
    folder = Path(config.output_dir, config.name)
    keep_freed_memory()
    disable_progress_bar()  # transformers' own, for every file that is written
    accelerator = make_accelerator(config.training, folder)
    with nullcontext() if dry_run else locked(folder, accelerator), naming_absent_processes(accelerator):
        with accelerator.main_process_first():
            checkpoints = [] if dry_run else _checkpoints_to_resume(folder, config.resume)
        run = _Run(config, folder, accelerator, TASKS[config.task](config))
        if dry_run:
            run.estimate()
        elif run.start(checkpoints):
            run.loop()
    return folder


def _checkpoints_to_resume(folder: Path, resume: bool) -> list[Path]:
    for name in ("best", "last"):
        finish_folder(folder / name)
    checkpoints = complete_checkpoints(folder / "checkpoints")
    if not resume and checkpoints:
        raise InputError(f"{folder} holds a run already; write resume=true to go on with it, or give another name")
    if not checkpoints and any((folder / name).exists() for name in ("best", "last")):
        raise InputError(f"{folder} holds models of a run but none of its checkpoints; give another name")
    return checkpoints


class _Run:
    """One training run on this process."""

    def __init__(self, config: RunConfig, folder: Path, accelerator: Accelerator, task: Task) -> None:
        self.config, self.settings, self.folder = config, config.training, folder
        self.accelerator, self.task = accelerator, task
        self.num_processes = accelerator.num_processes
        self.say: Callable[[str], None] = partial(print, file=sys.stderr)  # until there is a log
        with accelerator.main_process_first():  # the others find what the main process has prepared
            training_data = task.prepare("train")
            self.validation_data = task.prepare("validation")
        if training_data is None:
            raise InputError("data.train is empty")
        self.training_data = training_data
        self.plan = BatchPlan(
            training_data.source_lengths,
            training_data.target_lengths,
            self.settings.tokens_per_batch,
            max(self.settings.batches_per_step, self.num_processes),  # nobody may stay without work
            config.seed,
        )
        model = task.make_model()
        self.num_parameters = model.num_parameters()
        choose_what_is_trained(model, self.settings)
        self.num_trained = model.num_parameters(only_trainable=True)
        self.engine = make_engine(accelerator, model, self.settings)
        self.trained = self.engine.trained
        self.gradients = Gradients(self.engine, task, self.settings, config.seed, training_data.rows[0])
        self.state = TrainingState(samples=self.plan.fingerprint(self.settings.batches_per_step))

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
        shares = load_shares(self.training_data.rows, self.plan, 0, self.accelerator.process_index, self.num_processes)
        self.stop, seconds = StopSignals(), []
        for _ in range(1 + STEPS_TIMED):
            before = self.state.seconds
            self._step(next(shares))
            seconds.append(self.state.seconds - before)
        minutes = statistics.median(seconds[1:]) * self.settings.steps / 60
        if self.settings.max_minutes is not None:
            minutes = min(minutes, self.settings.max_minutes)
        steps = self.plan.epoch(0)
        most = max(len(batch) for step in steps for batch in step)
        lines = [
            *self._description(),
            f"{len(steps):,} steps an epoch, {self.settings.steps / len(steps):.2f} epochs; a micro-batch has up to "
            f"{most} documents, the longest of {max(self.plan.lengths):,} source tokens",
            f"about {int(minutes // 60)} h {minutes % 60:.0f} min of training, without validation",
            *(f"{value:,.0f} MB of memory" for value in self._memory().values()),
        ]
        if self.accelerator.is_main_process:
            print("\n".join(lines), file=sys.stderr)

    def loop(self) -> None:
        """Take steps until the last one, early stopping, or a signal; the newest state is always on disk at the end."""
        settings, window, stopped, saved = self.settings, StepWindow(), False, -1
        shares = load_shares(
            self.training_data.rows,
            self.plan,
            self.state.step,
            self.accelerator.process_index,
            self.num_processes,
            settings.num_workers,
        )
        with self.log, StopSignals() as self.stop:
            while self._in_budget() and not self._stopped_early():
                taken = self._step(next(shares))
                step, is_last = self.state.step, not self._in_budget()
                window.add(taken)
                self.log.advance()
                if step % settings.log_every == 0 or is_last:
                    self.log.record(step, {**window.metrics(), **self._memory()}, window.shown())
                    window = StepWindow()
                if step % settings.validate_every == 0 or is_last:
                    self._validate()
                stopped = taken["stop"] > 0 and not is_last
                if stopped:
                    break
                if step % settings.save_every == 0 and not self.state.skipped_in_a_row:  # the weights may be spoilt
                    self._save_checkpoint()
                    saved = step
            if self.state.skipped_in_a_row:
                raise TrainingError(
                    f"the run ends with a loss or gradient that is not finite at step {self.state.step}; "
                    f"{self._last_checkpoint()}; a lower training.learning_rate may help"
                )
            if saved != self.state.step:
                self._save_checkpoint()
            self._save_model("last")
        self.accelerator.end_training()
        if stopped:
            path = self.folder / "checkpoints" / f"step-{self.state.step:06d}"
            raise StoppedError(f"stopped after step {self.state.step}; resume=true goes on from {path}")
        self.say(f"done: {self.folder}")

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
        return [*notes, f"resumed from {path}", *(f"changed since then: {line}" for line in changed)]

    def _changes(self) -> list[str]:
        try:
            return changed_keys(load_config(self.folder / "config.yaml"), self.config)
        except InputError:  # not there, or of another version
            return []

    def _description(self) -> list[str]:
        precision = self.accelerator.mixed_precision.replace("no", "float32")
        lines = [line for data in (self.training_data, self.validation_data) if data for line in data.lines()]
        trained = "" if self.num_trained == self.num_parameters else f", {self.num_trained:,} trained"
        lines += self._leaks()
        lines.append(
            f"{self.num_parameters:,} parameters{trained}; {self.num_processes} process(es) on "
            f"{self.accelerator.device.type}, {precision}{self.engine.note}; "
            f"{self.plan.batches_per_step} micro-batch(es) of up to {self.settings.tokens_per_batch:,} source tokens a "
            f"step, {self.plan.padding_share():.1%} padding"
        )
        if precision == "bf16" and not bfloat16_is_fast():
            lines.append(
                "bf16 is slow on this machine, often slower than float32; training.mixed_precision=auto chooses"
            )
        if self.plan.batches_per_step != self.settings.batches_per_step:
            lines.append(
                f"training.batches_per_step raised from {self.settings.batches_per_step} to "
                f"{self.plan.batches_per_step}: every process needs a micro-batch"
            )
        return lines

    def _leaks(self) -> list[str]:
        """A warning where validation cannot be trusted."""
        ids = [] if self.validation_data is None else identical_documents(self.training_data, self.validation_data)
        if not ids:
            return []
        return [f"warning: {len(ids):,} validation documents are training documents, too: {', '.join(ids[:3])}"]

    def _in_budget(self) -> bool:
        minutes = self.settings.max_minutes
        return self.state.step < self.settings.steps and (minutes is None or self.state.seconds < 60 * minutes)

    def _memory(self) -> dict[str, float]:
        """The peak memory so far of this process, or of its GPU."""
        if self.accelerator.device.type == "cuda":
            return {"peak_memory_mb": torch.cuda.max_memory_allocated() / 2**20}
        peak = peak_memory_mb()
        return {} if peak is None else {"peak_memory_mb": peak}

    def _step(self, micro_batches: list[list[dict[str, Any]]]) -> dict[str, float]:
        """One optimizer step over this process's micro-batches; returns the step's statistics over all processes."""
        accelerator, started = self.accelerator, time.perf_counter()
        tensors = [self.gradients.tensors(rows) for rows in micro_batches]
        own_labels = sum(map(num_labels_in, tensors))
        own_source_tokens = sum(len(row["input_ids"]) for rows in micro_batches for row in rows)
        own_documents = sum(map(len, micro_batches))
        labels, source_tokens, documents = sum_over_processes(
            accelerator, [own_labels, own_source_tokens, own_documents]
        )
        own_loss = self._add_gradients(tensors, labels)
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
                f"{self._last_checkpoint()}"
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
            raise TrainingError(f"{what}; {self._last_checkpoint()}; a lower training.learning_rate may help")
        self.say(f"step skipped: {what}")

    def _last_checkpoint(self) -> str:
        checkpoints = complete_checkpoints(self.folder / "checkpoints")
        return f"the last good checkpoint is {checkpoints[-1]}" if checkpoints else "there is no checkpoint yet"

    def _validate(self) -> None:
        """Validation loss and the task's metrics; keeps the best model and counts validations without improvement."""
        data, settings = self.validation_data, self.settings
        if data is None:
            return
        with self.engine.whole_model() as model:
            loss = validation_loss(model, data, settings.tokens_per_batch, self.accelerator, self.task)
            if not math.isfinite(loss):
                where = f"after step {self.state.step}; {self._last_checkpoint()}"
                raise TrainingError(f"the validation loss ({loss}) is not finite {where}")
            metrics, notes = self.task.metrics(model, data, self.accelerator)
        metrics = {"validation_loss": loss, **metrics}
        self.log.record(self.state.step, metrics, "  ".join(f"{name} {value:.3f}" for name, value in metrics.items()))
        for note in notes:
            self.say(note)
        score = -loss if settings.best_metric == "loss" else metrics[settings.best_metric]
        is_best = self.state.best_score is None or score > self.state.best_score
        self.state = replace(
            self.state,
            validation=metrics,
            best_score=score if is_best else self.state.best_score,
            validations_without_improvement=0 if is_best else self.state.validations_without_improvement + 1,
        )
        if is_best:
            self._save_model("best")

    def _stopped_early(self) -> bool:
        patience = self.settings.early_stopping_patience
        stopped = patience is not None and self.state.validations_without_improvement >= patience
        if stopped:
            self.say(f"stopped early: no better {self.settings.best_metric} in {patience} validations")
        return stopped

    def _save_checkpoint(self) -> None:
        checkpoints, scaler = self.folder / "checkpoints", self.accelerator.scaler
        state = replace(self.state, loss_scaler=scaler.state_dict() if scaler is not None else {})
        writes = self.accelerator.is_main_process
        save_checkpoint(checkpoints, state, self.trained, writes)
        if writes:
            prune_checkpoints(checkpoints, self.settings.keep_checkpoints, self.settings.keep_every)
        self.accelerator.wait_for_everyone()

    def _save_model(self, name: str) -> None:
        sizes = {
            "parameters": self.num_parameters,
            "documents": len(self.training_data),
            "validation_documents": len(self.validation_data or []),
        }
        shown = yaml.safe_dump(without_paths(asdict(self.config)), sort_keys=False)
        card = make_card(self.config, shown, self.state.step, sizes, self.state.validation)
        with self.engine.whole_model() as model:
            if self.accelerator.is_main_process:
                save_model_folder(self.folder / name, without_adapters(model), self.task.tokenizer, card)
        self.accelerator.wait_for_everyone()
