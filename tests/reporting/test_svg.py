import math
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from summarizer.reporting.scales import Axis, log_ticks, ticks, widened
from summarizer.reporting.svg import Line, Point, Row, Sample, histogram, interval_chart, line_chart, swatch


def parsed(chart):
    return ElementTree.fromstring(str(chart))


def places(chart, kind):
    """(x, y) of the markers, whiskers or so of a chart."""
    return [element for element in parsed(chart).iter() if element.get("class") == kind]


def translation(marker):
    x, y = marker.get("transform")[len("translate(") : -1].split()
    return float(x), float(y)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3, 4), (41.7, 43.2), (0.001, 0.0013), (0, 60000)])
def test_ticks_are_round_evenly_spaced_and_inside(low, high):
    found = ticks(low, high, 5)
    assert 2 <= len(found) <= 7
    assert low <= found[0] <= found[-1] <= high * (1 + 1e-9)
    steps = {round(right - left, 12) for left, right in pairwise(found)}
    assert len(steps) == 1
    assert f"{steps.pop():.0e}"[0] in "125"


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1, 10, [1, 2, 5, 10]),
        (500, 70000, [1000, 3000, 10000, 30000]),
        (310, 460, [350, 400, 450]),
        (0.5, 5, [0.5, 1, 2, 5]),
    ],
)
def test_log_ticks_are_few_and_round_in_any_range(low, high, expected):
    assert log_ticks(low, high, 4) == pytest.approx(expected)


@pytest.mark.parametrize(("low", "high", "log"), [(0, 0, False), (5, 5, False), (7, 7, True), (1, 9, True)])
def test_a_range_of_one_value_is_widened(low, high, log):
    wide_low, wide_high = widened(low, high, log)
    assert wide_low < low <= high < wide_high
    assert not log or wide_low > 0


def test_intervals_lie_in_proportion_and_published_numbers_have_none():
    rows = [Row("a", 0, 40, 30, 50), Row("b", 1, 50, 45, 55), Row("paper", None, 60)]
    chart = interval_chart("ROUGE-1", rows, width=300)
    x = [translation(marker)[0] for marker in places(chart, "marker")]
    assert x[1] - x[0] == pytest.approx(x[2] - x[1], abs=0.2)
    assert len(places(chart, "whisker")) == 2
    assert (
        parsed(chart).get("aria-label") == "ROUGE-1. a: 40.00 (30.00 to 50.00); b: 50.00 (45.00 to 55.00); paper: 60.00"
    )


def test_differences_have_signs_and_a_line_at_zero():
    chart = interval_chart("d", [Row("a", 0, -1.5, -2, -1)], zero=True)
    assert len(places(chart, "zero")) == 1
    assert "−1.50" in str(chart)


def test_equal_ratios_are_equal_distances_on_log_axes():
    points = [Point(x, x * x) for x in (1, 10, 100)]
    chart = line_chart("cost", [Line("full", 0, points)], Axis("length", log=True), Axis("ms", log=True))
    (x0, y0), (x1, y1), (x2, y2) = map(translation, places(chart, "marker"))
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)
    assert y1 - y0 == pytest.approx(y2 - y1, abs=0.2)
    assert y0 > y1 > y2


def test_one_point_and_equal_values_can_be_drawn():
    for log in (False, True):
        axis = Axis("x", log=log)
        chart = line_chart("one", [Line("a", 0, [Point(3, 4)])], axis, axis)
        assert all(math.isfinite(value) for value in translation(places(chart, "marker")[0]))
    assert places(interval_chart("one", [Row("a", 0, 0.0, 0.0, 0.0)]), "marker")
    assert places(histogram("one", [Sample("a", None, [7])], Axis("words")), "bars")


def test_histogram_bars_hold_all_values_and_giants_stand_in_the_last():
    chart = histogram("lengths", [Sample("documents", None, [*range(100), 10**6])], Axis("words"), width=300)
    bars = places(chart, "bars")[0]
    corners = [tuple(map(float, corner.split(","))) for corner in bars.get("points", "").split()]
    heights = [corners[0][1] - y for _, y in corners[1:-1:2]]
    assert len(heights) == 10
    assert heights[-1] == pytest.approx(heights[0] * 1.1, abs=0.3)
    assert "median 50" in (parsed(chart).get("aria-label") or "")


def test_names_are_shortened_to_the_chart_and_whole_in_the_tooltip():
    name = "a very long name of a system & its <settings>" * 2
    chart = parsed(interval_chart("t", [Row(name, 0, 1)]))
    shown = next(element.text for element in chart.iter("text") if element.get("class") == "name start")
    assert shown is not None
    assert shown.endswith("…")
    assert next(chart.iter("title")).text == f"{name}: 1.00"


def test_styles_repeat_after_the_last_colour():
    assert str(swatch(1)).count("series-1") == str(swatch(9)).count("series-1") == 1
    assert "published" in str(swatch(None))


@pytest.mark.parametrize("high", [90, 6_000, 3_000_000])
def test_numbers_along_the_axis_do_not_touch(high):
    chart = line_chart("loss", [Line("a", 0, [Point(0, 1), Point(high, 2)])], Axis("step"), Axis("loss"))
    labels = [text for text in parsed(chart).iter("text") if text.get("class") == "tick middle"][:-1]
    ends = [(float(text.get("x", 0)), 3.4 * len(text.text or "")) for text in labels]
    assert len(ends) >= 2
    assert all(left + half + 2 < right - other for (left, half), (right, other) in pairwise(ends))
