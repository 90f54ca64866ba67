"""No file ends the batch: a parser that crashes, or never ends, takes with it only a process and a document."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from file_formats import docx, epub, parquet, pdf
from make_hostile_corpus import ARTICLE, CHAPTER, PAGE, make_corpus

from summarizer.batch.input_documents import documents_of
from summarizer.batch.inputs import find_inputs
from summarizer.batch.reader_process import DocumentReader, read_inputs
from summarizer.documents.document import ReadingOptions

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
open_pipes = []
SLOW = pdf(*["xx"] * 50_000, num_pages=20)  # half a minute


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder called `in`, seen from its parent."""
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    yield tmp_path / "in"
    while open_pipes:
        os.close(open_pipes.pop())


def children(pid):
    """The reading processes among the children; other tests leave resource trackers and the like."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    pids = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    return [child for child in pids if b"reader_process" in Path(f"/proc/{child}/cmdline").read_bytes()]


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


def is_read(pipe):
    """Whether a process has opened this pipe for reading; it then waits for what never comes."""
    try:
        open_pipes.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def eventually(condition):
    deadline = time.monotonic() + 60
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found


def write_one_of_each_kind(folder):
    files = {
        "a.html": PAGE, "b.txt": "Text", "c.pdf": pdf("Text"), "d.docx": docx("Text"), "e.xml": ARTICLE,
        "f.epub": epub("Book", [CHAPTER]), "g.parquet": parquet([{"text": "One"}, {"text": "Two"}]), "h.md": "# Text",
    }  # fmt: skip
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.mark.parametrize("by_section", [False, True])
def test_the_process_gives_what_reading_here_gives(tmp_path, by_section):
    make_corpus(tmp_path)
    (tmp_path / "documents/broken/slow.pdf").unlink()
    found = find_inputs([str(tmp_path / "documents")], None)
    options = ReadingOptions(by_section=by_section, max_document_mb=1, max_pages=20)
    here = [document for file in found.files for document in documents_of(file, options)]
    there = list(read_inputs(found, options))
    assert [(d.path, d.text, d.title, d.error) for d in there] == [(d.path, d.text, d.title, d.error) for d in here]
    assert len({document.id for document in there}) == len(there)


def test_it_imports_no_torch_whatever_it_reads(folder):
    write_one_of_each_kind(folder)
    os.mkfifo("wait.html")
    with DocumentReader(find_inputs(["in", "wait.html"], None)) as reader:
        documents = iter(reader)
        read = [next(documents) for _ in range(9)]
        assert not [document.error for document in read if document.error]
        (process,) = children(os.getpid())
        mapped = Path(f"/proc/{process}/maps").read_text()
    assert "lxml" in mapped
    assert "torch" not in mapped


def test_text_alone_starts_no_process(folder):
    for name in ("a.txt", "b.text", "c.jsonl", "d.csv"):
        (folder / name).write_text("text\nText")
    with DocumentReader(find_inputs(["in"], None)) as reader:
        assert len(list(reader)) == 5
        assert not children(os.getpid())


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (signal.SIGSEGV, "its parser crashed (SIGSEGV)"),
        (signal.SIGABRT, "its parser crashed (SIGABRT)"),
        (signal.SIGKILL, "the process that read it was killed (out of memory?)"),
    ],
)
def test_a_crash_fails_the_document_and_the_others_are_read(folder, number, error):
    write_one_of_each_kind(folder)
    os.mkfifo("crash.pdf")

    def crash():
        with open("crash.pdf", "wb"):  # when the process has opened it as well  # noqa: PTH123 (a pipe)
            os.kill(children(os.getpid())[0], number)

    threading.Thread(target=crash, daemon=True).start()
    found = list(read_inputs(find_inputs(["in/a.html", "crash.pdf", "in"], None)))
    assert [document.id for document in found] == [
        "a.html", "crash.pdf", "b.txt", "c.pdf", "d.docx", "e.xml", "f.epub", "g.parquet:1", "g.parquet:2", "h.md",
    ]  # fmt: skip
    assert [document.error for document in found] == [None, error, *[None] * 8]
    assert not children(os.getpid())


def test_what_takes_too_long_fails_and_the_others_are_read(folder):
    (folder / "a.html").write_text(PAGE)
    (folder / "b.pdf").write_bytes(SLOW)
    (folder / "c.docx").write_bytes(docx("Text"))
    os.mkfifo("never.xml")
    options = ReadingOptions(read_timeout=2)
    found = list(read_inputs(find_inputs(["in", "never.xml", "in/c.docx"], None), options))
    late = "not read within 2 s (--read-timeout)"
    assert [(d.id, d.error) for d in found] == [
        ("a.html", None),
        ("b.pdf", late),
        ("c.docx", None),
        ("never.xml", late),
    ]


def test_it_is_at_most_a_few_documents_ahead(folder):
    for number in range(10):
        (folder / f"{number}.xml").write_text(ARTICLE.replace("Harbour", "harbour " * 20_000))
    with DocumentReader(find_inputs(["in"], None)) as reader:
        documents = iter(reader)
        assert next(documents).error is None
        (process,) = children(os.getpid())
        time.sleep(1)
        for number in range(4, 10):
            (folder / f"{number}.xml").unlink()
        assert [document.error is None for document in documents][3:] == [False] * 6
    assert not is_alive(process)


def test_closing_it_in_the_midst_of_a_document_ends_at_once(folder):
    os.mkfifo("in/never.pdf")
    found = find_inputs(["in/never.pdf", "in"], None)
    with DocumentReader(found) as reader:
        documents = []
        thread = threading.Thread(target=lambda: documents.extend(reader))
        thread.start()
        eventually(lambda: is_read("in/never.pdf"))
        (process,) = children(os.getpid())
    thread.join(30)
    assert not thread.is_alive()
    assert documents == []
    assert not is_alive(process)


def readers_of(pipe):
    """The processes that have this pipe open, apart from this one."""
    found = []
    for file in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):  # a process that has ended, or is not ours
            if file.readlink() == pipe and int(file.parts[2]) != os.getpid():
                found.append(int(file.parts[2]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_however_the_command_ends_no_process_is_left(forked, folder, model_folder, number):
    (folder / "a.html").write_text(PAGE)
    os.mkfifo("in/never.pdf")
    program = [forked.python, "-m", "summarizer.cli", "summarize", "in/a.html", "in/never.pdf"]
    run = subprocess.Popen(
        [*program, "-m", model_folder, "-o", "out.jsonl", "--quiet"],
        stderr=subprocess.PIPE, text=True, start_new_session=True, env=forked.environment(),
    )  # fmt: skip
    eventually(lambda: is_read("in/never.pdf"))
    (process,) = eventually(lambda: readers_of(folder / "never.pdf"))
    started = time.monotonic()
    os.killpg(run.pid, number)
    _, said = run.communicate(timeout=60)
    assert time.monotonic() - started < 30
    eventually(lambda: not is_alive(process))
    if number == signal.SIGINT:
        assert (run.returncode, said) == (130, "summarizer: stopped\n")
    else:
        assert (run.returncode, said) == (-number, "")


@pytest.mark.slow
def test_a_caller_without_a_main_guard_is_not_run_again(folder, model_folder):
    (folder / "a.html").write_text(PAGE)
    Path("html.py").write_text("raise SystemExit('a file of the user, not a module')")
    Path("script.py").write_text(
        "from summarizer.batch.options import BatchOptions\n"
        "from summarizer.batch.summarize_files import summarize_files\n"
        f"print(summarize_files(['in'], 'out.jsonl', BatchOptions({model_folder!r}, quiet=True)).lines())\n"
    )
    script = [sys.executable, "-c", "import sys; sys.path.pop(0); import runpy; runpy.run_path('script.py')"]
    done = subprocess.run(script, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("['1 ok, 0 empty, 0 failed']\n", "")
