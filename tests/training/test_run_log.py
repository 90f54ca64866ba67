import pytest

from summarizer.training import run_log as progress
from summarizer.training.run_log import StepWindow


def test_the_speed_of_steps_is_without_validation(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    window = StepWindow()
    step = {"loss": 2.0, "labels": 3.0, "source_tokens": 100, "documents": 5, "learning_rate": 0.1, "grad_norm": 1.0}
    for _ in range(2):
        now[0] += 4.0
        window.add({**step, "skipped": False})
        with window.paused():
            now[0] += 50.0
    metrics = window.metrics()
    assert metrics["source_tokens_per_second"] == pytest.approx(200 / 8)
    assert metrics["documents_per_second"] == pytest.approx(10 / 8)
