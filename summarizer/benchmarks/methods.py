"""Seconds a document by each method of summarizing, from its text on: extracting, writing, and sumy's LexRank."""

from collections.abc import Callable
from dataclasses import asdict
from itertools import islice
from typing import Any

from summarizer.batch.inputs import find_inputs
from summarizer.batch.reader_process import read_inputs
from summarizer.benchmarks.machine import describe_machine
from summarizer.benchmarks.settings import MethodSettings
from summarizer.benchmarks.timing import alternating
from summarizer.documents.document import ReadingOptions
from summarizer.errors import InputError
from summarizer.evaluation.baselines import document_sentences, lexrank
from summarizer.evaluation.rouge import RougeSettings
from summarizer.generation.summarizer import Summarizer
from summarizer.memory import keep_freed_memory
from summarizer.models.loading import choose_device
from summarizer.progress import WorkProgress

LEXRANK, EXTRACT = "sumy's LexRank", "extract"


def measure(settings: MethodSettings) -> dict[str, Any]:
    """Summarize the same documents by each method, in turns. Returns the content of the JSON file.

    `times_extract` of a row is its time over that of extracting.
    """
    keep_freed_memory()
    texts = _texts(settings)
    runs = _runs(settings, texts)
    device = choose_device(settings.device)
    with WorkProgress("measuring methods", "runs", len(runs) * (1 + settings.repeats)) as progress:
        timings = alternating(runs, settings.repeats, device, advance=progress.advance)
    seconds = {name: timing.seconds / len(texts) for name, timing in timings.items()}
    rows = [
        {"method": name, "seconds_per_document": each, "times_extract": each / seconds[EXTRACT]}
        for name, each in seconds.items()
    ]
    words = sum(len(text.split()) for text in texts) / len(texts)
    return {
        "machine": describe_machine(device),
        "settings": asdict(settings),
        "documents": len(texts),
        "words_per_document": words,
        "rows": rows,
    }


def _texts(settings: MethodSettings) -> list[str]:
    read = read_inputs(find_inputs([settings.documents], None), ReadingOptions())
    texts = list(islice((document.text for document in read if document.text), settings.max_documents))
    if not texts:
        raise InputError(f"{settings.documents}: no document has text")
    return texts


def _runs(settings: MethodSettings, texts: list[str]) -> dict[str, Callable[[], object]]:
    """Each method as a function. Raises InputError for a model that has no methods to compare."""
    tokenizer = RougeSettings().make_tokenizer()
    runs: dict[str, Callable[[], object]] = {
        LEXRANK: lambda: [lexrank(document_sentences(text), settings.sentences, tokenizer) for text in texts]
    }
    ways: dict[str, tuple[str, dict[str, Any]]] = {
        EXTRACT: (settings.model, {"method": "extract"}),
        "write": (settings.model, {"method": "write"}),
        "write freely": (settings.model, {"method": "write", "grounded": False}),
    }
    if settings.other_model is not None:
        ways["other model, write freely"] = (settings.other_model, {"method": "write", "grounded": False})
    models = {name: Summarizer.from_pretrained(name, settings.device) for name in {name for name, _ in ways.values()}}
    for way, (name, options) in ways.items():
        runs[way] = lambda name=name, options=options: _summarize(models[name], texts, options)
    return runs


def _summarize(summarizer: Summarizer, texts: list[str], options: dict[str, Any]) -> None:
    for summary in summarizer.summarize(texts, **options):
        if summary.status != "ok":
            raise InputError(f"a document could not be summarized: {summary.error}")
