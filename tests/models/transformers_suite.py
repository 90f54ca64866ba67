"""transformers' own model tests, from its source distribution: where they come from, and which do not concern us."""

import contextlib
import functools
import importlib
import subprocess
import sys
import tarfile
import unittest
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import transformers
from filelock import FileLock

# The tests of transformers that do not run here. Those that skip themselves are left out too: they are for other kinds
# of models (experts, composite models, attention implementations that can be exchanged) or need an accelerator.
LEFT_OUT = {
    "test_bc_torch_dtype": "asks the hub",
    "test_can_use_safetensors": "compares with pickled weights, which we never load",
    "test_generation_tester_mixin_inheritance": "the tests of generation are not in the distribution",
    "test_load_save_without_tied_weights": "embeddings are always tied: the configuration refuses anything else",
    "test_resize_embeddings_untied": "as above",
    "test_resize_embeddings_untied_no_reinit_on_post_init": "as above",
}

CACHE = Path(__file__).parents[2] / "cache" / "transformers_tests"
PACKAGE = "transformers_tests"
FILE = "test_modeling_common.py"


def model_tests() -> Any:
    """The module with ModelTesterMixin, of the installed version. Fetched once by pip; skips where that fails."""
    version = transformers.__version__
    folder = CACHE / version
    CACHE.mkdir(parents=True, exist_ok=True)
    with FileLock(CACHE / "lock"):
        if not (folder / FILE).is_file():
            _fetch(version, folder)
    package = ModuleType(PACKAGE)
    package.__path__ = [str(folder)]
    sys.modules[PACKAGE] = package
    # The distribution has only the common tests. What they import beside holds tests of generation and export.
    for name, mixin in (
        ("exporters.test_export", "ExportTesterMixin"),
        ("generation.test_utils", "GenerationTesterMixin"),
    ):
        parent, _, _ = name.partition(".")
        sys.modules.setdefault(f"{PACKAGE}.{parent}", ModuleType(parent)).__path__ = []
        module = sys.modules[f"{PACKAGE}.{name}"] = ModuleType(name)
        setattr(module, mixin, type(mixin, (), {}))
    suite = importlib.import_module(f"{PACKAGE}.{FILE.removesuffix('.py')}")
    suite.MODEL_MAPPING_NAMES = {
        **suite.MODEL_MAPPING_NAMES,
        "ours": "FastformerSummarizerModel",
    }  # models without a loss
    return suite


def leave_out(cls: Any) -> Any:
    """Class decorator: without the tests that are LEFT_OUT, and those that skip themselves."""
    for name in dir(cls):
        test = getattr(cls, name)
        if not name.startswith("test_") or not callable(test):
            continue
        if name in LEFT_OUT or getattr(test, "__unittest_skip__", False):
            setattr(cls, name, None)
        else:
            setattr(cls, name, _passing_where_skipped(test))
    return cls


def _passing_where_skipped(test: Any) -> Any:
    @functools.wraps(test)
    def run(self: Any) -> None:
        with contextlib.suppress(unittest.SkipTest):
            test(self)

    return run


def _fetch(version: str, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "transformers"]
    download = folder.with_suffix(".download")
    result = subprocess.run([*command, "--dest", download, f"transformers=={version}"], capture_output=True, text=True)
    archives = sorted(download.glob("*.tar.gz"))
    if result.returncode or not archives:
        pytest.skip(
            f"transformers' source distribution cannot be fetched: {result.stderr[-300:]}", allow_module_level=True
        )
    with tarfile.open(archives[0]) as archive:
        content = archive.extractfile(f"transformers-{version}/tests/{FILE}").read()  # pyright: ignore
    archives[0].unlink()
    folder.mkdir(exist_ok=True)
    (folder / FILE).write_bytes(content)
