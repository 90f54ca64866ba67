import json
import re
import subprocess
import sys
from pathlib import Path
from statistics import fmean

import pytest
from rouge_score.rouge_scorer import RougeScorer

from summarizer.cli.app import main
from summarizer.errors import InputError
from summarizer.evaluation.evaluate import EvaluationOptions, evaluate
from summarizer.evaluation.examples import Policy
from summarizer.evaluation.rouge import MEASURES, ROUGE_TYPES, RougeSettings, score_texts
from summarizer.evaluation.score_files import default_output, examples_path
from summarizer.text import split_sentences

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def files(samples, write_jsonl) -> tuple[Path, Path]:
    """Predictions as `summarizer summarize` writes them (the third failed, the fourth empty), and references."""
    statuses = ["ok", "ok", "failed", "empty", "ok"]
    rows = [
        {"id": row_id, "path": row_id, "status": status, "summary": document[100:700] if status == "ok" else ""}
        for (row_id, document, _), status in zip(samples, statuses, strict=True)
    ]
    references = [{"id": row_id, "document": document, "summary": summary} for row_id, document, summary in samples]
    return write_jsonl("summaries.jsonl", rows), write_jsonl("references.jsonl", references)


def read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def read_lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def empty_ids(predictions: Path) -> tuple[str, ...]:
    return tuple(row["id"] for row in read_lines(predictions) if row["status"] != "ok")


def test_scores_json_holds_means_intervals_counts_and_signature(files, tmp_path):
    evaluation = evaluate(*files, tmp_path / "new" / "scores.json")
    written = read(tmp_path / "new" / "scores.json")
    assert written == evaluation.to_json()
    assert list(written) == [
        *("num_examples", "signature", "scores", "counts", "text_measures", "baselines", "baseline_measures"),
        *("notes", "inputs", "signature_parts"),
    ]
    assert written["num_examples"] == 5
    assert written["counts"] == {
        "empty": 1,
        "failed": 1,
        "empty_references": 0,
        "source_cut": 0,
        "predictions_left_out": 0,
        "references_left_out": 0,
        "predictions_missing": 0,
        "duplicates_left_out": 0,
    }
    assert written["notes"] == ["2 predictions are empty ('{}', '{}'): scored 0".format(*empty_ids(files[0]))]
    assert (written["inputs"]["predictions"], written["inputs"]["references"]) == (
        "../summaries.jsonl",
        "../references.jsonl",
    )
    assert re.fullmatch(
        r"rouge1\+rouge2\+rougeL\+rougeLsum\|tok:default\|stem:porter\|split:auto\|n:5\|bs:1000\|ci:0.95\|seed:1"
        r"\|rouge-score:[\d.]+\|sentencex:[\d.]+\|fastformer-summarizer:[\d.]+",
        written["signature"],
    )
    assert list(written["scores"]) == list(ROUGE_TYPES)
    for measures in written["scores"].values():
        assert list(measures) == list(MEASURES)
        assert all(0 <= each["low"] <= each["mean"] <= each["high"] <= 1 for each in measures.values())
    assert written["baselines"] == {}
    assert written["text_measures"]["empty"] == pytest.approx(2 / 5)
    assert written["text_measures"]["novel_bigrams"] < 0.05


def test_the_scores_of_each_example_stand_beside_and_are_those_of_rouge_score(files, samples, tmp_path):
    evaluation = evaluate(*files, tmp_path / "scores.json")
    lines = (tmp_path / "scores.examples.jsonl").read_text(encoding="utf-8").splitlines()
    scorer = RougeScorer(list(ROUGE_TYPES), use_stemmer=True)
    summaries = [json.loads(line)["summary"] for line in files[0].read_text(encoding="utf-8").splitlines()]
    for line, summary, (row_id, _, reference) in zip(lines, summaries, samples, strict=True):
        texts = ["\n".join(split_sentences(text)) for text in (reference, summary)]
        expected = {name: score._asdict() for name, score in scorer.score(*texts).items()}
        found = json.loads(line)
        assert {name: found[name] for name in expected} == expected
        assert found["id"] == row_id
        assert found["measures"]["summary_words"] == len(summary.split())
    means = [json.loads(line)["rouge2"]["recall"] for line in lines]
    assert evaluation.scores["rouge2"]["recall"].mean == pytest.approx(sum(means) / 5, abs=1e-15)


def test_failed_and_empty_predictions_score_zero_and_stay_in_the_mean(files, tmp_path):
    evaluation = evaluate(*files, tmp_path / "scores.json")
    fmeasures = [line["rouge1"]["fmeasure"] for line in read_lines(tmp_path / "scores.examples.jsonl")]
    assert fmeasures[2] == fmeasures[3] == 0
    assert evaluation.scores["rouge1"]["fmeasure"].mean == pytest.approx(sum(fmeasures) / 5)


def test_the_training_loops_scores_are_those_of_the_evaluation(files, samples, tmp_path):
    evaluation = evaluate(*files, tmp_path / "scores.json")
    summaries = [json.loads(line)["summary"] for line in files[0].read_text(encoding="utf-8").splitlines()]
    scores = score_texts(summaries, [reference for _, _, reference in samples])
    assert scores == {name: evaluation.scores[name]["fmeasure"].mean for name in ROUGE_TYPES}


def test_baselines_stand_in_the_scores_and_the_oracle_is_the_best(files, samples, tmp_path):
    evaluation = evaluate(*files, tmp_path / "scores.json", EvaluationOptions(baselines=True))
    k = round(fmean(len(split_sentences(reference)) for _, _, reference in samples))
    written = read(tmp_path / "scores.json")
    assert list(written["baselines"]) == [f"lead-{k}", f"random-{k}", f"oracle-{k}"]
    assert f"|lead-k:{k}|" in written["signature"]
    rouge1 = {name: scores["rouge1"]["fmeasure"].mean for name, scores in evaluation.baselines.items()}
    assert max(rouge1, key=lambda name: rouge1[name]) == f"oracle-{k}"
    given = evaluate(*files, tmp_path / "given.json", EvaluationOptions(baselines=True, lead_k=2))
    assert list(given.baselines) == ["lead-2", "random-2", "oracle-2"]


def test_two_processes_write_the_same_files_as_one(files, tmp_path):
    for processes in (1, 2):
        evaluate(*files, tmp_path / f"{processes}.json", EvaluationOptions(baselines=True, processes=processes))
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "2.json").read_bytes()
    assert (tmp_path / "1.examples.jsonl").read_bytes() == (tmp_path / "2.examples.jsonl").read_bytes()


def test_k_is_fitted_on_a_validation_file_that_is_named(files, samples, write_jsonl, tmp_path):
    rows = [{"document": "\n".join(["A b c d.", "E f g h.", "X y."]), "summary": "A b c d. E f g h."}]
    validation = write_jsonl("validation.jsonl", rows)
    options = EvaluationOptions(baselines=True, validation=validation)
    evaluation = evaluate(*files, tmp_path / "scores.json", options)
    assert list(evaluation.baselines) == ["lead-2", "random-2", "oracle-2"]
    assert read(tmp_path / "scores.json")["inputs"]["lead_k_fitted_on"] == "validation.jsonl"
    with pytest.raises(InputError, match=r"validation.jsonl:1: has no document to fit k on"):
        evaluate(
            *files,
            tmp_path / "s.json",
            EvaluationOptions(baselines=True, validation=write_jsonl("validation.jsonl", [{"summary": "s"}])),
        )


def test_lexrank_is_a_baseline_on_request(files, tmp_path):
    evaluation = evaluate(*files, tmp_path / "s.json", EvaluationOptions(baselines=True, lead_k=2, lexrank=True))
    assert list(evaluation.baselines) == ["lead-2", "random-2", "lexrank-2", "oracle-2"]
    assert "|sumy:" in str(evaluation.signature)


def test_texts_and_the_scores_of_baselines_stand_beside_on_request(files, samples, tmp_path):
    options = EvaluationOptions(baselines=True, lead_k=2, store_texts=True)
    evaluation = evaluate(*files, tmp_path / "scores.json", options)
    lines = read_lines(tmp_path / "scores.examples.jsonl")
    for line, (_, document, reference) in zip(lines, samples, strict=True):
        assert (line["texts"]["document"], line["texts"]["references"]) == (document, [reference])
        assert list(line["texts"]["baselines"]) == ["lead-2", "random-2", "oracle-2"]
        assert line["baselines"]["lead-2"]["measures"]["coverage"] == 1
        assert line["baselines"]["oracle-2"]["measures"]["supported_sentences"] == 1
    found = [line["baselines"]["oracle-2"]["rouge1"]["fmeasure"] for line in lines]
    assert sum(found) / 5 == pytest.approx(evaluation.baselines["oracle-2"]["rouge1"]["fmeasure"].mean)
    assert evaluation.baseline_measures["lead-2"]["novel_unigrams"] == 0


def test_several_references_stand_in_the_signature_and_raise_no_score_but_the_best(write_jsonl, tmp_path):
    predictions = write_jsonl("p.jsonl", [{"id": 1, "summary": "the cat sat"}])
    references = write_jsonl("r.jsonl", [{"id": 1, "references": ["a dog ran", "the cat sat"]}])
    for way, expected in (("best", 1), ("best-f", 1), ("mean", 0.5)):
        options = EvaluationOptions(rouge=RougeSettings(references=way))
        evaluation = evaluate(predictions, references, tmp_path / "s.json", options)
        assert f"|refs:{way}|" in str(evaluation.signature)
        assert evaluation.scores["rouge1"]["fmeasure"].mean == expected


def test_the_policy_stands_in_the_signature_where_it_is_not_plain(files, tmp_path):
    options = EvaluationOptions(policy=Policy(empty="drop"))
    evaluation = evaluate(*files, tmp_path / "scores.json", options)
    assert "|n:3|empty:drop|" in str(evaluation.signature)
    assert evaluation.num_examples == 3


def test_settings_stand_in_the_signature(files, tmp_path):
    rouge = RougeSettings("unicode", stemmer=False, split="sentencex")
    options = EvaluationOptions(rouge=rouge, bootstrap_samples=50, seed=9)
    signature = str(evaluate(*files, tmp_path / "scores.json", options).signature)
    assert "|tok:unicode|stem:no|split:sentencex|n:5|bs:50|ci:0.95|seed:9|" in signature


def test_an_error_while_writing_leaves_neither_file(files, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(InputError, match="no space left"):
        evaluate(*files, tmp_path / "out" / "scores.json")
    assert list((tmp_path / "out").iterdir()) == []


def test_the_default_output_stands_beside_the_predictions():
    assert default_output(Path("a/summaries.jsonl")) == Path("a/summaries.scores.json")
    assert default_output(Path("a/b.c.csv.gz")) == Path("a/b.c.scores.json")
    assert examples_path(Path("a/summaries.scores.json")) == Path("a/summaries.scores.examples.jsonl")


def test_what_would_be_useless_is_refused_before_any_work(files, write_jsonl, tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        evaluate(*files, tmp_path)
    with pytest.raises(InputError, match="one of the inputs"):
        evaluate(*files, files[1])
    with pytest.raises(InputError, match="need --baselines"):
        evaluate(*files, options=EvaluationOptions(lead_k=3))
    references = write_jsonl("bare.jsonl", [{"id": "a", "summary": "s"}])
    with pytest.raises(InputError, match="baselines need the documents, and 'a' has none"):
        evaluate(references, references, tmp_path / "scores.json", EvaluationOptions(baselines=True))


def run_cli(*arguments: object) -> int:
    with pytest.raises(SystemExit) as raised:
        main(["evaluate", *map(str, arguments)])
    return int(raised.value.code or 0)


def test_the_command_writes_the_files_then_prints_a_table(files, capsys):
    assert run_cli(*files, "--baselines") == 0
    printed = capsys.readouterr().out
    scores = read(files[0].with_name("summaries.scores.json"))
    assert f"{100 * scores['scores']['rouge1']['fmeasure']['mean']:.2f}" in printed
    assert all(text in printed for text in ("ROUGE-Lsum", "oracle", "1 empty, 1 failed", scores["signature"]))
    low, high = (100 * scores["scores"]["rouge1"]["fmeasure"][end] for end in ("low", "high"))
    assert f"({low:.2f} – {high:.2f})" in printed
    assert re.search(r"^ +summary words +supported sentences +sentence coverage *$", printed, re.MULTILINE)
    assert re.search(r"oracle-\d+ +[\d.]+ +100\.0 % +100\.0 %", printed)
    assert files[0].with_name("summaries.scores.examples.jsonl").exists()


def test_an_error_while_printing_comes_after_the_files(files, tmp_path, monkeypatch):
    def fail(*_):
        raise OverflowError("a report that overflows")

    monkeypatch.setattr("summarizer.evaluation.terminal.print_evaluation", fail)
    assert run_cli(*files, "-o", tmp_path / "scores.json") == 1
    assert read(tmp_path / "scores.json")["num_examples"] == 5


def test_quiet_prints_nothing(files, capsys):
    assert run_cli(*files, "--quiet") == 0
    assert capsys.readouterr() == ("", "")


def test_mismatched_ids_are_one_line_and_status_one_unless_intersected(files, write_jsonl, capsys):
    other = write_jsonl("other.jsonl", [{"id": "fjord_sponge_reef.txt", "summary": "A reef."}])
    assert run_cli(files[0], other) == 1
    error = capsys.readouterr().err
    assert error.startswith("summarizer: error: the ids of")
    assert error.count("\n") == 1
    assert "calf_weaning_gut_microbiota.txt" in error
    assert run_cli(files[0], other, "--on-mismatch", "intersect") == 0
    assert "4 predictions left out" in capsys.readouterr().out


def test_wrong_usage_is_status_two(files):
    assert run_cli(*files, "--split", "nltk") == 2
    assert run_cli(files[0]) == 2


def test_the_script_is_the_command_and_imports_no_torch(files, tmp_path):
    code = (
        "import runpy, sys; sys.argv = ['evaluate.py', *sys.argv[1:]]\n"
        "try: runpy.run_path('scripts/evaluate.py', run_name='__main__')\n"
        "finally: print('loaded', {'torch', 'transformers', 'datasets'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", code, *map(str, files), "-o", str(tmp_path / "scores.json")]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert "loaded set()" in done.stdout
    assert (tmp_path / "scores.json").exists()


@pytest.mark.parametrize(
    ("text", "noted"), [("本文はとても短い。COVID", True), ("Сеть мелкая.", True), ("Größe, café", False)]
)
def test_texts_in_letters_that_are_not_counted_are_noted_with_the_option_that_helps(write_jsonl, tmp_path, text, noted):
    path = write_jsonl("p.jsonl", [{"id": 1, "summary": text}, {"id": 2, "summary": "The nets were fine."}])
    notes = evaluate(path, path, tmp_path / "s.json").notes
    assert [note for note in notes if "--tokenizer unicode" in note] == notes
    assert [note.startswith("most letters of 1 references and 1 predictions") for note in notes] == [True] * noted
    unicode = EvaluationOptions(rouge=RougeSettings(tokenizer="unicode"))
    assert not evaluate(path, path, tmp_path / "s.json", unicode).notes
