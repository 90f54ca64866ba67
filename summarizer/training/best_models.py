"""Which weights a run keeps as models: the best by the validation data, the last, and the mean of the best ones."""

import math
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import broadcast
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from summarizer.config import RunConfig
from summarizer.data.preparation import PreparedData
from summarizer.training.card import make_card
from summarizer.training.checkpoint import (
    TrainingError,
    TrainingState,
    complete_checkpoints,
    last_good_checkpoint,
    read_state,
    save_model_folder,
    write_folder,
)
from summarizer.training.engine import Engine, weights_applied
from summarizer.training.run_log import RunLog
from summarizer.training.task import Task
from summarizer.training.trained_parameters import save_adapters, without_adapters
from summarizer.training.validation import validation_loss

CANDIDATES = "candidates"  # in the run folder: the best validated weights, for their mean
WEIGHTS_FILE = "model.safetensors"


@dataclass(frozen=True)
class BestModels:
    """Validates models and writes model folders. All processes call its methods together; the main one writes.

    sizes: parameters, documents, validation_documents, for the model card.
    """

    config: RunConfig
    folder: Path
    engine: Engine
    task: Task
    data: PreparedData | None  # to validate on
    sizes: dict[str, int]

    def resumed(self, state: TrainingState, say: Callable[[str], None]) -> TrainingState:
        """The state of a checkpoint, without the scores of another metric and the candidates whose weights are gone."""
        metric = self.config.training.best_metric
        if state.best_metric != metric:
            say(f"training.best_metric was {state.best_metric}: best/ will be selected again, by {metric}")
            state = replace(state, best_score=None, validations_without_improvement=0, candidates={})
        kept = {step: score for step, score in state.candidates.items() if self._candidate(step).is_file()}
        if gone := sorted(state.candidates.keys() - kept.keys(), key=int):
            say(f"the weights after step {', '.join(gone)} are missing from {CANDIDATES}/: left out of the mean")
        return replace(state, best_metric=metric, candidates=kept)

    def validate(self, state: TrainingState, log: RunLog) -> TrainingState:
        """Log the validation loss and metrics, save the model if it is among the best, and return the new state."""
        if self.data is None:
            return state
        with self.engine.whole_model() as model:
            score, metrics = self._measure(model, state.step, log.say)
            candidates = self._with_candidate(state, score, model)
        log.record(state.step, metrics, _shown(metrics))
        is_best = state.best_score is None or score > state.best_score
        if is_best:
            self.save("best", state.step, metrics)
        return replace(
            state,
            validation=metrics,
            candidates=candidates,
            best_score=score if is_best else state.best_score,
            validations_without_improvement=0 if is_best else state.validations_without_improvement + 1,
        )

    def stops_early(self, state: TrainingState, say: Callable[[str], None]) -> bool:
        """Whether as many validations as `early_stopping_patience` brought no improvement."""
        patience = self.config.training.early_stopping_patience
        stops = patience is not None and state.validations_without_improvement >= patience
        if stops:
            say(f"stopped early: {self.config.training.best_metric} did not improve in {patience} validations")
        return stops

    def save(self, name: str, step: int, metrics: dict[str, float]) -> None:
        """Write the weights (the averaged ones, if there are any) as the model folder `name`."""
        with self.engine.whole_model() as model:
            self._write(name, model, step, metrics)

    def save_mean_of_best(self, state: TrainingState, log: RunLog) -> None:
        """Validate the mean of the candidates' weights; write averaged/ if it is better than best/."""
        if self.data is None or len(state.candidates) < 2:
            return
        steps = ", ".join(sorted(state.candidates, key=int))
        accelerator = self.engine.accelerator
        with ExitStack() as stack:
            model = stack.enter_context(self.engine.whole_model())
            weights: Any = {name: torch.empty_like(value) for name, value in model.named_parameters()}
            if accelerator.is_main_process:  # other machines may not have the run folder
                mean = mean_weights([self._candidate(step) for step in state.candidates])
                weights = {name: mean[name].to(accelerator.device) for name in weights}
            stack.enter_context(weights_applied(broadcast(weights), model))
            score, metrics = self._measure(model, state.step, log.say)
            is_better = state.best_score is not None and score > state.best_score
            if is_better:
                self._write("averaged", model, state.step, metrics)
        verdict = "better than best/, written to averaged/" if is_better else "not better than best/, not written"
        log.say(f"the mean of the weights after steps {steps}: {_shown(metrics)}: {verdict}")

    def forget_candidates(self) -> None:
        """Delete the candidates' weights that no checkpoint refers to."""
        if not (self.folder / CANDIDATES).exists():
            return
        states = [read_state(path) for path in complete_checkpoints(self.folder / "checkpoints")]
        named = {step for state in states for step in state.candidates}
        for path in (self.folder / CANDIDATES).iterdir():
            if path.name.removeprefix("step-") not in named:
                shutil.rmtree(path)

    def _measure(self, model: Any, step: int, say: Callable[[str], None]) -> tuple[float, dict[str, float]]:
        """The score by `best_metric`, higher is better, and all metrics."""
        settings, data = self.config.training, self.data
        if data is None:
            raise TrainingError("data.validation is empty")
        loss = validation_loss(model, data, settings.tokens_per_batch, self.engine.accelerator, self.task)
        if not math.isfinite(loss):
            where = f"after step {step}; {last_good_checkpoint(self.folder)}"
            raise TrainingError(f"the validation loss ({loss}) is not finite {where}")
        metrics, notes = self.task.metrics(model, data, self.engine.accelerator)
        for note in notes:
            say(note)
        if bad := [f"{name} ({value})" for name, value in metrics.items() if not math.isfinite(value)]:
            raise TrainingError(f"the metric {bad[0]} is not finite after step {step}")
        metrics = {"validation_loss": loss, **metrics}
        if settings.best_metric not in ("loss", *metrics):
            raise TrainingError(f"training.best_metric={settings.best_metric} is not measured for this model")
        return -loss if settings.best_metric == "loss" else metrics[settings.best_metric], metrics

    def _with_candidate(self, state: TrainingState, score: float, model: Any) -> dict[str, float]:
        """The best candidates among the old ones and this step; writes this step's weights if it is among them."""
        count, step = self.config.training.average_best, str(state.step)
        if count is None:
            return {}
        ranked = sorted({**state.candidates, step: score}.items(), key=lambda item: (-item[1], int(item[0])))
        candidates = dict(ranked[:count])
        if step in candidates and self.engine.accelerator.is_main_process:
            tensors = {name: value.detach().cpu().contiguous() for name, value in model.named_parameters()}
            write_folder(self._candidate(step).parent, lambda aside: save_file(tensors, aside / WEIGHTS_FILE))
        return candidates

    def _candidate(self, step: str) -> Path:
        return self.folder / CANDIDATES / f"step-{step}" / WEIGHTS_FILE

    def _write(self, name: str, model: nn.Module, step: int, metrics: dict[str, float]) -> None:
        accelerator = self.engine.accelerator
        if accelerator.is_main_process:
            signature = self.task.signature(self.data) if self.data is not None else ""
            card = make_card(self.config, step, self.sizes, metrics, signature)
            save_model_folder(
                self.folder / name,
                without_adapters(model),
                self.task.tokenizer,
                card,
                lambda folder: save_adapters(model, folder / "adapter", self.config.pretrained),
            )
        accelerator.wait_for_everyone()


@torch.no_grad()
def mean_weights(paths: list[Path]) -> dict[str, Tensor]:
    """The mean of the tensors of the same name in safetensors files, which are read one after the other."""
    total = load_file(paths[0])
    for path in paths[1:]:
        for name, value in load_file(path).items():
            total[name] += value
    return {name: value / len(paths) for name, value in total.items()}


def _shown(metrics: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:.3f}" for name, value in metrics.items())
