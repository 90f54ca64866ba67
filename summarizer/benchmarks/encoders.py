"""Encoders side by side: time and memory against length, growth, and the floor that the plain products set."""

from collections.abc import Callable
from dataclasses import asdict
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from summarizer.benchmarks.compared_models import check_names, encoder_names, make_encoder, make_inputs
from summarizer.benchmarks.growth_plot import plot_growth
from summarizer.benchmarks.machine import describe_machine
from summarizer.benchmarks.peak_memory import peak_megabytes
from summarizer.benchmarks.settings import EncoderSettings
from summarizer.benchmarks.timing import Timing, alternating
from summarizer.memory import keep_freed_memory
from summarizer.models.loading import choose_device
from summarizer.progress import WorkProgress

OURS, QUADRATIC, FLOOR = "fastformer", "full", "floor"
FORWARD, BACKWARD = "forward", "forward_backward"


def measure(settings: EncoderSettings) -> dict[str, Any]:
    """Measure every encoder at every length in every dtype. Returns what the JSON file holds."""
    check_names(settings.encoders, encoder_names())
    keep_freed_memory()
    device = choose_device(settings.device)
    cells = len(settings.dtypes) * len(settings.lengths) * len(settings.directions)
    turns = cells * ((len(settings.encoders) + 1) * (1 + settings.repeats) + len(settings.encoders) * settings.memory)
    rows, floors = [], []
    with WorkProgress("measuring encoders", "runs", turns) as progress:
        for dtype, length in product(settings.dtypes, settings.lengths):
            # Anew for each length: BigBird-Pegasus that has met a short text attends fully ever after.
            encoders = {name: _make(name, settings, dtype, device) for name in settings.encoders}
            timings = {
                direction: _time(encoders, settings, length, dtype, direction, device, progress)
                for direction in settings.directions
            }
            for name, encoder in encoders.items():
                row = _row(name, encoder, settings, length, dtype, timings)
                rows.append(row | _peaks(name, settings, length, dtype, device, progress))
            floors.append(_floor_row(settings, length, dtype, timings))
    return {
        "machine": describe_machine(device),
        "settings": asdict(settings),
        "rows": rows,
        "floor": floors,
        "ratios": ratios(rows, floors),
        "growth": growth(rows),
        "crossover": crossover(rows),
    }


def floor_products(settings: EncoderSettings, length: int) -> list[tuple[int, int, int]]:
    """The products (rows, inputs, outputs) that a Fastformer encoder cannot do without: d × d and the feed-forward."""
    tokens, sizes = settings.batch_size(length) * length, settings.sizes
    d_model, inner = sizes.d_model, sizes.ffn_dim
    return [(tokens, d_model, d_model), (tokens, d_model, inner), (tokens, inner, d_model)] * sizes.layers


def encoder_work(
    name: str, settings: EncoderSettings, length: int, dtype: str, direction: str, device_name: str
) -> Callable[[], object]:
    """The work that is timed, with a model and inputs of its own; for a process that measures memory."""
    device = torch.device(device_name)
    return _work(_make(name, settings, dtype, device), name, settings, length, direction, device)


def growth(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each encoder and dtype, the exponents e of time and memory ~ length^e, fitted over the measured lengths."""
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        grouped.setdefault((row["encoder"], row["dtype"]), []).append(row)
    columns = (f"{FORWARD}_ms", f"{BACKWARD}_ms", "peak_mb")
    return [
        {"encoder": encoder, "dtype": dtype} | {column: _exponent(group, column) for column in columns}
        for (encoder, dtype), group in grouped.items()
    ]


def crossover(rows: list[dict[str, Any]]) -> dict[str, int | None]:
    """For each dtype, from which length on fastformer's forward is faster than full attention's; None: from none.

    Between two measured lengths it is where straight lines between their logarithms cross.
    """
    found: dict[str, int | None] = {}
    for dtype in dict.fromkeys(row["dtype"] for row in rows):
        times = {(row["encoder"], row["length"]): row[f"{FORWARD}_ms"] for row in rows if row["dtype"] == dtype}
        lengths = sorted({length for name, length in times if name == OURS and (QUADRATIC, length) in times})
        gains = [float(np.log(times[QUADRATIC, length] / times[OURS, length])) for length in lengths]
        if not gains or gains[-1] <= 0:
            found[dtype] = None
            continue
        found[dtype] = lengths[0]
        for (short, long), (before, after) in zip(pairwise(lengths), pairwise(gains), strict=True):
            if before <= 0 < after:
                share = -before / (after - before)
                found[dtype] = round(short * (long / short) ** share)
    return found


def ratios(rows: list[dict[str, Any]], floors: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each encoder's time and memory over fastformer's, at each length; the floor's too."""
    columns = (f"{FORWARD}_ms", f"{BACKWARD}_ms", "peak_mb")
    ours = {(row["dtype"], row["length"]): row for row in rows if row["encoder"] == OURS}
    compared = []
    for row in [*rows, *({"encoder": FLOOR, "peak_mb": None, **row} for row in floors)]:
        own = ours.get((row["dtype"], row["length"]))
        if own is None or row is own:
            continue
        cell = {key: row[key] for key in ("encoder", "dtype", "length")}
        for column in columns:
            cell[column] = row[column] / own[column] if own[column] and row[column] is not None else None
        compared.append(cell)
    return compared


def plot_encoders(path: Path, result: dict[str, Any]) -> None:
    """Plot time and memory by length to a PNG file."""
    dtypes = result["settings"]["dtypes"]
    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    columns = {
        f"{FORWARD}_ms": "forward, ms",
        f"{BACKWARD}_ms": "forward and backward, ms",
        "peak_mb": "peak memory, MB",
    }
    for dtype, (column, title) in product(dtypes, columns.items()):
        systems: dict[str, list[tuple[float, float]]] = {}
        for row in [*result["rows"], *({"encoder": FLOOR, "peak_mb": None, **row} for row in result["floor"])]:
            if row["dtype"] == dtype and row[column]:
                systems.setdefault(row["encoder"], []).append((row["length"], row[column]))
        if systems:
            panels[f"{title} ({dtype})"] = systems
    plot_growth(path, panels, FLOOR)


def _make(name: str, settings: EncoderSettings, dtype: str, device: torch.device) -> nn.Module:
    encoder = make_encoder(name, settings.sizes, max(settings.lengths))
    return encoder.to(device=device, dtype=getattr(torch, dtype))


def _work(
    encoder: nn.Module, name: str, settings: EncoderSettings, length: int, direction: str, device: torch.device
) -> Callable[[], object]:
    inputs = make_inputs(name, settings.batch_size(length), length, settings.sizes.vocab_size, device)

    def forward() -> Tensor:
        with torch.no_grad():
            return encoder(**inputs)[0]

    def forward_backward() -> None:
        output = encoder(**inputs)[0]
        output.backward(torch.ones_like(output))
        encoder.zero_grad(set_to_none=True)

    return forward if direction == FORWARD else forward_backward


def _floor(
    settings: EncoderSettings, length: int, dtype: str, direction: str, device: torch.device
) -> Callable[[], object]:
    """The floor's products as matmuls into memory that is there already, and for backward the two of each gradient."""
    products = floor_products(settings, length)
    tensors = {}
    for rows, inputs, outputs in set(products):
        shapes = [(rows, inputs), (inputs, outputs), (rows, outputs)] * 2  # x, weight, y, and a gradient of each
        options: Any = {"dtype": getattr(torch, dtype), "device": device}
        tensors[inputs, outputs] = [torch.randn(*shape, **options) for shape in shapes]

    def run() -> None:
        for _, inputs, outputs in products:
            x, weight, y, grad_x, grad_weight, grad_y = tensors[inputs, outputs]
            torch.mm(x, weight, out=y)
            if direction == BACKWARD:
                torch.mm(grad_y, weight.T, out=grad_x)
                torch.mm(x.T, grad_y, out=grad_weight)

    return run


def _time(
    encoders: dict[str, nn.Module],
    settings: EncoderSettings,
    length: int,
    dtype: str,
    direction: str,
    device: torch.device,
    progress: WorkProgress,
) -> dict[str, Timing]:
    runs = {name: _work(encoder, name, settings, length, direction, device) for name, encoder in encoders.items()}
    runs[FLOOR] = _floor(settings, length, dtype, direction, device)
    return alternating(runs, settings.repeats, device, settings.max_seconds, progress.advance)


def _row(
    name: str,
    encoder: nn.Module,
    settings: EncoderSettings,
    length: int,
    dtype: str,
    timings: dict[str, dict[str, Timing]],
) -> dict[str, Any]:
    return {
        "encoder": name,
        "length": length,
        "dtype": dtype,
        "batch_size": settings.batch_size(length),
        "parameters": sum(parameter.numel() for parameter in encoder.parameters()),
        "repeats": min(timings[direction][name].repeats for direction in timings),
        f"{FORWARD}_ms": timings[FORWARD][name].milliseconds,
        f"{BACKWARD}_ms": timings[BACKWARD][name].milliseconds if BACKWARD in timings else None,
    }


def _peaks(
    name: str, settings: EncoderSettings, length: int, dtype: str, device: torch.device, progress: WorkProgress
) -> dict[str, float | None]:
    """The peak of what is the most work (forward, or forward and backward), and of forward alone."""
    peaks: dict[str, float | None] = {FORWARD: None, BACKWARD: None}
    for direction in settings.directions if settings.memory else []:
        arguments = (name, settings, length, dtype, direction, str(device))
        peaks[direction] = peak_megabytes(encoder_work, *arguments, device=device)
        progress.advance()
    return {"peak_mb": peaks[settings.directions[-1]], f"{FORWARD}_peak_mb": peaks[FORWARD]}


def _floor_row(
    settings: EncoderSettings, length: int, dtype: str, timings: dict[str, dict[str, Timing]]
) -> dict[str, Any]:
    flops = sum(2 * rows * inputs * outputs for rows, inputs, outputs in floor_products(settings, length))
    forward = timings[FORWARD][FLOOR].seconds
    return {
        "length": length,
        "dtype": dtype,
        "gflop": flops / 1e9,
        "gflop_per_second": flops / 1e9 / forward,
        f"{FORWARD}_ms": 1000 * forward,
        f"{BACKWARD}_ms": timings[BACKWARD][FLOOR].milliseconds if BACKWARD in timings else None,
    }


def _exponent(rows: list[dict[str, Any]], column: str) -> float | None:
    points = [(row["length"], row[column]) for row in rows if row[column]]
    if len({length for length, _ in points}) < 2:
        return None
    lengths, values = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(lengths, values, 1)[0])
