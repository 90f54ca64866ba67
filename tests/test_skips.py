"""In CI a test is skipped only for what a machine may lack."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SKIPPED = """
import pytest

@pytest.mark.skip(reason="no Chromium here")
def test_tool(): pass

@pytest.mark.skip(reason="the corpora are not here: no /shared")
def test_corpus(): pass

@pytest.mark.xfail(reason="never works")
def test_expected(): assert False
"""
MODULE = 'import pytest; pytest.importorskip("no_such_module_anywhere")'


@pytest.mark.parametrize(("ci", "outcome"), [("true", "1 skipped, 1 xfailed, 2 errors"), ("", "3 skipped, 1 xfailed")])
def test_a_skip_fails_in_ci_unless_its_reason_is_allowed(tmp_path, ci, outcome):
    (tmp_path / "test_skipped.py").write_text(SKIPPED)
    (tmp_path / "test_module.py").write_text(MODULE)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.conftest",
        "--continue-on-collection-errors",
        tmp_path,
    ]
    root = Path(__file__).parents[1]
    environment = {**os.environ, "CI": ci, "PYTHONPATH": str(root), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert outcome in done.stdout.splitlines()[-1]
