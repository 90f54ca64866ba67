"""What the page does in a real browser; skipped where there is none."""

import os
import shutil

import pytest

from summarizer.reporting.page import render_page
from tests.reporting.browser import Browser
from tests.reporting.test_page import made_hostile

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture
def show(tmp_path):
    executable = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not executable:
        pytest.skip("no Chromium here; CHROMIUM can name one")

    def open_page(comparison):
        path = tmp_path / "page.html"
        path.write_text(render_page(comparison), encoding="utf-8")
        return Browser(executable, path.as_uri())

    return open_page


def text(page, selector):
    return page.evaluate(f"document.querySelector({selector!r}).textContent")


def change(page, name, value):
    page.evaluate(
        f"(() => {{ const e = document.getElementById({name!r}); e.value = {value!r};"
        " e.dispatchEvent(new Event('input')); e.dispatchEvent(new Event('change')); })()"
    )


def press(page, key):
    page.evaluate(
        f"document.getElementById('list').dispatchEvent(new KeyboardEvent('keydown', {{key: {key!r}, bubbles: true}}))"
    )


def test_examples_are_ordered_found_by_id_and_stepped_through(comparison, show):
    comparison["examples"][7]["scores"]["full"]["rouge1"] = 0.9
    with show(comparison) as page:
        title = "#source-title"
        assert text(page, title) == "Document doc-0"
        for order, first in (("best", "doc-11"), ("worst", "doc-0"), ("disagreement", "doc-7")):
            change(page, "order", order)
            assert text(page, title) == f"Document {first}"
        change(page, "order", "best")
        press(page, "ArrowRight")
        assert text(page, title) == "Document doc-10"
        press(page, "ArrowLeft")
        assert text(page, title) == "Document doc-11"
        change(page, "search", "DOC-3")
        assert (text(page, title), text(page, "#count")) == ("Document doc-3", "(1 of 12)")


def test_copied_passages_are_marked_and_a_click_finds_them_in_the_document(comparison, show):
    with show(comparison) as page:
        assert text(page, "#document mark") == "The harbour was closed on Monday"
        page.evaluate("document.querySelector('[data-index=\"2\"] mark a').click()")
        assert text(page, "#document mark.found") == "Ferries stayed in port"


def test_hostile_texts_are_shown_as_they_are_and_run_nothing(comparison, show):
    with show(made_hostile(comparison)) as page:
        assert "<img src=x onerror=alert(1)>" in text(page, "#summaries")
        assert page.evaluate("[document.images.length, document.scripts.length]") == [0, 2]
        assert text(page, "#document mark") == "The harbour was closed on Monday"


def test_tables_are_sorted_by_a_click_on_their_head(comparison, show):
    names = "[...document.querySelector('#scores tbody').rows].map((row) => row.cells[0].textContent.split(' ')[0])"
    with show(comparison) as page:
        page.evaluate("document.querySelectorAll('#scores thead button')[2].click()")
        assert page.evaluate(names) == ["oracle", "lead-2", "fast", "full", "A"]
        page.evaluate("document.querySelectorAll('#scores thead button')[2].click()")
        assert page.evaluate(names) == ["full", "fast", "lead-2", "oracle", "A"]


def test_the_theme_can_be_chosen(comparison, show):
    ground = "getComputedStyle(document.body).backgroundColor"
    with show(comparison) as page:
        before = page.evaluate(ground)
        page.evaluate("document.getElementById('theme').click()")
        assert page.evaluate(ground) != before


def test_nothing_is_wider_than_a_phone(comparison, show):
    with show(made_hostile(comparison)) as page:
        page.call("Emulation.setDeviceMetricsOverride", width=360, height=800, deviceScaleFactor=1, mobile=True)
        assert page.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [360, 360]
