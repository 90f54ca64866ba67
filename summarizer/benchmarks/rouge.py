"""Examples per second of the evaluation, over processes, against plain rouge-score; the scores must be equal."""

import random
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from typing import Any

import torch
from rouge_score.rouge_scorer import RougeScorer

from summarizer.benchmarks.machine import describe_machine
from summarizer.benchmarks.settings import RougeBenchmarkSettings
from summarizer.benchmarks.timing import alternating
from summarizer.evaluation.rouge import ROUGE_TYPES, RougeSettings, Scores, open_map, score_pair
from summarizer.progress import WorkProgress

PLAIN, OURS = "rouge-score", "summarizer"
SETTINGS = RougeSettings(split="newline")  # the only split that rouge-score knows


def measure(settings: RougeBenchmarkSettings) -> dict[str, Any]:
    """Score the same pairs with rouge-score and with ours. Returns the content of the JSON file.

    The processes start before the clock does: a real evaluation is so long that their start does not count.
    """
    pairs = make_pairs(settings)
    found: dict[tuple[str, int], list[Scores]] = {}
    device = torch.device("cpu")
    with ExitStack() as stack:
        maps: dict[tuple[str, int], Callable[..., Any]] = {(PLAIN, 1): map}
        for processes in settings.processes:
            maps[OURS, processes] = stack.enter_context(open_map(processes))

        def score(system: tuple[str, int]) -> None:
            found[system] = list(maps[system](_plain if system[0] == PLAIN else _ours, pairs))

        progress = stack.enter_context(WorkProgress("scoring", "runs", len(maps) * (1 + settings.repeats)))
        runs = {system: partial(score, system) for system in maps}
        timings = alternating(runs, settings.repeats, device, advance=progress.advance)
    speeds = {system: settings.examples / timings[system].seconds for system in maps}
    rows = [
        {"system": name, "processes": processes, "examples_per_second": speeds[name, processes],
         "speed": speeds[name, processes] / speeds[PLAIN, 1]}
        for name, processes in maps
    ]  # fmt: skip
    return {
        "machine": describe_machine(device),
        "settings": asdict(settings),
        "rows": rows,
        "equal": all(scores == found[PLAIN, 1] for scores in found.values()),
    }


def make_pairs(settings: RougeBenchmarkSettings) -> list[tuple[str, str]]:
    """Predictions and references of random words in sentences of 20; some sentences are shared."""
    generator = random.Random(settings.seed)
    syllables = ["ba", "co", "di", "fe", "gu", "lin", "mor", "nes", "per", "sta", "tion", "ing", "ed", "s"]
    vocabulary = ["".join(generator.choices(syllables, k=generator.randint(1, 4))) for _ in range(5000)]
    weights = [1 / rank for rank in range(1, len(vocabulary) + 1)]

    def sentence() -> str:
        return " ".join(generator.choices(vocabulary, weights, k=20)) + "."

    def pair() -> tuple[str, str]:
        reference = [sentence() for _ in range(max(1, settings.words // 20))]
        prediction = [line if generator.random() < 0.2 else sentence() for line in reference]
        generator.shuffle(prediction)
        return "\n".join(prediction), "\n".join(reference)

    return [pair() for _ in range(settings.examples)]


def _ours(pair: tuple[str, str]) -> Scores:
    return score_pair(*pair, SETTINGS)


def _plain(pair: tuple[str, str]) -> Scores:
    prediction, reference = pair
    return RougeScorer(list(ROUGE_TYPES), use_stemmer=SETTINGS.stemmer).score(reference, prediction)
