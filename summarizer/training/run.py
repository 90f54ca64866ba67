"""A training run on this process: its data, model and optimizer, the state of training, and one optimizer step.

A step is the same whatever the number of processes: the same micro-batches, the loss over all their labels, and
dropout that depends only on the seed, the step and the micro-batch. The same holds for a resumed run.
"""

import itertools
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from torch import Tensor

from summarizer.config import RunConfig
from summarizer.config_files import changed_keys, load_config
from summarizer.data.batching import BatchPlan, load_shares, num_labels_in
from summarizer.data.pairs import find_pairs
from summarizer.data.preparation import PreparedData, identical_documents
from summarizer.errors import InputError
from summarizer.models.loading import bfloat16_is_fast, choose_device
from summarizer.training.best_models import BestModels
from summarizer.training.checkpoint import (
    TrainingError,
    TrainingState,
    last_good_checkpoint,
    load_newest_checkpoint,
    prune_checkpoints,
    save_checkpoint,
)
from summarizer.training.distributed import sum_over_processes
from summarizer.training.engine import clip_gradients, make_engine
from summarizer.training.gradients import BatchTooLargeError, Gradients
from summarizer.training.optim import learning_rate_at, set_learning_rate
from summarizer.training.stop_signals import StopSignals
from summarizer.training.task import Task
from summarizer.training.trained_parameters import choose_what_is_trained

NAMES = {"train": "training", "validation": "validation", "test": "test"}
FEW_DOCUMENTS = 50  # too few to choose a model by

# Keys that determine the sequence of samples, and keys that have no effect on the models.
OF_SAMPLES = ("seed:", "data.", "pretrained:", "training.tokens_per_batch:", "training.batches_per_step:")
WITHOUT_EFFECT = (
    *("data.test:", "data.max_test_examples:", "training.num_workers:", "training.timeout_minutes:"),
    *("training.log_every:", "training.trackers:", "training.keep_checkpoints:", "training.keep_every:"),
    "training.save_every:",
)


class Run:
    """A training run on this process."""

    def __init__(self, config: RunConfig, folder: Path, accelerator: Accelerator, task: Task) -> None:
        self.config, self.settings, self.folder = config, config.training, folder
        self.accelerator, self.task = accelerator, task
        self.num_processes = accelerator.num_processes
        self.say: Callable[[str], None] = partial(print, file=sys.stderr)  # until there is a log
        with accelerator.main_process_first():  # the other processes use the data that the main one has prepared
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
            max(self.settings.batches_per_step, self.num_processes),  # every process needs a micro-batch
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
        self.best_models = BestModels(config, folder, self.engine, task, self.data.get("validation"), sizes)
        self.gradients = Gradients(self.engine, task, self.settings, config.seed, training_data.rows[0])
        self.stop = StopSignals()
        samples = self.plan.fingerprint(self.settings.batches_per_step)
        self.state = TrainingState(samples=samples, best_metric=self.settings.best_metric)

    def shares(self, num_workers: int = 0) -> Iterator[list[list[dict[str, Any]]]]:
        """This process's micro-batches of each step, from the current step on."""
        first, process = self.state.step, self.accelerator.process_index
        return load_shares(self.training_data.rows, self.plan, first, process, self.num_processes, num_workers)

    def step(self, micro_batches: list[list[dict[str, Any]]], learning_rate: float | None = None) -> dict[str, float]:
        """One optimizer step over this process's micro-batches; returns the step's statistics over all processes.

        The learning rate defaults to that of the schedule.
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
        # A signal may have reached one process only, and clocks differ; all processes must stop after the same step.
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

    def in_budget(self) -> bool:
        """Whether steps and minutes are left."""
        minutes = self.settings.max_minutes
        return self.state.step < self.settings.steps and (minutes is None or self.state.seconds < 60 * minutes)

    def resume(self, checkpoints: list[Path]) -> list[str]:
        """Restore the newest good checkpoint; returns notes. Raises InputError if a fixed setting changed."""
        expected = self.state.samples
        try:
            self.state, path, notes = load_newest_checkpoint(checkpoints, self.trained)
        except InputError as error:
            raise TrainingError(str(error)) from error
        changed = self._changes()
        if self.state.samples != expected:
            raise TrainingError(
                f"{path} cannot be resumed: seed, data, tokenizer, limits, training.tokens_per_batch and "
                "training.batches_per_step must stay as they were; changed: "
                f"{', '.join(line for line in changed if line.startswith(OF_SAMPLES)) or 'the data'}"
            )
        if self.accelerator.scaler is not None and self.state.loss_scaler:
            self.accelerator.scaler.load_state_dict(self.state.loss_scaler)
        changed = [line for line in changed if not line.startswith(WITHOUT_EFFECT)]
        notes += [f"resumed from {path}", *(f"changed since then: {line}" for line in changed)]
        self.state = self.best_models.resumed(self.state, notes.append)
        return notes

    def save_checkpoint(self) -> None:
        """Write a checkpoint and delete those that need not be kept."""
        checkpoints, scaler = self.folder / "checkpoints", self.accelerator.scaler
        state = replace(self.state, loss_scaler=scaler.state_dict() if scaler is not None else {})
        writes = self.accelerator.is_main_process
        save_checkpoint(checkpoints, state, self.trained, writes)
        if writes:
            prune_checkpoints(checkpoints, self.settings.keep_checkpoints, self.settings.keep_every)
            self.best_models.forget_candidates()
        self.accelerator.wait_for_everyone()

    def description(self) -> list[str]:
        """Lines about the data, what may be wrong with them, the model and how it is trained."""
        settings, plan, accelerator = self.settings, self.plan, self.accelerator
        precision = accelerator.mixed_precision.replace("no", "float32")
        lines = [line for split, prepared in self.data.items() if split != "test" for line in prepared.lines()]
        for first, second in itertools.combinations(self.data, 2):
            if ids := identical_documents(self.data[first], self.data[second]):
                what = f"{len(ids):,} {NAMES[second]} documents are also {NAMES[first]} documents"
                lines.append(f"warning: {what}: {', '.join(ids[:3])}")
        lines += self._long_documents() + self._few_documents()
        lines.append(
            f"{self.model_line}{self.engine.note}; {self.num_processes} process(es) on {accelerator.device.type}, "
            f"{precision}; {plan.batches_per_step} micro-batch(es) of up to {settings.tokens_per_batch:,} source "
            f"tokens per step, {plan.padding_share():.1%} padding"
        )
        if precision == "bf16" and not bfloat16_is_fast(choose_device("auto")):
            lines.append(
                "bf16 is slow on this machine, often slower than float32; training.mixed_precision=auto avoids it"
            )
        if plan.batches_per_step != settings.batches_per_step:
            lines.append(
                f"training.batches_per_step raised from {settings.batches_per_step} to {plan.batches_per_step}: "
                "every process needs at least one micro-batch"
            )
        return [*lines, *self.task.notes]

    def _long_documents(self) -> list[str]:
        """A line about training documents that are longer than a micro-batch should be."""
        limit, lengths = self.settings.tokens_per_batch, self.plan.lengths
        if (longest := max(lengths)) <= limit:
            return []
        count, name = sum(length > limit for length in lengths), self.training_data.rows[lengths.index(longest)]["id"]
        return [
            f"{count:,} training documents have more than training.tokens_per_batch={limit:,} tokens; each is a "
            f"micro-batch of its own and needs more memory. The longest, {name}, has {longest:,} tokens; "
            "data.max_source_tokens truncates it"
        ]

    def _few_documents(self) -> list[str]:
        """A warning if the validation documents are too few for what is decided by them."""
        settings, count = self.settings, len(self.data.get("validation", []))
        if self.config.task == "summarization" and settings.best_metric not in ("loss", "average_precision"):
            count = min(count, settings.rouge_examples)
        uses = {"best_metric": settings.best_metric != "loss"}
        uses |= {name: getattr(settings, name) is not None for name in ("early_stopping_patience", "average_best")}
        if not any(uses.values()) or count >= FEW_DOCUMENTS:
            return []
        keys = " and ".join(f"training.{name}" for name, used in uses.items() if used)
        of_data = "data.validation_fraction" if self.config.data.holds_out_validation else "data.validation"
        more = of_data if count == len(self.data["validation"]) else "training.rouge_examples"
        return [
            f"warning: {keys} rest on only {count} validation documents, where differences are mostly chance; "
            f"{more} should give at least {FEW_DOCUMENTS}"
        ]

    def _changes(self) -> list[str]:
        try:
            return changed_keys(load_config(self.folder / "config.yaml"), self.config)
        except InputError:  # missing, or written by another version
            return []

    def _add_gradients(self, batches: list[dict[str, Tensor]], num_labels: float) -> float:
        try:
            return self.gradients.add(batches, num_labels, self.state.step, self.say)
        except BatchTooLargeError as error:
            raise TrainingError(
                f"out of memory at step {self.state.step + 1} with {error}; lower training.tokens_per_batch (and "
                "raise training.batches_per_step) or data.max_source_tokens, or set "
                "training.gradient_checkpointing or training.split_on_out_of_memory; "
                f"{last_good_checkpoint(self.folder)}"
            ) from error

    def _count_skipped(self, loss: float, norm: float, micro_batches: list[list[dict[str, Any]]]) -> None:
        """Count a step that is not finite; too many in a row end the run."""
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
        """The test documents, only to warn if training or validation documents are among them.

        They are not downloaded for this check if the training documents are local files.
        """
        data = self.config.data
        try:
            if data.test and find_pairs(data.test, "test").hub_id and not find_pairs(data.train, "train").hub_id:
                return None
            return self.task.prepare("test")
        except InputError as error:
            if self.accelerator.is_main_process:
                self.say(f"warning: cannot check whether test documents are also training documents: {error}")
            return None
