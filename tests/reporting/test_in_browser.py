"""What the page does in Chromium. Skipped where there is none; in continuous integration (CI=true) a failure."""

import os
from contextlib import contextmanager
from pathlib import Path

import pytest

from summarizer.reporting.page import render_page
from tests.browser import WINDOWS, browser  # noqa: F401 (a fixture)
from tests.reporting.conftest import build
from tests.reporting.test_page import made_hostile, span_of


@pytest.fixture
def show(browser, tmp_path):  # noqa: F811 (the fixture)
    """Opens the page of a comparison; fails if the page reports an error or loads anything."""

    @contextmanager
    def open_page(comparison, window="light"):
        path = tmp_path / "page.html"
        path.write_text(render_page(build(comparison)), encoding="utf-8")
        with browser.new_context(**WINDOWS[window]) as context:
            page = context.new_page()
            errors, requests = [], []
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.on("console", lambda message: errors.append(message.text))
            page.on("request", lambda request: requests.append(request.url))
            page.goto(path.as_uri())
            yield page
            assert errors == []
            assert requests == [path.as_uri()]

    return open_page


def text(page, selector):
    return page.locator(selector).first.text_content()


def test_examples_are_ordered_found_by_id_and_stepped_through(comparison, show):
    comparison["examples"][7]["scores"]["full"]["rouge1"] = 0.9
    with show(comparison) as page:
        title = "#source-title"
        assert text(page, title) == "Document doc-0"
        for order, first in (("best", "doc-11"), ("worst", "doc-0"), ("disagreement", "doc-7")):
            page.select_option("#order", order)
            assert text(page, title) == f"Document {first}"
        page.select_option("#order", "best")
        page.press("#list", "ArrowRight")
        assert text(page, title) == "Document doc-10"
        page.press("#list", "ArrowLeft")
        assert text(page, title) == "Document doc-11"
        page.fill("#search", "DOC-3")
        assert (text(page, title), text(page, "#count")) == ("Document doc-3", "(1 of 12)")


def test_copied_passages_are_marked_and_a_click_finds_them_in_the_document(comparison, show):
    with show(comparison) as page:
        assert text(page, "#document mark") == "The harbour was closed on Monday"
        page.click("[data-index='2'] mark a")
        assert text(page, "#document mark.found") == "Ferries stayed in port"


def test_a_click_shows_the_source_of_a_sentence_and_then_where_it_stands_in_the_document(comparison, show):
    example = comparison["examples"][0]
    example["predictions"]["full"] = "Ferries stayed in port.\nThe harbour was closed. 🌊"
    missing = {"start": 5, "end": 9, "text": "Not there."}
    example["evidence"] = {"full": [[span_of("Ferries stayed in port.", example)], [missing]]}
    with show(comparison) as page:
        card = page.locator("[data-index='2']")
        assert [line.text_content() for line in card.locator(".text > div").all()] == [
            *("Ferries stayed in port.", "The harbour was closed. 🌊"),
        ]
        sources = card.locator(".source")
        assert sources.all_text_contents() == ["SourceFerries stayed in port.", "SourceNot there."]
        assert not sources.first.locator("blockquote").is_visible()
        sources.first.locator("summary").click()
        sources.first.locator("blockquote a").click()
        assert page.locator("#document mark").all_text_contents() == ["Ferries stayed in port."]
        assert text(page, "#document mark.found") == "Ferries stayed in port."
        assert text(page, "#marked") == "Marked: the source of a sentence of full."
        assert sources.nth(1).locator("a").count() == 0
        card.locator(".text > div mark a").first.click()
        assert text(page, "#document mark.found") == "Ferries stayed in port"
        assert page.locator("[data-index='1'] .source").count() == 0


def test_hostile_texts_are_shown_as_they_are_and_run_nothing(comparison, show):
    with show(made_hostile(comparison)) as page:
        assert "<img src=x onerror=alert(1)>" in text(page, "#summaries")
        assert page.evaluate("[document.images.length, document.scripts.length]") == [0, 2]
        assert text(page, "#document mark") == "The harbour was closed on Monday"


def test_tables_are_sorted_by_a_click_on_their_head(comparison, show):
    with show(comparison) as page:
        for expected in (["oracle", "lead-2", "fast", "full", "A"], ["full", "fast", "lead-2", "oracle", "A"]):
            page.locator("#scores thead").first.locator("button").nth(2).click()
            names = page.locator("#scores tbody").first.locator("th").all_text_contents()
            assert [name.split()[0] for name in names] == expected


def colors(page):
    """Of the page, a line, a marker and a label of a plot."""
    return page.evaluate(
        """() => {
            const style = (selector) => getComputedStyle(document.querySelector(selector));
            return [style("body").backgroundColor, style("#by-length svg path[stroke='var(--series-0)']").stroke,
                    style("#by-length svg text").fill];
        }"""
    )


def test_colours_of_page_and_plots_follow_the_theme_of_the_system_and_the_button(comparison, show):
    with show(comparison, "dark") as page:
        dark = colors(page)
    with show(comparison, "light") as page:
        light = colors(page)
        assert all(a != b for a, b in zip(light, dark, strict=True))
        page.click("#theme")
        assert colors(page) == dark


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("hostile", [False, True])
def test_the_page_fits_the_window_and_its_plots_are_visible(comparison, show, window, hostile):
    with show(made_hostile(comparison) if hostile else comparison, window) as page:
        width = WINDOWS[window]["viewport"]["width"]
        assert page.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [width, width]
        boxes = [plot.bounding_box() for plot in page.locator("figure svg").all()]
        assert len(boxes) == 13
        for box in boxes:
            assert box["width"] > 150
            assert box["height"] > 60
            assert 0 <= box["x"] <= box["x"] + box["width"] <= width
        if (folder := os.environ.get("SCREENSHOTS")) and not hostile:
            page.screenshot(path=Path(folder) / f"{window}.png", full_page=True)
