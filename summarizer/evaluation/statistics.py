"""Means and their bootstrap confidence intervals."""

from dataclasses import dataclass
from statistics import fmean

import numpy as np

_CELLS_AT_ONCE = 1 << 22  # resampling weights held in memory: 32 MiB of float64


@dataclass(frozen=True)
class Interval:
    """A mean with the ends of its confidence interval."""

    mean: float
    low: float
    high: float


def bootstrap_intervals(
    values: np.ndarray, samples: int = 1000, seed: int = 1, confidence: float = 0.95
) -> list[Interval]:
    """Percentile bootstrap of the mean of each column of `values` [examples, columns].

    The point estimate is the mean itself. Raises ValueError without examples, samples or a confidence in (0, 1).
    """
    if not 0 < confidence < 1:
        raise ValueError(f"cannot draw {samples} samples at confidence {confidence}")
    resampled = bootstrap_means(values, samples, seed)
    means = [fmean(column) for column in values.T.tolist()]
    tail = (1 - confidence) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail], axis=0)
    return [Interval(*triple) for triple in zip(means, low.tolist(), high.tolist(), strict=True)]


def bootstrap_means(values: np.ndarray, samples: int = 1000, seed: int = 1) -> np.ndarray:
    """The means of each column of `values` [examples, columns] over resampled examples: [samples, columns].

    Every column sees the same resamples, drawn from a generator of its own seed: the same call gives the same
    numbers. Raises ValueError without examples or samples.
    """
    if values.ndim != 2 or not len(values):
        raise ValueError(f"expected scores [examples, columns], found shape {values.shape}")
    if samples < 1:
        raise ValueError(f"cannot draw {samples} samples")
    num_examples = len(values)
    means = np.array([fmean(column) for column in values.T.tolist()])
    deviations = values - means  # so that a column of one value has an interval of no width
    generator = np.random.default_rng(seed)
    shares = np.full(num_examples, 1 / num_examples)
    samples_at_once = max(1, _CELLS_AT_ONCE // num_examples)
    resampled = np.empty((samples, values.shape[1]))
    for start in range(0, samples, samples_at_once):
        stop = min(start + samples_at_once, samples)
        times_drawn = generator.multinomial(num_examples, shares, size=stop - start)  # [samples, examples]
        resampled[start:stop] = times_drawn @ deviations / num_examples
    return means + resampled
