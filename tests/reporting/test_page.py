import base64
import hashlib
import json
import re
from importlib.resources import files
from itertools import pairwise

import pytest

from summarizer.reporting.figures import CARD, MUTED, RULE, SERIES, TEXT
from summarizer.reporting.page import render_page
from tests.reporting.conftest import build
from tests.reporting.html_page import parse

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&{{ 7*7 }}<!--\u2028\u202e\x00\ud800 שלום"
SECTIONS = ["scores", "tests", "measures", "by-length", "lengths", "training", "benchmarks", "examples"]


KINDS = {"model", "baseline", "published"}


def render(content):
    return render_page(build(content))


def made_hostile(comparison, hostile=HOSTILE):
    """The same comparison with the hostile string behind every name and every text that a user's files give."""
    names = {system["name"] for system in comparison["systems"]} | {*comparison["metrics"], "copied_words"}

    def change(value):
        if isinstance(value, dict):
            return {key + hostile if key in names else key: change(item) for key, item in value.items()}
        if isinstance(value, list):
            return [change(item) for item in value]
        return value + hostile if isinstance(value, str) and value not in KINDS else value

    return change(comparison)


def span_of(text, example):
    start = example["document"].index(text)
    return {"start": start, "end": start + len(text), "text": text}


def sections(page):
    return [element.attributes["id"] for element in parse(page).all("section")]


def rows(page, section, table=0):
    body = parse(page).by_id(section).all("tbody")[table]
    return [[" ".join(cell.text.split()) for cell in row.all("th", "td")] for row in body.all("tr")]


def shape(element):
    """Tags and names of attributes, without their values: what no text may change."""
    return [(found.tag, sorted(found.attributes)) for found in element.all()]


def test_page_has_every_section_in_order(comparison):
    page = render(comparison)
    assert sections(page) == SECTIONS
    titles = [int(heading.tag[1]) for heading in parse(page).all("h1", "h2", "h3")]
    assert titles[0] == 1
    assert all(deeper - level <= 1 for level, deeper in pairwise(titles))


def test_page_is_the_same_each_time(comparison):
    assert render(comparison) == render(comparison)


def test_scores_stand_in_the_table_as_percent_with_intervals(comparison):
    found = rows(render(comparison), "scores")
    assert found[0] == ["fast", "42.00 41.00 – 43.00", "42.00 41.00 – 43.00"]
    assert found[-1] == ["A paper (2020) published", "90.00", "–"]


def test_published_rows_are_marked_and_the_best_is_a_model(comparison):
    page = parse(render(comparison))
    table = page.by_id("scores").all("tbody")[0]
    assert [row.attributes.get("class") for row in table.all("tr")] == [None] * 4 + ["published"]
    assert "Authors 2020." in page.by_id("scores").all("p")[0].text
    best = [
        row.all("th")[0].text
        for row in table.all("tr")
        if any("best" in td.attributes["class"] for td in row.all("td"))
    ]
    assert [name.split()[0] for name in best] == ["fast"]


def test_all_models_with_the_highest_score_are_best(comparison):
    comparison["systems"][1]["metrics"] = comparison["systems"][0]["metrics"]
    page = parse(render(comparison))
    rows = page.by_id("scores").all("tbody")[0].all("tr")
    assert ["best" in (row.all("td")[0].attributes["class"] or "") for row in rows] == [True, True, False, False, False]
    assert "fast, full" in page.all("ul")[0].text


def test_cards_show_the_best_model_against_the_first_system(comparison):
    card = next(ul for ul in parse(render(comparison)).all("ul") if ul.attributes.get("class") == "cards").all("li")[0]
    text = " ".join(card.text.split())
    assert text == "ROUGE-1 F 42.00 41.00 – 43.00 fast −3.00 against lead-2: worse"


def test_verdict_follows_the_corrected_probability(comparison):
    comparison["tests"][0] |= {"difference": 0.03, "p_adjusted": 0.04, "p_bootstrap": 0.2}
    comparison["tests"][1] |= {"p_adjusted": 0.06, "p_randomization": 0.3, "p_bootstrap": 0.01}
    found = rows(render(comparison), "tests")
    assert [row[3] for row in found] == ["better", "not clear", "not clear", "not clear"]
    assert found[1][4:] == ["0.010", "0.300", "0.060", "7 / 4 / 1"]


def test_what_became_of_the_texts_stands_above_the_examples(comparison):
    comparison["notes"] = ["The texts of fast are not shown: p.jsonl has changed since it was scored; score it again"]
    assert "p.jsonl has changed" in parse(render(comparison)).by_id("examples").all("p")[0].text
    comparison["examples"] = []
    assert "p.jsonl has changed" in parse(render(comparison)).by_id("examples").text


@pytest.mark.parametrize(
    ("part", "gone"),
    [
        ("tests", {"tests"}),
        ("examples", {"examples"}),
        ("by_length", {"by-length"}),
        ("documents", {"lengths"}),
        ("training", {"training"}),
        ("benchmarks", {"benchmarks"}),
        ("compared_with", set()),
        ("signature", set()),
        ("num_examples", set()),
    ],
)
@pytest.mark.parametrize("empty", [True, False])
def test_what_is_absent_or_empty_is_left_out(comparison, part, gone, empty):
    if empty:
        comparison[part] = type(comparison[part])()
    else:
        del comparison[part]
    page = render(comparison)
    assert sections(page) == [name for name in SECTIONS if name not in gone]
    parse(page)


def test_metrics_and_systems_alone_make_a_page(comparison):
    least = {"metrics": comparison["metrics"], "systems": comparison["systems"][2:3]}
    assert sections(render(least)) == ["scores"]
    assert sections(render({"metrics": ["rouge1"], "systems": comparison["systems"][-1:]})) == ["scores"]


def test_examples_may_lack_documents_references_scores_and_predictions(comparison):
    first, second, third = comparison["examples"][:3]
    del first["document"], first["scores"], second["predictions"]["full"], third["predictions"]
    second["reference"] = None
    data = json.loads(parse(render(comparison)).by_id("data").text)
    assert len(data["examples"]) == 11
    assert data["examples"][0]["copied"] == [[], [], []]
    assert data["examples"][1]["texts"] == [None, "The harbour was closed on Monday. Boats stayed.", None]


def test_the_source_of_a_sentence_is_found_where_it_stands_in_the_document_of_the_references(comparison):
    example = comparison["examples"][0]
    span = span_of("Ferries stayed in port.", example)
    moved, missing = span | {"start": 3, "end": 26}, {"start": 3, "end": 9, "text": "Gone."}
    example["evidence"] = {"full": [[span, moved], [], [missing]]}
    shown, other = json.loads(parse(render(comparison)).by_id("data").text)["examples"][:2]
    found = [span["text"], span["start"], span["end"]]
    assert shown["evidence"] == [None, None, [[found, found], [], [["Gone.", -1, -1]]]]
    assert other["evidence"] == [None, None, None]


def test_support_stands_beside_the_scores(comparison):
    comparison["systems"][0]["measures"] |= {"supported_sentences": 0.995, "sentence_coverage": 1.0}
    page = render(comparison)
    heads = [" ".join(head.text.split()) for head in parse(page).by_id("scores").all("thead")[0].all("th")]
    assert heads == ["System", "ROUGE-1", "ROUGE-2", "supported sentences", "sentence coverage"]
    assert [row[3:] for row in rows(page, "scores")] == [["99.5 %", "100.0 %"], *[["–", "–"]] * 4]
    assert len(rows(page, "scores", 1)[0]) == 3  # precision has no such columns


def test_hostile_names_and_texts_change_no_element_and_come_back_from_the_data(comparison):
    hostile = render(made_hostile(comparison))
    harmless = render(made_hostile(comparison, " word" * (len(HOSTILE.split()) - 1)))
    assert shape(parse(hostile)) == shape(parse(harmless))
    hostile.encode("utf-8")
    shown = HOSTILE.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    data = parse(hostile).by_id("data")
    assert not set("<>&\u2028") & set(data.text)
    assert json.loads(data.text)["examples"][3]["id"] == f"doc-3{shown}"
    assert rows(hostile, "scores")[0][0] == f"fast{shown}".replace("\u2028", " ")


def test_page_loads_nothing_and_allows_its_own_style_and_script_alone(comparison):
    page = parse(render(comparison))
    for element in page.all():
        assert element.tag not in {"link", "img", "iframe", "object", "base"}
        assert not {"src", "style", "action"} & set(element.attributes)
        assert not any(name.startswith("on") for name in element.attributes)
        assert element.attributes.get("href", "#").startswith("#")
    policy = page.all("meta")[1].attributes["content"]
    assert policy.startswith("default-src 'none'; ")
    own = [page.all("style")[0], *(script for script in page.all("script") if "type" not in script.attributes)]
    assert len(own) == 2
    for element in own:
        assert base64.b64encode(hashlib.sha256(element.text.encode()).digest()).decode() in policy
        assert "url(" not in element.text
        assert "@import" not in element.text


def test_page_can_be_read_without_eyes(comparison):
    page = parse(render(comparison))
    ids = [element.attributes["id"] for element in page.all() if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    charts = [svg for svg in page.all("svg") if svg.attributes.get("aria-hidden") != "true"]
    assert len(charts) == 13
    for chart in charts:
        assert chart.attributes["role"] == "img"
        assert len(chart.attributes["aria-label"] or "") > 20
    for table in page.all("table"):
        assert table.all("caption")
        assert all("scope" in head.attributes for head in table.all("th"))
    labelled = [label.attributes.get("for") for label in page.all("label")]
    inside = [control for label in page.all("label") for control in label.all("input", "select")]
    for control in page.all("input", "select"):
        assert control in inside or control.attributes["id"] in labelled


def test_colours_can_be_told_from_the_ground_in_both_themes():
    style = (files("summarizer.reporting") / "assets" / "page.css").read_text(encoding="utf-8")
    colours = {name: pair for name, *pair in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", style)}

    def luminance(colour):
        parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(name, ground, theme):
        bright, dark = sorted((luminance(colours[name][theme]), luminance(colours[ground][theme])), reverse=True)
        return (bright + 0.05) / (dark + 0.05)

    drawn = {"text": TEXT, "muted": MUTED, "rule": RULE, "card": CARD}
    drawn |= {f"series-{number}": color for number, color in enumerate(SERIES)}
    assert {name: colours[name][0] for name in drawn} == drawn  # what the page replaces by its variables
    for theme in (0, 1):
        for name in ("text", "muted", "accent", "good", "bad"):
            assert min(contrast(name, ground, theme) for ground in ("card", "page")) >= 4.5
        assert min(contrast("text", mark, theme) for mark in ("mark", "mark-strong")) >= 4.5
        assert min(contrast(f"series-{style}", "card", theme) for style in range(8)) >= 3


def test_measures_stand_in_a_row_each_with_a_dash_where_a_system_has_none(comparison):
    assert rows(render(comparison), "measures") == [["empty", "0.0 %", "10.0 %"], ["copied words", "80.0 %", "–"]]
