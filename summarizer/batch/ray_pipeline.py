"""Summarizes documents on a Ray cluster: tasks read the files, actors hold the model, and this process writes."""

import json
import logging
import math
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from summarizer.batch.input_documents import InputDocument
from summarizer.batch.inputs import STDIN, Inputs, SourceFile, find_inputs
from summarizer.batch.options import BatchOptions
from summarizer.batch.output import Output
from summarizer.batch.output_files import RecordFiles
from summarizer.batch.ray_options import RayOptions
from summarizer.batch.reader_process import DocumentReader, UniqueIds
from summarizer.batch.records import SummaryRecord
from summarizer.batch.resume import RecordSink
from summarizer.batch.summarize_files import (
    BatchReport,
    made_with_of,
    number_of_documents,
    record_of,
    result_of,
)
from summarizer.documents.document import ReadingOptions
from summarizer.errors import InputError
from summarizer.files import write_json
from summarizer.generation.options import Summary
from summarizer.generation.summarizer import Summarizer
from summarizer.optional import import_optional
from summarizer.progress import WorkProgress

_BLOCK_BYTES = 16 * 2**20  # of documents that a reading task hands over at once


def summarize_with_ray(
    inputs: Sequence[str], output: str, options: BatchOptions | None = None, cluster: RayOptions | None = None
) -> BatchReport:
    """Summarize files, folders and globs into `output`, as `summarize_files` does, on a Ray cluster.

    All machines must see the same files. This process alone writes. A machine that is lost has its documents done
    again by others. The same call continues an interrupted one. Raises InputError when the call itself is at fault.
    """
    options, cluster = options or BatchOptions(), cluster or RayOptions()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # a future default, or Ray warns
    ray = import_optional("ray", "ray", "summarizing with Ray")
    import_optional("ray.data", "ray", "summarizing with Ray")
    if STDIN in inputs:
        raise InputError("- cannot be read by the machines of a cluster; name a file")
    if Path(options.model).is_dir():
        options = replace(options, model=str(Path(options.model).absolute()))
    started = time.monotonic()
    destination = Output.named(output, options.text_format, options.show_evidence)
    if destination.records is None:
        raise InputError("name an output with -o")
    found = find_inputs(inputs, destination.folder or destination.records)
    texts = destination.check((), options.overwrite)
    summarizer = Summarizer.from_pretrained(options.model, "cpu", options.dtype)
    summarizer.batches((), options.settings)  # refuses what does not fit the model before anything is written
    made_with = {**made_with_of(summarizer, options), "dtype": options.dtype}
    total = number_of_documents(found, options)
    as_json = options.json_progress
    report = BatchReport()
    with (
        _Connection(ray, cluster),
        WorkProgress("summarizing", "documents", total, options.quiet, as_json=as_json) as bar,
    ):
        sink = RecordSink(destination.records, made_with, bar.say, texts)
        try:
            for position, result in enumerate(_results(ray, found, sink.finished_keys(), options, cluster)):
                record = _write(sink, position, result)
                report.add(record, result.record is None)
                bar.advance(1, record.source_tokens if result.record else 0)
            if not report.counts.total():
                raise InputError("the inputs hold no documents")
            sink.flush()
            sink.finish()
            described = {**made_with, **result_of(summarizer, inputs, report, started), "device": options.device}
            write_json(RecordFiles(destination.records).description, {**described, "ray": asdict(cluster)})
            sink.clear()
        finally:
            sink.close()
    return report


@dataclass(frozen=True)
class _Result:
    """What an actor returns: the key and the unique id of a document; its record, or None if an earlier run has it."""

    key: str
    id: str
    record: SummaryRecord | None


def _write(sink: RecordSink, position: int, result: _Result) -> SummaryRecord:
    """Bring the record of the document at this position into the sink, with its unique id."""
    record = result.record or sink.earlier(position, result)
    if record is None:
        raise InputError("the .part file changed while the job ran; run the same command again")
    if result.record is not None or record.id != result.id:
        record = replace(record, id=result.id)
        sink.write(position, result, record)
        sink.flush()
    return record


class _Connection:
    """A connection to the cluster, which ends with the block unless it was there before."""

    def __init__(self, ray: Any, cluster: RayOptions) -> None:
        self._ray = ray
        self._own = not ray.is_initialized()
        if self._own:
            more = {} if cluster.address else {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
            try:
                ray.init(cluster.address or "local", log_to_driver=False, logging_level=logging.ERROR, **more)
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise InputError(f"cannot connect to Ray at {cluster.address or 'this machine'}: {error}") from error

    def __enter__(self) -> None:
        context = self._ray.data.DataContext.get_current()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False
        context.target_max_block_size = _BLOCK_BYTES
        context.actor_task_retry_on_errors = False  # an error of the model's code would come again

    def __exit__(self, *error: object) -> None:
        if self._own:
            self._ray.shutdown()


def _results(
    ray: Any, found: Inputs, finished: frozenset[str], options: BatchOptions, cluster: RayOptions
) -> Iterator[_Result]:
    """The result of each document, in the order of the input, whichever machine has done it."""
    files = [{"path": str(file.path.absolute()), "named": str(file.path), "id": file.id} for file in found.files]
    read = ray.data.from_items(files).map_batches(
        _read,
        batch_size=None,
        fn_kwargs={"options": options.reading, "finished": finished},
        num_cpus=1,
        batch_format="pandas",
    )
    if options.max_documents is not None:
        read = read.limit(options.max_documents)
    number, resources = _actors(ray.cluster_resources(), cluster)
    summarized = read.repartition(target_num_rows_per_block=cluster.documents_per_task).map_batches(
        _Actor,
        fn_constructor_args=(options,),
        batch_size=cluster.documents_per_task,
        compute=ray.data.ActorPoolStrategy(min_size=cluster.actors or 1, max_size=number),
        batch_format="pandas",
        **resources,
    )
    unique = UniqueIds()
    for row in summarized.iter_rows():
        record = json.loads(row["record"])
        name = unique.name(json.loads(row["id"]))
        yield _Result(row["key"], name, record and SummaryRecord(**record))


def _actors(resources: Mapping[str, float], cluster: RayOptions) -> tuple[int, dict[str, float]]:
    """The number of actors and what each of them takes; one core is left to the tasks that read files."""
    gpus_there = resources.get("GPU", 0)
    gpus = cluster.gpus_per_actor if cluster.gpus_per_actor is not None else float(gpus_there > 0)
    fit = gpus_there / gpus if gpus else max(resources.get("CPU", 1) - 1, 1) / cluster.cpus_per_actor
    if gpus > gpus_there or (not gpus and cluster.cpus_per_actor > resources.get("CPU", 1) - 1):
        raise InputError(
            f"the cluster has {resources.get('CPU', 0):g} cores and {gpus_there:g} GPUs, which is too few: an actor "
            f"takes {cluster.cpus_per_actor} cores and {gpus:g} GPUs, and reading takes one core"
        )
    return cluster.actors or max(1, math.floor(fit)), {"num_cpus": cluster.cpus_per_actor, "num_gpus": gpus}


def _read(files: Any, options: ReadingOptions, finished: frozenset[str]) -> Iterator[dict[str, list[Any]]]:
    """A task: the documents of these files, each as JSON; without its text if an earlier run has its record."""
    named = dict(zip(files["path"], files["named"], strict=True))
    sources = [SourceFile(Path(path), name) for path, name in zip(files["path"], files["id"], strict=True)]
    times: Counter[tuple[str, str]] = Counter()  # documents with the same id and content need different keys
    with DocumentReader(Inputs(tuple(sources), (), False), options) as reader:
        for document in reader.documents():
            document = replace(document, path=named[document.path])
            times[document.path, document.id] += 1
            key = replace(document, id=f"{document.id}#{times[document.path, document.id]}").key
            document = replace(document, text="", sections=()) if key in finished else document
            yield {"key": [key], "finished": [key in finished], "document": [json.dumps(vars(document))]}


class _Actor:
    """A loaded model that makes the records of documents."""

    def __init__(self, options: BatchOptions) -> None:
        self._options = options
        self._summarizer = Summarizer.from_pretrained(options.model, options.device, options.dtype)

    def __call__(self, batch: Any) -> dict[str, list[str]]:
        """Key, id and record as JSON of each document; null for one that an earlier run has finished."""
        documents = [InputDocument(**json.loads(document)) for document in batch["document"]]
        finished = list(batch["finished"])
        texts = [
            Summary("", 0, 0, 0) if done else _to_do(document)
            for done, document in zip(finished, documents, strict=True)
        ]
        records: list[str] = ["null"] * len(documents)
        for some in self._summarizer.batches(texts, self._options.settings):
            for position, summary in some:
                if not finished[position]:
                    record = record_of(documents[position], summary, self._options.keep_text)
                    records[position] = json.dumps(vars(record))
        return {"key": list(batch["key"]), "id": [json.dumps(each.id) for each in documents], "record": records}


def _to_do(document: InputDocument) -> str | Summary:
    return document.text if document.error is None else Summary("", 0, 0, 0, "failed", document.error)
