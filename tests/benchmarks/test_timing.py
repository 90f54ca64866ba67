"""What is compared alternates; medians; a hopeless run is measured once; growth and crossover of known times."""

import pytest
import torch

from summarizer.benchmarks import timing
from summarizer.benchmarks.encoders import crossover, growth
from summarizer.benchmarks.timing import alternating

CPU = torch.device("cpu")


@pytest.fixture
def runs(monkeypatch):
    """A function that makes runs of given lengths on a clock of their own; the order of their turns is `turns`."""
    now, turns = [0.0], []
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])

    def make(**seconds):
        def run(name, remaining):
            turns.append(name)
            now[0] += next(remaining)

        iterators = {name: iter(values) for name, values in seconds.items()}
        return {name: lambda n=name, i=iterator: run(n, i) for name, iterator in iterators.items()}

    make.turns = turns
    return make


def test_runs_take_turns_after_a_warm_up_and_their_median_counts(runs):
    steps = []
    timings = alternating(runs(a=[50, 1, 9, 2], b=[60, 5, 3, 4]), 3, CPU, advance=lambda: steps.append(1))
    assert runs.turns == ["a", "b"] * 4
    assert [(timings[name].seconds, timings[name].repeats) for name in "ab"] == [(2, 3), (4, 3)]
    assert len(steps) == 8


def test_a_warm_up_above_the_limit_is_the_only_measurement(runs):
    timings = alternating(runs(slow=[11], fast=[10, 1, 1, 1]), 3, CPU, max_seconds=10)
    assert runs.turns == ["slow", "fast", "fast", "fast", "fast"]
    assert (timings["slow"].seconds, timings["slow"].repeats) == (11, 1)
    assert (timings["fast"].seconds, timings["fast"].repeats) == (1, 3)


def rows(encoder, exponent, factor=1.0, lengths=(100, 1000, 10_000)):
    return [
        {"encoder": encoder, "dtype": "float32", "length": length, "forward_ms": factor * length**exponent,
         "forward_backward_ms": None, "peak_mb": None}
        for length in lengths
    ]  # fmt: skip


def test_growth_is_the_exponent_of_the_length():
    (fitted,) = growth(rows("full", 1.7, 3.0))
    assert fitted["forward_ms"] == pytest.approx(1.7)
    assert fitted["forward_backward_ms"] is None
    assert growth(rows("full", 2, lengths=(100,)))[0]["forward_ms"] is None


def test_crossover_is_where_the_lines_cross():
    full = rows("full", 2)
    assert crossover([*rows("fastformer", 1, 500), *full]) == {"float32": 500}
    assert crossover([*rows("fastformer", 1, 1), *full]) == {"float32": 100}
    assert crossover([*rows("fastformer", 1, 50_000), *full]) == {"float32": None}
    assert crossover(full) == {"float32": None}
