"""The command serves a page on which the evidence of each sentence is found by pointer and by keyboard."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import expect

from summarizer.cli.app import main
from summarizer.generation.summarizer import Summarizer
from tests.browser import WINDOWS, browser  # noqa: F401

DOCUMENT = Path(__file__).parent.parent.parent / "samples/documents/fishing_quota_ruling.txt"


@pytest.fixture(scope="module")
def address(forked):
    """Where `summarizer serve` serves the default model; at the end it must stop by itself."""
    command = [forked.python, "-m", "summarizer.cli", "serve", "--port", "0", "--dtype", "float32"]
    with subprocess.Popen(command, env=forked.environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        (address,) = re.findall(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())
        yield address
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) in (0, -signal.SIGTERM)


@pytest.fixture(params=WINDOWS)
def page(request, browser, address):  # noqa: F811
    with browser.new_context(**WINDOWS[request.param]) as context:
        page = context.new_page()
        errors, outside = [], []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text))
        page.on("request", lambda request: None if request.url.startswith(address) else outside.append(request.url))
        page.goto(address)
        yield page
        assert errors == outside == []


def wait_for_summary(page):
    expect(page.get_by_role("status")).to_contain_text("ready", timeout=60_000)


def test_a_text_is_summarized_and_its_evidence_is_shown_both_ways(page):
    text = DOCUMENT.read_text(encoding="utf-8")
    expected = Summarizer.from_pretrained("default", "cpu", "float32").summarize([text])[0]
    page.get_by_label("Text to summarize").fill(text)
    page.get_by_role("button", name="Summarize").click()
    wait_for_summary(page)
    lines = page.locator("#summary li")
    assert lines.all_inner_texts() == expected.text.split("\n")
    marks = page.locator("#source mark")
    assert marks.all_inner_texts() == [span["text"] for [span] in expected.evidence or []]
    lines.nth(1).focus()
    assert "on" in marks.nth(1).get_attribute("class")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.tagName") == "MARK"
    assert "on" in lines.nth(1).get_attribute("class")
    assert "tokens were read" in page.locator("#notes").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"serve_{len(list(Path(folder).iterdir()))}.png", full_page=True)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.path().read_text(encoding="utf-8") == expected.text + "\n"


def test_a_file_is_summarized_and_markup_stays_text(page, tmp_path):
    path = tmp_path / "über <b>.md"
    path.write_text(
        "# A title\n\nThe <script>alert(1)</script> of all tests was 😀 run. We saw no alert at all.\n", "utf-8"
    )
    page.locator("#file").set_input_files(path)
    page.get_by_label("Method").select_option("write")
    page.get_by_role("button", name="Summarize").click()
    wait_for_summary(page)
    assert page.locator("#summary script, #source script").count() == 0
    for shown in page.locator("#source mark").all_inner_texts():
        assert shown in page.locator("#source").inner_text()


def test_what_fails_is_said_on_the_page(page, tmp_path):
    path = tmp_path / "broken.pdf"
    path.write_bytes(b"%PDF-1.4 nothing")
    page.get_by_role("button", name="Summarize").click()
    assert "Paste a text" in page.get_by_role("status").inner_text()
    page.locator("#file").set_input_files(path)
    page.get_by_role("button", name="Summarize").click()
    wait_for_summary(page)
    assert "This document failed" in page.locator("#notes").inner_text()


def test_the_example_of_the_documentation_runs(address, capsys):
    page = (Path(__file__).parent.parent.parent / "docs/serving.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(example.replace("http://127.0.0.1:8000/", address), {})
    assert capsys.readouterr().out.startswith("ok The court kept the quota. [[{")


@pytest.mark.parametrize(
    ("options", "named"),
    [(["--host", "0.0.0.0"], "set an API key in SUMMARIZER_API_KEY"), (["--host", "256.1.1.1"], "API key")],
)
def test_the_service_is_not_open_to_others_without_a_key(options, named, monkeypatch, capsys):
    monkeypatch.delenv("SUMMARIZER_API_KEY", raising=False)
    with pytest.raises(SystemExit) as end:
        main(["serve", *options])
    assert end.value.code == 2
    assert named in capsys.readouterr().err
