"""How fast a model trains and summarizes, where the time goes, and the floor: its FLOPs at a plain product's speed."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from statistics import median
from typing import Any

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode, register_flop_formula

from summarizer.benchmarks.machine import describe_machine
from summarizer.benchmarks.settings import ProfileSettings
from summarizer.benchmarks.timing import timed
from summarizer.config import TrainingConfig
from summarizer.generation.options import SummarySettings
from summarizer.generation.summarizer import Summarizer
from summarizer.generation.writer import generate_summaries
from summarizer.memory import keep_freed_memory
from summarizer.training.optim import make_optimizer
from summarizer.training.summarization import summed_loss

TOP_OPERATIONS = 12


def measure(settings: ProfileSettings) -> dict[str, Any]:
    """Measure training steps and summarizing; medians over `repeats`. Returns what the JSON file holds."""
    keep_freed_memory()
    summarizer = Summarizer.from_pretrained(settings.model, settings.device, settings.dtype)
    model, device, dtype = summarizer.model, summarizer.model.device, summarizer.model.dtype
    generator = torch.Generator().manual_seed(settings.seed)
    vocabulary = (len(summarizer.tokenizer.all_special_ids) + 256, len(summarizer.tokenizer))

    def random_ids(length: int) -> Tensor:
        return torch.randint(*vocabulary, (settings.batch_size, length), generator=generator).to(device)

    batch = {"input_ids": random_ids(settings.source_tokens), "labels": random_ids(settings.target_tokens)}
    batch["attention_mask"] = torch.ones_like(batch["input_ids"])
    summarizing = _measure_summarizing(summarizer, batch["input_ids"].tolist(), settings)
    training = _measure_training(model.float(), dtype, batch, settings)
    return {
        "machine": describe_machine(device),
        "settings": {**asdict(settings), "dtype": str(dtype).removeprefix("torch.")},
        "parameters": model.num_parameters(),
        "training": training,
        "summarizing": summarizing,
    }


def summary_lines(result: dict[str, Any]) -> list[str]:
    """The figures for people, ratios first."""
    training, summarizing = result["training"], result["summarizing"]

    def top(operations: list[dict[str, Any]]) -> str:
        return ", ".join(f"{item['operation'].removeprefix('aten::')} {item['share']:.0%}" for item in operations[:5])

    gigaflops, product_gigaflops = training["flops_per_step"] / 1e9, training["product_flops_per_second"] / 1e9
    encoder_share = summarizing["encoder_seconds_per_batch"] / summarizing["seconds_per_batch"]
    return [
        f"training: {training['times_the_floor']:.1f} × the floor; {training['source_tokens_per_second']:,.0f} source "
        f"tokens/s, {training['documents_per_second']:.1f} documents/s; {gigaflops:,.0f} GFLOP a step, "
        f"plain products run at {product_gigaflops:,.0f} GFLOP/s",
        f"  time: {top(training['operations'])}",
        f"summarizing: {summarizing['documents_per_second']:.2f} documents/s; the encoder takes {encoder_share:.1%}, "
        f"a decoding step {summarizing['milliseconds_per_decoding_step']:.1f} ms",
        f"  time: {top(summarizing['operations'])}",
    ]


def _measure_training(model: Any, dtype: torch.dtype, batch: dict[str, Tensor], settings: ProfileSettings) -> dict:
    """Whole steps: forward, backward, optimizer."""
    device = model.device
    model.train()
    optimizer = make_optimizer(model, TrainingConfig())

    def forward() -> Tensor:
        with torch.autocast(device.type, dtype) if dtype != torch.float32 else nullcontext():
            return summed_loss(model, batch) / settings.target_tokens

    def step() -> None:
        forward().backward()
        optimizer.step()
        optimizer.zero_grad()

    products, product_flops = product_work(model.config.d_model, dtype, device)
    step()
    with FlopCounterMode(display=False) as counter:
        forward().backward()
    optimizer.zero_grad()
    flops = counter.get_total_flops()
    seconds, speeds = [], []
    for _ in range(settings.repeats):  # alternating, so that both meet the same machine
        seconds.append(timed(step, device))
        speeds.append(product_flops / timed(products, device))
    product_speed = median(speeds)
    source_tokens = settings.batch_size * settings.source_tokens
    return {
        "seconds_per_step": median(seconds),
        "source_tokens_per_second": source_tokens / median(seconds),
        "documents_per_second": settings.batch_size / median(seconds),
        "flops_per_step": flops,
        "product_flops_per_second": product_speed,
        "floor_seconds_per_step": flops / product_speed,
        "times_the_floor": median(seconds) * product_speed / flops,
        "operations": _operations(step, device),
    }


def _measure_summarizing(summarizer: Summarizer, sources: list[list[int]], settings: ProfileSettings) -> dict[str, Any]:
    """Summaries of `target_tokens` each, with beams, and the share of the encoder in the time."""
    device = summarizer.model.device
    options = SummarySettings(
        num_beams=settings.num_beams,
        min_summary_tokens=settings.target_tokens,
        max_summary_tokens=settings.target_tokens,
        tokens_per_batch=settings.batch_size * settings.source_tokens,
    )
    ids = torch.tensor(sources, device=device)

    def encode() -> None:
        with torch.no_grad():
            summarizer.model.get_encoder()(input_ids=ids, attention_mask=torch.ones_like(ids))

    def summarize() -> None:
        summaries = generate_summaries(summarizer.model, summarizer.tokenizer, sources, options)
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


def product_work(d_model: int, dtype: torch.dtype, device: torch.device) -> tuple[Callable[[], None], int]:
    """The feed-forward's product, [16384, d] × [d, 4d], over many repetitions, and the FLOPs of them all."""
    rows = torch.randn(16_384, d_model, dtype=dtype, device=device)
    weight = torch.randn(d_model, 4 * d_model, dtype=dtype, device=device)
    repetitions = 10
    out = rows @ weight

    def run() -> None:
        for _ in range(repetitions):
            torch.mm(rows, weight, out=out)

    return run, repetitions * 2 * rows.numel() * weight.shape[1]


def _operations(run: Callable[[], None], device: torch.device) -> list[dict[str, Any]]:
    """The operations that take most of the time, with their shares of it."""
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


def _attention_flops(query: tuple[int, ...], key: tuple[int, ...], value: tuple[int, ...], num_products: int) -> int:
    batch_size, heads, queries, head_size = query
    return num_products * 2 * batch_size * heads * queries * key[2] * (head_size + value[3]) // 2


@register_flop_formula(torch.ops.aten._scaled_dot_product_flash_attention_for_cpu)
def _forward_flops(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> int:
    return _attention_flops(query, key, value, 2)


@register_flop_formula(torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward)
def _backward_flops(_: Any, query: Any, key: Any, value: Any, *__: Any, **___: Any) -> int:
    return _attention_flops(query, key, value, 5)  # scores again, and two products for each of the two of forward
