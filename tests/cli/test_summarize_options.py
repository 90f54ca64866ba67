"""The options of `summarizer summarize` and the fields of the data classes that they fill."""

import importlib
from dataclasses import fields, is_dataclass

import pytest

from summarizer.batch.options import BatchOptions
from summarizer.batch.ray_options import RayOptions
from summarizer.batch.summarize_files import BatchReport
from summarizer.cli.app import main
from summarizer.documents.document import ReadingOptions
from summarizer.generation.options import SummarySettings

GIVEN = [
    *("-m", "model", "--device", "cpu", "--dtype", "float32", "--format", "md", "--max-documents", "3", "--quiet"),
    *("--num-beams", "2", "--length", "short", "--no-early-stopping", "--any-numbers", "--length-penalty", "0.5"),
    *("--document-column", "text", "--by-section", "--max-pages", "7", "--read-timeout", "8"),
]
EXPECTED = BatchOptions(
    *("model", "cpu", "float32", "md"),
    settings=SummarySettings(
        num_beams=2, length="short", early_stopping=False, numbers_from_document=False, length_penalty=0.5
    ),
    reading=ReadingOptions("text", by_section=True, max_pages=7, read_timeout=8),
    max_documents=3,
    quiet=True,
)


@pytest.mark.parametrize(("given", "expected"), [([], BatchOptions()), (GIVEN, EXPECTED)], ids=["defaults", "given"])
def test_options_fill_the_fields_of_their_names(monkeypatch, given, expected):
    calls = []
    module = importlib.import_module("summarizer.batch.summarize_files")
    monkeypatch.setattr(module, "summarize_files", lambda *call: calls.append(call) or BatchReport())
    with pytest.raises(SystemExit) as ending:
        main(["summarize", "a.txt", *given])
    assert ending.value.code == 0
    assert calls == [(["a.txt"], None, expected)]


def test_ray_has_the_same_options_and_those_of_the_cluster(monkeypatch):
    calls = []
    module = importlib.import_module("summarizer.batch.ray_pipeline")
    monkeypatch.setattr(module, "summarize_with_ray", lambda *call: calls.append(call) or BatchReport())
    with pytest.raises(SystemExit) as ending:
        main(["ray", "a.txt", "-o", "out", *GIVEN, "--address", "auto", "--actors", "3", "--gpus-per-actor", "0.5"])
    assert ending.value.code == 0
    assert calls == [(["a.txt"], "out", EXPECTED, RayOptions("auto", 3, gpus_per_actor=0.5))]


@pytest.mark.parametrize("data_class", [BatchOptions, RayOptions, ReadingOptions, SummarySettings])
def test_every_field_has_a_help_text(data_class):
    assert all(each.metadata.get("help") for each in fields(data_class) if not is_dataclass(each.type))
