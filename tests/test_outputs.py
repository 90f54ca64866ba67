"""No command touches a file or folder that is not its own earlier output."""

import importlib
import json
import shutil
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from summarizer.cli import main, run_script
from summarizer.cli.benchmark import BENCHMARKS
from summarizer.errors import UsageError
from summarizer.experiments.runs import STUDY_FILES
from summarizer.outputs import MARK, Form, check_files, check_folder, form, write_all

SAMPLES = Path(__file__).parent.parent / "samples"
RESULTS = Path(__file__).parent.parent / "results"
DEFAULT_MODEL = Path(__file__).parent.parent / "summarizer/assets/default"
PAIRS = str(SAMPLES / "pairs.jsonl")
RUN = {"data": {"train": [PAIRS], "validation": [PAIRS], "test": [PAIRS], "tokenizer": "default"}}
# Each command with its output, and the files that it writes: of one file the output itself, of a folder those in it.
FILES = {
    "evaluate": (["evaluate", PAIRS, PAIRS, "-o", "OUT.json"], ["OUT.json", "OUT.examples.jsonl"]),
    **{f"summarize {name}": (["summarize", PAIRS, "-o", name],
                             [name, "OUT.run.json", f"{name}.part", f"{name}.part.json"])
       for name in ("OUT.jsonl", "OUT.csv", "OUT.parquet")},
    "train --find-lr": (["train", "run.yaml", "--find-lr", "output_dir=.", "name=OUT"],
                        ["OUT-learning-rate.json", "OUT-learning-rate.png"]),
    "benchmark encoders": (["benchmark", "encoders", "-o", "OUT.json"], ["OUT.json", "OUT.png"]),
    **{f"benchmark {name}": (["benchmark", name, "-o", "OUT.json"], ["OUT.json"])
       for name in ("generation", "training", "rouge", "mixer", "profile")},
    "measure_mixing": (["measure_mixing", "run.yaml", "default", "-o", "OUT.json"], ["OUT.json"]),
    "measure_readers": (["measure_readers", "packages", "-o", "OUT.json"], ["OUT.json"]),
    "batch_resume": (["batch_resume", "-o", "OUT.json"], ["OUT.json"]),
    "measure_batches": (["measure_batches", "-o", "OUT.json"], ["OUT.json"]),
    "training_resume": (["training_resume", "-o", "OUT.json"], ["OUT.json"]),
    "training_scaling": (["training_scaling", "-o", "OUT.json"], ["OUT.json"]),
    "compare_devices": (["compare_devices", "cpu", "OUT.json"], ["OUT.json"]),
}  # fmt: skip
FOLDERS = {
    "summarize": (["summarize", PAIRS, "-o", "OUT"], ["summaries.jsonl", "summaries.jsonl.part", "0.txt"]),
    "compare": (["compare", "scores.json", "-o", "OUT"], ["comparison.html", "rouge.png", "comparison.json"]),
    "tokenizer": (
        ["tokenizer", PAIRS, "-o", "OUT", "--vocab-size", "400"],
        ["tokenizer.json", "tokenizer_config.json"],
    ),
    "train": (["train", "run.yaml", "output_dir=.", "name=OUT"], ["config.yaml", "best", "metrics.jsonl"]),
    "train resume": (["train", "run.yaml", "output_dir=.", "name=OUT", "resume=true"], ["config.yaml", "last"]),
    "compare_encoders": (["compare_encoders", "run.yaml", "other.yaml", "-o", "OUT"], ["study.json", "run-seed1.yaml"]),
    "make_gap_sentences": (["make_gap_sentences", PAIRS, "-o", "OUT"], ["train.jsonl", "gap_sentences.json"]),
    "make_sections": (["make_sections", str(SAMPLES), "-o", "OUT"], ["test.jsonl", "sections.json"]),
    "export_model": (["export_model", "model", "OUT"], ["model.safetensors", "config.json"]),
}
FOREIGN = {
    ".json": '{"title": "mine", "document": "d", "tokenizer_class": "mine"}\n',
    ".jsonl": '{"id": "a", "document": "d", "summary": "s", "text": "t", "human_score": 5}\n',
    ".csv": "id,document,summary\na,d,s\n",
    ".yaml": "name: mine\ndata: {train: [x]}\n",
}


@pytest.fixture(autouse=True)
def _workplace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("run.yaml", "other.yaml"):
        Path(name).write_text(json.dumps(RUN), encoding="utf-8")


def run(arguments, capsys):
    """The exit status of a command or script, and its only line on stderr."""
    name, *rest = arguments
    try:
        if name.isidentifier() and name not in ("evaluate", "train", "benchmark", "compare", "tokenizer", "summarize"):
            sys.argv = [name, *rest]
            run_script(importlib.import_module(name).main)
        else:
            main(arguments)
        status = 0
    except SystemExit as end:
        status = end.code
    return status, capsys.readouterr().err


def write_foreign(path):
    path.parent.mkdir(exist_ok=True)
    path.write_text(FOREIGN.get(path.suffix, "mine\n"), encoding="utf-8")


def snapshot():
    return {path: path.read_bytes() if path.is_file() else None for path in Path().rglob("*")}


@pytest.fixture(autouse=True)
def _arguments(monkeypatch):
    monkeypatch.setattr(sys, "argv", list(sys.argv))


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_someone_else_is_never_touched(name, capsys):
    arguments, outputs = FILES[name]
    for output in outputs:
        write_foreign(Path(output))
        before = snapshot()
        status, err = run(arguments, capsys)
        assert status == 2, err
        assert f"{output}: exists and is not an earlier output of this command; choose another name, or pass" in err
        assert err.count("\n") == 1
        assert snapshot() == before
        Path(output).unlink()


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_of_someone_else_is_never_touched(name, capsys):
    arguments, outputs = FOLDERS[name]
    for output in (*outputs, "notes.txt", "sub/notes.txt"):
        Path("OUT").mkdir()
        write_foreign(Path("OUT", output))
        before = snapshot()
        status, err = run(arguments, capsys)
        assert status == 2, err
        assert f"OUT: holds other files ({output.split('/')[0]}) and is not an earlier output of this command" in err
        assert err.count("\n") == 1
        assert snapshot() == before
        shutil.rmtree("OUT")
    write_foreign(Path("OUT"))
    assert run(arguments, capsys)[0] == 2
    assert Path("OUT").read_text(encoding="utf-8") == "mine\n"


def test_every_command_and_script_with_an_output_is_among_these(capsys):
    root = Path(__file__).parent.parent
    scripts = {path.stem for path in [*root.glob("scripts/*.py"), *root.glob("scripts/proofs/*.py")]}
    tested = {arguments[0] for arguments, _ in [*FILES.values(), *FOLDERS.values()]}
    same_as_commands = {"train", "summarize", "evaluate"}
    write_only_this_repository = {"plot_encoder_cost", "update_results", "write_configuration_page"}
    modules = {"tiny_run", "file_formats"}
    refuses_every_folder = {"make_hostile_corpus"}
    prints_only = {"evaluation"}
    others = same_as_commands | write_only_this_repository | modules | refuses_every_folder | prints_only
    assert scripts <= tested | others


REPEATED = {
    "evaluate": FILES["evaluate"][0],
    "benchmark rouge": [*FILES["benchmark rouge"][0], "--examples", "2", "--words", "5", "--processes", "1"],
    "tokenizer": FOLDERS["tokenizer"][0],
    "make_gap_sentences": FOLDERS["make_gap_sentences"][0],
}


@pytest.mark.parametrize("name", REPEATED)
def test_an_earlier_output_of_the_same_command_is_replaced(name, capsys):
    for _ in range(2):
        status, err = run(REPEATED[name], capsys)
        assert status == 0, err
    written = snapshot()
    status, err = run([*REPEATED[name], "--overwrite"], capsys)
    assert status == 0, err
    assert snapshot().keys() == written.keys()


def test_other_files_in_an_own_folder_stay_and_those_in_the_way_are_refused(capsys):
    arguments, (output, _) = FOLDERS["make_gap_sentences"]
    assert run(arguments, capsys)[0] == 0
    Path("OUT/notes.txt").write_text("mine", encoding="utf-8")
    assert run(arguments, capsys)[0] == 0
    assert Path("OUT/notes.txt").read_text(encoding="utf-8") == "mine"
    write_foreign(Path("OUT", output))
    before = snapshot()
    assert run(arguments, capsys)[0] == 2
    assert snapshot() == before
    assert run([*arguments, "--overwrite"], capsys)[0] == 0
    assert Path("OUT", output).read_text(encoding="utf-8") != FOREIGN[Path(output).suffix]


def test_a_tokenizer_never_takes_the_place_of_a_models(capsys):
    arguments, _ = FOLDERS["tokenizer"]
    Path("OUT").mkdir()
    for name in ("tokenizer_config.json", "README.md"):
        shutil.copy(DEFAULT_MODEL / name, "OUT")
    Path("OUT/config.json").write_text("{}", encoding="utf-8")
    before = snapshot()
    status, err = run(arguments, capsys)
    assert status == 2
    assert "OUT: holds a model" in err
    assert snapshot() == before


@pytest.mark.parametrize("name", ["make_gap_sentences", "make_sections"])
def test_a_finished_output_stays_if_the_next_run_finds_nothing(name, capsys):
    Path("articles").mkdir()
    text = "The quota was set.\nBACKGROUND\nThe nets were fine and many. The bay was closed. Boats left. It rained.\n"
    for split in ("train", "validation", "test"):
        row = json.dumps({"document": text, "summary": "s"}) + "\n"
        Path(f"articles/{split}.jsonl").write_text(row * 2, encoding="utf-8")
    arguments = [name, "articles", "-o", "OUT", *(["--shortest", "3"] if name == "make_sections" else [])]
    status, err = run(arguments, capsys)
    assert status == 0, err
    Path("articles/validation.jsonl").write_text('{"document": "Short.", "summary": "s"}\n', encoding="utf-8")
    if name == "make_gap_sentences":
        arguments += ["--document-column", "txet"]
    before = snapshot()
    status, err = run(arguments, capsys)
    assert status == 1
    assert snapshot() == before


def test_forms_tell_files_by_their_names():
    rows = [{"id": "a", "score": 1.0}]
    write_all({
        Path("a.json"): json.dumps({"settings": {"model": 1}, "rows": rows}),
        Path("list.json"): json.dumps(rows),
        Path("a.jsonl"): json.dumps(rows[0]) + "\n",
        Path("a.csv"): "id,score\na,1.0\n",
        Path("a.yaml"): "id: a\nscore: 1.0\n",
        Path("a.png"): b"\x89PNG" + MARK.encode(),
        Path("empty"): "",
        Path("broken"): b"\xff\xfe\x00{",
    })  # fmt: skip
    pq.write_table(pa.Table.from_pylist(rows), "a.parquet")
    assert form("json", "settings.model", "rows.score").fits(Path("a.json"))
    assert not form("json", "settings.score").fits(Path("a.json"))
    assert form("json", "id", "score").fits(Path("list.json"))
    for kind in ("jsonl", "csv", "parquet", "yaml"):
        path = Path(f"a.{kind}")
        assert form(kind, "id", "score").fits(path)
        assert not form(kind, "id", "other").fits(path)
        assert Form(kind, frozenset({"id"}), frozenset({"id", "score"})).fits(path)
        assert not Form(kind, frozenset({"id"}), frozenset({"id"})).fits(path)
        assert form(kind, "id").fits(Path("empty"))
        assert not form(kind, "id").fits(Path("broken"))
    assert Form("marked").fits(Path("a.png"))
    assert not Form("marked").fits(Path("a.csv"))


def test_the_committed_results_have_the_forms_of_their_commands():
    for name, _, _ in BENCHMARKS:
        path = RESULTS / ("profile.json" if name == "profile" else f"benchmarks/{name}.json")
        for other, _, other_keys in BENCHMARKS:
            assert form("json", "machine", "settings", *other_keys).fits(path) == (name == other)
    assert STUDY_FILES["study.json"].fits(RESULTS / "study/pubmed_minutes.json")
    mixing = importlib.import_module("measure_mixing").RESULT
    assert mixing.fits(RESULTS / "study/mixing_use_sections.json")
    assert not mixing.fits(RESULTS / "study/pubmed_minutes.json")
    assert importlib.import_module("measure_readers").RESULT.fits(RESULTS / "readers/pages_and_books_after.json")


def test_only_regular_files_are_replaced_whatever_is_asked():
    Path("link").symlink_to("nowhere")
    for path in (Path("/dev/null"), Path("link")):
        with pytest.raises(UsageError, match="is not a regular file"):
            check_files({path: form("json", "a")}, overwrite=True)
    Path("new").mkdir()
    Path("new/.hidden").touch()
    check_folder(Path("new"), {}, [], overwrite=False)


def test_several_files_are_written_all_or_none():
    Path("old").write_text("old", encoding="utf-8")
    with pytest.raises(TypeError):
        write_all({Path("old"): "new", Path("b"): 3})  # pyright: ignore[reportArgumentType]
    assert Path("old").read_text(encoding="utf-8") == "old"
    assert sorted(path.name for path in Path().iterdir()) == ["old", "other.yaml", "run.yaml"]
