"""Documents of the input files; a process of its own reads those that need a parser.

A parser may crash, take all memory or never end. Then its process is ended, the document has failed, and a new process
reads the next file. Documents come from it as lines of JSON. Neither process imports torch for reading.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from summarizer.batch.input_documents import InputDocument, documents_of
from summarizer.batch.inputs import STDIN, Inputs, SourceFile
from summarizer.columns import encodable
from summarizer.documents.document import ReadingOptions
from summarizer.documents.read import needs_parser
from summarizer.rows import row_format

_ALARM = getattr(signal, "SIGALRM", None)  # missing on Windows, which has no time limit here


class UniqueIds:
    """Makes the ids of documents unique, in the order of the input: repeated ids get #2, #3, …"""

    def __init__(self) -> None:
        self._times: dict[str, int] = {}  # how often each id occurred

    def apply(self, document: InputDocument) -> InputDocument:
        """The document with an id that no earlier one has."""
        return replace(document, id=self.name(document.id))

    def name(self, own: str) -> str:
        """The id of the next document, whose file calls it `own`."""
        name = own
        while name in self._times:
            self._times[own] += 1
            name = f"{own}#{self._times[own]}"
        self._times[name] = 1
        return name


class DocumentReader:
    """Iterates once over the documents of all files, in order, with unique ids; an unreadable one has an error.

    Any thread may iterate. Any thread may call `close`, which ends the process and the iteration.
    """

    def __init__(self, inputs: Inputs, options: ReadingOptions | None = None) -> None:
        self._files = inputs.files
        self._options = options or ReadingOptions()
        self._process: subprocess.Popen[bytes] | None = None
        self._stream: DocumentReader | None = None  # reads the copy of a stream
        self._closed = False
        self._changing = threading.Lock()  # of _process, _stream and _closed

    def __enter__(self) -> "DocumentReader":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[InputDocument]:
        unique = UniqueIds()
        return map(unique.apply, self.documents())

    def documents(self) -> Iterator[InputDocument]:
        """The documents with the ids that their files give them, which may be repeated."""
        for number in range(len(self._files)):
            if self._closed:
                return
            for document in self._documents_of(number):
                error = None if document.error is None else encodable(document.error)
                notes = tuple(map(encodable, document.notes))
                name, path = encodable(document.id), encodable(document.path)
                yield replace(document, id=name, path=path, error=error, notes=notes)

    def close(self) -> None:
        """End the process at once."""
        with self._changing:
            self._closed = True
            if self._stream is not None:
                self._stream.close()
            if self._process is not None:
                self._process.kill()
                self._let_go(self._process)

    def _documents_of(self, number: int) -> Iterator[InputDocument]:
        file = self._files[number]
        if _is_stream(file):
            yield from self._of_stream(file)
        elif _needs_parser(file):
            yield from self._parsed(number)
        else:
            yield from documents_of(file, self._options)

    def _of_stream(self, file: SourceFile) -> Iterator[InputDocument]:
        """The documents of standard input or a pipe, copied to a file that a process can read again."""
        with tempfile.TemporaryDirectory() as folder:
            copy = SourceFile(Path(folder) / (file.path.name if str(file.path) != STDIN else "stdin.txt"), file.id)
            try:
                _copy_stream(file.path, copy.path, self._options.max_document_mb << 20)
            except OSError as error:
                yield InputDocument(file.id, str(file.path), error=f"cannot be read: {error.strerror}")
                return
            with DocumentReader(Inputs((copy,), (), is_one_document=True), self._options) as reader:
                with self._changing:
                    self._stream = reader
                    if self._closed:
                        return
                for document in reader.documents():
                    yield replace(document, path=str(file.path))

    def _parsed(self, number: int) -> Iterator[InputDocument]:
        """The documents of this file, from the process; starts one if none is running."""
        file = self._files[number]
        try:
            process = self._process or self._start(number)
        except OSError as error:
            yield InputDocument(file.id, str(file.path), error=f"cannot start a process to read it: {error}")
            return
        while process is not None:
            line = process.stdout.readline()  # type: ignore[union-attr]  # it is a pipe
            if not line.endswith(b"\n"):  # the process has ended
                status = self._let_go(process)
                if not self._closed:
                    yield InputDocument(file.id, str(file.path), error=self._reason(status))
                return
            values = json.loads(line.decode("utf-8", "surrogatepass"))
            if values is None:
                return
            yield InputDocument(**values)

    def _start(self, number: int) -> subprocess.Popen[bytes] | None:
        """Start a process that reads this file and all later ones; None if closed."""
        files = [
            (str(file.path), file.id) for file in self._files[number:] if not _is_stream(file) and _needs_parser(file)
        ]
        request = json.dumps({"files": files, "options": asdict(self._options)})
        # Like multiprocessing, but it neither runs the caller's main module again nor imports what that imports.
        code = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import serve; serve()"
        with self._changing:
            if self._closed:
                return None
            self._process = subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C and Ctrl-Z are for the parent only
            )
        with contextlib.suppress(OSError):  # it has ended already, as reading from it will show
            self._process.stdin.write(request.encode() + b"\n")  # type: ignore[union-attr]  # it is a pipe
            self._process.stdin.flush()  # type: ignore[union-attr]  # as above
        return self._process

    def _let_go(self, process: subprocess.Popen[bytes]) -> int:
        """Wait until an ending process has ended and close its pipes; returns its exit status."""
        status = process.wait()
        self._process = None
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]  # both are pipes
        return status

    def _reason(self, status: int) -> str:
        """Why the process ended, by its exit status."""
        if _ALARM is not None and status == -_ALARM:
            return f"not read within {self._options.read_timeout} s (--read-timeout)"
        if status == -getattr(signal, "SIGKILL", 9):
            return "the process that read it was killed (out of memory?)"
        return f"its parser crashed ({signal.Signals(-status).name if status < 0 else f'exit status {status}'})"


def read_inputs(inputs: Inputs, options: ReadingOptions | None = None) -> Iterator[InputDocument]:
    """Stream the documents of all files in order, as DocumentReader does."""
    with DocumentReader(inputs, options) as documents:
        yield from documents


def serve() -> None:
    """Run the reading process: stdin lists files; writes a line for each document, and null after each file."""
    with contextlib.suppress(BrokenPipeError), os.fdopen(os.dup(1), "wb") as output:
        os.dup2(2, 1)  # keeps what libraries print out of the output
        request = json.loads(sys.stdin.buffer.readline())
        threading.Thread(target=_end_with_parent, daemon=True).start()
        if _ALARM is not None:
            signal.signal(_ALARM, signal.SIG_DFL)  # the parent may ignore it
        with contextlib.suppress(OSError):  # out of memory, Linux should end this process first
            Path("/proc/self/oom_score_adj").write_text("200")
        options = ReadingOptions(**request["options"])
        for path, name in request["files"]:
            documents = documents_of(SourceFile(Path(path), name), options)
            while True:
                _set_alarm(options.read_timeout)
                document = next(documents, None)
                _set_alarm(0)
                line: Any = json.dumps(document and vars(document), ensure_ascii=False)
                output.write(line.encode("utf-8", "surrogatepass") + b"\n")
                output.flush()
                if document is None:
                    break


def _end_with_parent() -> None:
    """End this process when its parent has ended."""
    os.read(0, 1)  # returns only when the parent's end of the pipe closes
    os._exit(1)


def _set_alarm(seconds: float) -> None:
    """End this process after `seconds`, even inside a C library; 0 cancels it."""
    if _ALARM is not None:
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _is_stream(file: SourceFile) -> bool:
    """Whether it may hold a web page and only this process can read it: standard input, or a shell's `<(command)`."""
    if str(file.path) == STDIN:
        return True
    try:
        if Path("/dev") in file.path.absolute().parents:
            return file.path.is_fifo() or file.path.is_file()
        return file.path.is_fifo() and not _needs_parser(file) and not row_format(file.path)
    except OSError:  # reported when it is read
        return False


def _copy_stream(source: Path, target: Path, max_bytes: int) -> None:
    """Copy at most one byte more than `max_bytes`, so that the size is checked where the copy is read."""
    with contextlib.ExitStack() as files:
        stream = sys.stdin.buffer if str(source) == STDIN else files.enter_context(source.open("rb"))
        output = files.enter_context(target.open("wb"))
        while max_bytes >= 0 and (content := stream.read(min(1 << 20, max_bytes + 1))):
            output.write(content)
            max_bytes -= len(content)


def _needs_parser(file: SourceFile) -> bool:
    return needs_parser(file.path) or row_format(file.path) == ".parquet"
