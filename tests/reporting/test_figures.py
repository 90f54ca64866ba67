import pytest

from summarizer.reporting.figures import (
    benchmarks_figure,
    by_length_figure,
    draw_figures,
    lengths_figure,
    scores_figure,
    training_figure,
)

INTERVAL = {"mean": 0.4, "low": 0.38, "high": 0.43}


@pytest.fixture
def comparison():
    metrics = {name: {"fmeasure": INTERVAL} for name in ("rouge1", "rouge2")}
    group = {"median": 100, "scores": {"a": {"rouge1": INTERVAL, "rouge2": INTERVAL}}}
    return {
        "metrics": ["rouge1", "rouge2"],
        "systems": [
            {"name": "a", "kind": "model", "metrics": metrics},
            {"name": "p", "kind": "published", "metrics": {"rouge1": {"fmeasure": {"mean": 0.5}}}},
        ],
        "by_length": [group, group | {"median": 300}],
        "documents": [{"source_words": 90, "reference_words": 9, "summary_words": {"a": 7}}],
        "training": {"a": [{"step": 1, "loss": 5.0}, {"step": 2, "validation_loss": 4.0}]},
        "benchmarks": {"rows": [{"encoder": "full", "dtype": "float32", "length": 64, "forward_ms": 2.0}]},
    }


def test_figures_hold_the_numbers_of_the_comparison(comparison):
    panels = scores_figure(comparison).axes
    assert [axes.get_title() for axes in panels] == ["ROUGE-1", "ROUGE-2"]
    assert [label.get_text() for label in panels[0].get_yticklabels()] == ["p", "a"]
    assert [bars[0].get_xdata()[0] for bars in panels[0].containers] == pytest.approx([50, 40])
    (line,) = by_length_figure(comparison).axes[0].lines
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([100, 300], [40, 40])
    loss, validation = training_figure(comparison).axes[0].lines
    assert (list(loss.get_ydata()), list(validation.get_ydata())) == ([5], [4])
    assert len(lengths_figure(comparison).axes) == 2
    (panel,) = benchmarks_figure(comparison).axes
    assert panel.get_ylabel() == "forward pass, ms"


def test_what_has_no_numbers_has_no_figure(comparison, tmp_path):
    assert len(draw_figures(comparison, tmp_path)) == 5
    comparison.update(by_length=[], documents=[], training={}, benchmarks={"rows": []})
    assert draw_figures(comparison, tmp_path / "other") == ["rouge.png"]
    assert (tmp_path / "other/rouge.png").read_bytes().startswith(b"\x89PNG")
