"""Speed of training and summarizing, the most expensive operations, and the floor: FLOPs at a plain product's speed."""

from collections.abc import Callable
from dataclasses import asdict
from statistics import median
from typing import Any

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from summarizer.benchmarks.machine import describe_machine
from summarizer.benchmarks.settings import ProfileSettings
from summarizer.benchmarks.timing import alternating, timed
from summarizer.benchmarks.training_step import TrainingStep, product_work
from summarizer.generation.options import SummarySettings
from summarizer.generation.summarizer import Summarizer
from summarizer.memory import keep_freed_memory

TOP_OPERATIONS = 12


def measure(settings: ProfileSettings) -> dict[str, Any]:
    """Measure training steps and summarizing. Returns the content of the JSON file."""
    keep_freed_memory()
    summarizer = Summarizer.from_pretrained(settings.model, settings.device, settings.dtype)
    model, device, dtype = summarizer.model, summarizer.model.device, summarizer.model.dtype
    generator = torch.Generator().manual_seed(settings.seed)
    vocabulary = (len(summarizer.tokenizer.all_special_ids) + 256, len(summarizer.tokenizer))

    def random_ids(length: int) -> Tensor:
        return torch.randint(*vocabulary, (settings.batch_size, length), generator=generator).to(device)

    batch = {"input_ids": random_ids(settings.source_tokens), "labels": random_ids(settings.target_tokens)}
    batch["attention_mask"] = torch.ones_like(batch["input_ids"])
    summarizing = _measure_summarizing(summarizer, batch["input_ids"], settings)
    training = _measure_training(model.float(), dtype, batch, settings)
    return {
        "machine": describe_machine(device),
        "settings": {**asdict(settings), "dtype": str(dtype).removeprefix("torch.")},
        "parameters": model.num_parameters(),
        "training": training,
        "summarizing": summarizing,
    }


def summary_lines(result: dict[str, Any]) -> list[str]:
    """The lines to print, ratios first."""
    training, summarizing = result["training"], result["summarizing"]

    def top(operations: list[dict[str, Any]]) -> str:
        return ", ".join(f"{item['operation'].removeprefix('aten::')} {item['share']:.0%}" for item in operations[:5])

    gigaflops, product_gigaflops = training["flops_per_step"] / 1e9, training["product_flops_per_second"] / 1e9
    encoder_share = summarizing["encoder_seconds_per_batch"] / summarizing["seconds_per_batch"]
    return [
        f"training: {training['times_the_floor']:.1f} × the floor; {training['source_tokens_per_second']:,.0f} source "
        f"tokens/s, {training['documents_per_second']:.1f} documents/s; {gigaflops:,.0f} GFLOP per step, "
        f"plain matrix products run at {product_gigaflops:,.0f} GFLOP/s",
        f"  time: {top(training['operations'])}",
        f"summarizing: {summarizing['documents_per_second']:.2f} documents/s; the encoder takes {encoder_share:.1%}, "
        f"a decoding step {summarizing['milliseconds_per_decoding_step']:.1f} ms",
        f"  time: {top(summarizing['operations'])}",
    ]


def _measure_training(model: Any, dtype: torch.dtype, batch: dict[str, Tensor], settings: ProfileSettings) -> dict:
    """Whole steps, in turns with the plain products of the floor."""
    device = model.device
    step = TrainingStep(model, batch, dtype)
    products, product_flops = product_work(model.config.d_model, dtype, device)
    timings = alternating({"step": step, "products": products}, settings.repeats, device)
    seconds, product_speed = timings["step"].seconds, product_flops / timings["products"].seconds
    flops = step.flops()
    source_tokens = settings.batch_size * settings.source_tokens
    return {
        "seconds_per_step": seconds,
        "source_tokens_per_second": source_tokens / seconds,
        "documents_per_second": settings.batch_size / seconds,
        "flops_per_step": flops,
        "product_flops_per_second": product_speed,
        "floor_seconds_per_step": flops / product_speed,
        "times_the_floor": seconds * product_speed / flops,
        "operations": _operations(step, device),
    }


def _measure_summarizing(summarizer: Summarizer, ids: Tensor, settings: ProfileSettings) -> dict[str, Any]:
    """Summaries of `target_tokens` each, with beams, and the share of the encoder in the time."""
    device = summarizer.model.device
    options = SummarySettings(
        num_beams=settings.num_beams,
        min_summary_tokens=settings.target_tokens,
        max_summary_tokens=settings.target_tokens,
        max_source_tokens=settings.source_tokens,
        tokens_per_batch=settings.batch_size * settings.source_tokens,
    )
    texts = ["a " * settings.source_tokens] * settings.batch_size

    def encode() -> None:
        with torch.no_grad():
            summarizer.model.get_encoder()(input_ids=ids, attention_mask=torch.ones_like(ids))

    def summarize() -> None:
        summaries = summarizer.summarize(texts, options)
        if failed := [summary.error for summary in summaries if summary.status != "ok"]:
            raise RuntimeError(f"{len(failed)} documents failed: {failed[0]}")

    encode()
    encoding = [timed(encode, device) for _ in range(settings.repeats)]
    whole = [timed(summarize, device) for _ in range(max(1, settings.repeats // 2))]
    return {
        "documents_per_second": settings.batch_size / median(whole),
        "seconds_per_batch": median(whole),
        "encoder_seconds_per_batch": median(encoding),
        "milliseconds_per_decoding_step": 1000 * (median(whole) - median(encoding)) / settings.target_tokens,
        "operations": _operations(summarize, device),
    }


def _operations(run: Callable[[], None], device: torch.device) -> list[dict[str, Any]]:
    """The most expensive operations, with their shares of the time."""
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device.type == "cuda" else [])
    with profile(activities=activities) as profiler:
        run()
    on_device = device.type == "cuda"
    events = [
        (event.key, event.self_device_time_total if on_device else event.self_cpu_time_total, event.count)
        for event in profiler.key_averages()
    ]
    total = sum(microseconds for _, microseconds, _ in events)
    events.sort(key=lambda event: -event[1])
    return [
        {"operation": name, "share": microseconds / total, "milliseconds": microseconds / 1000, "calls": count}
        for name, microseconds, count in events[:TOP_OPERATIONS]
    ]
