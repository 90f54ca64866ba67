"""Summarizes all documents that the user named and writes a record of each."""

import itertools
import math
import platform
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
from summarizer.batch.input_documents import InputDocument, count_documents
from summarizer.batch.inputs import Inputs, find_inputs
from summarizer.batch.options import BatchOptions
from summarizer.batch.output import Output, Sink, open_sink
from summarizer.batch.output_files import RecordFiles
from summarizer.batch.processes import Processes
from summarizer.batch.reader_process import DocumentReader
from summarizer.batch.records import SummaryRecord
from summarizer.data.source_tokens import encode_text
from summarizer.errors import InputError
from summarizer.files import hash_of_file, write_json
from summarizer.generation.limits import memory_per_token
from summarizer.generation.options import Summary, SummarySettings
from summarizer.generation.summarizer import Summarizer
from summarizer.memory import keep_freed_memory
from summarizer.models.loading import resolve_model
from summarizer.progress import WorkProgress
from summarizer.rows import row_format
from summarizer.text import clean_text

_SHOWN_FAILURES = 5
_MOST_TOKENS_PER_CHARACTER = 4  # where characters are spelled in bytes
_SAMPLE = 4000  # characters by which the tokens of a long document are estimated
_NOTHING_TO_DO = Summary("", 0, 0, 0)  # for a document that has a record, or that another process summarizes


@dataclass
class BatchReport:
    """The number of documents by status, of those resumed, and why the first failed ones failed."""

    counts: Counter[str] = field(default_factory=lambda: Counter(ok=0, empty=0, failed=0))
    resumed: int = 0
    failures: list[str] = field(default_factory=list)
    of_helper: bool = False  # rank 1 or higher: rank 0 reports all documents

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
        resumed = f" ({self.resumed} of them in an earlier, interrupted run)" if self.resumed else ""
        counts = ", ".join(f"{self.counts[status]} {status}" for status in ("ok", "empty", "failed"))
        return [*self.failure_lines(), f"{counts}{resumed}"]


def summarize_files(
    inputs: Sequence[str], output: str | None = None, options: BatchOptions | None = None
) -> BatchReport:
    """Summarize files, folders, globs or "-" into `output`: a file of RECORD_FILES, a folder, or None for stdout.

    A document that fails is recorded as failed and never ends the batch. After an interruption the same call continues
    if model, settings and the documents' content are the same. Raises InputError, before anything is written, when the
    call itself is at fault: nothing can be read, no such model, an output that no earlier run wrote.
    """
    options = options or BatchOptions()
    started = time.monotonic()
    processes = Processes.from_environment()
    keep_freed_memory()
    destination = Output.named(output, options.text_format, options.show_evidence)
    found = find_inputs(inputs, destination.folder or destination.records)
    whole_files = (file.id for file in found.files if not row_format(file.path))
    texts = destination.check(itertools.islice(whole_files, options.max_documents), options.overwrite)
    report = BatchReport()
    total = number_of_documents(found, options)
    if processes.count > 1 and destination.records is None:
        raise InputError("several processes cannot share the terminal; name an output with -o")
    quiet = options.quiet or processes.rank > 0
    reader = DocumentReader(found, options.reading)
    as_json = options.json_progress and not processes.rank
    with reader, WorkProgress("summarizing", "documents", total, quiet, as_json=as_json) as progress:
        documents = _from_first_readable(itertools.islice(reader, options.max_documents))
        summarizer = Summarizer.from_pretrained(options.model, processes.device(options.device), options.dtype)
        _announce(found, summarizer, options, progress.say)
        summarizer.batches((), options.settings)  # refuses what does not fit the model before anything is written
        made_with = made_with_of(summarizer, options)
        sink = open_sink(destination, made_with, found.is_one_document, processes, progress.say, texts)

        def done(records: list[SummaryRecord], resumed: bool = False) -> None:
            for record in records:
                report.add(record, resumed)
            progress.advance(len(records), 0 if resumed else sum(record.source_tokens for record in records))

        try:
            documents = _announcing_long_ones(documents, summarizer, options.settings, progress.say)
            summarize = partial(summarizer.batches, settings=options.settings, ahead=True)
            _summarize_all(documents, reader, summarize, sink, processes, done, options.keep_text)
            sink.flush()
            processes.wait()
            done(sink.finish())
            if destination.records and not processes.rank:
                result = result_of(summarizer, inputs, report, started)
                write_json(RecordFiles(destination.records).description, {**made_with, **result})
            sink.clear()
            progress.event("end", **report.counts, resumed=report.resumed, failures=report.failures)
        except BaseException:
            if destination.records:
                progress.say(f"run the same command to continue from {RecordFiles(destination.records).part}")
            raise
        finally:
            sink.close()
    return BatchReport(of_helper=True) if processes.rank else report


def _summarize_all(
    documents: Iterable[InputDocument],
    reader: DocumentReader,
    summarize: Callable[[Iterable[str | Summary]], Generator[list[tuple[int, Summary]], None, None]],
    sink: Sink,
    processes: Processes,
    done: Callable[..., None],
    keep_text: bool,
) -> None:
    """Bring a record of each document into `sink`, then tell `done`; closes the reader of the documents at the end.

    `summarize` reads `documents` in a thread of its own, ahead of the model. Only this thread writes.
    """
    waiting: dict[int, InputDocument] = {}  # read, and without a record; filled by one thread, emptied by the other

    def texts() -> Iterator[str | Summary]:
        for position, document in enumerate(documents):
            waiting[position] = document
            if not processes.owns(position) or sink.has(document):
                yield _NOTHING_TO_DO
            elif document.error is not None:
                yield Summary("", 0, 0, 0, "failed", document.error)
            else:
                yield document.text

    with closing(summarize(texts())) as batches, reader:  # reader closes first: its thread may be waiting for a file
        for batch in batches:
            written: list[SummaryRecord] = []
            resumed: list[SummaryRecord | None] = []
            for position, summary in batch:
                document = waiting.pop(position)
                if not processes.owns(position) or sink.has(document):
                    resumed.append(sink.earlier(position, document))
                else:
                    written.append(record_of(document, summary, keep_text))
                    sink.write(position, document, written[-1])
            if written:
                sink.flush()
            done(written)
            done([record for record in resumed if record], resumed=True)


def _from_first_readable(documents: Iterator[InputDocument]) -> Iterator[InputDocument]:
    """All `documents`; the first that can be read is read at once. Raises InputError if there is none."""
    failed: list[InputDocument] = []
    for document in documents:
        if document.error is None:
            return itertools.chain(failed, [document], documents)
        failed.append(document)
    if not failed:
        raise InputError("the inputs hold no documents")
    first = " ".join(f"{clean_text(failed[0].id)}: {failed[0].error}".split())
    raise InputError(f"no document can be read; {f'of {len(failed)}, ' if len(failed) > 1 else ''}the first is {first}")


def number_of_documents(found: Inputs, options: BatchOptions) -> int | None:
    """How many documents will be summarized; None if it is only known after reading everything."""
    total, most = count_documents(found, options.reading), options.max_documents
    return total if most is None else most if total is None else min(total, most)


def _announce(found: Inputs, summarizer: Summarizer, options: BatchOptions, say: Callable[[str], None]) -> None:
    """Tell what is skipped, the model, and the estimated memory."""
    if found.skipped:
        names = ", ".join(path.name for path in found.skipped[:3]) + (" …" if len(found.skipped) > 3 else "")
        say(f"skipped {len(found.skipped)} files that are not documents: {names}")
    say(f"model {options.model}, {summarizer.dtype} on {summarizer.model.device}")
    if bytes_per_token := memory_per_token(summarizer.model, options.settings):
        of_batch = _size(bytes_per_token * options.settings.tokens_per_batch)
        say(f"estimated memory: {of_batch} per batch, {_size(bytes_per_token * 1000)} per 1,000 tokens of a document")


def _announcing_long_ones(
    documents: Iterable[InputDocument], summarizer: Summarizer, settings: SummarySettings, say: Callable[[str], None]
) -> Iterator[InputDocument]:
    """The documents; tells the estimated memory of each that is longer than a batch."""
    bytes_per_token = memory_per_token(summarizer.model, settings)
    for document in documents:
        if bytes_per_token and len(document.text) * _MOST_TOKENS_PER_CHARACTER > settings.tokens_per_batch:
            tokens = min(_estimated_tokens(document.text, summarizer.tokenizer), settings.max_source_tokens or math.inf)
            if tokens > settings.tokens_per_batch:
                memory = _size(tokens * bytes_per_token)
                say(f"{clean_text(document.id)}: about {tokens:,} tokens, estimated memory {memory}")
        yield document


def _estimated_tokens(text: str, tokenizer: Any) -> int:
    """The number of tokens, estimated from a sample out of the middle."""
    start = max(0, (len(text) - _SAMPLE) // 2)
    sample = text[start : start + _SAMPLE]
    return len(encode_text(tokenizer, sample)) * len(text) // len(sample)


def _size(num_bytes: float) -> str:
    return f"{num_bytes / 2**30:.1f} GiB" if num_bytes >= 2**30 else f"{num_bytes / 2**20:.0f} MiB"


def record_of(document: InputDocument, summary: Summary, keep_text: bool) -> SummaryRecord:
    """The record of a document and its summary."""
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
        evidence=summary.evidence,
        reader=document.reader,
        notes=[*document.notes, *summary.notes],
        text=document.text if keep_text and document.error is None else None,
    )


def made_with_of(summarizer: Summarizer, options: BatchOptions) -> dict[str, Any]:
    """Everything but the document that a summary depends on; an interrupted run continues only if it is unchanged."""
    return {
        "version": __version__,
        "model": options.model,
        "model_content": _model_content(options.model, summarizer),
        "dtype": summarizer.dtype,
        "settings": asdict(options.settings),
        "keep_text": options.keep_text or None,
    }


def _model_content(name: str, summarizer: Summarizer) -> dict[str, str]:
    """The hashes of the files of a model folder, or the commit of a hub model."""
    folder = Path(resolve_model(name))
    if not folder.is_dir():
        return {"commit": str(getattr(summarizer.model.config, "_commit_hash", None))}
    files = sorted(path for path in folder.iterdir() if path.suffix in (".json", ".safetensors", ".model", ".txt"))
    return {path.name: hash_of_file(path) for path in files}


def result_of(summarizer: Summarizer, inputs: Sequence[str], report: BatchReport, started: float) -> dict[str, Any]:
    """What a finished run adds to `made_with_of` in its description."""
    generation = getattr(summarizer.model, "generation_config", None)  # a sentence selector has none
    packages = {name: version(name) for name in ("torch", "transformers", "tokenizers")}
    return {
        "device": str(summarizer.model.device),
        "generation": generation.to_diff_dict() if generation else {},
        "versions": {"python": platform.python_version(), **packages},
        "inputs": list(inputs),
        "counts": {**report.counts, "resumed": report.resumed},
        "seconds": round(time.monotonic() - started, 2),
    }
