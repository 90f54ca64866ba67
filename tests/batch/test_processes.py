"""Several processes write what one writes, each document once."""

import json
import subprocess
from pathlib import Path

import pytest

from summarizer.batch.input_documents import InputDocument
from summarizer.batch.options import BatchOptions
from summarizer.batch.processes import Processes
from summarizer.batch.records import SummaryRecord
from summarizer.batch.resume import HelperSink, RecordSink
from summarizer.batch.summarize_files import summarize_files
from summarizer.errors import InputError

REPOSITORY = Path(__file__).parents[2]
DOCUMENTS = [InputDocument(name, name, f"Text of {name}") for name in "abcd"]


def record(name, status="ok"):
    return SummaryRecord(name, name, None, status, f"Summary of {name}", None, 9, 0, 3, 0.5)


def owner(tmp_path):
    return RecordSink(tmp_path / "out.jsonl", {"a": 1})


def test_each_document_belongs_to_one_process():
    owners = [[Processes(rank, 3).owns(position) for rank in range(3)] for position in range(10)]
    assert all(sum(each) == 1 for each in owners)
    assert Processes.from_environment() == Processes(0, 1)


def test_the_owner_takes_over_what_helpers_wrote(tmp_path):
    sink = owner(tmp_path)
    helper = HelperSink(tmp_path / "out.jsonl", 1)
    for position in (0, 2):
        sink.write(position, DOCUMENTS[position], record("abcd"[position]))
    for position, status in ((1, "failed"), (3, "ok")):
        assert sink.earlier(position, DOCUMENTS[position]) is None
        helper.write(position, DOCUMENTS[position], record("abcd"[position], status))
    helper.finish()
    helper.close()
    assert sink.finish() == [record("b", "failed"), record("d")]
    sink.clear()
    assert [json.loads(line)["id"] for line in (tmp_path / "out.jsonl").read_text().splitlines()] == list("abcd")
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


def test_an_interrupted_run_goes_on_with_any_number_of_processes(tmp_path):
    sink = owner(tmp_path)
    helper = HelperSink(tmp_path / "out.jsonl", 1)
    helper.write(1, DOCUMENTS[1], record("b"))
    helper.close()
    with (tmp_path / "out.jsonl.part-1").open("ab") as part:
        part.write(b'{"key": "half')
    sink.close()
    again = owner(tmp_path)
    assert not list(tmp_path.glob("*.part-1"))
    other = HelperSink(tmp_path / "out.jsonl", 2)
    assert other.has(DOCUMENTS[1])
    assert other.earlier(1, DOCUMENTS[1]) is None  # it is the owner's
    assert not other.has(DOCUMENTS[0])
    other.close()
    assert again.earlier(1, DOCUMENTS[1]) == record("b")
    again.earlier(0, DOCUMENTS[0])
    with pytest.raises(InputError, match="ended before its summaries were complete"):
        again.finish()
    again.close()


@pytest.mark.slow
@pytest.mark.parametrize("output", ["pair.jsonl", "pair"])
def test_two_processes_write_what_one_writes(forked, tmp_path, monkeypatch, model_folder, documents, output):
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"{number % 5}", "text": text} for number, text in enumerate([*documents, "", *documents])]
    rows.append({"id": "bad", "text": 5})
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [forked.python, "-m", "accelerate.commands.launch", "--config_file"]
    command += [str(REPOSITORY / "configs/accelerate/two_cpu_processes.yaml"), "--main_process_port", "0"]
    command += [str(REPOSITORY / "scripts/summarize.py"), "rows.jsonl", "-o", output, "-m", model_folder]
    done = subprocess.run(
        [*command, "--dtype", "float32"],
        env=forked.environment(),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert "16 ok, 1 empty, 1 failed" in done.stderr, done.stderr[-3000:]
    assert done.stderr.count("16 ok") == 1
    single = output.replace("pair", "single")
    summarize_files(["rows.jsonl"], single, BatchOptions(model_folder, "cpu", "float32", quiet=True))
    first, second = (
        {
            path.relative_to(name).as_posix().replace("pair", "single"): _timeless(path)
            for path in [Path(name), *Path(name).rglob("*")]
            if path.is_file() and not path.name.endswith(".run.json")
        }
        for name in (single, output)
    )
    assert first == second
    assert not list(tmp_path.rglob("*.part*"))


def _timeless(path):
    text = path.read_text(encoding="utf-8")
    return [{**json.loads(line), "seconds": 0} for line in text.splitlines()] if path.suffix == ".jsonl" else text
