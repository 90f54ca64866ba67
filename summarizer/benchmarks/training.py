"""Whole training steps of models of one size, with the same loss, clipping and optimizer."""

from typing import Any

import torch

from summarizer.benchmarks.compared_models import FIRST_WORD, check_names, make_inputs, make_seq2seq
from summarizer.benchmarks.meter import OURS, Meter, ratios, with_floor
from summarizer.benchmarks.settings import TrainingSettings
from summarizer.benchmarks.training_step import TrainingStep, product_work

SYSTEMS, PRODUCTS = ["fastformer", "led", "bigbird_pegasus", "pegasus_x"], "products"


def measure(settings: TrainingSettings) -> dict[str, Any]:
    """Measure the steps of every system at every length. Returns the content of the JSON file."""
    check_names(settings.systems, SYSTEMS)
    num_steps = len(settings.lengths) * len(settings.systems)
    meter = Meter(settings, "training", num_steps + len(settings.lengths), num_steps)
    rows, floors = [], []
    with meter.progress:
        for length in settings.lengths:
            steps = {name: training_work(name, settings, length, str(meter.device)) for name in settings.systems}
            dtype = getattr(torch, settings.dtype)
            products, product_flops = product_work(settings.sizes.d_model, dtype, meter.device)
            timings = meter.times({**steps, PRODUCTS: products})
            tokens = settings.batch_size(length) * length
            for name, step in steps.items():
                seconds = timings[name].seconds
                rows.append(
                    {
                        "system": name,
                        "length": length,
                        "batch_size": settings.batch_size(length),
                        "source_tokens_per_second": tokens / seconds,
                        "step_ms": 1000 * seconds,
                        "parameters": step.model.num_parameters(),
                        "repeats": timings[name].repeats,
                        "peak_mb": meter.peak(training_work, name, settings, length),
                    }
                )
            if OURS in steps:
                flops, speed = steps[OURS].flops(), product_flops / timings[PRODUCTS].seconds
                figures = {"gflop": flops / 1e9, "gflop_per_second": speed / 1e9, "step_ms": 1000 * flops / speed}
                floors.append({"length": length, **figures, "source_tokens_per_second": tokens * speed / flops})
    compared = ratios(with_floor(rows, floors, "system"), "system", ["length"], ["step_ms", "peak_mb"])
    return meter.result(rows=rows, floor=floors, ratios=compared)


def training_work(name: str, settings: TrainingSettings, length: int, device_name: str) -> TrainingStep:
    """A step with its own model and batch; also for a process that measures memory."""
    device = torch.device(device_name)
    model = make_seq2seq(name, settings.sizes, max(settings.lengths)).to(device)
    batch_size, vocab_size = settings.batch_size(length), settings.sizes.vocab_size
    inputs = make_inputs(name, batch_size, length, vocab_size, device)
    batch = {key: inputs[key] for key in ("input_ids", "attention_mask")}
    shape, generator = (batch_size, settings.target_tokens), torch.Generator().manual_seed(1)
    batch["labels"] = torch.randint(FIRST_WORD, vocab_size, shape, generator=generator).to(device)
    return TrainingStep(model, batch, getattr(torch, settings.dtype))
