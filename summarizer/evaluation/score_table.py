"""Scores and measures of many examples by system, as numbers in arrays, and their means."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from statistics import fmean

import numpy as np

from summarizer.evaluation.rouge import MEASURES, Scores
from summarizer.evaluation.statistics import Interval, bootstrap_intervals
from summarizer.evaluation.text_measures import MEASURE_NAMES, TextMeasures

Intervals = dict[str, dict[str, Interval]]  # by metric, then precision, recall, fmeasure; 0..1


class ScoreTable:
    """Takes the examples one by one; 8 bytes a number."""

    def __init__(self, metrics: Sequence[str]) -> None:
        self.metrics = tuple(metrics)
        self._scores: dict[str, array[float]] = {}
        self._measures: dict[str, array[float]] = {}

    def add(self, scores: Mapping[str, Scores], measures: Mapping[str, TextMeasures] | None = None) -> None:
        """Take in an example: its scores by system, and, for all examples or for none, its measures."""
        for system, by_metric in scores.items():
            numbers = self._scores.setdefault(system, array("d"))
            for metric in self.metrics:
                numbers.extend(by_metric[metric])
            if measures is not None:
                values = (float("nan") if value is None else value for value in astuple(measures[system]))
                self._measures.setdefault(system, array("d")).extend(values)

    def intervals(self, samples: int, seed: int, confidence: float) -> dict[str, Intervals]:
        """Means with bootstrap intervals, by system."""
        return {system: self._intervals_of(system, samples, seed, confidence) for system in self._scores}

    def _intervals_of(self, system: str, samples: int, seed: int, confidence: float) -> Intervals:
        columns = [(metric, measure) for metric in self.metrics for measure in MEASURES]
        values = np.frombuffer(self._scores[system]).reshape(-1, len(columns))
        intervals: Intervals = {metric: {} for metric in self.metrics}
        found = bootstrap_intervals(values, samples, seed, confidence)
        for (metric, measure), interval in zip(columns, found, strict=True):
            intervals[metric][measure] = interval
        return intervals

    def mean_measures(self) -> dict[str, dict[str, float]]:
        """By system, see `mean_measures`."""
        return {
            system: mean_measures(np.frombuffer(values).reshape(-1, len(MEASURE_NAMES)))
            for system, values in self._measures.items()
        }


def mean_measures(values: np.ndarray) -> dict[str, float]:
    """Means of [examples, MEASURE_NAMES] over the summaries that have the measure; measures that none has are left out.

    `empty` is the share of summaries without words.
    """
    means = {"empty": fmean((values[:, MEASURE_NAMES.index("summary_words")] == 0).tolist())}
    for name, column in zip(MEASURE_NAMES, values.T, strict=True):
        if len(known := column[~np.isnan(column)]):
            means[name] = fmean(known.tolist())
    return means
