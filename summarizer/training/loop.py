"""The training loop, the only one: steps of micro-batches on any number of processes, validation, checkpoints.

A step is the same whatever the number of processes: the same micro-batches, the loss over all their target tokens, and
dropout that follows from the seed, the step and the micro-batch. So is what is resumed.
"""

import math
import signal
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
import yaml
from accelerate import Accelerator
from torch import Tensor
from torch.utils.data import DataLoader
from transformers.utils.logging import disable_progress_bar

from summarizer.config import RunConfig, to_yaml
from summarizer.data.batching import IGNORED, BatchPlan, collate, share_of
from summarizer.data.preparation import PreparedData, prepare
from summarizer.files import InputError, write_whole
from summarizer.memory import keep_freed_memory
from summarizer.training.card import make_card, without_paths
from summarizer.training.checkpoint import (
    TrainingState,
    complete_checkpoints,
    load_checkpoint,
    prune_checkpoints,
    save_checkpoint,
    save_model_folder,
)
from summarizer.training.distributed import sum_over_processes
from summarizer.training.loss import num_target_tokens, summed_loss
from summarizer.training.optim import learning_rate_at, make_optimizer, set_learning_rate
from summarizer.training.progress import RunLog
from summarizer.training.setup import check_lengths, load_tokenizer, make_model
from summarizer.training.validation import validation_loss, validation_rouge


class TrainingError(InputError):
    """Training cannot go on; the message says why and which checkpoint is the last good one."""


def train(config: RunConfig) -> Path:
    """Train by `config` and return the run folder. Raises InputError (one clear line) for what cannot be done."""
    folder = Path(config.output_dir, config.name)
    keep_freed_memory()
    disable_progress_bar()  # transformers' own, for every file that is written
    checkpoints = complete_checkpoints(folder / "checkpoints")
    if checkpoints and not config.resume:
        raise InputError(f"{folder} holds a run already; write resume=true to go on with it, or give another name")
    accelerator = _make_accelerator(config, folder)
    tokenizer = load_tokenizer(config)
    with accelerator.main_process_first():  # the others find what the main process has prepared
        training_data = prepare(config.data.train, "train", config.data, tokenizer, config.data.max_train_examples)
        validation_data = None
        if config.data.validation:
            limit = config.data.max_validation_examples
            validation_data = prepare(config.data.validation, "validation", config.data, tokenizer, limit)
    run = _Run(config, folder, accelerator, tokenizer, training_data, validation_data)
    run.start(checkpoints)
    run.loop()
    return folder


def _make_accelerator(config: RunConfig, folder: Path) -> Accelerator:
    try:
        accelerator = Accelerator(
            # Unless told so, accelerate takes each of several processes without GPUs for the only one.
            cpu=not torch.accelerator.is_available(),
            mixed_precision=config.training.mixed_precision,
            log_with=list(config.training.trackers) or None,
            project_dir=folder,
        )
    except ValueError as error:  # a precision that this machine lacks, an unknown tracker
        raise InputError(f"training.mixed_precision or training.trackers: {error}") from error
    if config.training.trackers:
        accelerator.init_trackers("tensorboard")
    return accelerator


class _Run:
    """One training run on this process."""

    def __init__(
        self,
        config: RunConfig,
        folder: Path,
        accelerator: Accelerator,
        tokenizer: Any,
        training_data: PreparedData,
        validation_data: PreparedData | None,
    ) -> None:
        self.config, self.settings, self.folder = config, config.training, folder
        self.accelerator, self.tokenizer = accelerator, tokenizer
        self.training_data, self.validation_data = training_data, validation_data
        self.num_processes = accelerator.num_processes
        per_step = max(self.settings.batches_per_step, self.num_processes)  # nobody may stay without work
        self.plan = BatchPlan(
            training_data.source_lengths,
            training_data.target_lengths,
            self.settings.tokens_per_batch,
            per_step,
            config.seed,
        )
        model = make_model(config, tokenizer)
        for data in (training_data, validation_data):
            check_lengths(model, tokenizer, data.source_lengths if data is not None else [])
        self.num_parameters = model.num_parameters()
        self.model, self.optimizer = accelerator.prepare(model, make_optimizer(model, self.settings))
        self.state = TrainingState()
        self.last_metrics: dict[str, float] = {}
        self.stop_signal = 0

    def start(self, checkpoints: list[Path]) -> None:
        """Resume from the newest checkpoint, write the configuration, and say what will be done."""
        if checkpoints:
            self.state = load_checkpoint(checkpoints[-1], self._bare_model(), self.optimizer)
            if self.accelerator.scaler is not None and self.state.loss_scaler:
                self.accelerator.scaler.load_state_dict(self.state.loss_scaler)
        self.log = RunLog(self.folder / "metrics.jsonl", self.accelerator, self.state.step, self.settings.steps)
        if self.accelerator.is_main_process:
            with write_whole(self.folder / "config.yaml") as file:
                file.write(to_yaml(self.config))
        for data in (self.training_data, self.validation_data):
            for line in data.lines() if data is not None else []:
                self.log.say(line)
        precision = self.accelerator.mixed_precision.replace("no", "float32")
        self.log.say(
            f"{self.num_parameters:,} parameters; {self.num_processes} process(es) on {self.accelerator.device.type}, "
            f"{precision}; {self.plan.batches_per_step} micro-batch(es) of up to "
            f"{self.settings.tokens_per_batch:,} source tokens a step, {self.plan.padding_share():.1%} padding"
        )
        if self.plan.batches_per_step != self.settings.batches_per_step:
            self.log.say(
                f"training.batches_per_step raised from {self.settings.batches_per_step} to "
                f"{self.plan.batches_per_step}: every process needs a micro-batch"
            )
        if checkpoints:
            self.log.say(f"resumed from {checkpoints[-1]}")

    def loop(self) -> None:
        """Take steps until the last one, early stopping, or a signal; the newest state is always on disk at the end."""
        settings, window, stopped = self.settings, _Window(), False
        with self.log, _caught_signals(self):
            for step_batches in self._micro_batches():
                if self.state.step >= settings.steps or self._stopped_early():
                    break
                statistics = self._step(step_batches)
                self.state = replace(self.state, step=self.state.step + 1)
                window.add(statistics)
                self.log.advance(self.state.step)
                if self.state.step % settings.log_every == 0 or self.state.step == settings.steps:
                    self._log_window(window)
                    window = _Window()
                if self.state.step % settings.validate_every == 0 or self.state.step == settings.steps:
                    self._validate()
                stopped = statistics["stop"] > 0 and self.state.step < settings.steps
                if stopped:
                    break
                if self.state.step % settings.save_every == 0:
                    self._save_checkpoint()
            path = self._save_checkpoint()
            self._save_model("last")
        self.accelerator.end_training()
        if stopped:
            raise TrainingError(f"stopped by a signal after step {self.state.step}; resume=true goes on from {path}")
        self.log.say(f"done: {self.folder}")

    def _micro_batches(self) -> Iterator[list[list[dict[str, Any]]]]:
        """This process's micro-batches of each step, from the state's step on, as lists of rows."""
        rank = self.accelerator.process_index
        shares = (share_of(step, rank, self.num_processes) for step in self.plan.steps(self.state.step))
        if self.settings.num_workers == 0:
            for share in shares:
                yield [self._rows(batch) for batch in share]
            return
        sizes: list[int] = []

        def flat() -> Iterator[list[int]]:
            for share in shares:
                sizes.append(len(share))
                yield from share

        loader = iter(
            DataLoader(
                self.training_data.rows,  # type: ignore[arg-type]  # a datasets.Dataset is a map-style data set
                batch_sampler=flat(),  # type: ignore[arg-type]  # any iterable of index lists
                num_workers=self.settings.num_workers,
                collate_fn=list,
                generator=torch.Generator().manual_seed(self.config.seed),
            )
        )
        while True:
            first = next(loader)
            yield [first, *(next(loader) for _ in range(sizes.pop(0) - 1))]

    def _rows(self, indices: list[int]) -> list[dict[str, Any]]:
        return [self.training_data.rows[index] for index in indices]

    def _step(self, micro_batches: list[list[dict[str, Any]]]) -> dict[str, float]:
        """One optimizer step over this process's micro-batches; returns the step's statistics over all processes."""
        accelerator = self.accelerator
        tensors = [self._tensors(rows) for rows in micro_batches]
        own_target_tokens = sum(map(num_target_tokens, tensors))
        own_source_tokens = sum(len(row["input_ids"]) for rows in micro_batches for row in rows)
        own_documents = sum(map(len, micro_batches))
        target_tokens, source_tokens, documents = sum_over_processes(
            accelerator, [own_target_tokens, own_source_tokens, own_documents]
        )
        own_loss = 0.0
        for index, batch in enumerate(tensors):
            self._seed_dropout(index)
            is_last = index == len(tensors) - 1
            with nullcontext() if is_last else accelerator.no_sync(self.model):
                loss = summed_loss(self.model, batch, self.settings.label_smoothing)
                # Processes' gradients are averaged: times their number, it is the sum over all target tokens.
                accelerator.backward(loss * (self.num_processes / target_tokens))
            own_loss += float(loss.detach())
        learning_rate = learning_rate_at(self.state.step, self.settings)
        set_learning_rate(self.optimizer, learning_rate)
        norm = accelerator.clip_grad_norm_(self.model.parameters(), self.settings.max_grad_norm)
        # A signal may have reached one process only; all must stop after the same step.
        loss_sum, stop = sum_over_processes(accelerator, [own_loss, self.stop_signal])
        mean_loss = loss_sum / target_tokens
        self._check_finite(mean_loss, float(norm) if norm is not None else 0.0, micro_batches)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return {
            "loss": mean_loss,
            "target_tokens": target_tokens,
            "source_tokens": source_tokens,
            "documents": documents,
            "learning_rate": learning_rate,
            "grad_norm": float(norm) if norm is not None else 0.0,
            "stop": stop,
        }

    def _tensors(self, rows: list[dict[str, Any]]) -> dict[str, Tensor]:
        """A micro-batch's tensors; where this process has none, a stand-in whose labels are all ignored."""
        batch = collate(rows or self._rows([0]), self.tokenizer.pad_token_id)
        if not rows:
            batch["labels"].fill_(IGNORED)
        return {name: tensor.to(self.accelerator.device) for name, tensor in batch.items()}

    def _seed_dropout(self, index: int) -> None:
        """The same dropout for a micro-batch on whichever process and after whatever resume."""
        number = index * self.num_processes + self.accelerator.process_index
        mixed = (self.config.seed * 1_000_003 + self.state.step) * 1_000_003 + number
        torch.manual_seed(mixed % 2**63)

    def _check_finite(self, loss: float, norm: float, micro_batches: list[list[dict[str, Any]]]) -> None:
        if math.isfinite(loss) and (math.isfinite(norm) or self.accelerator.mixed_precision == "fp16"):
            return  # with fp16 the loss scaler skips steps whose gradients overflow
        ids = [row["id"] for rows in micro_batches for row in rows]
        raise TrainingError(
            f"the loss ({loss}) or its gradient ({norm}) is not finite at step {self.state.step + 1}, "
            f"with the documents {', '.join(ids[:8])}; {self._last_checkpoint()}; "
            "a lower training.learning_rate may help"
        )

    def _last_checkpoint(self) -> str:
        checkpoints = complete_checkpoints(self.folder / "checkpoints")
        return f"the last good checkpoint is {checkpoints[-1]}" if checkpoints else "there is no checkpoint yet"

    def _log_window(self, window: "_Window") -> None:
        metrics = window.metrics()
        shown = (
            f"loss {metrics['loss']:.3f}  {metrics['source_tokens_per_second']:,.0f} source tokens/s  "
            f"{metrics['documents_per_second']:.1f} documents/s"
        )
        self.log.record(self.state.step, metrics, shown)

    def _validate(self) -> None:
        """Validation loss and ROUGE; keeps the best model and counts validations without improvement."""
        data = self.validation_data
        if data is None:
            return
        pad_token_id = self.tokenizer.pad_token_id
        loss = validation_loss(self.model, data, self.settings, self.accelerator, pad_token_id)
        if not math.isfinite(loss):
            raise TrainingError(
                f"the validation loss ({loss}) is not finite after step {self.state.step}; {self._last_checkpoint()}"
            )
        metrics = {"validation_loss": loss}
        if self.settings.rouge_examples:
            metrics |= validation_rouge(self.model, self.tokenizer, data, self.settings, self.accelerator)
        shown = "  ".join(f"{name} {value:.3f}" for name, value in metrics.items())
        self.log.record(self.state.step, metrics, shown)
        self.last_metrics = metrics
        best_metric = self.settings.best_metric
        score = -loss if best_metric == "loss" else metrics[best_metric]
        if self.state.best_score is None or score > self.state.best_score:
            self.state = replace(self.state, best_score=score, validations_without_improvement=0)
            self._save_model("best")
        else:
            waited = self.state.validations_without_improvement + 1
            self.state = replace(self.state, validations_without_improvement=waited)

    def _stopped_early(self) -> bool:
        patience = self.settings.early_stopping_patience
        stopped = patience is not None and self.state.validations_without_improvement >= patience
        if stopped:
            self.log.say(f"stopped early: no better {self.settings.best_metric} in {patience} validations")
        return stopped

    def _save_checkpoint(self) -> Path:
        checkpoints = self.folder / "checkpoints"
        if self.accelerator.is_main_process:
            scaler = self.accelerator.scaler
            state = replace(self.state, loss_scaler=scaler.state_dict() if scaler is not None else {})
            save_checkpoint(checkpoints, state, self._bare_model(), self.optimizer)
            prune_checkpoints(checkpoints, self.settings.keep_checkpoints)
        self.accelerator.wait_for_everyone()
        return checkpoints / f"step-{self.state.step:06d}"

    def _save_model(self, name: str) -> None:
        if self.accelerator.is_main_process:
            sizes = {
                "parameters": self.num_parameters,
                "documents": len(self.training_data),
                "validation_documents": len(self.validation_data or []),
            }
            shown = yaml.safe_dump(without_paths(asdict(self.config)), sort_keys=False)
            card = make_card(self.config, shown, self.state.step, sizes, self.last_metrics)
            save_model_folder(self.folder / name, self._bare_model(), self.tokenizer, card)
        self.accelerator.wait_for_everyone()

    def _bare_model(self) -> Any:
        # Without its wrapper the model would compute in float32 from then on: accelerate takes it off for good.
        return self.accelerator.unwrap_model(self.model, keep_fp32_wrapper=True)


class _Window:
    """Statistics of the steps since the last logged one."""

    def __init__(self) -> None:
        self.steps: list[dict[str, float]] = []
        self.started = time.perf_counter()

    def add(self, statistics: dict[str, float]) -> None:
        """Take a step's statistics in."""
        self.steps.append(statistics)

    def metrics(self) -> dict[str, float]:
        """The mean loss per target token, speeds, and the last step's learning rate and gradient norm."""
        seconds = time.perf_counter() - self.started

        def total(name: str) -> float:
            return sum(step[name] for step in self.steps)

        weighted = sum(step["loss"] * step["target_tokens"] for step in self.steps)
        return {
            "loss": weighted / total("target_tokens"),
            "learning_rate": self.steps[-1]["learning_rate"],
            "grad_norm": self.steps[-1]["grad_norm"],
            "source_tokens_per_second": total("source_tokens") / seconds,
            "documents_per_second": total("documents") / seconds,
        }


class _caught_signals:  # noqa: N801 (used as a `with` statement reads)
    """While it lasts, SIGTERM or Ctrl-C ends the run after the current step, with a checkpoint; another, at once."""

    def __init__(self, run: _Run) -> None:
        self.run = run
        self.previous: dict[int, Any] = {}

    def __enter__(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            self.previous[number] = signal.signal(number, self._note)

    def __exit__(self, *_: object) -> None:
        for number, handler in self.previous.items():
            signal.signal(number, handler)

    def _note(self, number: int, _: object) -> None:
        if self.run.stop_signal:
            raise KeyboardInterrupt
        self.run.stop_signal = number
