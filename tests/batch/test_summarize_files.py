import io
import json
import math
import shutil
import sys
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import save_file
from transformers import BartConfig, BartForConditionalGeneration

from summarizer.batch import summarize_files as batch
from summarizer.batch.input_documents import InputDocument
from summarizer.batch.options import BatchOptions
from summarizer.batch.reader_process import DocumentReader
from summarizer.batch.records import SummaryRecord, markdown_page, write_records
from summarizer.batch.resume import RecordSink
from summarizer.batch.summarize_files import summarize_files
from summarizer.batch.text_files import TextFiles
from summarizer.cli.app import main
from summarizer.data.selection_labels import line_break_id
from summarizer.data.source_tokens import SourceEncoder, encode_text
from summarizer.documents.document import ReadingOptions
from summarizer.errors import InputError
from summarizer.generation.limits import memory_per_token
from summarizer.generation.options import SummarySettings
from summarizer.generation.summarizer import Summarizer
from summarizer.models import FastformerSummarizerForSentenceSelection, loading
from summarizer.models.loading import choose_device, choose_dtype, resolve_model
from tests.corpus import tiny_tokenizer
from tests.tiny import tiny_config

KEYS = [
    *("id", "path", "title", "status", "summary", "error"),
    *("source_tokens", "dropped_tokens", "summary_tokens", "seconds", "evidence", "reader", "notes"),
]


@pytest.fixture
def papers(tmp_path, monkeypatch, documents):
    """A folder of five good documents, an empty and a broken one, seen from its parent."""
    monkeypatch.chdir(tmp_path)
    Path("papers/sub").mkdir(parents=True)
    for number, text in enumerate(documents[:4]):
        Path(f"papers/{number}.txt").write_text(text)
    Path("papers/sub/0.txt").write_text(documents[5])
    Path("papers/empty.md").write_text(" \n")
    Path("papers/broken.pdf").write_text("no PDF")
    return tmp_path


@pytest.fixture
def options(model_folder):
    return BatchOptions(model_folder, "cpu", "float32", quiet=True)


def records(path):
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def timeless(path):
    """Records without their seconds, in which two runs differ."""
    return [{**record, "seconds": 0} for record in records(path)]


def run(*arguments):
    """The exit status of the command line."""
    with pytest.raises(SystemExit) as ending:
        main(["summarize", *map(str, arguments)])
    return ending.value.code


def test_every_document_has_a_record_in_order_and_a_broken_one_stops_nothing(papers, options, documents):
    report = summarize_files(["papers"], "out.jsonl", options)
    assert dict(report.counts) == {"ok": 5, "empty": 1, "failed": 1}
    found = records("out.jsonl")
    assert all(list(record) == KEYS for record in found)
    assert [r["id"] for r in found] == ["0.txt", "1.txt", "2.txt", "3.txt", "broken.pdf", "empty.md", "sub/0.txt"]
    statuses = {record["id"]: record["status"] for record in found if record["status"] != "ok"}
    assert statuses == {"broken.pdf": "failed", "empty.md": "empty"}
    assert (found[4]["summary"], found[5]["summary"]) == (None, "")
    assert "broken PDF" in found[4]["error"]
    texts = Summarizer.from_pretrained(options.model, "cpu", "float32").summarize(documents[:4])
    assert [record["summary"] for record in found[:4]] == [summary.text for summary in texts]
    description = json.loads(Path("out.run.json").read_text())
    assert description["counts"] == {"ok": 5, "empty": 1, "failed": 1, "resumed": 0}
    assert description["dtype"] == "float32"
    assert description["model_content"]["model.safetensors"]
    assert sorted(path.name for path in papers.iterdir()) == ["out.jsonl", "out.run.json", "papers"]


def test_a_folder_mirrors_the_input_and_holds_all_records(papers, options):
    summarize_files(["papers"], "out", options)
    summarize_files(["papers"], "out", options)  # it replaces its own files
    found = {record["id"]: record["summary"] for record in records("out/summaries.jsonl")}
    names = sorted(path.relative_to("out").as_posix() for path in Path("out").rglob("*") if path.is_file())
    texts = ["0.txt", "1.txt", "2.txt", "3.txt", "empty.md.txt", "sub/0.txt"]
    assert names == sorted([*texts, "summaries.jsonl", "summaries.run.json"])
    assert Path("out/sub/0.txt").read_text() == found["sub/0.txt"] + "\n"
    assert Path("out/empty.md.txt").read_text() == ""


def test_markdown_pages_are_written_into_a_folder_and_nowhere_else(papers, model_folder, capsys):
    common = ["papers/0.txt", "papers/broken.pdf", "-m", model_folder, "--dtype", "float32", "--format", "md"]
    assert run(*common, "-o", "out") == 1
    (found, broken) = records("out/summaries.jsonl")
    assert Path("out/0.txt.md").read_text() == markdown_page(SummaryRecord(**found)) + "\n"
    assert broken["status"] == "failed"
    assert sorted(path.name for path in Path("out").iterdir()) == ["0.txt.md", "summaries.jsonl", "summaries.run.json"]
    for output in ([], ["-o", "out.jsonl"]):
        assert run(*common, *output) == 2
        assert "--format md is for files in a folder" in capsys.readouterr().err


def test_a_model_that_only_selects_writes_extracts_with_their_places(papers, capsys):
    tokenizer = tiny_tokenizer()
    config = tiny_config(vocab_size=len(tokenizer), line_break_token_id=line_break_id(tokenizer))
    FastformerSummarizerForSentenceSelection(config).save_pretrained("selector")
    tokenizer.save_pretrained("selector")
    common = ["papers/0.txt", "-m", "selector", "--dtype", "float32", "--max-sentences", "1", "--quiet"]
    assert run(*common, "-o", "out.jsonl") == 0
    (found,) = records("out.jsonl")
    ((span,),) = found["evidence"]
    text = Path("papers/0.txt").read_text()
    assert text[span["start"] : span["end"]] == span["text"] == found["summary"]
    capsys.readouterr()
    assert run(*common, "--show-evidence") == 0
    assert capsys.readouterr().out == f"{found['summary']}\n    > {span['start']}–{span['end']} (the same sentence)\n"


def test_ids_from_a_file_never_lead_out_of_the_folder(papers, options, documents):
    rows = [{"id": "../../evil", "text": documents[0]}, {"id": "/evil", "text": documents[1]}, {"id": "a", "text": "a"}]
    Path("rows.jsonl").write_text("\n".join(json.dumps(row) for row in [*rows, rows[2]]))
    before = set(papers.rglob("*"))
    summarize_files(["rows.jsonl"], "deep/out", options)
    new = {path.relative_to(papers) for path in papers.rglob("*") if path not in before and path.is_file()}
    assert all(path.is_relative_to("deep/out") for path in new)
    assert [record["id"] for record in records("deep/out/summaries.jsonl")] == ["../../evil", "/evil", "a", "a#2"]
    assert len(list(Path("deep/out").rglob("*.txt"))) == 4


@pytest.mark.parametrize("output", ["out.jsonl", "out"])
def test_an_interrupted_run_goes_on_where_it_was(papers, options, monkeypatch, output):
    one_by_one = BatchOptions(options.model, "cpu", "float32", quiet=True, settings=SummarySettings(tokens_per_batch=1))
    path = "out.jsonl" if output == "out.jsonl" else "out/summaries.jsonl"
    summarize_files(["papers"], output, one_by_one)
    expected = timeless(path)
    shutil.rmtree("out") if output == "out" else Path(path).unlink()
    calls = []
    generate = BartForConditionalGeneration.generate

    def dying(self, **kwargs):
        calls.append(kwargs["input_ids"].shape)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return generate(self, **kwargs)

    monkeypatch.setattr(BartForConditionalGeneration, "generate", dying)
    with pytest.raises(KeyboardInterrupt):
        summarize_files(["papers"], output, one_by_one)
    assert not Path(path).exists()
    assert len(Path(f"{path}.part").read_text().splitlines()) == 2
    report = summarize_files(["papers"], output, one_by_one)
    assert report.resumed == 2
    assert len(calls) == 3 + 3
    assert timeless(path) == expected


def test_only_one_thread_writes_while_another_reads(papers, options, monkeypatch):
    threads = {"read": set(), "write": set()}

    def note(kind, name, work):
        method = getattr(kind, name)

        def noting(self, *args):
            threads[work].add(threading.current_thread().name)
            return method(self, *args)

        monkeypatch.setattr(kind, name, noting)

    note(DocumentReader, "_parsed", "read")
    note(TextFiles, "write", "write")
    for name in ("write", "flush", "finish"):
        note(RecordSink, name, "write")
    summarize_files(["papers"], "out", options)
    assert threads == {"read": {"read_ahead"}, "write": {threading.current_thread().name}}


def test_a_changed_document_or_setting_is_summarized_again(papers, options, monkeypatch):
    def interrupted_before_the_end():
        with monkeypatch.context() as patch:
            patch.setattr(RecordSink, "finish", lambda self: (_ for _ in ()).throw(KeyboardInterrupt()))
            with pytest.raises(KeyboardInterrupt):
                summarize_files(["papers"], "out.jsonl", options)

    interrupted_before_the_end()
    Path("papers/1.txt").write_text("Another text altogether.")
    assert summarize_files(["papers"], "out.jsonl", options).resumed == 5
    interrupted_before_the_end()
    other = BatchOptions(options.model, "cpu", "float32", quiet=True, settings=SummarySettings(max_summary_tokens=5))
    assert summarize_files(["papers"], "out.jsonl", other).resumed == 0


def test_the_command_line_ends_with_0_1_or_2(papers, model_folder, capsys):
    common = ["-m", model_folder, "--dtype", "float32", "--device", "cpu"]
    assert run("papers/0.txt", "papers/empty.md", "-o", "out.jsonl", *common) == 0
    assert "1 ok, 1 empty, 0 failed" in capsys.readouterr().err
    assert run("papers", "-o", "out.jsonl", "--num-beams", 1, *common) == 1
    errors = capsys.readouterr().err
    assert "failed: broken.pdf: broken PDF" in errors
    assert "float32 on cpu" in errors
    usage = [
        ["nope.txt"],
        ["papers", "-m", "papers"],
        ["papers", "-m", "./no/such/model"],
        ["papers", "-o", "out.txt"],
        ["papers", "-o", "papers"],
        ["papers", "--device", "abacus"],
        ["papers", "--min-summary-tokens", 9, "--max-summary-tokens", 3],
        ["papers", "--top-p", 0.5, "-o", "never.jsonl"],
    ]
    for arguments in usage:
        assert run(*common, *arguments) == 2, arguments
        last = capsys.readouterr().err.strip().splitlines()[-1]
        assert last.startswith("summarizer: error: "), arguments
    assert not list(papers.glob("never*"))
    assert run("papers", "--dtype", "float12") == 2


@pytest.mark.parametrize("output", ["out.jsonl", "out.csv", "out.parquet", "out", None])
@pytest.mark.parametrize("rows", ["rows.jsonl", "rows.csv", "broken.pdf"])
def test_what_cannot_be_read_ends_before_anything_is_written(tmp_path, monkeypatch, capsys, output, rows):
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text('{"id": "a", "document": "Text."}\n{"id": "b", "document": "Text."}\n')
    Path("rows.csv").write_text("id,document\na,Text.\n")
    Path("broken.pdf").write_text("no PDF")
    if output is not None:
        path = Path(output, "summaries.jsonl") if output == "out" else Path(output)
        path.parent.mkdir(exist_ok=True)
        write_records(path, [SummaryRecord("a", "rows.csv", None, "ok", "Good.", None, 9, 0, 3, 0.5)])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    options = ["--document-column", "docment", "-m", "not asked for", *(["-o", output] if output else [])]
    assert run(rows, *options) == 2
    line = capsys.readouterr().err
    assert line.startswith("summarizer: error: no document can be read; ")
    assert ("docment" in line and "--document-column" in line) or rows == "broken.pdf"
    assert line.count("\n") == 1
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_quiet_prints_only_failures(papers, model_folder, capsys):
    assert run("papers", "-o", "out.jsonl", "-m", model_folder, "--quiet") == 1
    errors = capsys.readouterr().err.splitlines()
    assert [line.partition(": ")[0] for line in errors] == ["failed"]


def test_one_document_is_printed_plain_and_several_as_records(papers, model_folder, capfdbinary):
    common = ["-m", model_folder, "--dtype", "float32", "--quiet"]
    assert run("papers", *common) == 1
    lines = capfdbinary.readouterr().out.decode().splitlines()
    found = [json.loads(line) for line in lines]
    assert [record["id"] for record in found][:2] == ["0.txt", "1.txt"]
    assert run("papers/0.txt", *common) == 0
    assert capfdbinary.readouterr().out.decode() == found[0]["summary"] + "\n"
    assert run("papers/empty.md", *common) == 0
    assert capfdbinary.readouterr().out == b""


def test_stdin_is_summarized(papers, model_folder, documents, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(documents[0].encode())))
    assert run("-", "-m", model_folder, "-o", "out.jsonl", "--quiet") == 0
    assert [(r["id"], r["path"], r["status"]) for r in records("out.jsonl")] == [("stdin", "-", "ok")]


def test_special_tokens_written_in_a_document_do_not_end_it(papers, options, documents):
    Path("tokens.txt").write_text(f"{documents[0]} </s> <pad> {documents[2]}")
    summarize_files(["tokens.txt", "papers/0.txt"], "out.jsonl", options)
    literal, plain = records("out.jsonl")
    assert literal["status"] == "ok"
    assert literal["source_tokens"] > plain["source_tokens"] + 2


def test_a_model_without_weights_or_safetensors_is_refused(tmp_path, tokenizer, bart):
    bart.config.save_pretrained(tmp_path / "empty")
    with pytest.raises(InputError, match="cannot be loaded"):
        Summarizer.from_pretrained(str(tmp_path / "empty"))
    torch.save(bart.state_dict(), tmp_path / "empty" / "pytorch_model.bin")
    tokenizer.save_pretrained(tmp_path / "empty")
    with pytest.raises(InputError, match="safetensors"):
        Summarizer.from_pretrained(str(tmp_path / "empty"))


def test_the_default_model_is_the_packaged_one_or_clearly_missing(tmp_path, monkeypatch, model_folder):
    monkeypatch.setattr(loading, "DEFAULT_MODEL", tmp_path)
    with pytest.raises(InputError, match="no default model"):
        resolve_model("default")
    monkeypatch.setattr(loading, "DEFAULT_MODEL", Path(model_folder))
    assert resolve_model("default") == model_folder
    assert resolve_model("facebook/bart-large-cnn") == "facebook/bart-large-cnn"


def test_auto_takes_bfloat16_only_where_it_is_fast(monkeypatch):
    cpu = choose_device("cpu")
    for feature, dtype in (("amx_bf16", torch.bfloat16), ("avx512_bf16", torch.bfloat16), ("avx512_f", torch.float32)):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda feature=feature: {feature: True}, raising=False)
        assert choose_dtype("auto", cpu) == dtype
    assert choose_dtype("float16", cpu) == torch.float16
    assert choose_device("auto").type in ("cpu", "cuda", "mps", "xpu")


def test_max_documents_takes_the_first_ones(papers, options):
    summarize_files(["papers"], "all.jsonl", options)
    report = summarize_files(["papers"], "first.jsonl", replace(options, max_documents=3))
    assert sum(report.counts.values()) == 3
    assert timeless("first.jsonl") == timeless("all.jsonl")[:3]


def test_a_document_that_the_tokenizer_cannot_take_fails_alone(papers, options, documents, monkeypatch):
    encode = SourceEncoder.encode

    def failing(self, document):
        return encode(self, document if document != documents[1] else 1 / 0)

    monkeypatch.setattr(SourceEncoder, "encode", failing)
    report = summarize_files(["papers"], "out.jsonl", options)
    assert dict(report.counts) == {"ok": 4, "empty": 1, "failed": 2}
    assert records("out.jsonl")[1]["error"] == "ZeroDivisionError: division by zero"


def test_a_file_without_rows_holds_no_documents(papers, options):
    Path("header.csv").write_text("id,text\n")
    with pytest.raises(InputError, match="hold no documents"):
        summarize_files(["header.csv"], "out.jsonl", options)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "model.safetensors").write_bytes(b"cut"), "weights cannot be loaded"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer cannot be loaded"),
        (lambda folder: (folder / "generation_config.json").write_text("{"), "generation_config.json is not valid"),
        (lambda folder: (folder / "config.json").write_text("[]"), "cannot be loaded"),
        (lambda folder: save_file({"x": torch.ones(1)}, folder / "model.safetensors"), "weights lack"),
        (lambda folder: BartConfig.from_pretrained(folder, d_model=16).save_pretrained(folder), "weights lack"),
    ],
)
def test_a_broken_model_folder_is_one_clear_line(tmp_path, model_folder, damage, message):
    folder = shutil.copytree(model_folder, tmp_path / "model")
    damage(folder)
    with pytest.raises(InputError, match=message) as raised:
        Summarizer.from_pretrained(str(folder))
    assert "\n" not in str(raised.value)


def test_a_hub_that_is_away_is_asked_once(monkeypatch, caplog):
    def asked(self, name, timeout):
        assert timeout < 5
        raise ConnectionError

    monkeypatch.setattr("huggingface_hub.HfApi.model_info", asked)
    with pytest.raises(InputError, match="hub cannot be reached"):
        Summarizer.from_pretrained("nobody/no-such-model")
    assert not caplog.records


def test_python_gets_what_files_get_and_errors_for_what_is_no_text(papers, options, documents):
    summarizer = Summarizer.from_pretrained(options.model, "cpu", "float32")
    texts = ["", " \n", documents[0], f"{documents[0]}\x00", f"{documents[0]} \ud800"]
    Path("rows.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts))
    summarize_files(["rows.jsonl"], "out.jsonl", options)
    found = summarizer.summarize(text for text in texts)
    assert [(each.status, each.text, each.source_tokens) for each in found] == [
        (record["status"], record["summary"], record["source_tokens"]) for record in records("out.jsonl")
    ]
    for wrong, message in (("text", "not one str"), (5, "not one int"), ([None], "text 0 is not a str but NoneType")):
        with pytest.raises(TypeError, match=message):
            summarizer.summarize(wrong)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["temperature", "top_p", "length_penalty"])
def test_options_that_are_not_finite_are_refused(name, value):
    with pytest.raises(InputError, match=f"{name} must be a finite number"):
        SummarySettings(**{name: value})


def test_json_progress_is_for_programs(papers, model_folder, capsys):
    assert run("papers", "-o", "out.jsonl", "-m", model_folder, "--json-progress", "--dtype", "float32") == 1
    events = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert {event["event"] for event in events} == {"message", "progress", "end"}
    progress = [event for event in events if event["event"] == "progress"][-1]
    assert (progress["done"], progress["total"], progress["seconds_left"]) == (7, 7, 0)
    assert progress["tokens_per_second"] > 0
    end = events[-1]
    assert (end["ok"], end["empty"], end["failed"], end["resumed"]) == (5, 1, 1, 0)
    assert "broken.pdf" in end["failures"][0]


def test_the_memory_of_a_linear_model_is_estimated(tiny_model, bart):
    settings = SummarySettings(num_beams=2)
    assert memory_per_token(bart, settings) is None
    config = tiny_model.config
    keys_and_values = 2 * config.decoder_layers * config.d_model * 4
    assert keys_and_values < memory_per_token(tiny_model, settings) - 1024 < 8 * keys_and_values


def test_sections_are_summarized_beside_their_document(papers, options):
    Path("book.md").write_text("# One\nThe patients were treated.\n# Two\nThe results showed an improvement.\n")
    summarize_files(["book.md"], "out", replace(options, reading=ReadingOptions(by_section=True)))
    assert [(r["id"], r["title"]) for r in records("out/summaries.jsonl")] == [
        ("book.md", None), ("book.md/1", "One"), ("book.md/2", "Two"),
    ]  # fmt: skip
    names = sorted(path.relative_to("out").as_posix() for path in Path("out").rglob("*.txt"))
    assert names == ["book.md.txt", "book.md/1.txt", "book.md/2.txt"]


def test_the_memory_of_long_documents_is_estimated_before_they_are_summarized(tiny_model):
    documents = [InputDocument("short", "p", "word " * 10), InputDocument("long", "p", "word " * 4000)]
    documents.append(InputDocument("bytes", "p", "港口合作社 " * 200))
    tokenizer = tiny_tokenizer()
    real = [len(encode_text(tokenizer, document.text)) for document in documents]
    said = []
    settings = SummarySettings(tokens_per_batch=1000)
    summarizer = Summarizer(tiny_model, tokenizer)
    assert list(batch._announcing_long_ones(documents, summarizer, settings, said.append)) == documents
    estimated = {line.partition(":")[0]: int(line.split()[2].replace(",", "")) for line in said}
    assert estimated == pytest.approx({"long": real[1], "bytes": real[2]}, rel=0.05)
    limited = replace(settings, max_source_tokens=500)
    list(batch._announcing_long_ones(documents, summarizer, limited, said.append))
    assert len(said) == 2


def test_a_record_holds_the_text_that_was_read_if_asked(papers, options, documents):
    summarize_files(["papers"], "out.jsonl", replace(options, keep_text=True))
    kept = records("out.jsonl")
    assert [record.get("text") for record in kept] == [*documents[:4], None, "", documents[5]]
    summarize_files(["papers"], "plain.jsonl", options)
    assert all("text" not in record for record in records("plain.jsonl"))
