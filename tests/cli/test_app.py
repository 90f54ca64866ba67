import json
import os
import subprocess
import sys

import pytest

from summarizer import __version__
from summarizer.cli.app import app, main
from summarizer.errors import StoppedError
from tests.corpus import pair_rows, write_jsonl

CONFIG = """
data: {train: [pairs.jsonl], validation: [pairs.jsonl], tokenizer: tokenizer}
model: {d_model: 32, encoder_layers: 2, decoder_layers: 2, encoder_attention_heads: 4, decoder_attention_heads: 4,
        encoder_ffn_dim: 32, decoder_ffn_dim: 32, copy_mechanism: true}
training: {steps: 4, tokens_per_batch: 300, warmup_steps: 1, log_every: 2, validate_every: 4, rouge_examples: 2,
           trackers: []}
generation: {num_beams: 2, max_summary_tokens: 8}
"""
OPTIONS = {
    "train": ["CONFIG", "OVERRIDES", "key=value"],
    "test": ["RUN", "OVERRIDES", "--model", "--overwrite"],
    "summarize": ["INPUT", "--output", "--model", "--num-beams", "--max-source-tokens", "--device", "--quiet"],
    "ray": ["INPUT", "--output", "--model", "--address", "--actors", "--gpus-per-actor"],
    "text": ["INPUT", "--json", "--language", "--encoding", "--delimiter", "--id-column", "--max-pages"],
    "evaluate": ["PREDICTIONS", "REFERENCES", "--output", "--baselines", "--stemmer", "--bootstrap-samples", "--seed"],
    "compare": ["SCORES", "--output", "--correction", "--published", "--training", "--benchmarks", "--max-examples"],
    "tokenizer": ["DATA", "--output", "--vocab-size", "--max-examples"],
}


@pytest.fixture
def run(capsys):
    """A function that runs the command line in this process: exit status, stdout and stderr."""

    def run(*arguments):
        try:
            main(list(map(str, arguments)))
            status = 0
        except SystemExit as end:
            status = end.code or 0
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")


def test_the_launcher_is_given_the_error_for_the_end_of_its_report(run, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "0" / "error.json"))
    status, _, err = run("train", tmp_path / "none.yaml")
    assert status == 1
    told = json.loads((tmp_path / "0" / "error.json").read_text(encoding="utf-8"))["message"]
    assert f"{told['message']}\n" == err
    assert told["extraInfo"].keys() == {"py_callstack", "timestamp"}


@pytest.mark.parametrize("command", OPTIONS)
def test_help_tells_of_every_option_and_ends_well(run, command):
    status, out, _ = run(command, "--help")
    assert status == 0
    for option in OPTIONS[command]:
        assert option.lower() in out.lower()
    assert "Traceback" not in out


def test_help_lists_the_commands_and_the_version_is_the_packages(run):
    status, out, _ = run("--help")
    assert status == 0
    assert all(f" {command} " in out for command in OPTIONS)
    groups = [group.name for group in app.registered_groups]
    for name in groups:
        assert run(name, "--help")[0] == 0
    assert run("--version") == (0, f"summarizer {__version__}\n", "")


def test_help_imports_no_torch():
    code = (
        "import sys; from summarizer.cli import main\n"
        "try: main(['summarize', '--help'])\n"
        "finally: sys.exit(3 if 'torch' in sys.modules or 'transformers' in sys.modules else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["nothing"], ["train"], ["summarize"], ["evaluate", "a"], ["tokenizer", "a"], ["summarize", "a", "--nothing"],
     ["summarize", "a", "--num-beams", "0"], ["evaluate", "a", "b", "--split", "nothing"],
     ["compare", "a"], ["compare", "a", "-o", "b", "--published", "c"]],
)  # fmt: skip
def test_wrong_usage_has_exit_status_two(run, arguments):
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert "Traceback" not in err


def test_an_error_is_one_line_and_exit_status_one_and_debug_shows_where(run, tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("training: {stepz: 1}", encoding="utf-8")
    for arguments, named in (
        (["train", path], "training.stepz: unknown key; did you mean steps?"),
        (["train", tmp_path / "none.yaml"], "none.yaml: no such configuration file"),
        (["evaluate", tmp_path / "none.jsonl", tmp_path / "none.jsonl"], "none.jsonl"),
        (["compare", tmp_path / "none.json", "-o", tmp_path / "out"], "none.json: is not a file that"),
        (["tokenizer", tmp_path / "none.jsonl", "-o", tmp_path / "out"], "none.jsonl"),
    ):
        status, out, err = run(*arguments)
        assert (status, out) == (1, "")
        assert err.startswith("summarizer: error: ")
        assert err.count("\n") == 1
        assert named in err
    status, _, err = run("--debug", "train", path)
    assert status == 1
    assert "Traceback" in err
    assert err.splitlines()[-1].startswith("summarizer: error: ")


def test_summarizing_nothing_has_exit_status_two(run, tmp_path):
    status, _, err = run("summarize", tmp_path / "none.txt")
    assert status == 2
    assert err.startswith("summarizer: error: ")
    assert err.count("\n") == 1


def test_an_unexpected_error_shows_its_traceback(run, monkeypatch, tmp_path):
    import summarizer.config_files

    monkeypatch.setattr(summarizer.config_files, "load_config", lambda *_: 1 / 0)
    status, _, err = run("train", tmp_path / "c.yaml")
    assert status == 1
    assert "Traceback" in err
    assert err.splitlines()[-1] == "summarizer: error: division by zero"


def test_an_error_of_the_system_names_the_path_and_no_number(run, monkeypatch, tmp_path):
    import summarizer.config_files

    def fail(*_):
        return (tmp_path / "gone" / "file.txt").open()

    monkeypatch.setattr(summarizer.config_files, "load_config", fail)
    expected = f"summarizer: error: {tmp_path}/gone/file.txt: No such file or directory\n"
    assert run("train", tmp_path / "c.yaml") == (1, "", expected)


def test_an_interrupt_shows_no_traceback(run, monkeypatch, tmp_path):
    import summarizer.config_files

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(summarizer.config_files, "load_config", interrupt)
    status, _, err = run("train", tmp_path / "c.yaml")
    assert (status, err) == (130, "summarizer: stopped\n")


def test_work_that_was_stopped_is_no_error(run, monkeypatch, tmp_path):
    import summarizer.config_files

    def stop(*_):
        raise StoppedError("stopped after step 3")

    monkeypatch.setattr(summarizer.config_files, "load_config", stop)
    assert run("train", tmp_path / "c.yaml") == (130, "", "summarizer: stopped after step 3\n")


@pytest.mark.skipif(os.name != "posix", reason="a shell's closed streams")
def test_a_closed_stream_is_an_empty_one():
    command = f"{sys.executable} -m summarizer.cli summarize - <&- >&-"
    done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert done.returncode == 0
    assert done.stderr.splitlines()[-1] == "0 ok, 1 empty, 0 failed"


def test_from_pairs_to_scores(run, tmp_path, monkeypatch):
    from accelerate.state import AcceleratorState

    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    AcceleratorState._reset_state(reset_partial_state=True)
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "pairs.jsonl", [*pair_rows(40), {"id": "none", "document": "", "summary": "x"}])
    (tmp_path / "tiny.yaml").write_text(CONFIG, encoding="utf-8")

    status, out, err = run("tokenizer", "pairs.jsonl", "-o", "tokenizer", "--vocab-size", 330)
    assert (status, out) == (0, "")
    assert "tokenizer: 330 pieces, trained on 40 pairs of pairs.jsonl" in err
    assert "1 × empty document (first: pairs.jsonl:41)" in err

    status, _, err = run("train", "tiny.yaml", "training.steps=2")
    assert status == 0
    assert err.splitlines()[-1] == "done: runs/tiny"
    AcceleratorState._reset_state(reset_partial_state=True)
    status, _, err = run("train", "tiny.yaml")
    assert status == 1
    assert err.splitlines()[-1].startswith("summarizer: error: runs/tiny already holds a run; pass resume=true")
    status, _, err = run("train", "tiny.yaml", "resume=true")
    assert status == 0
    assert "resumed from runs/tiny/checkpoints/step-000002" in err
    AcceleratorState._reset_state(reset_partial_state=True)

    status, out, err = run("summarize", "pairs.jsonl", "-o", "out.jsonl", "-m", "runs/tiny/best", "--device", "cpu")
    assert (status, out) == (0, "")
    records = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [record["id"] for record in records] == [row["id"] for row in pair_rows(40)] + ["none"]
    assert [record["status"] for record in records] == ["ok"] * 40 + ["empty"]

    write_jsonl(tmp_path / "references.jsonl", pair_rows(40))
    arguments = ["evaluate", "out.jsonl", "references.jsonl", "--bootstrap-samples", 20]
    status, _, err = run(*arguments)
    assert status == 1
    assert "none" in err
    status, out, err = run(*arguments, "--on-mismatch", "intersect", "-o", "scores.json", "--baselines")
    assert status == 0
    assert "rouge1" in out.lower().replace("-", "")
    scores = json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))
    assert scores["num_examples"] == 40
    assert 0 < scores["scores"]["rouge1"]["fmeasure"]["mean"] < 1
