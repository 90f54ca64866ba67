import numpy as np
import pytest
from sacrebleu.metrics.base import Metric, Score, Signature
from sacrebleu.significance import PairedTest as SacrebleuTest
from scipy.stats import bootstrap, false_discovery_control, permutation_test

from summarizer.evaluation import significance as paired
from summarizer.evaluation.significance import adjust, paired_tests
from summarizer.evaluation.statistics import bootstrap_means

GENERATOR = np.random.default_rng(5)
BASELINE = GENERATOR.beta(4, 6, size=120)
# Clearly better, a little better, no different.
SYSTEMS = BASELINE[:, None] + GENERATOR.normal([0.03, 0.01, 0.0], 0.06, size=(120, 3))
DIFFERENCES = SYSTEMS - BASELINE[:, None]


class MeanMetric(Metric):
    """sacrebleu's paired tests want a metric: the mean of the numbers that are the "sentences"."""

    _SIGNATURE_TYPE = Signature
    _force = True

    def _compute_score_from_stats(self, stats):
        return Score("mean", float(stats[0] / stats[1]))

    def _aggregate_and_compute(self, stats):
        return self._compute_score_from_stats(np.array(stats, dtype=float).sum(0))

    def _preprocess_segment(self, sent):
        return sent

    def _compute_segment_statistics(self, hypothesis, ref_kwargs):
        return [float(hypothesis), 1.0]

    def _extract_reference_info(self, refs):
        return {"ref_ngrams": None}


def sacrebleu_p_values(kind: str) -> list[float]:
    columns = [BASELINE, *SYSTEMS.T]
    named = [(str(number), [repr(float(value)) for value in column]) for number, column in enumerate(columns)]
    test = SacrebleuTest(named, {"mean": MeanMetric()}, [["x"] * len(BASELINE)], test_type=kind, n_samples=20_000)
    return [result.p_value for result in test()[1]["mean"][1:]]


def test_the_bootstrap_p_values_are_those_of_scipys_resamples():
    for test, column in zip(paired_tests(DIFFERENCES, samples=20_000), DIFFERENCES.T, strict=True):
        drawn = bootstrap(
            (column,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(3)
        ).bootstrap_distribution
        assert test.p_bootstrap == pytest.approx(np.mean(abs(drawn - drawn.mean()) >= abs(column.mean())), abs=0.012)


def test_the_bootstrap_is_sacrebleus_whose_p_values_are_of_one_side():
    expected = sacrebleu_p_values("bs")
    drawn = abs(bootstrap_means(DIFFERENCES, samples=20_000))
    one_sided = ((drawn - drawn.mean(axis=0)) > abs(DIFFERENCES.mean(axis=0))).mean(axis=0)
    assert one_sided == pytest.approx(expected, abs=0.008)
    found = [test.p_bootstrap for test in paired_tests(DIFFERENCES, samples=20_000)]
    assert found[:2] == pytest.approx([2 * p for p in expected[:2]], abs=0.008)  # where zero is out of reach


def test_the_randomization_p_values_are_those_of_sacrebleu_and_scipy():
    found = [test.p_randomization for test in paired_tests(DIFFERENCES, samples=20_000)]
    assert found == pytest.approx(sacrebleu_p_values("ar"), abs=0.012)
    expected = permutation_test(
        (DIFFERENCES,),
        lambda values, axis: values.mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=20_000,
        axis=0,
        rng=np.random.default_rng(1),
    ).pvalue
    assert found == pytest.approx(expected, abs=0.012)
    assert found[0] < 0.001 < found[2]


@pytest.mark.parametrize("values", [[0.3, -0.1, 0.2, 0.2, 0.5, 0.0, 0.4], [0.1] * 6, [0.0, 0.0]])
def test_few_examples_are_swapped_in_all_ways_as_in_scipy(values):
    (test,) = paired_tests(np.array(values)[:, None])
    expected = permutation_test(
        (values,), lambda values, axis: np.mean(values, axis), permutation_type="samples", vectorized=True, axis=-1
    )
    assert test.p_randomization == pytest.approx(expected.pvalue)


def test_the_interval_of_the_difference_is_that_of_scipy():
    for test, column in zip(paired_tests(DIFFERENCES, samples=20_000), DIFFERENCES.T, strict=True):
        expected = bootstrap(
            (column,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(2)
        ).confidence_interval
        assert (test.low, test.high) == pytest.approx(expected, abs=5e-4)
        assert test.difference == pytest.approx(column.mean())


def test_a_system_is_not_better_than_itself_and_examples_vote():
    (same,) = paired_tests(np.zeros((30, 1)))
    assert (same.p_bootstrap, same.p_randomization, same.ties) == (1, 1, 30)
    (test,) = paired_tests(np.array([[0.1], [0.2], [-0.1], [0.0]]))
    assert (test.wins, test.losses, test.ties) == (2, 1, 1)


def test_testing_in_small_chunks_or_turned_round_changes_nothing(monkeypatch):
    whole = paired_tests(DIFFERENCES, samples=500)
    turned = paired_tests(-DIFFERENCES, samples=500)
    monkeypatch.setattr(paired, "_CELLS_AT_ONCE", 7 * len(DIFFERENCES))
    assert paired_tests(DIFFERENCES, samples=500) == whole
    for ours, theirs in zip(turned, whole, strict=True):
        assert (ours.p_bootstrap, ours.p_randomization) == (theirs.p_bootstrap, theirs.p_randomization)
        assert (ours.low, ours.high) == pytest.approx((-theirs.high, -theirs.low))


def test_corrections_are_the_worked_ones_and_scipys():
    p_values = [0.01, 0.04, 0.03, 0.005, 0.9]
    assert adjust(p_values) == pytest.approx([0.04, 0.09, 0.09, 0.025, 0.9])
    assert adjust(p_values, "benjamini-hochberg") == pytest.approx(false_discovery_control(p_values))
    assert adjust(p_values, "none") == p_values
    assert adjust([0.6, 0.7]) == [1, 1]
    assert adjust([]) == []
    with pytest.raises(ValueError, match="unknown correction 'sidak'; choose from holm, benjamini-hochberg, none"):
        adjust([0.1], "sidak")  # type: ignore  # the mistake
