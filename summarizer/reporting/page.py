"""A comparison as one HTML page that needs no network: cards, tables, plots, and the examples to look through."""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from summarizer.reporting import plots
from summarizer.reporting.copied import Words, copied_passages

_ASSETS = files("summarizer.reporting") / "assets"
_MEASURES = ("fmeasure", "precision", "recall")
_NOT_PRINTABLE = re.compile("[\x00\ud800-\udfff]")  # no place in HTML, nor in UTF-8
_SIGNIFICANT = 0.05


def render_page(comparison: Mapping[str, Any]) -> str:
    """The whole page as text; the same comparison gives the same page.

    `comparison` is the content of comparison.json; what it lacks is left out of the page. Every text in it is escaped,
    and the page forbids itself (by its content security policy) to load anything or to run other scripts than its own.
    """
    comparison = _printable(comparison)
    style, script = _asset("page.css"), _asset("page.js")
    return _template().render(
        comparison=comparison,
        style=Markup(style),
        script=Markup(script),
        policy=f"default-src 'none'; style-src {_hashed(style)}; script-src {_hashed(script)}; base-uri 'none'",
        cards=_cards(comparison),
        best=_best(comparison),
        measures=list(dict.fromkeys(name for system in comparison["systems"] for name in system.get("measures") or ())),
        plots={
            "scores": plots.score_plots(comparison),
            "differences": plots.difference_plots(comparison),
            "by_length": plots.length_plots(comparison),
            "training": plots.training_plots(comparison),
            "benchmarks": plots.benchmark_plots(comparison),
            "lengths": plots.histogram_plots(comparison),
        },
        examples=_examples(comparison),
    )


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
        "metric": plots.metric_label,
        "percent": lambda share: f"{100 * share:.2f}",
        "signed": lambda share: f"{100 * share:+.2f}".replace("-", "−"),
        "probability": lambda value: "–" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}",
        "measure": _measure,
        "verdict": _verdict,
    }
    return environment.get_template("page.html.jinja")


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _hashed(content: str) -> str:
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return _NOT_PRINTABLE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {_printable(key): _printable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_printable(item) for item in value]
    return value


def _contenders(comparison: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The systems that were run here and did not see the references, as the oracle did."""
    return [
        system
        for system in comparison["systems"]
        if system["kind"] != "published" and not (system["kind"] == "baseline" and system["name"].startswith("oracle"))
    ]


def _best(comparison: Mapping[str, Any]) -> dict[str, str]:
    """The name of the best contender by metric."""
    best = {}
    for metric in comparison["metrics"]:
        scored = [system for system in _contenders(comparison) if metric in system["metrics"]]
        if scored:
            best[metric] = max(scored, key=lambda system: system["metrics"][metric]["fmeasure"]["mean"])["name"]
    return best


def _cards(comparison: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The best model's score by metric, and how it stands to the baseline."""
    tests = {(test["metric"], test["system"]): test for test in comparison.get("tests") or ()}
    cards = []
    for metric in comparison["metrics"]:
        models = [
            system for system in comparison["systems"] if system["kind"] == "model" and metric in system["metrics"]
        ]
        if models:
            best = max(models, key=lambda system: system["metrics"][metric]["fmeasure"]["mean"])
            scores = best["metrics"][metric]["fmeasure"]
            cards.append(
                {"metric": metric, "system": best["name"], "scores": scores, "test": tests.get((metric, best["name"]))}
            )
    return cards


def _verdict(test: Mapping[str, Any]) -> str:
    """`better` or `worse` than the baseline where the corrected probability is under 5 %, else `not clear`."""
    probability = next(
        (test[name] for name in ("p_adjusted", "p_randomization", "p_bootstrap") if test.get(name) is not None), 1.0
    )
    if probability >= _SIGNIFICANT:
        return "not clear"
    return "better" if test["difference"] > 0 else "worse"


def _measure(value: Any) -> str:
    """A measure of texts for reading; what is no number as it is."""
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 1000 else f"{value:,.3g}"


def _examples(comparison: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the page's script shows; texts[0] of an example is the reference, the others are in order of `systems`."""
    shown = [example for example in comparison.get("examples") or () if example.get("predictions")]
    if not shown:
        return None
    names = list(dict.fromkeys(name for example in shown for name in example["predictions"]))
    styles = plots.system_styles(comparison)
    return {
        "systems": names,
        "styles": [styles.get(name) for name in names],
        "metrics": [[metric, plots.metric_label(metric)] for metric in comparison["metrics"]],
        "examples": [_example(example, names) for example in shown],
    }


def _example(example: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    document = example.get("document") or ""
    texts = [example.get("reference"), *(example["predictions"].get(name) for name in names)]
    words = Words.of(document)
    scores = example.get("scores") or {}
    return {
        "id": str(example["id"]),
        "document": document,
        "texts": texts,
        "copied": [copied_passages(Words.of(text or ""), words) for text in texts],
        "scores": [None, *(scores.get(name) for name in names)],
    }
