"""A comparison as one HTML page that needs no network: cards, tables, plots, and the examples to look through."""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from summarizer.evaluation.score_text import (
    SUPPORT,
    interval,
    measure_label,
    measure_text,
    metric_label,
    percent,
    signed,
)
from summarizer.evidence import Evidence, SourceSpan
from summarizer.reporting.comparison import Comparison, ShownExample
from summarizer.reporting.copied import Words, copied_passages
from summarizer.reporting.figures import MARKERS, SERIES, Panels, Style, draw_svg, make_figures, system_styles

_ASSETS = files("summarizer.reporting") / "assets"
_NOT_PRINTABLE = re.compile("[\x00\ud800-\udfff]")  # not allowed in HTML, nor in UTF-8


def render_page(comparison: Comparison) -> str:
    """The whole page as text; the same comparison gives the same page.

    What the comparison lacks is left out of the page. Every text in it is escaped, and the page forbids itself (by its
    content security policy) to load anything or to run other scripts than its own.
    """
    comparison = _printable(comparison)
    style, script = _asset("page.css"), _asset("page.js")
    measures = list(dict.fromkeys(name for system in comparison.systems for name in system.measures))
    return _template().render(
        comparison=comparison,
        style=Markup(style),
        script=Markup(script),
        policy=f"default-src 'none'; style-src {_hashed(style)}; script-src {_hashed(script)}; base-uri 'none'",
        cards=_cards(comparison),
        measures=measures,
        support=[name for name in SUPPORT if name in measures],
        figures={name: _figure(name, panels) for name, panels in make_figures(comparison).items()},
        examples=_examples(comparison),
    )


def _figure(name: str, panels: Panels) -> dict[str, Any]:
    """A figure's charts as (title, SVG), and its legend as (number of the colour, marker, name)."""
    charts = [(panel.title, Markup(draw_svg(panel, f"{name}-{number}"))) for number, panel in enumerate(panels.panels)]
    legend = [(_color_class(style), MARKERS[style.marker], name) for name, style in panels.legend.items()]
    return {"charts": charts, "legend": legend}


def _color_class(style: Style | None) -> str:
    return "published" if style is None or style.hollow else f"series-{SERIES.index(style.color)}"


@lru_cache(maxsize=1)
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(_asset),
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    environment.filters |= {
        "metric": metric_label,
        "percent": percent,
        "signed": signed,
        "probability": lambda value: "< 0.001" if value < 0.001 else f"{value:.3f}",
        "measure": measure_label,
    }
    environment.globals |= {"interval": interval, "measure_text": measure_text}
    return environment.get_template("page.html.jinja")


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _hashed(content: str) -> str:
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _printable(value: Any) -> Any:
    """The same with a sign in the place of what cannot be printed, in all texts."""
    if isinstance(value, str):
        return _NOT_PRINTABLE.sub("\ufffd", value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{each.name: _printable(getattr(value, each.name)) for each in fields(value)})
    if isinstance(value, Mapping):
        return {_printable(key): _printable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_printable(item) for item in value]
    return value


def _cards(comparison: Comparison) -> list[dict[str, Any]]:
    """The score of the best models by metric, and how the first of them compares with the first system."""
    cards = []
    for metric in comparison.metrics:
        if best := comparison.best(metric):
            test = comparison.test_of(best[0].name, metric)
            names = [system.name for system in best]
            cards.append({"metric": metric, "systems": names, "score": best[0].fmeasure(metric), "test": test})
    return cards


def _examples(comparison: Comparison) -> dict[str, Any] | None:
    """What the page's script shows; texts[0] of an example is the reference, the others are in order of `systems`."""
    shown = [example for example in comparison.examples if example.predictions]
    if not shown:
        return None
    predicted = {name for example in shown for name in example.predictions}
    names = [system.name for system in comparison.systems if system.name in predicted]  # models come first
    styles = system_styles(comparison)
    return {
        "systems": names,
        "styles": [_color_class(styles.get(name)) for name in names],
        "metrics": [[metric, metric_label(metric)] for metric in comparison.metrics],
        "examples": [_example(example, names) for example in shown],
    }


def _example(example: ShownExample, names: Sequence[str]) -> dict[str, Any]:
    document = example.document or ""
    texts = [example.reference, *(example.predictions.get(name) for name in names)]
    words = Words.of(document)
    return {
        "id": str(example.id),
        "document": document,
        "texts": texts,
        "copied": [copied_passages(Words.of(text or ""), words) for text in texts],
        "evidence": [None, *(_located(example.evidence.get(name), document) for name in names)],
        "scores": [None, *(example.scores.get(name) for name in names)],
    }


def _located(evidence: Evidence | None, document: str) -> list[list[tuple[str, int, int]]] | None:
    """For each line of a summary its passages, each with its offsets in this document; −1 where it is not in it.

    The offsets of a record hold in the text that was read, which may differ from the document of the references.
    """

    def located(span: SourceSpan) -> tuple[str, int, int]:
        text, start = span["text"], span["start"]
        if not document.startswith(text, start):
            start = document.find(text)
        return text, start, start + len(text) if start >= 0 else -1

    return None if evidence is None else [list(map(located, entry)) for entry in evidence]
