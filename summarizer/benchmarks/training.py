"""Whole training steps of models of one size, through the same loss, clipping and optimizer."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from summarizer.benchmarks.compared_models import FIRST_WORD, check_names, make_inputs, make_seq2seq
from summarizer.benchmarks.machine import describe_machine
from summarizer.benchmarks.peak_memory import peak_megabytes
from summarizer.benchmarks.profile import product_work
from summarizer.benchmarks.settings import TrainingSettings
from summarizer.benchmarks.timing import alternating
from summarizer.config import TrainingConfig
from summarizer.memory import keep_freed_memory
from summarizer.models.loading import choose_device
from summarizer.progress import WorkProgress
from summarizer.training.optim import make_optimizer
from summarizer.training.summarization import summed_loss

OURS, SYSTEMS, PRODUCTS = "fastformer", ("fastformer", "led", "bigbird_pegasus", "pegasus_x"), "products"


def measure(settings: TrainingSettings) -> dict[str, Any]:
    """Measure the steps of every system at every length. Returns what the JSON file holds."""
    check_names(settings.systems, list(SYSTEMS))
    keep_freed_memory()
    device = choose_device(settings.device)
    per_length = (len(settings.systems) + 1) * (1 + settings.repeats) + len(settings.systems) * settings.memory
    rows, floors = [], []
    with WorkProgress("measuring training", "runs", per_length * len(settings.lengths)) as progress:
        for length in settings.lengths:
            works = {name: _Step(name, settings, length, device) for name in settings.systems}
            products, product_flops = product_work(settings.sizes.d_model, getattr(torch, settings.dtype), device)
            runs: dict[str, Callable[[], object]] = {**works, PRODUCTS: products}
            timings = alternating(runs, settings.repeats, device, settings.max_seconds, progress.advance)
            tokens = settings.batch_size(length) * length
            for name, work in works.items():
                seconds = timings[name].seconds
                row = {"system": name, "length": length, "batch_size": settings.batch_size(length)}
                row |= {"source_tokens_per_second": tokens / seconds, "step_ms": 1000 * seconds}
                row |= {"parameters": work.model.num_parameters(), "repeats": timings[name].repeats, "peak_mb": None}
                if settings.memory:
                    arguments = (name, settings, length, str(device))
                    row["peak_mb"] = peak_megabytes(training_work, *arguments, device=device)
                    progress.advance()
                rows.append(row)
            if OURS in works:
                speed = product_flops / timings[PRODUCTS].seconds
                floors.append(_floor(works[OURS].flops(), speed, length, tokens))
    machine = describe_machine(device)
    result = {"machine": machine, "settings": asdict(settings), "rows": rows, "floor": floors}
    return {**result, "ratios": ratios(rows, floors)}


def training_work(name: str, settings: TrainingSettings, length: int, device_name: str) -> Callable[[], object]:
    """The work that is timed, with a model and a batch of its own; for a process that measures memory."""
    return _Step(name, settings, length, torch.device(device_name))


def ratios(rows: list[dict[str, Any]], floors: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each system's time and memory over fastformer's, at each length; the floor's time too."""
    compared = []
    for own in (row for row in rows if row["system"] == OURS):
        for row in (row for row in rows if row["length"] == own["length"] and row is not own):
            memory = row["peak_mb"] / own["peak_mb"] if own["peak_mb"] else None
            ratio = {"step_ms": row["step_ms"] / own["step_ms"], "peak_mb": memory}
            compared.append({"system": row["system"], "length": row["length"], **ratio})
        for floor in (floor for floor in floors if floor["length"] == own["length"]):
            ratio = {"step_ms": floor["step_ms"] / own["step_ms"], "peak_mb": None}
            compared.append({"system": "floor", "length": own["length"], **ratio})
    return compared


class _Step:
    """A training step on one batch: forward, backward, clipping, AdamW."""

    def __init__(self, name: str, settings: TrainingSettings, length: int, device: torch.device) -> None:
        self.settings, self.device = settings, device
        self.model = make_seq2seq(name, settings.sizes, max(settings.lengths)).to(device).train()
        self.config = TrainingConfig()
        self.optimizer = make_optimizer(self.model, self.config)
        inputs = make_inputs(name, settings.batch_size(length), length, settings.sizes.vocab_size, device)
        labels = (settings.batch_size(length), settings.target_tokens)
        generator = torch.Generator().manual_seed(1)
        self.batch = {key: inputs[key] for key in ("input_ids", "attention_mask")}
        self.batch["labels"] = torch.randint(
            FIRST_WORD, settings.sizes.vocab_size, labels, generator=generator
        ).to(device)  # fmt: skip

    def __call__(self) -> None:
        self._backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.max_grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def flops(self) -> int:
        """Floating-point operations of the step's products, forward and backward."""
        with FlopCounterMode(display=False) as counter:
            self._backward()
        self.optimizer.zero_grad()
        return counter.get_total_flops()

    def _backward(self) -> None:
        dtype = getattr(torch, self.settings.dtype)
        with torch.autocast(self.device.type, dtype) if dtype != torch.float32 else nullcontext():
            loss: Tensor = summed_loss(self.model, self.batch) / self.batch["labels"].numel()
        loss.backward()


def _floor(flops: int, speed: float, length: int, tokens: int) -> dict[str, float]:
    return {
        "length": length,
        "gflop": flops / 1e9,
        "gflop_per_second": speed / 1e9,
        "step_ms": 1000 * flops / speed,
        "source_tokens_per_second": tokens * speed / flops,
    }
