"""Markdown tables from committed result files, so that a page never says what no file holds."""

import json
from pathlib import Path
from typing import Any

from summarizer.evaluation.terminal import METRIC_NAMES

SHOWN = ("rouge1", "rouge2", "rougeL", "rougeLsum")


def rouge_table(scores_path: Path, name: str) -> str:
    """ROUGE F (0 to 100) with 95 % intervals of a scores.json, its baselines beneath, its signature last."""
    scores: dict[str, Any] = json.loads(scores_path.read_text(encoding="utf-8"))
    systems = {f"**{name}**": scores["scores"], **(scores.get("baselines") or {})}
    lines = [
        "| system | ROUGE-1 | ROUGE-2 | ROUGE-L | ROUGE-Lsum |",
        "|---|---|---|---|---|",
        *(f"| {system} | {' | '.join(_cell(rows[rouge]) for rouge in SHOWN)} |" for system, rows in systems.items()),
        "",
        f"{scores['num_examples']} documents. `{scores['signature']}`",
    ]
    return "\n".join(lines)


def profile_table(profile_path: Path) -> str:
    """Speed of training and summarizing, and the operations that take the time, of a profile's JSON file."""
    profile: dict[str, Any] = json.loads(profile_path.read_text(encoding="utf-8"))
    training, summarizing, settings = profile["training"], profile["summarizing"], profile["settings"]
    machine = profile["machine"]
    return "\n".join(
        [
            f"{machine['processor']}, {machine['threads']} threads, {', '.join(machine['processor_features'])}; "
            f"{settings['dtype']}; batches of {settings['batch_size']} × {settings['source_tokens']:,} source and "
            f"{settings['target_tokens']} target tokens, {settings['num_beams']} beams.",
            "",
            "| | training step | summarizing |",
            "|---|---|---|",
            f"| documents per second | {training['documents_per_second']:.1f} | "
            f"{summarizing['documents_per_second']:.2f} |",
            f"| source tokens per second | {training['source_tokens_per_second']:,.0f} | "
            f"{summarizing['documents_per_second'] * settings['source_tokens']:,.0f} |",
            f"| seconds per batch | {training['seconds_per_step']:.2f} | {summarizing['seconds_per_batch']:.2f} |",
            f"| floor | {training['floor_seconds_per_step']:.2f} s ({training['flops_per_step'] / 1e9:,.0f} GFLOP at "
            f"the measured {training['product_flops_per_second'] / 1e9:,.0f} GFLOP/s) | |",
            f"| where the time goes | {_operations(training)} | {_operations(summarizing)} |",
        ]
    )


def evaluation_table(folder: Path) -> str:
    """What scripts/proofs/evaluation.py found: agreement and speed, coverage of intervals, errors of tests, memory."""
    agreement, coverage, memory = (
        json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("agreement", "coverage", "memory")
    )
    settings = coverage["settings"]
    rows = [
        ("real pairs with the scores of rouge-score, to the last digit",
         f"{agreement['equal_to_the_last_digit']:,} of {agreement['pairs']:,}"),
        ("speed against rouge-score in the same run, one process each",
         f"{agreement['speed_ratio']['total']:.1f} × (median of batches {agreement['speed_ratio']['median']:.1f} ×)"),
        *((f"95 % intervals that hold the true mean, {row['examples']} examples like {METRIC_NAMES[row['population']]}",
           f"{row['coverage']:.1%} of {settings['repeats']:,}") for row in coverage["coverage"]),
        *((f"differences found at p < 0.05 where none is, {row['examples']} examples",
           f"{row['randomization']:.1%} (randomization), {row['bootstrap']:.1%} (bootstrap)")
          for row in coverage["false_findings"]),
        ("peak memory of an evaluation of " + ", ".join(f"{row['pairs']:,}" for row in memory["rows"]) + " pairs",
         ", ".join(f"{row['peak_megabytes']:.0f}" for row in memory["rows"]) + " MB"),
    ]  # fmt: skip
    return "\n".join(["| | |", "|---|---|", *(f"| {what} | {found} |" for what, found in rows)])


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
    return "\n".join(
        [
            f"| {kind} loss after | {' | '.join(f'{step:,} steps' for step in steps)} |",
            f"|---{'|---:' * len(steps)}|",
            *(
                f"| {name} | {' | '.join(f'{by_step[s]:.{digits}f}' for s in steps)} |"
                for name, by_step in losses.items()
            ),
        ]
    )


def _cell(scores: dict[str, Any]) -> str:
    interval = scores["fmeasure"]
    return f"{100 * interval['mean']:.2f} ({100 * interval['low']:.2f} – {100 * interval['high']:.2f})"


def _operations(measured: dict[str, Any]) -> str:
    shown = measured["operations"][:6]
    return "<br>".join(f"{item['operation'].removeprefix('aten::')} {item['share']:.0%}" for item in shown)
