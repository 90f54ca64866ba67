"""What a run says before it begins: its data and what may be wrong with them, its model, its steps."""

import itertools

import torch
from accelerate import Accelerator

from summarizer.config import TrainingConfig
from summarizer.data.batching import BatchPlan
from summarizer.data.preparation import PreparedData, identical_documents
from summarizer.memory import peak_memory_mb
from summarizer.models.loading import bfloat16_is_fast, choose_device

NAMES = {"train": "training", "validation": "validation", "test": "test"}


def describe(
    data: dict[str, PreparedData], model: str, plan: BatchPlan, accelerator: Accelerator, settings: TrainingConfig
) -> list[str]:
    """Lines about the splits (by name; of the test data only what leaks), the model and how it is trained."""
    precision = accelerator.mixed_precision.replace("no", "float32")
    lines = [line for split, prepared in data.items() if split != "test" for line in prepared.lines()]
    lines += leaks(data)
    lines.append(
        f"{model}; {accelerator.num_processes} process(es) on {accelerator.device.type}, {precision}; "
        f"{plan.batches_per_step} micro-batch(es) of up to {settings.tokens_per_batch:,} source tokens a step, "
        f"{plan.padding_share():.1%} padding"
    )
    if precision == "bf16" and not bfloat16_is_fast(choose_device("auto")):
        lines.append("bf16 is slow on this machine, often slower than float32; training.mixed_precision=auto chooses")
    if plan.batches_per_step != settings.batches_per_step:
        lines.append(
            f"training.batches_per_step raised from {settings.batches_per_step} to {plan.batches_per_step}: "
            "every process needs a micro-batch"
        )
    return lines


def estimate(plan: BatchPlan, settings: TrainingConfig, seconds_a_step: float) -> list[str]:
    """Lines about the steps and the time that a run would take."""
    minutes = seconds_a_step * settings.steps / 60
    if settings.max_minutes is not None:
        minutes = min(minutes, settings.max_minutes)
    steps = plan.epoch(0)
    most = max(len(batch) for step in steps for batch in step)
    return [
        f"{len(steps):,} steps an epoch, {settings.steps / len(steps):.2f} epochs; a micro-batch has up to "
        f"{most} documents, the longest of {max(plan.lengths):,} source tokens",
        f"about {int(minutes // 60)} h {minutes % 60:.0f} min of training, without validation",
    ]


def leaks(data: dict[str, PreparedData]) -> list[str]:
    """A warning for each two splits that share documents: the later one's scores cannot be trusted."""
    lines = []
    for first, second in itertools.combinations(data, 2):
        if ids := identical_documents(data[first], data[second]):
            lines.append(
                f"warning: {len(ids):,} {NAMES[second]} documents are {NAMES[first]} documents, too: "
                f"{', '.join(ids[:3])}"
            )
    return lines


def peak_memory(accelerator: Accelerator) -> dict[str, float]:
    """The peak memory so far of this process, or of its GPU, as a metric; none where it cannot be read."""
    if accelerator.device.type == "cuda":
        return {"peak_memory_mb": torch.cuda.max_memory_allocated() / 2**20}
    peak = peak_memory_mb()
    return {} if peak is None else {"peak_memory_mb": peak}
