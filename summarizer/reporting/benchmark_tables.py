"""Markdown tables of benchmarks' JSON files, for the terminal and the pages; ratios first."""

import json
from pathlib import Path
from typing import Any

from summarizer.reporting.markdown import markdown_table

Result = dict[str, Any]


def benchmark_table(name: str, path: Path) -> str:
    """The tables of a result file of `summarizer benchmark NAME`.

    What `name` holds past an underscore tells files of one benchmark apart, as in encoders_backward.
    """
    return "\n".join(TABLES[name.partition("_")[0]](json.loads(path.read_text(encoding="utf-8"))))


def encoders_table(result: Result) -> list[str]:
    """Times and memory over fastformer's; the times themselves, growth, and the floor."""
    rows, backward = result["rows"], result["settings"]["backward"]
    ratios = {(ratio["encoder"], ratio["dtype"], ratio["length"]): ratio for ratio in result["ratios"]}
    kinds = {
        "forward_ms": ("forward", "forward, ms"),
        **({"forward_backward_ms": ("forward+backward", "forward+backward, ms")} if backward else {}),
        **({"peak_mb": ("memory", "peak, MB")} if any(row["peak_mb"] for row in rows) else {}),
    }
    head = ["encoder", "dtype", "length", *(f"{name}: × fastformer" for name, _ in kinds.values()),
            *(unit for _, unit in kinds.values())]  # fmt: skip
    floors = [{"encoder": "floor", "peak_mb": None, **row} for row in result["floor"]]
    lines = []
    for row in sorted([*rows, *floors], key=lambda row: (row["dtype"], row["length"], row["forward_ms"])):
        ratio = ratios.get((row["encoder"], row["dtype"], row["length"]), {})
        if row["encoder"] == "fastformer":
            ratio = dict.fromkeys(kinds, 1.0)
        lines.append(
            [row["encoder"], row["dtype"], f"{row['length']:,}", *(_ratio(ratio.get(kind)) for kind in kinds),
             *(_number(row[kind]) for kind in kinds)]
        )  # fmt: skip
    growth = [
        f"{item['encoder']} {item['dtype']} {item['forward_ms']:.2f}"
        for item in result["growth"]
        if item["forward_ms"] is not None
    ]
    crossing = [
        f"{dtype}: " + (f"{length:,} tokens" if length is not None else "no measured length")
        for dtype, length in result["crossover"].items()
        if any(row["encoder"] == "full" and row["dtype"] == dtype for row in rows)
    ]
    speeds = "; ".join(
        f"{row['dtype']}, {row['length']:,} tokens: "
        f"{_number(row['gflop'])} GFLOP at {_number(row['gflop_per_second'])} GFLOP/s"
        for row in result["floor"]
    )
    exponent = "Exponent of the growth of forward time with length (1 is linear, 2 is quadratic)"
    faster = "Within these lengths, fastformer is faster than full attention from"
    return [
        markdown_table(head, lines),
        "",
        *([f"{exponent}: {'; '.join(growth)}."] if growth else []),
        *([f"{faster}: {'; '.join(crossing)}."] if crossing else []),
        f"Matrix products of the floor: {speeds}.",
        _machine(result),
    ]


def generation_table(result: Result) -> list[str]:
    """How many times faster fastformer writes summaries, then each system's figures."""
    keys = ("system", "length", "num_beams", "batch_size")
    ratios = {tuple(ratio[key] for key in keys): ratio for ratio in result["ratios"]}
    head = ["system", "length", "beams", "batch", "speedup of fastformer", "document memory: × fastformer",
            "documents/s", "step, ms", "search itself, ms", "n-gram blocking, ms", "document, MB",
            "peak, MB"]  # fmt: skip
    lines = []
    for row in result["rows"]:
        ratio = ratios.get(tuple(row[key] for key in keys), {"speed": 1.0, "document_mb": 1.0})
        lines.append(
            [row["system"], f"{row['length']:,}", str(row["num_beams"]), str(row["batch_size"]),
             _ratio(ratio["speed"]), _ratio(ratio["document_mb"]), f"{row['documents_per_second']:.3g}",
             _number(row["step_ms"]), _number(row["beam_ms"]), _number(row["blocking_ms"]),
             _number(row["document_mb"]), _number(row["peak_mb"])]
        )  # fmt: skip
    return [markdown_table(head, lines), "", _machine(result)]


def training_table(result: Result) -> list[str]:
    """Times of a step over fastformer's, then each system's figures and the floor."""
    ratios = {(ratio["system"], ratio["length"]): ratio for ratio in result["ratios"]}
    head = ["system", "length", "step: × fastformer", "memory: × fastformer", "source tokens/s", "step, ms", "peak, MB"]
    lines = []
    for row in [*result["rows"], *({"system": "floor", "peak_mb": None, **row} for row in result["floor"])]:
        ratio = ratios.get((row["system"], row["length"]), {"step_ms": 1.0, "peak_mb": 1.0})
        lines.append(
            [row["system"], f"{row['length']:,}", _ratio(ratio["step_ms"]), _ratio(ratio["peak_mb"]),
             f"{row['source_tokens_per_second']:,.0f}", _number(row["step_ms"]), _number(row["peak_mb"])]
        )  # fmt: skip
    return [markdown_table(head, lines), "", _machine(result)]


def rouge_benchmark_table(result: Result) -> list[str]:
    """Speed over plain rouge-score's."""
    lines = [
        [row["system"], str(row["processes"]), _ratio(row["speed"]), f"{row['examples_per_second']:,.0f}"]
        for row in result["rows"]
    ]
    equal = "equal to the last digit" if result["equal"] else "NOT EQUAL"
    return [
        markdown_table(["system", "processes", "× rouge-score", "examples/s"], lines),
        "",
        f"The scores of all rows are {equal}. {_machine(result)}",
    ]


def mixer_table(result: Result) -> list[str]:
    """The literal form's time and memory over the folded one's."""
    columns = [name for name in result["rows"][0] if name != "form"]
    lines = [["literal ÷ folded", *(_ratio(result["ratios"].get(name)) for name in columns)]]
    lines += [[row["form"], *(_number(row[name]) for name in columns)] for row in result["rows"]]
    head = ["", *(name.replace("_peak_mb", " peak, MB").replace("_ms", ", ms").replace("_", "+") for name in columns)]
    settings = result["settings"]
    shape = f"{settings['batch_size']} × {settings['length']:,} tokens, d = {settings['d_model']}, {settings['dtype']}"
    return [
        markdown_table(head, lines),
        "",
        f"{shape}; outputs differ by {result['difference']:.0e}. {_machine(result)}",
    ]


def methods_table(result: Result) -> list[str]:
    """Each method's time over that of extracting."""
    lines = [
        [row["method"], _ratio(row["times_extract"]), f"{row['seconds_per_document']:.3f}"]
        for row in sorted(result["rows"], key=lambda row: row["seconds_per_document"])
    ]
    documents = f"Documents: {result['documents']}, with {result['words_per_document']:,.0f} words on average. "
    return [markdown_table(["method", "× extract", "seconds a document"], lines), "", documents + _machine(result)]


TABLES = {
    "encoders": encoders_table,
    "generation": generation_table,
    "training": training_table,
    "rouge": rouge_benchmark_table,
    "mixer": mixer_table,
    "methods": methods_table,
}


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.2f}" if abs(value) < 10 else f"{value:,.0f}"


def _machine(result: Result) -> str:
    machine = result["machine"]
    features = ", ".join(machine.get("processor_features", []))
    where = machine.get("accelerator") or f"{machine['processor']}, {machine['threads']} thread(s), {features}"
    return f"{where}; torch {machine['torch']}, transformers {machine['transformers']}."
