"""Files to files: every document that the user named is summarized, and each has a record of what became of it."""

import itertools
import math
import platform
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from summarizer import __version__
from summarizer.batch.file_names import TextFormat
from summarizer.batch.input_documents import InputDocument, ReadingOptions, count_documents
from summarizer.batch.inputs import Inputs, find_inputs
from summarizer.batch.output import Output, Sink, open_sink
from summarizer.batch.processes import Processes
from summarizer.batch.reader_process import DocumentReader
from summarizer.batch.records import SummaryRecord
from summarizer.batch.resume import run_description
from summarizer.errors import InputError
from summarizer.files import hash_of_file, write_json
from summarizer.generation.limits import memory_per_token
from summarizer.generation.options import Summary, SummarySettings
from summarizer.generation.summarizer import Summarizer
from summarizer.memory import keep_freed_memory
from summarizer.models.loading import resolve_model
from summarizer.progress import WorkProgress
from summarizer.text import clean_text

_SHOWN_FAILURES = 5
_CHARACTERS_PER_TOKEN = 4  # about, in English


@dataclass(frozen=True)
class BatchOptions:
    """With what, where and how documents are summarized."""

    model: str = "default"
    device: str = "auto"
    dtype: str = "auto"
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    text_format: TextFormat = "txt"  # of the files in a folder
    max_documents: int | None = None  # the first so many; None: all
    quiet: bool = False
    json_progress: bool = False  # lines of JSON on stderr in the place of those for people
    settings: SummarySettings = field(default_factory=SummarySettings)


@dataclass
class BatchReport:
    """How many documents came to what, how many of them were already done, and why the first ones failed."""

    counts: Counter[str] = field(default_factory=lambda: Counter(ok=0, empty=0, failed=0))
    resumed: int = 0
    failures: list[str] = field(default_factory=list)
    of_helper: bool = False  # of a process whose documents another one reports

    def add(self, record: SummaryRecord, resumed: bool = False) -> None:
        """Count a record."""
        self.counts[record.status] += 1
        self.resumed += resumed
        if record.status == "failed" and len(self.failures) < _SHOWN_FAILURES:
            self.failures.append(clean_text(f"failed: {record.id}: {record.error}").replace("\n", " "))

    def failure_lines(self) -> list[str]:
        """The first failures, for people."""
        more = self.counts["failed"] - len(self.failures)
        return [*self.failures, f"failed: {more} more"] if more > 0 else self.failures

    def lines(self) -> list[str]:
        """The first failures and the counts, for people."""
        if self.of_helper:
            return []
        if not self.counts.total():
            return ["no documents in what was given"]
        resumed = f" ({self.resumed} of them by an earlier, interrupted run)" if self.resumed else ""
        counts = ", ".join(f"{self.counts[status]} {status}" for status in ("ok", "empty", "failed"))
        return [*self.failure_lines(), f"{counts}{resumed}"]


def summarize_files(
    inputs: Sequence[str], output: str | None = None, options: BatchOptions | None = None
) -> BatchReport:
    """Summarize files, folders, globs or "-" into `output`: a file of RECORD_FILES, a folder, or None for stdout.

    A document that fails is recorded as failed and never ends the batch. After an interruption the same call goes on
    where it was, as long as model, settings and the documents' content are the same. Raises InputError when the call
    itself cannot be served: nothing to read, no such model, an impossible output.
    """
    options = options or BatchOptions()
    started = time.monotonic()
    processes = Processes.from_environment()
    keep_freed_memory()
    destination = Output.named(output, options.text_format)
    found = find_inputs(inputs, destination.folder or destination.records)
    report = BatchReport()
    total = _count(found, options)
    if processes.count > 1 and destination.records is None:
        raise InputError("several processes cannot share the terminal; name an output with -o")
    quiet = options.quiet or processes.rank > 0
    with WorkProgress(
        "summarizing", "documents", total, quiet, as_json=options.json_progress and not processes.rank
    ) as progress:
        summarizer = Summarizer.from_pretrained(options.model, processes.device(options.device), options.dtype)
        _announce(found, summarizer, options, progress.say)
        summarizer.batches((), options.settings)  # says what does not fit the model before anything is written
        made_with = _made_with(summarizer, options)
        sink = open_sink(destination, made_with, found.is_one_document, processes, progress.say)

        def done(records: list[SummaryRecord], resumed: bool = False) -> None:
            for record in records:
                report.add(record, resumed)
            progress.advance(len(records), 0 if resumed else sum(record.source_tokens for record in records))

        try:
            reader = DocumentReader(found, options.reading)
            documents = itertools.islice(reader, options.max_documents)
            documents = _announcing_long_ones(documents, summarizer.model, options.settings, progress.say)
            summarize = partial(summarizer.batches, settings=options.settings, ahead=True)
            _summarize_all(documents, reader, summarize, sink, processes, done)
            sink.flush()
            processes.wait()
            done(sink.finish())
            if destination.records and not processes.rank:
                result = _result(summarizer, inputs, report, started)
                write_json(run_description(destination.records), {**made_with, **result})
            sink.clear()
            progress.event("end", **report.counts, resumed=report.resumed, failures=report.failures)
        except BaseException:
            if destination.records:
                progress.say(f"the same command goes on from {destination.records}.part")
            raise
        finally:
            sink.close()
    return BatchReport(of_helper=True) if processes.rank else report


def _summarize_all(
    documents: Iterable[InputDocument],
    reader: DocumentReader,
    summarize: Callable[[Iterable[str]], Generator[list[tuple[int, Summary]], None, None]],
    sink: Sink,
    processes: Processes,
    done: Callable[..., None],
) -> None:
    """Bring each document's record into `sink`, and tell `done` when they are there; `reader` is closed in the end."""
    pending: dict[int, tuple[int, InputDocument]] = {}  # position among the texts → position in the input
    sharing = threading.Lock()  # of all that texts() has in common with the loop: it runs in a thread of its own

    def texts() -> Iterator[str]:
        number = 0
        for position, document in enumerate(documents):
            with sharing:
                own = processes.owns(position)
                record = sink.earlier(position, document) if own else sink.skip(position, document)
                if record is not None:
                    done([record], resumed=True)
                if record is not None or not own:
                    continue
                if document.error is not None:
                    record = _record(document, Summary("", 0, 0, 0, "failed", document.error))
                    record = sink.write(position, document, record)
                    sink.flush()
                    done([record])
                    continue
                pending[number] = (position, document)
            number += 1
            yield document.text

    with closing(summarize(texts())) as batches, reader:  # closed first, so that no thread still waits for it
        for batch in batches:
            with sharing:
                records = []
                for number, summary in batch:
                    position, document = pending.pop(number)
                    records.append(sink.write(position, document, _record(document, summary)))
                sink.flush()
                done(records)


def _count(found: Inputs, options: BatchOptions) -> int | None:
    total, most = count_documents(found, options.reading), options.max_documents
    return total if most is None else most if total is None else min(total, most)


def _announce(found: Inputs, summarizer: Summarizer, options: BatchOptions, say: Callable[[str], None]) -> None:
    """What is passed over, the model, and the memory that is needed."""
    if found.skipped:
        names = ", ".join(path.name for path in found.skipped[:3]) + (" …" if len(found.skipped) > 3 else "")
        say(f"passed over {len(found.skipped)} that are no documents: {names}")
    say(f"model {options.model}, {summarizer.dtype} on {summarizer.model.device}")
    if bytes_per_token := memory_per_token(summarizer.model, options.settings):
        of_batch = _size(bytes_per_token * options.settings.tokens_per_batch)
        say(f"about {of_batch} of memory for a batch, {_size(bytes_per_token * 1000)} per 1,000 tokens of a document")


def _announcing_long_ones(
    documents: Iterable[InputDocument], model: Any, settings: SummarySettings, say: Callable[[str], None]
) -> Iterator[InputDocument]:
    """The documents; of one longer than a batch it is said beforehand how much memory it will take."""
    bytes_per_token = memory_per_token(model, settings)
    for document in documents:
        tokens = min(len(document.text) // _CHARACTERS_PER_TOKEN, settings.max_source_tokens or math.inf)
        if bytes_per_token and tokens > settings.tokens_per_batch:
            say(f"{clean_text(document.id)}: about {tokens:,} tokens, {_size(tokens * bytes_per_token)} of memory")
        yield document


def _size(num_bytes: float) -> str:
    return f"{num_bytes / 2**30:.1f} GiB" if num_bytes >= 2**30 else f"{num_bytes / 2**20:.0f} MiB"


def _record(document: InputDocument, summary: Summary) -> SummaryRecord:
    return SummaryRecord(
        id=document.id,
        path=document.path,
        title=document.title,
        status=summary.status,
        summary=None if summary.status == "failed" else summary.text,
        error=summary.error,
        source_tokens=summary.source_tokens,
        dropped_tokens=summary.dropped_tokens,
        summary_tokens=summary.summary_tokens,
        seconds=round(summary.seconds, 3),
        candidates=list(summary.candidates) or None,
    )


def _made_with(summarizer: Summarizer, options: BatchOptions) -> dict[str, Any]:
    """What decides about a summary besides its document; an interrupted run goes on only with the same."""
    return {
        "version": __version__,
        "model": options.model,
        "model_content": _model_content(options.model, summarizer),
        "dtype": summarizer.dtype,
        "settings": asdict(options.settings),
    }


def _model_content(name: str, summarizer: Summarizer) -> dict[str, str]:
    """Hashes of the files in a model folder, or the commit of a hub model."""
    folder = Path(resolve_model(name))
    if not folder.is_dir():
        return {"commit": str(getattr(summarizer.model.config, "_commit_hash", None))}
    files = sorted(path for path in folder.iterdir() if path.suffix in (".json", ".safetensors", ".model", ".txt"))
    return {path.name: hash_of_file(path) for path in files}


def _result(summarizer: Summarizer, inputs: Sequence[str], report: BatchReport, started: float) -> dict[str, Any]:
    packages = {name: version(name) for name in ("torch", "transformers", "tokenizers")}
    return {
        "device": str(summarizer.model.device),
        "generation": summarizer.model.generation_config.to_diff_dict(),
        "versions": {"python": platform.python_version(), **packages},
        "inputs": list(inputs),
        "counts": {**report.counts, "resumed": report.resumed},
        "seconds": round(time.monotonic() - started, 2),
    }
