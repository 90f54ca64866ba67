"""The service: texts and files in, records of their summaries out, whole or one after the other as they are ready."""

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from fastapi import FastAPI, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response, StreamingResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from pydantic import BaseModel, ConfigDict, Field

from summarizer import __version__
from summarizer.batch.input_documents import InputDocument
from summarizer.batch.inputs import find_inputs
from summarizer.batch.reader_process import read_inputs
from summarizer.batch.summarize_files import record_of
from summarizer.documents.read import document_format
from summarizer.errors import InputError
from summarizer.files import suffix_of
from summarizer.generation.options import Summary, SummarySettings
from summarizer.rows import row_format
from summarizer.serving.limits import Limits
from summarizer.serving.options import LOOPBACK, ServingOptions
from summarizer.serving.worker import QueueFullError, SummaryWorker
from summarizer.text import clean_text

_ASSETS = files("summarizer.serving") / "assets"
_SECONDS_BETWEEN_LOOKS = 0.25  # for whether the client is still there
_RETRY_AFTER = {"Retry-After": "5"}


class Settings(BaseModel):
    """How documents are summarized: the options of `summarizer summarize` of the same names."""

    model_config = ConfigDict(extra="forbid")

    method: Literal["extract", "write"] | None = None
    length: Literal["short", "medium", "long"] | None = None
    max_words: int | None = Field(None, ge=1, le=100_000)
    max_sentences: int | None = Field(None, ge=1, le=10_000)
    grounded: bool | None = None
    language: str | None = Field(None, max_length=16)
    num_beams: int | None = Field(None, ge=1, le=8)

    def for_model(self) -> SummarySettings:
        """As the library knows them. Raises HTTPException 422 for what cannot be combined."""
        try:
            return SummarySettings(**self.model_dump())
        except InputError as error:
            raise HTTPException(422, str(error)) from error


class SummaryRequest(BaseModel):
    """Texts to summarize, each a document."""

    model_config = ConfigDict(extra="forbid")

    texts: list[str] = Field(min_length=1)
    settings: Settings = Field(default_factory=lambda: Settings.model_validate({}))
    stream: bool = Field(False, description="Send each record when it is ready, as server-sent events.")


class FileSettings(Settings):
    """The settings of a file, in the query."""

    stream: bool = False


class SummaryResponse(BaseModel):
    """A record for each document, in their order. Offsets of `evidence` count characters of `text`."""

    summaries: list[dict[str, Any]]


class _Metrics:
    """What Prometheus reads."""

    def __init__(self, worker: SummaryWorker) -> None:
        self.registry = CollectorRegistry()
        self.documents = Counter("summarizer_documents", "Documents by status.", ["status"], registry=self.registry)
        self.refused = Counter("summarizer_refused", "Requests that found the queue full.", registry=self.registry)
        self.seconds = Histogram(
            "summarizer_document_seconds", "From the request to the summary.", registry=self.registry
        )
        waiting = Gauge("summarizer_waiting_documents", "Documents that wait.", registry=self.registry)
        waiting.set_function(lambda: worker.num_waiting)


def make_app(worker: SummaryWorker, options: ServingOptions, key: str | None = None) -> FastAPI:
    """The application; it closes the worker when it ends."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(worker.close)

    app = FastAPI(title="summarizer", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    service = _Service(worker, options, _Metrics(worker))
    app.add_middleware(
        Limits,
        key=key,
        local_only=options.host in LOOPBACK,
        max_bytes=int(options.max_megabytes * 1e6),
        body_seconds=options.body_seconds,
    )

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:  # without the values
        found = [{"at": list(each["loc"]), "message": each["msg"]} for each in error.errors()]
        return JSONResponse({"error": "the request is not valid", "details": found}, 422)

    @app.post("/v1/summaries", response_model=SummaryResponse)
    async def summarize_texts(asked: SummaryRequest, request: Request) -> Response:
        """Summarize texts."""
        if len(asked.texts) > options.max_documents:
            raise HTTPException(413, f"at most {options.max_documents} texts in a request")
        documents = [
            InputDocument(f"text-{number}", "", clean_text(text)) for number, text in enumerate(asked.texts, start=1)
        ]
        return await service.answer(request, documents, asked.settings.for_model(), asked.stream)

    @app.post(
        "/v1/files",
        response_model=SummaryResponse,
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
            },
            "parameters": [
                {"name": "X-File-Name", "in": "header", "required": True, "schema": {"type": "string"},
                 "description": "The file's name, percent-encoded. Its suffix tells the format."}
            ],
        },
    )  # fmt: skip
    async def summarize_file(asked: Annotated[FileSettings, Query()], request: Request) -> Response:
        """Summarize a file of any kind that `summarizer summarize` reads; the file is the body."""
        if request.headers.get("content-type", "").partition(";")[0] != "application/octet-stream":
            raise HTTPException(415, "send the file as application/octet-stream")
        name = Path(unquote(request.headers.get("x-file-name", "")).replace("\\", "/")).name
        settings = Settings.model_validate(asked.model_dump(exclude={"stream"})).for_model()
        documents = await run_in_threadpool(_read_file, name, await request.body(), options.max_documents)
        return await service.answer(request, documents, settings, asked.stream)

    _add_monitoring(app, service.metrics, options.model)
    _add_page(app)
    return app


def _add_monitoring(app: FastAPI, metrics: _Metrics, model: str) -> None:
    @app.get("/healthz")
    async def health() -> dict[str, Any]:
        """Whether the service is up."""
        return {"status": "ok", "model": Path(model).name, "version": __version__}

    @app.get("/metrics", include_in_schema=False)
    async def read_metrics() -> Response:
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)


def _add_page(app: FastAPI) -> None:
    def add(path: str, name: str, kind: str) -> None:
        content = (_ASSETS / name).read_text(encoding="utf-8")

        @app.get(path, include_in_schema=False)
        async def page() -> Response:
            return Response(content, media_type=kind)

    add("/", "page.html", "text/html")
    add("/page.css", "page.css", "text/css")
    add("/page.js", "page.js", "text/javascript")


def _read_file(name: str, content: bytes, max_documents: int) -> list[InputDocument]:
    """The documents of a file, read in the reader's process. The name decides on the format, and on no path."""
    with tempfile.TemporaryDirectory(prefix="summarizer-") as folder:
        suffix = suffix_of(Path(name))
        path = Path(folder) / f"document{suffix if suffix.isascii() and len(suffix) < 20 else ''}"
        if not (document_format(path) or row_format(path)):
            raise HTTPException(415, "the name of the file has no known suffix, such as .pdf")
        path.write_bytes(content)
        found = []
        for document in read_inputs(find_inputs([str(path)], None)):
            if len(found) == max_documents:
                raise HTTPException(413, f"at most {max_documents} documents in a file")
            own = document.id.removeprefix(path.name).lstrip("#:/")
            error = None if document.error is None else document.error.replace(str(path), name).replace(folder, "")
            found.append(replace(document, id=f"{name}#{own}" if own else name, path=name, error=error))
    return found


class _Service:
    """Documents to answers, while the client waits."""

    def __init__(self, worker: SummaryWorker, options: ServingOptions, metrics: _Metrics) -> None:
        self._worker, self._options, self.metrics = worker, options, metrics

    async def answer(
        self, request: Request, documents: Sequence[InputDocument], settings: SummarySettings, stream: bool
    ) -> Response:
        """All records as one answer, or each as an event."""
        readable = [document for document in documents if document.error is None]
        try:
            futures = self._worker.submit([document.text for document in readable], settings)
        except QueueFullError:
            self.metrics.refused.inc()
            raise HTTPException(429, "too many documents wait; try again later", _RETRY_AFTER) from None
        by_document = dict(zip(map(id, readable), futures, strict=True))
        pending = [(document, by_document.get(id(document))) for document in documents]
        if stream:
            return StreamingResponse(self._events(request, pending), media_type="text/event-stream")
        return JSONResponse({"summaries": [record async for record in self._records(request, pending)]})

    async def _events(
        self, request: Request, pending: "list[tuple[InputDocument, Future[Summary] | None]]"
    ) -> AsyncIterator[str]:
        try:
            async for record in self._records(request, pending):
                yield f"event: summary\ndata: {json.dumps(record)}\n\n"
            yield "event: end\ndata: {}\n\n"
        except HTTPException as error:
            yield f"event: error\ndata: {json.dumps({'error': error.detail})}\n\n"

    async def _records(
        self, request: Request, pending: "list[tuple[InputDocument, Future[Summary] | None]]"
    ) -> AsyncIterator[dict[str, Any]]:
        """Each record when it is ready. Cancels what waits if the client has gone or the time is over."""
        started = time.monotonic()
        futures = [future for _, future in pending if future is not None]
        try:
            for document, future in pending:
                if future is None:
                    summary = Summary("", 0, 0, 0, "failed", document.error)
                else:
                    summary = await self._summary(request, future, started)
                self.metrics.documents.labels(summary.status).inc()
                self.metrics.seconds.observe(time.monotonic() - started)
                record = vars(record_of(document, summary, keep_text=True))
                yield {name: value for name, value in record.items() if name not in ("candidates", "path")}
        finally:
            for future in futures:
                future.cancel()

    async def _summary(self, request: Request, future: "Future[Summary]", started: float) -> Summary:
        waited = asyncio.wrap_future(future)
        while not waited.done():
            left = self._options.max_seconds - (time.monotonic() - started)
            if left <= 0:
                raise HTTPException(504, f"the request took longer than {self._options.max_seconds:g} seconds")
            await asyncio.wait([waited], timeout=min(left, _SECONDS_BETWEEN_LOOKS))
            if not waited.done() and await request.is_disconnected():
                raise HTTPException(499, "the client has gone")
        if waited.cancelled() or isinstance(waited.exception(), QueueFullError):
            raise HTTPException(503, "the service is stopping", _RETRY_AFTER)
        return waited.result()
