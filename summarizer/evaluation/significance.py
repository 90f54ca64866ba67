"""Significance tests of the difference between two systems on the same examples, and corrections for many tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, get_args

import numpy as np

from summarizer.evaluation.statistics import bootstrap_means

Correction = Literal["holm", "benjamini-hochberg", "none"]
_CELLS_AT_ONCE = 1 << 22  # signs held in memory: 32 MiB of float64
_TOLERANCE = 1e-12  # sums of the same numbers in another order differ in their last digits


@dataclass(frozen=True)
class PairedTest:
    """The mean difference of one column of scores, its bootstrap interval, two p-values, and the examples' votes."""

    difference: float
    low: float
    high: float
    p_bootstrap: float
    p_randomization: float
    wins: int
    losses: int
    ties: int


def paired_tests(
    differences: np.ndarray, samples: int = 10_000, seed: int = 1, confidence: float = 0.95
) -> list[PairedTest]:
    """Test each column of `differences` [examples, columns], a system's scores less the baseline's, two-sided.

    Bootstrap: examples are resampled, and p is the share of resampled means that lie as far from the mean as the
    mean lies from zero, on either side (sacrebleu counts one side, so its p is half of this). Approximate
    randomization: the two systems' scores are swapped at random, example by example, and p is the share of swaps
    whose mean is as far from zero (Riezler and Maxwell, 2005); all swaps are tried if there are at most
    `samples`. Both count the observed outcome itself among those drawn, so neither is ever 0. Raises ValueError
    without examples or samples.
    """
    resampled = bootstrap_means(differences, samples, seed)  # [samples, columns]
    means = np.array([fmean(column) for column in differences.T.tolist()])
    tail = (1 - confidence) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail], axis=0)
    p_bootstrap = _share_as_far(resampled - resampled.mean(axis=0), means, observed=1)
    p_randomization = _randomization(differences, means, samples, seed)
    return [
        PairedTest(
            *map(float, (means[column], low[column], high[column], p_bootstrap[column], p_randomization[column])),
            wins=int((differences[:, column] > 0).sum()),
            losses=int((differences[:, column] < 0).sum()),
            ties=int((differences[:, column] == 0).sum()),
        )
        for column in range(differences.shape[1])
    ]


def smallest_p_value(num_examples: int, num_tests: int, samples: int, correction: Correction) -> float:
    """The smallest corrected p-value of randomization that `num_tests` tests of these examples can have."""
    smallest = 2 / 2**num_examples if 2**num_examples <= samples else 1 / (samples + 1)
    return min(1.0, smallest * num_tests if correction == "holm" else smallest)


def adjust(p_values: Sequence[float], correction: Correction = "holm") -> list[float]:
    """p-values of several tests, raised so that the usual threshold holds for all of them together.

    Holm bounds the chance of a single false finding, Benjamini-Hochberg the share of false ones among the findings.
    Raises ValueError for an unknown correction.
    """
    count = len(p_values)
    if correction == "none" or not count:
        return list(p_values)
    order = np.argsort(p_values, kind="stable")
    ranked = np.asarray(p_values)[order]
    if correction == "holm":
        adjusted = np.maximum.accumulate(ranked * (count - np.arange(count)))
    elif correction == "benjamini-hochberg":
        adjusted = np.minimum.accumulate((ranked * count / np.arange(1, count + 1))[::-1])[::-1]
    else:
        raise ValueError(f"unknown correction '{correction}'; choose from {', '.join(get_args(Correction))}")
    result = np.empty(count)
    result[order] = np.minimum(adjusted, 1)
    return result.tolist()


def _randomization(differences: np.ndarray, means: np.ndarray, samples: int, seed: int) -> np.ndarray:
    """p-values [columns]; swapping two scores turns the sign of their difference."""
    num_examples = len(differences)
    if 2**num_examples <= samples:
        bits = np.arange(2**num_examples)[:, None] >> np.arange(num_examples) & 1
        return _share_as_far((1.0 - 2.0 * bits) @ differences / num_examples, means, observed=0)
    generator = np.random.default_rng([seed, 1])  # other numbers than the bootstrap's
    swapped = np.empty((samples, differences.shape[1]))
    at_once = max(1, _CELLS_AT_ONCE // num_examples)
    for start in range(0, samples, at_once):
        stop = min(start + at_once, samples)
        signs = 1.0 - 2.0 * generator.integers(0, 2, size=(stop - start, num_examples), dtype=np.int8)
        swapped[start:stop] = signs @ differences / num_examples
    return _share_as_far(swapped, means, observed=1)


def _share_as_far(drawn: np.ndarray, means: np.ndarray, observed: int) -> np.ndarray:
    """The share of `drawn` [samples, columns] as far from zero as `means` [columns], counting `observed` more."""
    as_far = (np.abs(drawn) >= np.abs(means) - _TOLERANCE).sum(axis=0)
    return (as_far + observed) / (len(drawn) + observed)
