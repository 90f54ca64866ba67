import pytest

from summarizer.reporting import plots


def label(panel):
    return str(panel.chart).split('aria-label="')[1].split('"')[0]


def test_a_system_has_the_same_style_in_all_plots(comparison):
    assert plots.system_styles(comparison) == {"fast": 0, "full": 1, "lead-2": 2, "oracle": 3, "A paper (2020)": None}
    legends = [name for _, name in plots.length_plots(comparison).legend]
    assert legends == ["fast", "full"]
    assert "series-0" in str(plots.training_plots(comparison).legend[0][0])


def test_scores_by_length_are_lines_over_the_groups(comparison):
    panels = plots.length_plots(comparison).panels
    assert [panel.title for panel in panels] == ["ROUGE-1", "ROUGE-2"]
    expected = "ROUGE-1. fast: 32.5 (31.5 to 33.5) at 175, 38.5 (37.5 to 39.5) at 355; full: 32.5"
    assert label(panels[0]).startswith(expected)


def test_lengths_of_documents_are_left_out_where_no_documents_were_given(comparison):
    for document in comparison["documents"]:
        document["source_words"] = None
        del document["summary_words"]
    (panel,) = plots.histogram_plots(comparison).panels
    assert label(panel) == "Summaries. references: median 26"


def test_encoders_measured_in_several_types_have_a_line_each(comparison):
    rows = comparison["benchmarks"]["rows"]
    assert [name for _, name in plots.benchmark_plots(comparison).legend] == ["fastformer", "full"]
    rows += [row | {"dtype": "bfloat16"} for row in rows]
    assert len(plots.benchmark_plots(comparison).legend) == 4


def test_benchmarks_without_a_measure_have_no_panel_of_it(comparison):
    for row in comparison["benchmarks"]["rows"]:
        del row["peak_mb"]
    assert [panel.title for panel in plots.benchmark_plots(comparison).panels] == [
        "Reading a document",
        "Reading and learning from it",
    ]


def test_long_training_curves_are_thinned_without_a_shift(comparison):
    comparison["training"]["fast"] = [{"step": step, "loss": 5.0 - step / 1000} for step in range(1001)]
    chart = str(plots.training_plots(comparison).panels[0].chart)
    points = chart.split('points="')[1].split('"')[0].split()
    assert len(points) == 200
    assert label(plots.training_plots(comparison).panels[0]) == "Training loss. fast: 4.998 at 2.5, 4.002 at 998"


def test_other_metrics_keep_their_name():
    assert plots.metric_label("rougeLsum") == "ROUGE-Lsum"
    assert plots.metric_label("meteor") == "meteor"


@pytest.mark.parametrize("part", ["tests", "by_length", "documents", "training", "benchmarks"])
def test_absent_parts_have_no_plots(comparison, part):
    del comparison[part]
    drawn = {
        "tests": plots.difference_plots,
        "by_length": plots.length_plots,
        "documents": plots.histogram_plots,
        "training": plots.training_plots,
        "benchmarks": plots.benchmark_plots,
    }
    assert drawn[part](comparison) is None
