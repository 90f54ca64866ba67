from itertools import product
from statistics import fmean

import numpy as np
import pytest

from summarizer.evaluation import statistics
from summarizer.evaluation.statistics import Interval, bootstrap_intervals

VALUES = np.random.default_rng(7).random((60, 3))


def test_the_point_estimate_is_the_mean():
    intervals = bootstrap_intervals(VALUES)
    assert [interval.mean for interval in intervals] == [fmean(column) for column in VALUES.T.tolist()]
    assert [interval.mean for interval in intervals] == pytest.approx(VALUES.mean(axis=0))
    assert all(interval.low < interval.mean < interval.high for interval in intervals)


def test_the_same_seed_gives_the_same_interval_and_another_seed_another():
    assert bootstrap_intervals(VALUES, seed=3) == bootstrap_intervals(VALUES, seed=3)
    assert bootstrap_intervals(VALUES, seed=3) != bootstrap_intervals(VALUES, seed=4)


def test_the_global_random_state_is_neither_read_nor_moved():
    np.random.seed(0)
    before = np.random.get_state()[1]
    first = bootstrap_intervals(VALUES)
    assert np.array_equal(before, np.random.get_state()[1])
    np.random.seed(1)
    assert bootstrap_intervals(VALUES) == first


def test_drawing_in_small_chunks_changes_nothing(monkeypatch):
    whole = bootstrap_intervals(VALUES)
    monkeypatch.setattr(statistics, "_CELLS_AT_ONCE", 7 * len(VALUES))
    chunked = bootstrap_intervals(VALUES)
    for ours, theirs in zip(chunked, whole, strict=True):
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_the_interval_is_that_of_the_normal_approximation():
    values = np.random.default_rng(1).normal(size=(400, 1))
    (interval,) = bootstrap_intervals(values, samples=4000)
    error = values.std(ddof=1) / np.sqrt(len(values))
    assert interval.low == pytest.approx(values.mean() - 1.96 * error, abs=0.1 * error)
    assert interval.high == pytest.approx(values.mean() + 1.96 * error, abs=0.1 * error)


def test_the_interval_is_that_of_all_possible_resamples():
    values = [0.1, 0.2, 0.4, 0.9]
    low, high = np.quantile([np.mean(drawn) for drawn in product(values, repeat=4)], [0.025, 0.975])
    (interval,) = bootstrap_intervals(np.array(values)[:, None], samples=20_000)
    assert interval.mean == 0.4
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.026)  # neighbours are 0.025 apart


def test_one_example_or_equal_ones_have_an_interval_of_no_width():
    assert bootstrap_intervals(np.array([[0.3]])) == [Interval(0.3, 0.3, 0.3)]
    assert bootstrap_intervals(np.full((9, 1), 0.3)) == [Interval(0.3, 0.3, 0.3)]


@pytest.mark.parametrize("arguments", [{"samples": 0}, {"confidence": 1.0}])
def test_impossible_settings_are_refused(arguments):
    with pytest.raises(ValueError, match="cannot draw"):
        bootstrap_intervals(VALUES, **arguments)


def test_no_values_are_refused():
    with pytest.raises(ValueError, match="expected scores"):
        bootstrap_intervals(np.empty((0, 3)))
