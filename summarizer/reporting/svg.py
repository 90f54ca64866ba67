"""Small charts as SVG that takes its colours and type from the page's style sheet, and so follows its theme.

A chart is as wide as its viewBox at its natural size; the page scales it. Styles are numbers: the class `series-K`
gives the colour, and the marker's shape goes with it; None is a published number, grey and hollow. Every point has its
numbers as a tooltip, and every chart says what it shows in its label.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from xml.etree import ElementTree

from markupsafe import Markup

from summarizer.reporting.scales import Axis, Scale, log_ticks, ticks, widened

NUM_STYLES = 8  # as many as the style sheet has colours
MARKERS = (
    "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0Z",
    "M-3.2-3.2h6.4v6.4h-6.4Z",
    "M0-4.2L4.2 3.2H-4.2Z",
    "M0-4.8L4.8 0L0 4.8L-4.8 0Z",
    "M0 4.2L4.2-3.2H-4.2Z",
)
_MARGIN_LEFT, _MARGIN_RIGHT, _MARGIN_TOP, _MARGIN_BOTTOM = 48.0, 16.0, 22.0, 38.0
_ROW_HEIGHT = 34.0
_WIDE = 300  # charts that a phone must make smaller, and whose type is made larger there


@dataclass(frozen=True)
class Row:
    """A number with its interval, if it has one: a row of an interval chart."""

    name: str
    style: int | None
    mean: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Point:
    """A point of a line, with the ends of an interval around y if it has one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Line:
    """A named line of a line chart."""

    name: str
    style: int
    points: Sequence[Point]
    markers: bool = True


class Sample(NamedTuple):
    """Named values, of which a histogram shows the shares."""

    name: str
    style: int | None
    values: Sequence[float]


def interval_chart(title: str, rows: Sequence[Row], zero: bool = False, width: int = 260) -> Markup:
    """A dot and its interval a row; with `zero` the numbers are differences, and the line of none is drawn."""
    ends = [end for row in rows for end in (row.mean, row.low, row.high) if end is not None] + [0.0] * zero
    low, high = widened(min(ends), max(ends))
    bottom = _ROW_HEIGHT * len(rows) + 4
    scale = Scale(low, high, 6, width - 6)
    room = int((width - 64) / (7.8 if width > _WIDE else 6.9))  # characters of a name beside its number
    svg = _svg(title, "; ".join(_row_text(row) for row in rows), width, bottom + 18)
    for tick in ticks(low, high, width // 60):
        x = scale.place(tick)
        _line(svg, "zero" if zero and tick == 0 else "grid", x, 0, x, bottom)
        _text(svg, _signed(tick, "g") if zero else f"{tick:g}", x, bottom + 14, anchor="middle")
    for index, row in enumerate(rows):
        top = _ROW_HEIGHT * index
        group = _element(svg, "g", class_=_style_class(row.style))
        _element(group, "title", _row_text(row))
        number = _signed(row.mean, ".2f") if zero else f"{row.mean:.2f}"
        _text(group, _shortened(row.name, room), 0, top + 14, class_="name")
        _text(group, number, width, top + 14, anchor="end", class_="name")
        if row.low is not None and row.high is not None:
            _line(group, "whisker", scale.place(row.low), top + 25, scale.place(row.high), top + 25)
        _marker(group, row.style, scale.place(row.mean), top + 25)
    return _markup(svg)


def line_chart(title: str, lines: Sequence[Line], x_axis: Axis, y_axis: Axis, width: int = 260) -> Markup:
    """Lines over one x; intervals are drawn as whiskers, each line's a little aside so that none hides another."""
    points = [point for line in lines for point in line.points]
    heights = [end for point in points for end in (point.y, point.low, point.high) if end is not None]
    height = round(width * 0.72)
    x_scale, y_scale = _axes(
        svg := _svg(title, "; ".join(_line_text(line, x_axis, y_axis) for line in lines), width, height),
        (min(point.x for point in points), max(point.x for point in points)),
        (min(heights), max(heights)),
        (x_axis, y_axis),
    )
    for index, line in enumerate(lines):
        group = _element(svg, "g", class_=_style_class(line.style))
        aside = 3.0 * (index - (len(lines) - 1) / 2) if any(point.low is not None for point in points) else 0.0
        places = [(x_scale.place(point.x) + aside, y_scale.place(point.y)) for point in line.points]
        _element(group, "polyline", class_="line", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in places))
        for point, (x, y) in zip(line.points, places, strict=True):
            if point.low is not None and point.high is not None:
                _line(group, "whisker", x, y_scale.place(point.low), x, y_scale.place(point.high))
            if line.markers:
                text = f"{line.name}: {_point_text(point, y_axis)} at {x_axis.number(point.x)} ({x_axis.label})"
                _element(_marker(group, line.style, x, y), "title", text)
    return _markup(svg)


def histogram(title: str, series: Sequence[Sample], x_axis: Axis, width: int = 260) -> Markup:
    """Shares of the values by size: the first sample as bars, the others as steps before them.

    The largest two percent of the values are counted in the last bar, so that a few giants leave room for the rest.
    """
    values = sorted(value for sample in series for value in sample.values)
    edges = _edges(values[0], values[min(len(values) - 1, int(0.98 * len(values)))])
    shares = [_shares(sample.values, edges) for sample in series]
    texts = [f"{sample.name}: median {_median(sample.values):,.0f}" for sample in series]
    y_axis = Axis("share of texts", number=lambda share: f"{share:.0%}")
    svg = _svg(title, "; ".join(texts), width, round(width * 0.72))
    x_scale, y_scale = _axes(svg, (edges[0], edges[-1]), (0, max(map(max, shares))), (x_axis, y_axis), padded=False)
    for index, sample in enumerate(series):
        group = _element(svg, "g", class_=_style_class(sample.style))
        corners = [(x_scale.place(edges[0]), y_scale.place(0))]
        for share, left, right in zip(shares[index], edges, edges[1:], strict=False):
            corners += [(x_scale.place(left), y_scale.place(share)), (x_scale.place(right), y_scale.place(share))]
        corners.append((x_scale.place(edges[-1]), y_scale.place(0)))
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        _element(_element(group, "polyline", class_="line" if index else "bars", points=points), "title", texts[index])
    return _markup(svg)


def swatch(style: int | None) -> Markup:
    """The marker of a style, for a legend."""
    svg = ElementTree.Element("svg", {"class": "swatch", "viewBox": "-11 -6 22 12", "aria-hidden": "true"})
    group = _element(svg, "g", class_=_style_class(style))
    _line(group, "line", -10, 0, 10, 0)
    _marker(group, style, 0, 0)
    return _markup(svg)


def _axes(
    svg: ElementTree.Element,
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    axes: tuple[Axis, Axis],
    padded: bool = True,
) -> tuple[Scale, Scale]:
    width, height = (float(side) for side in svg.get("viewBox", "").split()[2:])
    right, bottom = width - _MARGIN_RIGHT, height - _MARGIN_BOTTOM
    x_axis, y_axis = axes
    x_low, x_high = widened(*x_range, x_axis.log, 0.04) if padded else x_range
    y_low, y_high = widened(*y_range, y_axis.log) if padded else (y_range[0], y_range[1] * 1.06)
    x_scale = Scale(x_low, x_high, _MARGIN_LEFT, right, x_axis.log)
    y_scale = Scale(y_low, y_high, bottom, _MARGIN_TOP, y_axis.log)
    find = {False: ticks, True: log_ticks}
    for tick in find[y_axis.log](y_low, y_high, 5):
        _line(svg, "grid", _MARGIN_LEFT, y_scale.place(tick), right, y_scale.place(tick))
        _text(svg, y_axis.number(tick), _MARGIN_LEFT - 5, y_scale.place(tick) + 4, anchor="end")
    label_width = (9.5 if x_axis.log else 6.6) * len(x_axis.number(x_high)) + 12
    for tick in find[x_axis.log](x_low, x_high, int((right - _MARGIN_LEFT) / label_width)):
        _line(svg, "grid", x_scale.place(tick), bottom, x_scale.place(tick), bottom + 4)
        _text(svg, x_axis.number(tick), x_scale.place(tick), bottom + 17, anchor="middle")
    _line(svg, "axis", _MARGIN_LEFT, bottom, right, bottom)
    _text(svg, x_axis.label, (_MARGIN_LEFT + right) / 2, height - 5, anchor="middle")
    _text(svg, y_axis.label, 0, 10)
    return x_scale, y_scale


def _edges(low: float, high: float) -> list[float]:
    step = (found := ticks(low, high if high > low else low + 1, 16))[1] - found[0]
    first, last = math.floor(low / step), max(math.ceil(high / step), math.floor(low / step) + 1)
    return [index * step for index in range(first, last + 1)]


def _shares(values: Sequence[float], edges: Sequence[float]) -> list[float]:
    counts = [0] * (len(edges) - 1)
    for value in values:
        counts[min(int((value - edges[0]) / (edges[1] - edges[0])), len(counts) - 1)] += 1
    return [count / len(values) for count in counts]


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def _row_text(row: Row) -> str:
    interval = f" ({row.low:.2f} to {row.high:.2f})" if row.low is not None and row.high is not None else ""
    return f"{row.name}: {row.mean:.2f}{interval}"


def _point_text(point: Point, axis: Axis) -> str:
    interval = ""
    if point.low is not None and point.high is not None:
        interval = f" ({axis.number(point.low)} to {axis.number(point.high)})"
    return f"{axis.number(point.y)}{interval}"


def _line_text(line: Line, x_axis: Axis, y_axis: Axis) -> str:
    first, last = line.points[0], line.points[-1]
    return (
        f"{line.name}: {_point_text(first, y_axis)} at {x_axis.number(first.x)}, "
        f"{_point_text(last, y_axis)} at {x_axis.number(last.x)}"
    )


def _signed(value: float, form: str) -> str:
    return format(value, f"+{form}").replace("-", "−") if value else "0"


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _style_class(style: int | None) -> str:
    return "published" if style is None else f"series-{style % NUM_STYLES}"


def _svg(title: str, description: str, width: float, height: float) -> ElementTree.Element:
    box = f"0 0 {width:g} {height:g}"
    size = {"class": "wide"} if width > _WIDE else {}
    return ElementTree.Element("svg", {"viewBox": box, "role": "img", "aria-label": f"{title}. {description}"} | size)


def _element(
    parent: ElementTree.Element, tag: str, text: str | None = None, **attributes: object
) -> ElementTree.Element:
    child = ElementTree.SubElement(parent, tag, {name.strip("_"): str(value) for name, value in attributes.items()})
    child.text = text
    return child


def _line(parent: ElementTree.Element, class_: str, x1: float, y1: float, x2: float, y2: float) -> None:
    _element(parent, "path", class_=class_, d=f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}")


def _text(
    parent: ElementTree.Element, text: str, x: float, y: float, anchor: str = "start", class_: str = "tick"
) -> None:
    _element(parent, "text", text, class_=f"{class_} {anchor}", x=f"{x:.1f}", y=f"{y:.1f}")


def _marker(parent: ElementTree.Element, style: int | None, x: float, y: float) -> ElementTree.Element:
    shape = MARKERS[(style or 0) % len(MARKERS)]
    return _element(parent, "path", class_="marker", d=shape, transform=f"translate({x:.1f} {y:.1f})")


def _markup(svg: ElementTree.Element) -> Markup:
    return Markup(ElementTree.tostring(svg, encoding="unicode"))
