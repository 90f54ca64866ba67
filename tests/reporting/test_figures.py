import pytest
from matplotlib.figure import Figure

from summarizer.reporting.figures import FIGURES, draw_figures, draw_svg, make_figures, system_styles
from tests.reporting.conftest import build
from tests.reporting.html_page import parse


def drawn(content, name, number=0):
    axes = Figure().subplots()
    panel = make_figures(build(content))[name].panels[number]
    panel.draw(axes)
    return axes


def test_a_system_has_the_same_style_in_all_figures(comparison):
    styles = system_styles(build(comparison))
    assert list(styles) == ["fast", "full", "lead-2", "oracle", "A paper (2020)"]
    assert len({(style.color, style.marker, style.hollow) for style in styles.values()}) == 5
    figures = make_figures(build(comparison))
    for name in ("rouge_by_length", "training"):
        assert all(style == styles[system] for system, style in figures[name].legend.items())


def test_scores_and_differences_are_a_row_a_system_with_its_interval(comparison):
    panels = make_figures(build(comparison))["rouge"].panels
    assert [panel.title for panel in panels] == ["ROUGE-1", "ROUGE-2"]
    assert panels[0].description.startswith("fast: 42.00 (41.00 to 43.00); full: 40.00")
    assert panels[0].description.endswith("A paper (2020): 90.00")
    axes = drawn(comparison, "rouge")
    assert {text.get_text() for text in axes.texts} >= {"fast", "42.00", "A paper (2020)", "90.00"}
    interval, mean = axes.lines[:2]
    assert (list(interval.get_xdata()), list(mean.get_xdata())) == (pytest.approx([41, 43]), [42])
    assert "−3.00" in {text.get_text() for text in drawn(comparison, "differences").texts}


def test_scores_by_length_are_lines_over_the_groups(comparison):
    panel = make_figures(build(comparison))["rouge_by_length"].panels[0]
    assert panel.description.startswith("fast: 32.50 (31.50 to 33.50) at 175, 38.50 (37.50 to 39.50) at 355; full: 32")
    line = drawn(comparison, "rouge_by_length").lines[0]
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([175, 355], pytest.approx([32.5, 38.5]))


def test_lengths_of_documents_are_left_out_where_no_documents_were_given(comparison):
    for document in comparison["documents"]:
        document["source_words"] = None
        document["summary_words"] = {}
    (panel,) = make_figures(build(comparison))["lengths"].panels
    assert (panel.title, panel.description) == ("Summaries", "references: median 26 words")


def test_encoders_measured_in_several_types_have_a_line_each(comparison):
    rows = comparison["benchmarks"]
    assert list(make_figures(build(comparison))["encoders"].legend) == ["fastformer", "full"]
    rows += [row | {"dtype": "bfloat16"} for row in rows]
    assert len(make_figures(build(comparison))["encoders"].legend) == 4
    assert drawn(comparison, "encoders").get_xscale() == "log"


def test_benchmarks_without_a_measure_have_no_panel_of_it(comparison):
    for row in comparison["benchmarks"]:
        del row["peak_mb"]
    titles = [panel.title for panel in make_figures(build(comparison))["encoders"].panels]
    assert titles == ["Reading a document", "Reading and learning from it"]


def test_long_training_curves_are_thinned_without_a_shift(comparison):
    comparison["training"]["fast"] = [{"step": step, "loss": 5.0 - step / 1000} for step in range(1001)]
    (panel,) = make_figures(build(comparison))["training"].panels
    assert panel.description == "fast: 4.998 at 2.5, 4.002 at 998"
    assert len(drawn(comparison, "training").lines[0].get_xdata()) == 200


@pytest.mark.parametrize(
    ("part", "figure"),
    [("tests", "differences"), ("by_length", "rouge_by_length"), ("documents", "lengths"), ("training", "training"),
     ("benchmarks", "encoders")],
)  # fmt: skip
def test_what_has_no_numbers_has_no_figure(comparison, part, figure):
    assert figure in make_figures(build(comparison))
    del comparison[part]
    assert figure not in make_figures(build(comparison))


def test_every_figure_is_a_png_file(comparison):
    figures = draw_figures(build(comparison))
    assert list(figures) == [f"{name}.png" for name in FIGURES]
    assert all(content.startswith(b"\x89PNG") for content in figures.values())


def test_svg_has_the_colours_of_the_page_and_tooltips_and_no_style_of_its_own(comparison):
    comparison["systems"][0]["name"] = hostile = "$x^</svg><b>\x01 北京 _"
    panel = make_figures(build(comparison))["rouge"].panels[0]
    page = parse(svg := draw_svg(panel, "key"))
    assert svg == draw_svg(panel, "key")
    (chart,) = page.all("svg")
    assert not page.all("b", "style", "metadata")
    assert all("style" not in element.attributes for element in page.all())
    assert "var(--series-0)" in svg
    assert "#1f5fbf" not in svg
    assert all(element.attributes["id"].startswith("key-") for element in page.all() if "id" in element.attributes)
    shown = hostile.replace("\x01", "\ufffd")
    assert shown in {text.text for text in page.all("text")}
    assert page.all("title")[0].text == f"{shown}: 42.00 (41.00 to 43.00)"
    assert chart.attributes["aria-label"].startswith(f"ROUGE-1. {shown}: 42.00")
