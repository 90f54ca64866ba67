"""`import summarizer` is light, and yet enough for transformers' Auto classes."""

import subprocess
import sys
import time

import pytest

import summarizer
from tests.tiny import padded_batch, padded_labels


def run_python(code, *arguments):
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("module", ["summarizer", "summarizer.cli", "summarizer.config", "summarizer.evaluation.rouge"])
def test_importing_what_needs_no_model_imports_neither_torch_nor_transformers(module):
    result = run_python(f"import {module}, sys; print(sorted({{'torch', 'transformers'}} & set(sys.modules)))")
    assert result.stdout.strip() == "[]", result.stderr


def test_help_comes_at_once():
    durations = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "summarizer.cli", "--help"], capture_output=True, check=True)
        durations.append(time.perf_counter() - start)
    assert min(durations) < 1.5  # torch alone takes longer


IN_TWO_ORDERS = """
import os, sys, torch
for imports in sys.argv[2:]:
    if os.fork() == 0:  # each order in a process that has imported torch only
        exec(imports)
        print(type(AutoModelForSeq2SeqLM.from_pretrained(sys.argv[1])).__name__, flush=True)
        os._exit(0)
    os.wait()
"""


def test_import_summarizer_is_enough_for_the_auto_classes(tiny_model, tmp_path):
    tiny_model.save_pretrained(tmp_path)
    # find_spec, which libraries call to see whether transformers is installed, does not import it.
    ours = "import summarizer, importlib.util; importlib.util.find_spec('transformers')"
    theirs = "from transformers import AutoModelForSeq2SeqLM"
    result = run_python(IN_TWO_ORDERS, str(tmp_path), f"{ours}; {theirs}", f"{theirs}; {ours}")
    assert result.stdout.splitlines() == ["FastformerSummarizerForConditionalGeneration"] * 2, result.stderr


def test_the_public_names_are_there():
    import summarizer

    assert {getattr(summarizer, name).__name__ for name in summarizer.__all__} == set(summarizer.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Sumarizer'"):
        _ = summarizer.Sumarizer


def test_the_tiny_model_runs(tiny_model):
    assert tiny_model(**padded_batch([5]), labels=padded_labels([3])).loss.isfinite()


def test_the_import_path_of_the_first_readme_still_works():
    from summarizer.inference.summarizer import Summarizer

    assert Summarizer is summarizer.Summarizer
