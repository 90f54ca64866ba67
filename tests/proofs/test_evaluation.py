"""What scripts/proofs/evaluation.py shows, shown again."""

import json
from importlib import import_module

import pytest

from tests.evaluation.conftest import CORPORA, REPOSITORY


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(REPOSITORY / "scripts/proofs"))
    return import_module("evaluation")


def committed(name: str) -> dict:
    return json.loads((REPOSITORY / f"results/evaluation/{name}.json").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_two_thousand_real_pairs_score_as_with_rouge_score_to_the_last_digit(script):
    if missing := [corpus for corpus in script.PAIRS if not (CORPORA / corpus / "test.parquet").exists()]:
        pytest.skip(f"the corpora are not here: no {missing[0]} in {CORPORA}")
    pairs = list(script.real_pairs(CORPORA))
    found = script.measure_agreement(pairs)
    assert found["pairs"] == found["equal_to_the_last_digit"] == 2000 == committed("agreement")["pairs"]
    assert found["speed_ratio"]["total"] > 1.8


def test_intervals_hold_the_true_mean_and_tests_find_nothing_where_nothing_is(script):
    found = script.simulate_coverage(repeats=150, samples=200)
    for row in found["coverage"]:
        assert 0.88 <= row["coverage"] <= 0.995  # of 150 repeats: 0.95 ± 4 standard errors
    for row in found["false_findings"]:
        assert 0 < row["randomization"] <= 0.12
        assert 0 < row["bootstrap"] <= 0.13


def test_the_committed_findings_are_what_is_claimed():
    assert committed("agreement")["equal_to_the_last_digit"] == 2000
    assert committed("agreement")["speed_ratio"]["total"] >= 1.8
    assert all(0.93 <= row["coverage"] <= 0.97 for row in committed("coverage")["coverage"])
    few, _, many = committed("memory")["rows"]
    assert (few["pairs"], many["pairs"]) == (1_000, 50_000)
    assert many["peak_megabytes"] < 2 * few["peak_megabytes"]
