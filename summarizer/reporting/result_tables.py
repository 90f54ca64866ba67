"""Markdown tables from committed result files, so that every number on a page comes from a file."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from summarizer.evaluation.rouge import ROUGE_TYPES
from summarizer.evaluation.score_text import SUPPORT, measure_label, measure_text, metric_label, with_interval
from summarizer.reporting.markdown import markdown_table


def rouge_table(scores_path: Path, name: str, others: Mapping[str, Path] | None = None) -> str:
    """ROUGE F (0 to 100) with 95 % intervals of a scores.json, its baselines beneath, its signature last.

    `others` are the files of more systems with the same references, by name. How far the documents support the
    summaries stands beside, where the file holds it.
    """
    files = {name: scores_path, **(others or {})}
    found_in = {f"**{each}**": json.loads(path.read_text(encoding="utf-8")) for each, path in files.items()}
    scores: dict[str, Any] = found_in[f"**{name}**"]
    systems = {each: found["scores"] for each, found in found_in.items()} | (scores.get("baselines") or {})
    measures = {each: found.get("text_measures", {}) for each, found in found_in.items()}
    measures |= scores.get("baseline_measures") or {}
    support = [measure for measure in SUPPORT if any(measure in found for found in measures.values())]
    rows = [
        [
            system,
            *(with_interval(**found[rouge]["fmeasure"]) for rouge in ROUGE_TYPES),
            *(measure_text(measure, measures.get(system, {}).get(measure)) for measure in support),
        ]
        for system, found in systems.items()
    ]
    table = markdown_table(["system", *map(metric_label, ROUGE_TYPES), *map(measure_label, support)], rows)
    return f"{table}\n\n{scores['num_examples']} documents. Signature (scoring settings): `{scores['signature']}`"


def profile_table(profile_path: Path) -> str:
    """Speed of training and summarizing, and the operations that take the time, of a profile's JSON file."""
    profile: dict[str, Any] = json.loads(profile_path.read_text(encoding="utf-8"))
    training, summarizing, settings = profile["training"], profile["summarizing"], profile["settings"]
    machine = profile["machine"]
    about = (
        f"{machine['processor']}, {machine['threads']} threads, {', '.join(machine['processor_features'])}; "
        f"{settings['dtype']}; batches of {settings['batch_size']} × {settings['source_tokens']:,} source and "
        f"{settings['target_tokens']} target tokens, {settings['num_beams']} beams."
    )
    floor = (
        f"{training['floor_seconds_per_step']:.2f} s ({training['flops_per_step'] / 1e9:,.0f} GFLOP at the measured "
        f"{training['product_flops_per_second'] / 1e9:,.0f} GFLOP/s)"
    )
    tokens_per_second = summarizing["documents_per_second"] * settings["source_tokens"]
    rows = [
        [
            "documents per second",
            f"{training['documents_per_second']:.1f}",
            f"{summarizing['documents_per_second']:.2f}",
        ],
        ["source tokens per second", f"{training['source_tokens_per_second']:,.0f}", f"{tokens_per_second:,.0f}"],
        ["seconds per batch", f"{training['seconds_per_step']:.2f}", f"{summarizing['seconds_per_batch']:.2f}"],
        ["floor", floor, ""],
        ["where the time goes", _operations(training), _operations(summarizing)],
    ]
    return f"{about}\n\n{markdown_table(['', 'training step', 'summarizing'], rows)}"


def evaluation_table(folder: Path) -> str:
    """What scripts/proofs/evaluation.py found: agreement and speed, coverage of intervals, errors of tests, memory."""
    agreement, coverage, memory = (
        json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("agreement", "coverage", "memory")
    )
    settings = coverage["settings"]
    rows = [
        ("pairs whose scores equal those of rouge-score to the last digit",
         f"{agreement['equal_to_the_last_digit']:,} of {agreement['pairs']:,}"),
        ("speed relative to rouge-score, one process each",
         f"{agreement['speed_ratio']['total']:.1f} × (median of batches {agreement['speed_ratio']['median']:.1f} ×)"),
        *((f"95 % intervals that contain the true mean, {row['examples']} simulated "
           f"{metric_label(row['population'])} scores",
           f"{row['coverage']:.1%} of {settings['repeats']:,}") for row in coverage["coverage"]),
        *((f"false positives at p < 0.05, {row['examples']} examples",
           f"{row['randomization']:.1%} (randomization), {row['bootstrap']:.1%} (bootstrap)")
          for row in coverage["false_findings"]),
        ("peak memory of evaluating " + ", ".join(f"{row['pairs']:,}" for row in memory["rows"]) + " pairs",
         ", ".join(f"{row['peak_megabytes']:.0f}" for row in memory["rows"]) + " MB"),
    ]  # fmt: skip
    return markdown_table(["check", "result"], rows)


def loss_table(
    folder: Path, names: dict[str, str], key: str = "validation_loss", every: int = 1, digits: int = 2
) -> str:
    """Losses by step of the runs whose metrics are folder/NAME.jsonl, each row named as `names` says.

    `key` is "validation_loss" or "loss", that of training; only steps that `every` divides are shown.
    """
    losses: dict[str, dict[int, float]] = {}
    for run, name in names.items():
        lines = (folder / f"{run}.jsonl").read_text(encoding="utf-8").splitlines()
        found = (json.loads(line) for line in lines)
        losses[name] = {line["step"]: line[key] for line in found if key in line}
    shared = set.intersection(*(set(by_step) for by_step in losses.values()))
    steps = sorted(step for step in shared if step % every == 0)
    kind = "validation" if key == "validation_loss" else "training"
    rows = [[name, *(f"{by_step[step]:.{digits}f}" for step in steps)] for name, by_step in losses.items()]
    return markdown_table([f"{kind} loss after", *(f"{step:,} steps" for step in steps)], rows, right=True)


def _operations(measured: dict[str, Any]) -> str:
    shown = measured["operations"][:6]
    return "<br>".join(f"{item['operation'].removeprefix('aten::')} {item['share']:.0%}" for item in shown)
