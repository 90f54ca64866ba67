import io

import pytest
from rich.console import Console

from summarizer.evaluation import terminal as report


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_passes_results_on_and_shows_a_bar_on_a_terminal_alone(monkeypatch, terminal):
    stream = io.StringIO()
    monkeypatch.setattr(report, "SECONDS_WITHOUT_BAR", -1.0)
    monkeypatch.setattr(report, "Console", lambda stderr: Console(file=stream, force_terminal=terminal, width=80))
    assert list(report.show_progress(iter("abc"), 3)) == ["a", "b", "c"]
    assert ("Scoring" in stream.getvalue()) == terminal


def test_short_work_shows_no_bar(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(report, "Console", lambda stderr: Console(file=stream, force_terminal=True))
    assert list(report.show_progress(iter("abc"), 3)) == ["a", "b", "c"]
    assert "Scoring" not in stream.getvalue()
