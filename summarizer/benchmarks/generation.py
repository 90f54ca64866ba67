"""Summaries per second with beam search, the memory that shared documents save, and the time of the search."""

import time
from collections.abc import Callable
from itertools import product
from statistics import median
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationMixin

from summarizer.benchmarks.compared_models import check_names, make_inputs, make_seq2seq
from summarizer.benchmarks.meter import OURS, Meter, ratios
from summarizer.benchmarks.peak_memory import MEGABYTE
from summarizer.benchmarks.settings import GenerationSettings
from summarizer.benchmarks.timing import Timing, timed, wait_for
from summarizer.models import FastformerSummarizerForConditionalGeneration

SYSTEMS = ["fastformer", "expanded", "led"]
CELL = ("length", "num_beams", "batch_size")
BLOCKED_NGRAM = 3


class ExpandedSummarizer(FastformerSummarizerForConditionalGeneration):
    """The naive twin: a copy of the document, with its keys and values, for every beam, as in plain transformers."""

    def _expand_inputs_for_generation(self, **kwargs: Any) -> tuple[Tensor | None, dict[str, Any]]:  # pyright: ignore (by keyword only)
        input_ids, kwargs = GenerationMixin._expand_inputs_for_generation(self, **kwargs)  # pyright: ignore (the same)
        document = self.read_document(kwargs["encoder_outputs"], kwargs.get("attention_mask"))
        return input_ids, {**kwargs, "encoder_outputs": document}


class ForwardClock:
    """While attached, the seconds in a model's forward and in its encoder, and the bytes that hold the document."""

    def __init__(self, model: Any) -> None:
        self.model, self.device = model, model.device
        self.seconds: dict[str, list[float]] = {"encoder": [], "model": []}
        self.document_bytes = 0

    def __enter__(self) -> "ForwardClock":
        self._handles = []
        for name, module in (("encoder", self.model.get_encoder()), ("model", self.model)):
            self._handles.append(module.register_forward_pre_hook(self._start))
            self._handles.append(module.register_forward_hook(self._stop(name), with_kwargs=True))
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            handle.remove()

    def _start(self, *_: object) -> None:
        wait_for(self.device)
        self._started = time.perf_counter()

    def _stop(self, name: str) -> Callable[..., None]:
        def stop(_module: object, _arguments: object, inputs: dict[str, Any], output: Any) -> None:
            wait_for(self.device)
            self.seconds[name].append(time.perf_counter() - self._started)
            if name == "model":
                self.document_bytes = document_bytes(inputs["encoder_outputs"], output)

        return stop


def measure(settings: GenerationSettings) -> dict[str, Any]:
    """Measure every system for every length, number of beams and batch size. Returns the content of the JSON file."""
    check_names(settings.systems, SYSTEMS)
    cells = list(product(settings.lengths, settings.num_beams, settings.batch_sizes))
    num_systems = len(settings.systems)
    num_timed = len(cells) * (num_systems + (OURS in settings.systems))
    meter = Meter(settings, "generation", num_timed, len(cells) * num_systems)
    models = {name: _make(name, settings, meter.device) for name in settings.systems}
    rows = []
    with meter.progress:
        for cell in cells:
            for name, figures in _measure_cell(models, cell, meter).items():
                row = {"system": name, **dict(zip(CELL, cell, strict=True)), **figures}
                rows.append({**row, "peak_mb": meter.peak(generation_work, name, settings, *cell)})
    compared = ratios(rows, "system", CELL, ["documents_per_second", "step_ms", "document_mb", "peak_mb"])
    for ratio in compared:
        ratio["speed"] = 1 / ratio.pop("documents_per_second")  # how many times faster fastformer is
    return meter.result(rows=rows, ratios=compared)


def generation_work(
    name: str, settings: GenerationSettings, length: int, num_beams: int, batch_size: int, device_name: str
) -> Callable[[], object]:
    """The timed work with its own model and inputs, for a process that measures memory."""
    device = torch.device(device_name)
    return _work(_make(name, settings, device), name, settings, (length, num_beams, batch_size))


def document_bytes(document: Any, output: Any) -> int:
    """Bytes held of a batch's documents while decoding: hidden states, cross-attention's keys and values, copy keys."""
    tensors = [document.last_hidden_state]
    for read in getattr(document, "cross_attention", None) or []:
        tensors += [read.keys, read.values]
    if (copy_source := getattr(document, "copy_source", None)) is not None:
        tensors.append(copy_source.keys)
    cache = getattr(output, "cache", None)
    for layer in cache.cross_attention_cache.layers if cache is not None else []:
        if layer.keys is not None:
            tensors += [layer.keys, layer.values]
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def _make(name: str, settings: GenerationSettings, device: torch.device) -> Any:
    model = make_seq2seq("led" if name == "led" else OURS, settings.sizes, max(settings.lengths))
    if name == "expanded":
        model.__class__ = ExpandedSummarizer  # the same weights
    return model.to(device=device, dtype=getattr(torch, settings.dtype))


def _work(
    model: Any, name: str, settings: GenerationSettings, cell: tuple[int, int, int], **options: Any
) -> Callable[[], Tensor]:
    length, num_beams, batch_size = cell
    inputs = make_inputs(name, batch_size, length, settings.sizes.vocab_size, model.device)
    count = settings.new_tokens

    def run() -> Tensor:
        return model.generate(
            **inputs, num_beams=num_beams, max_new_tokens=count, min_new_tokens=count, do_sample=False, **options
        )

    return run


def _measure_cell(models: dict[str, Any], cell: tuple[int, int, int], meter: Meter) -> dict[str, dict[str, Any]]:
    """The figures of each system in one cell. They run in turns, and fastformer also with n-gram blocking."""
    runs, details = {}, {}
    variants = [(name, name, {}) for name in models]
    if OURS in models:
        variants.append(("blocking", OURS, {"no_repeat_ngram_size": BLOCKED_NGRAM}))
    for variant, name, options in variants:
        details[variant] = []
        work = _work(models[name], name, meter.settings, cell, **options)
        runs[variant] = _clocked(models[name], work, details[variant], meter.device)
    timings = meter.times(runs)
    figures = {variant: _figures(timings[variant], details[variant], meter.settings, cell) for variant in runs}
    blocking = figures.pop("blocking", {"beam_ms": None})["beam_ms"]
    return {
        name: {**own, "blocking_ms": blocking - own["beam_ms"] if name == OURS and blocking is not None else None}
        for name, own in figures.items()
    }


def _clocked(
    model: Any, work: Callable[[], object], details: list[dict[str, float]], device: torch.device
) -> Callable[[], None]:
    """The work under a ForwardClock, whose readings go to `details`, one for each run."""

    def run() -> None:
        with ForwardClock(model) as clock:
            whole = timed(work, device)
        encoder, forwards = sum(clock.seconds["encoder"]), sum(clock.seconds["model"])
        details.append(
            {"decoding": whole - encoder, "search": whole - encoder - forwards, "bytes": clock.document_bytes}
        )

    return run


def _figures(
    timing: Timing, details: list[dict[str, float]], settings: GenerationSettings, cell: tuple[int, int, int]
) -> dict[str, Any]:
    _, _, batch_size = cell
    counted = details[-timing.repeats :]  # without the warm-up

    def per_step(name: str) -> float:
        return 1000 * median(reading[name] for reading in counted) / settings.new_tokens

    return {
        "documents_per_second": batch_size / timing.seconds,
        "step_ms": per_step("decoding"),
        "beam_ms": per_step("search"),
        "document_mb": counted[-1]["bytes"] / MEGABYTE,
        "repeats": timing.repeats,
    }
