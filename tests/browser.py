"""Chromium for the tests of pages. Where there is none they are skipped, or fail with CI=true."""

import os
import shutil

import pytest
from playwright.sync_api import sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Playwright itself already gives each browser a fresh profile, and turns off updates and background traffic.
OPTIONS = ["--headless=new", "--disable-gpu", "--disable-sync"]
WINDOWS = {
    "light": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light", "has_touch": True},
}


@pytest.fixture(scope="module")
def browser():
    executable = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not executable:
        message = "Chromium is not installed; the environment variable CHROMIUM can name its executable"
        pytest.fail(message) if os.environ.get("CI") == "true" else pytest.skip(message)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable, args=OPTIONS, ignore_default_args=["--headless"]
        )
        yield browser
        browser.close()
