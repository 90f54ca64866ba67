"""Reading while the model works, where no file can harm: those that need a parser are read in a process of its own.

A parser may crash, take all memory, or never come to an end. The process ends then, the document has failed, and
another process reads the next one. What it has read comes as lines of JSON. No torch here, nor in that process.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from summarizer.batch.input_documents import InputDocument, ReadingOptions, documents_of
from summarizer.batch.inputs import Inputs, SourceFile
from summarizer.columns import encodable
from summarizer.documents.read import PARSED_SUFFIXES, ReadingLimits, document_format
from summarizer.rows import row_format

_ALARM = getattr(signal, "SIGALRM", None)  # Windows has none, and no time limit here


class DocumentReader:
    """The documents of all files in order, each with an id of its own; what cannot be read is one with an error.

    To be iterated over once, by any thread. `close`, which any thread may call, ends the process and the iteration.
    """

    def __init__(self, inputs: Inputs, options: ReadingOptions | None = None) -> None:
        self._files = inputs.files
        self._options = options or ReadingOptions()
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._changing = threading.Lock()  # the process, or that there is to be none

    def __enter__(self) -> "DocumentReader":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[InputDocument]:
        times: dict[str, int] = {}  # each name has come
        for number, file in enumerate(self._files):
            if self._closed:
                return
            documents = self._parsed(number) if _needs_parser(file) else documents_of(file, self._options)
            for document in documents:
                own = name = encodable(document.id)
                while name in times:
                    times[own] += 1
                    name = f"{own}#{times[own]}"
                times[name] = 1
                error = None if document.error is None else encodable(document.error)
                yield replace(document, id=name, path=encodable(document.path), error=error)

    def close(self) -> None:
        """End the process, whatever it is doing."""
        with self._changing:
            self._closed = True
            if self._process is not None:
                self._process.kill()
                self._let_go(self._process)

    def _parsed(self, number: int) -> Iterator[InputDocument]:
        """The documents of the file of this number, from the process, which is started where there is none."""
        file = self._files[number]
        try:
            process = self._process or self._start(number)
        except OSError as error:
            yield InputDocument(file.id, str(file.path), error=f"no process can be started to read it: {error}")
            return
        while process is not None:
            line = process.stdout.readline()  # type: ignore[union-attr]  # it is a pipe
            if not line.endswith(b"\n"):  # cut off, or nothing
                status = self._let_go(process)
                if not self._closed:
                    yield InputDocument(file.id, str(file.path), error=self._reason(status))
                return
            values = json.loads(line.decode("utf-8", "surrogatepass"))
            if values is None:
                return
            yield InputDocument(**values)

    def _start(self, number: int) -> subprocess.Popen[bytes] | None:
        """A process that reads the files from this number on; None when closed."""
        files = [(str(file.path), file.id) for file in self._files[number:] if _needs_parser(file)]
        request = json.dumps({"files": files, "options": asdict(self._options)})
        # As multiprocessing does it, but without running the caller's main module again, nor importing what it imports.
        code = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import serve; serve()"
        with self._changing:
            if self._closed:
                return None
            self._process = subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C and Ctrl-Z are for this process alone
            )
        with contextlib.suppress(OSError):  # it has died already, which is seen when it is read from
            self._process.stdin.write(request.encode() + b"\n")  # type: ignore[union-attr]  # it is a pipe
            self._process.stdin.flush()  # type: ignore[union-attr]  # as above
        return self._process

    def _let_go(self, process: subprocess.Popen[bytes]) -> int:
        """Wait for a process that is ending, which is then no longer this one's; returns its exit status."""
        status = process.wait()
        self._process = None
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]  # both are pipes
        return status

    def _reason(self, status: int) -> str:
        """Why a process ended, as far as its exit status tells."""
        if _ALARM is not None and status == -_ALARM:
            return f"not read within {self._options.limits.max_seconds} s"
        if status == -getattr(signal, "SIGKILL", 9):
            return "the process that read it was killed (out of memory?)"
        return f"its parser crashed ({signal.Signals(-status).name if status < 0 else f'exit status {status}'})"


def read_inputs(inputs: Inputs, options: ReadingOptions | None = None) -> Iterator[InputDocument]:
    """Stream the documents of all files in order, as DocumentReader does."""
    with DocumentReader(inputs, options) as documents:
        yield from documents


def serve() -> None:
    """The process: read what the first line of stdin asks for and write a line for each document, null after a file."""
    with contextlib.suppress(BrokenPipeError), os.fdopen(os.dup(1), "wb") as output:
        os.dup2(2, 1)  # what a library prints is no document
        request = json.loads(sys.stdin.buffer.readline())
        threading.Thread(target=_end_with_parent, daemon=True).start()
        if _ALARM is not None:
            signal.signal(_ALARM, signal.SIG_DFL)  # the parent may have been started without it
        with contextlib.suppress(OSError):  # short of memory, Linux ends what holds most; this counts as a fifth more
            Path("/proc/self/oom_score_adj").write_text("200")
        options = request["options"]
        options = ReadingOptions(**{**options, "limits": ReadingLimits(**options["limits"])})
        for path, name in request["files"]:
            documents = documents_of(SourceFile(Path(path), name), options)
            while True:
                _set_alarm(options.limits.max_seconds)
                document = next(documents, None)
                _set_alarm(0)
                line: Any = json.dumps(document and vars(document), ensure_ascii=False)
                output.write(line.encode("utf-8", "surrogatepass") + b"\n")
                output.flush()
                if document is None:
                    break


def _end_with_parent() -> None:
    """End this process when its parent is gone, however it went."""
    os.read(0, 1)  # which gives nothing but the end
    os._exit(1)


def _set_alarm(seconds: float) -> None:
    """End this process in so many seconds, even in the midst of a C library; 0 for never."""
    if _ALARM is not None:
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _needs_parser(file: SourceFile) -> bool:
    return document_format(file.path) in PARSED_SUFFIXES or row_format(file.path) == ".parquet"
