"""Encoders side by side: time and memory against length, growth, and the floor that the plain products set."""

from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from summarizer.benchmarks.compared_models import check_names, encoder_names, make_encoder, make_inputs
from summarizer.benchmarks.growth_plot import plot_growth
from summarizer.benchmarks.meter import BACKWARD, FLOOR, FORWARD, OURS, Meter, ratios, with_floor
from summarizer.benchmarks.settings import EncoderSettings
from summarizer.benchmarks.timing import Timing

QUADRATIC = "full"
COLUMNS = {f"{FORWARD}_ms": "forward, ms", f"{BACKWARD}_ms": "forward and backward, ms", "peak_mb": "peak memory, MB"}


def measure(settings: EncoderSettings) -> dict[str, Any]:
    """Measure every encoder at every length in every dtype. Returns the content of the JSON file."""
    check_names(settings.encoders, encoder_names())
    cells = list(product(settings.dtypes, settings.lengths))
    num_cells = len(cells) * len(settings.directions)
    num_encoders = len(settings.encoders)
    meter = Meter(settings, "encoders", num_cells * (num_encoders + 1), num_cells * num_encoders)
    rows, floors = [], []
    with meter.progress:
        for dtype, length in cells:
            # New encoders for each length: after a short text BigBird-Pegasus keeps full attention.
            encoders = {name: _make(name, settings, dtype, meter.device) for name in settings.encoders}
            timings = {}
            for direction in settings.directions:
                runs = {name: _work(encoders[name], name, settings, length, direction) for name in encoders}
                timings[direction] = meter.times(
                    {**runs, FLOOR: _floor(settings, length, dtype, direction, meter.device)}
                )
            cell = {"length": length, "dtype": dtype}
            for name, encoder in encoders.items():
                peaks = [meter.peak(encoder_work, name, settings, length, dtype, way) for way in settings.directions]
                rows.append(
                    {
                        "encoder": name,
                        **cell,
                        "batch_size": settings.batch_size(length),
                        "parameters": sum(parameter.numel() for parameter in encoder.parameters()),
                        "repeats": min(timing[name].repeats for timing in timings.values()),
                        **_milliseconds(timings, name),
                        "peak_mb": peaks[-1],
                        f"{FORWARD}_peak_mb": peaks[0],
                    }
                )
            gflop = (
                sum(2 * tokens * inputs * outputs for tokens, inputs, outputs in floor_products(settings, length)) / 1e9
            )
            speed = gflop / timings[FORWARD][FLOOR].seconds
            floors.append({**cell, "gflop": gflop, "gflop_per_second": speed, **_milliseconds(timings, FLOOR)})
    return meter.result(
        rows=rows,
        floor=floors,
        ratios=ratios(with_floor(rows, floors, "encoder"), "encoder", ["dtype", "length"], list(COLUMNS)),
        growth=growth(rows),
        crossover=crossover(rows),
    )


def floor_products(settings: EncoderSettings, length: int) -> list[tuple[int, int, int]]:
    """The products (rows, inputs, outputs) that every Fastformer encoder needs: d × d and the feed-forward."""
    tokens, sizes = settings.batch_size(length) * length, settings.sizes
    d_model, inner = sizes.d_model, sizes.ffn_dim
    return [(tokens, d_model, d_model), (tokens, d_model, inner), (tokens, inner, d_model)] * sizes.layers


def encoder_work(
    name: str, settings: EncoderSettings, length: int, dtype: str, direction: str, device_name: str
) -> Callable[[], object]:
    """The timed work with its own model and inputs, for a process that measures memory."""
    return _work(_make(name, settings, dtype, torch.device(device_name)), name, settings, length, direction)


def growth(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each encoder and dtype, the exponents e of time and memory ~ length^e, fitted over the measured lengths."""
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        grouped.setdefault((row["encoder"], row["dtype"]), []).append(row)
    return [
        {"encoder": encoder, "dtype": dtype} | {column: _exponent(group, column) for column in COLUMNS}
        for (encoder, dtype), group in grouped.items()
    ]


def crossover(rows: list[dict[str, Any]]) -> dict[str, int | None]:
    """For each dtype, the length from which fastformer's forward is faster than full attention's, or None.

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


def plot_encoders(path: Path, result: dict[str, Any]) -> None:
    """Plot time and memory by length to a PNG file."""
    dtypes = result["settings"]["dtypes"]
    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for dtype, (column, title) in product(dtypes, COLUMNS.items()):
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
    encoder: nn.Module, name: str, settings: EncoderSettings, length: int, direction: str
) -> Callable[[], object]:
    device = next(encoder.parameters()).device
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
    """The floor's products into allocated memory; for backward also the two products of the gradients."""
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


def _milliseconds(timings: dict[str, dict[str, Timing]], name: str) -> dict[str, float | None]:
    return {
        f"{direction}_ms": timings[direction][name].milliseconds if direction in timings else None
        for direction in (FORWARD, BACKWARD)
    }


def _exponent(rows: list[dict[str, Any]], column: str) -> float | None:
    points = [(row["length"], row[column]) for row in rows if row[column]]
    if len({length for length, _ in points}) < 2:
        return None
    lengths, values = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(lengths, values, 1)[0])
