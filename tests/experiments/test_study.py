import json
import os
import signal
import sys
import threading
import time
from dataclasses import replace

import pytest

from summarizer.config_files import load_config
from summarizer.errors import InputError
from summarizer.experiments.runs import Study, _run, _test_classifier, run_all
from summarizer.experiments.study import run_study
from summarizer.experiments.study_table import departure, markdown, study_table, summarize_runs
from summarizer.training.loop import train


@pytest.fixture(autouse=True)
def _forked_runs(forked, monkeypatch):
    """The runs of a study are processes of their own; here they fork."""
    monkeypatch.setattr(sys, "executable", forked.python)
    for name, value in forked.environment().items():
        monkeypatch.setenv(name, value)


def test_what_differs_besides_the_model_is_said(configs, tmp_path, capfd):
    other = tmp_path / "other.yaml"
    other.write_text(f"base: {configs[1]}\ndata: {{max_source_tokens: 7}}\n", encoding="utf-8")
    with pytest.raises(InputError):
        run_study(Study([configs[0], other], tmp_path / "out", ["data.train=[nowhere.jsonl]"], [1, 2]))
    note = "other-seed1 differs from fastformer-seed1 in more than the model: data.max_source_tokens"
    assert capfd.readouterr().err.count(note) == 1


@pytest.mark.slow
def test_runs_are_trained_tested_compared_and_used_again(configs, tmp_path, capfd):
    output = tmp_path / "out"
    table = run_study(Study(configs, output, [], [1, 2]))
    assert table.splitlines()[0].startswith("| encoder | rouge1 (95 %) | rouge2 (95 %) | rougeL (95 %)")
    assert [line.split(" | ")[0] for line in table.splitlines()[2:4]] == ["| fastformer", "| no_mixing"]
    assert table.splitlines()[5].startswith("5 test documents, seed 1, 2. ")
    content = json.loads((output / "study.json").read_text(encoding="utf-8"))
    first, second = content["rows"]
    assert content["num_examples"] == 5
    assert first["seeds"] == [1, 2]
    assert first["difference"] is None
    assert second["difference"]["rouge1"]["mean"] == pytest.approx(
        second["scores"]["rouge1"]["mean"] - first["scores"]["rouge1"]["mean"]
    )
    assert first["parameters"] != second["parameters"]
    assert len(content["curves"]) == 4
    assert (output / "study.md").read_text(encoding="utf-8").startswith(table + "\n")
    assert study_table(output / "study.json") == table
    assert (output / "study.png").stat().st_size > 5000

    written = (output / "fastformer-seed1/last/model.safetensors").stat().st_mtime_ns
    (output / "no_mixing-seed2/result.json").unlink()  # stopped between training and testing
    capfd.readouterr()
    assert run_study(Study(configs, output, [], [1, 2])).splitlines()[:2] == table.splitlines()[:2]
    said = capfd.readouterr().err
    assert "3 of 4 runs are already finished" in said
    assert "in more than the model" not in said
    assert "nothing is left to do" in said
    assert (output / "fastformer-seed1/last/model.safetensors").stat().st_mtime_ns == written
    with pytest.raises(InputError, match="fastformer-seed1 holds a run of another configuration"):
        run_study(Study(configs, output, ["training.learning_rate=0.5"], [1]))
    assert (output / "study.md").read_text(encoding="utf-8").splitlines()[:2] == table.splitlines()[:2]


@pytest.mark.slow
def test_the_table_of_the_runs_so_far_is_there_when_one_fails(configs, tmp_path):
    broken = tmp_path / "broken.yaml"
    broken.write_text(f"base: {configs[0]}\nmodel: {{mixer: nothing}}\n", encoding="utf-8")
    with pytest.raises(InputError, match="training broken-seed1 ended"):
        run_study(Study([configs[0], broken], tmp_path / "out", ["task=classification"], [1]))
    text = (tmp_path / "out/study.md").read_text(encoding="utf-8")
    assert text.splitlines()[2].startswith("| fastformer | ")
    assert "\n\n1 of 2 runs so far.\n" in text
    content = json.loads((tmp_path / "out/study.json").read_text(encoding="utf-8"))
    assert content["runs"] == {"finished": 1, "wanted": 2}


@pytest.mark.slow
def test_results_of_other_documents_and_damaged_ones_are_named(configs, tmp_path):
    output = tmp_path / "out"
    run_study(Study(configs, output, ["task=classification"], [1]))
    path = output / "no_mixing-seed1/result.json"
    test = tmp_path / "test.jsonl"
    rows = test.read_text(encoding="utf-8")
    test.write_text("\n".join(rows.splitlines()[1:]), encoding="utf-8")
    with pytest.raises(InputError, match=r"result\.json was measured on other test documents"):
        run_study(Study(configs, output, ["task=classification"], [1]))
    test.write_text(rows, encoding="utf-8")
    for damaged in (path.read_bytes()[:50], b"", b"{}", b"[]"):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"no_mixing-seed1/result\.json is "):
            run_study(Study(configs, output, ["task=classification"], [1]))


@pytest.mark.slow
def test_unlike_seeds_are_not_compared(configs, tmp_path):
    output = tmp_path / "out"
    (output / "no_mixing-seed2").mkdir(parents=True)
    (output / "no_mixing-seed2/notes.txt").write_text("mine", encoding="utf-8")  # so that the last run is refused
    with pytest.raises(InputError, match="training no_mixing-seed2 ended"):
        run_study(Study(configs, output, ["task=classification"], [1, 2], overwrite=True))
    content = json.loads((output / "study.json").read_text(encoding="utf-8"))
    assert content["runs"] == {"finished": 3, "wanted": 4}
    assert [row["seeds"] for row in content["rows"]] == [[1], [1]]


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_is_waited_for(tmp_path, number):
    """Longer than the quarter of a second after which subprocess.run would kill it."""
    program = (
        "import pathlib, signal, sys, time\n"
        "stop = lambda *_: (time.sleep(1), sys.exit(3))\n"
        "signal.signal(signal.SIGINT, stop), signal.signal(signal.SIGTERM, stop)\n"
        "pathlib.Path(sys.argv[1]).touch(); time.sleep(60)"
    )
    started = tmp_path / "started"

    def stop():
        while not started.exists():
            time.sleep(0.05)
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=stop)
    thread.start()
    assert _run([sys.executable, "-c", program, str(started)]) == (3, True)
    thread.join()
    assert _run([sys.executable, "-c", "raise SystemExit(4)"]) == (4, False)


@pytest.mark.slow
def test_classifiers_are_compared_by_accuracy_and_macro_f1(configs, tmp_path):
    table = run_study(Study(configs, tmp_path / "out", ["task=classification"], [1]))
    head, _, first = table.splitlines()[:3]
    assert head.startswith("| encoder | accuracy (95 %) | macro-F1 |")
    row = json.loads((tmp_path / "out/study.json").read_text(encoding="utf-8"))["rows"][0]
    assert first.startswith(f"| fastformer | {row['scores']['accuracy']['mean']:.2f} (")
    assert 0 <= row["macro_f1"] <= 100


@pytest.mark.slow
def test_selectors_are_compared_by_average_precision(configs, tmp_path):
    table = run_study(Study(configs, tmp_path / "out", ["task=selection"], [1]))
    assert table.startswith("| encoder | average_precision (95 %) | average_precision − fastformer |")
    row = json.loads((tmp_path / "out/study.json").read_text(encoding="utf-8"))["rows"][1]
    assert 0 < row["scores"]["average_precision"]["mean"] <= 100


def test_an_interrupted_run_does_not_go_on_under_other_settings(configs, tmp_path):
    output = tmp_path / "out"
    config = load_config(configs[0], [f"output_dir={output}", "seed=1"])
    train(replace(config, name="fastformer-seed1", training=replace(config.training, steps=2)))
    with pytest.raises(InputError, match="fastformer-seed1 holds a run of another configuration"):
        list(run_all(Study(configs, output), print))


def test_a_trained_classifier_is_tested_as_it_is_whatever_it_started_from(configs, tmp_path):
    config = load_config(configs[0], ["task=classification", f"output_dir={tmp_path}/out", "training.steps=2"])
    best = train(config) / "best"
    expected = _test_classifier(config, best)["examples"]
    for option in ("initial_embeddings", "initial_trunk"):
        started = replace(config, training=replace(config.training, **{option: "a/folder/that/is/gone"}))
        assert _test_classifier(started, best)["examples"] == expected


def test_what_cannot_be_compared_is_one_line(configs, tmp_path):
    with pytest.raises(InputError, match="name at least two"):
        run_study(Study(configs[:1], tmp_path / "out", [], [1]))
    for split in ("test", "validation"):
        with pytest.raises(InputError, match=f"data.{split} is empty"):
            list(run_all(Study(configs, tmp_path / "out", [f"data.{split}=[]"]), print))
    with pytest.raises(
        InputError, match=r"training fastformer-seed1 ended with exit status 1; repeat the command to continue"
    ):
        list(run_all(Study(configs, tmp_path / "out", ["model.mixer=nothing"]), print))


def test_a_run_departs_from_the_control_where_its_loss_stays_below():
    control = {100: 5.0, 200: 4.0, 300: 3.5, 400: 3.4}
    assert departure({100: 4.9, 200: 3.99, 300: 3.4, 400: 3.2}, control) == 300
    assert departure({100: 4.9, 200: 3.9, 400: 3.3}, control) == 100
    assert departure({100: 4.0, 200: 3.0, 300: 2.0, 400: 3.38}, control) is None
    assert departure({500: 1.0}, control) is None


def test_documents_and_seeds_are_resampled():
    def run(name, seed, scores):
        return {
            "name": name, "seed": seed, "steps": 4, "parameters": 7, "training_source_tokens_per_second": 10.0 * seed,
            "documents_per_second": None, "peak_memory_mb": 1.0, "examples": {"rouge1": scores},
            "validation": [{"step": 2, "validation_loss": 3.0}],
        }  # fmt: skip

    same = {seed: [3.0, 7.0] for seed in (1, 3)}  # in both, b is better by 1 with seed 1, and by 3 with seed 3
    runs = [run("a", seed, scores) for seed, scores in same.items()]
    runs += [run("b", 1, [4.0, 8.0]), run("b", 3, [6.0, 10.0])]
    first, second = summarize_runs(runs, "a", None)
    assert first["scores"]["rouge1"] == {"mean": 5.0, "low": 3.0, "high": 7.0}  # whole documents are drawn
    assert second["difference"]["rouge1"] == {"mean": 2.0, "low": 1.0, "high": 3.0}  # whole seeds are drawn
    assert first["training_source_tokens_per_second"] == 20.0
    assert "| a | 5.00 (3.00 – 7.00) |  | 3.000 | – | 7 | 20 |  | 1 |" in markdown([first, second], "a")
