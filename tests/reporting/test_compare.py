import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from summarizer.errors import InputError
from summarizer.evaluation.evaluate import EvaluationOptions, evaluate
from summarizer.evaluation.examples import Policy
from summarizer.evaluation.rouge import RougeSettings
from summarizer.evaluation.score_files import hash_of_texts
from summarizer.evaluation.significance import adjust, paired_tests
from summarizer.reporting.compare import ComparisonOptions, _limit_of_tests, compare_files
from summarizer.reporting.example_texts import choose_examples
from summarizer.reporting.scored_files import _name_and_path
from tests.corpus import pair_rows, write_jsonl

METRICS = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
QUICK = ComparisonOptions(samples=200)


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """A folder with two systems, `good` and `poor`, scored with baselines on the same 24 documents."""
    folder = tmp_path_factory.mktemp("scored")
    rows = pair_rows(24, seed=3)
    references = write_jsonl(folder / "references.jsonl", rows)
    for name, cut in (("good", 0), ("poor", 25)):
        predictions = [{"id": row["id"], "summary": row["document"][cut:][:60]} for row in rows]
        predictions = write_jsonl(folder / f"{name}.jsonl", predictions)
        options = EvaluationOptions(baselines=True, lead_k=1, bootstrap_samples=1000)
        evaluate(predictions, references, folder / f"{name}.scores.json", options)
    return folder


@pytest.fixture(scope="module")
def compared(scored):
    """The comparison of both, and its folder."""
    folder = scored / "comparison"
    training = scored / "metrics.jsonl"
    training.write_text('{"step": 1, "loss": 5}\n{"step": 2, "loss": 4}\n{"step": 2, "validation_loss": 4.5}\n')
    benchmarks = scored / "encoders.json"
    cells = [("fastformer", 1024, 1.0), ("fastformer", 2048, 2.0), ("full", 1024, 3.0)]
    rows = [
        {"encoder": name, "dtype": "float32", "length": length, "forward_ms": time, "peak_mb": None}
        for name, length, time in cells
    ]
    benchmarks.write_text(json.dumps({"rows": rows}), encoding="utf-8")
    options = ComparisonOptions(
        published="pubmed", training=(f"good={training}",), benchmarks=benchmarks, samples=200, max_examples=5
    )
    compare_files([str(scored / f"{name}.scores.json") for name in ("good", "poor")], folder, options)
    return json.loads((folder / "comparison.json").read_text(encoding="utf-8")), folder


def read_examples(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_systems_are_the_files_their_baselines_and_the_published_ones(compared):
    comparison, folder = compared
    assert {path.name for path in folder.iterdir()} >= {"comparison.csv", "comparison.md", "comparison.html"}
    kinds = {system["name"]: system["kind"] for system in comparison["systems"]}
    assert list(kinds)[:5] == ["good", "poor", "lead-1", "random-1", "oracle-1"]
    assert list(kinds.values()) == ["model"] * 2 + ["baseline"] * 3 + ["published"] * 7
    assert (comparison["metrics"], comparison["compared_with"], comparison["num_examples"]) == (METRICS, "good", 24)
    fastformer = comparison["systems"][-1]
    assert fastformer["name"] == "Fastformer (published)"
    assert fastformer["metrics"]["rougeLsum"]["fmeasure"] == {"mean": 0.3481}
    assert "not run here" in fastformer["source"]
    assert "|n:24|bs:1000|ci:0.95|tests:200|correction:holm|seed:1|" in comparison["signature"]


def test_means_intervals_and_measures_are_those_of_the_evaluations(scored, compared):
    systems = {system["name"]: system for system in compared[0]["systems"]}
    content = json.loads((scored / "poor.scores.json").read_text(encoding="utf-8"))
    assert systems["poor"]["metrics"] == content["scores"]
    assert systems["poor"]["measures"] == content["text_measures"]
    assert systems["oracle-1"]["metrics"] == content["baselines"]["oracle-1"]
    assert systems["oracle-1"]["measures"] == content["baseline_measures"]["oracle-1"]


def test_every_other_system_is_tested_against_the_first_with_corrected_p_values(scored, compared):
    tests = compared[0]["tests"]
    others = ["poor", "lead-1", "random-1", "oracle-1"]
    assert [(test["system"], test["metric"]) for test in tests] == [(name, of) for name in others for of in METRICS]
    good, poor = (read_examples(scored / f"{name}.scores.examples.jsonl") for name in ("good", "poor"))
    differences = [
        ours["rouge2"]["fmeasure"] - theirs["rouge2"]["fmeasure"] for ours, theirs in zip(poor, good, strict=True)
    ]
    test = next(test for test in tests if (test["system"], test["metric"]) == ("poor", "rouge2"))
    (expected,) = paired_tests(np.array(differences)[:, None], samples=200)
    assert {name: test[name] for name in vars(expected)} == pytest.approx(vars(expected))
    assert test["difference"] < 0
    assert test["wins"] + test["losses"] + test["ties"] == 24
    family = [test for test in tests if test["metric"] == "rouge2"]
    assert [test["p_adjusted"] for test in family] == adjust([test["p_randomization"] for test in family])


def test_scores_by_length_and_lengths_come_from_the_documents(scored, compared):
    comparison, _ = compared
    words = {row["id"]: len(row["document"].split()) for row in read_examples(scored / "references.jsonl")}
    assert {document["id"]: document["source_words"] for document in comparison["documents"]} == words
    assert comparison["documents"][0]["summary_words"].keys() == {"good", "poor", "lead-1", "random-1", "oracle-1"}
    groups = comparison["by_length"]
    assert [group["num_examples"] for group in groups] == [5, 5, 5, 5, 4]
    assert (groups[0]["shortest"], groups[-1]["longest"]) == (min(words.values()), max(words.values()))
    means = [group["num_examples"] * group["scores"]["poor"]["rouge1"]["mean"] for group in groups]
    poor = next(system for system in comparison["systems"] if system["name"] == "poor")
    assert sum(means) / 24 == pytest.approx(poor["metrics"]["rouge1"]["fmeasure"]["mean"])


def test_examples_have_the_texts_of_the_files_that_were_scored(scored, compared):
    rows = {row["id"]: row for row in read_examples(scored / "references.jsonl")}
    examples = compared[0]["examples"]
    assert len(examples) == 5
    for example in examples:
        row = rows[example["id"]]
        assert (example["document"], example["reference"]) == (row["document"], row["summary"])
        assert example["predictions"] == {"good": row["document"][:60], "poor": row["document"][25:][:60]}
        assert example["scores"].keys() == {"good", "poor", "lead-1", "random-1", "oracle-1"}
        assert list(example["scores"]["good"]) == METRICS


def test_examples_are_the_best_the_worst_and_the_most_disputed():
    fmeasures = np.array([[0.5, 0.5], [0.9, 0.9], [0.1, 0.1], [0.4, 0.9], [0.5, 0.5]])
    assert choose_examples(fmeasures, 3) == [1, 2, 3]
    assert choose_examples(fmeasures, 9) == [0, 1, 2, 3, 4]
    assert choose_examples(fmeasures, 0) == []


def score_three(scored, folder, **options):
    """Three examples scored in `folder`, under the name p."""
    references = write_jsonl(folder / "r.jsonl", read_examples(scored / "references.jsonl")[:3])
    predictions = write_jsonl(folder / "p.jsonl", read_examples(scored / "good.jsonl")[:3])
    evaluate(predictions, references, folder / "p.scores.json", EvaluationOptions(**options))
    return predictions, references


def test_stored_texts_are_used_when_the_files_are_gone(scored, tmp_path):
    predictions, _ = score_three(scored, tmp_path, baselines=True, lead_k=1, store_texts=True)
    predictions.unlink()
    comparison = compare_files([str(tmp_path / "p.scores.json")], tmp_path / "out", QUICK)
    assert not comparison.notes
    for example in comparison.examples:
        assert example.predictions.keys() == {"p", "lead-1", "random-1", "oracle-1"}
        assert example.document


@pytest.mark.parametrize("stored", [True, False])
def test_the_evidence_of_records_is_shown_from_the_scored_file_or_as_stored(scored, tmp_path, stored):
    rows = read_examples(scored / "good.jsonl")[:3]
    spans = [{"start": 0, "end": 3, "text": rows[0]["summary"][:3]}]
    rows = [row | {"evidence": evidence} for row, evidence in zip(rows, [[spans], None, "other"], strict=True)]
    references = write_jsonl(tmp_path / "r.jsonl", read_examples(scored / "references.jsonl")[:3])
    options = EvaluationOptions(store_texts=stored, bootstrap_samples=10)
    evaluate(write_jsonl(tmp_path / "p.jsonl", rows), references, tmp_path / "p.scores.json", options)
    if stored:
        (tmp_path / "p.jsonl").unlink()
    comparison = compare_files([str(tmp_path / "p.scores.json")], tmp_path / "out", QUICK)
    assert [example.evidence for example in comparison.examples] == [{"p": [spans]}, {}, {}]
    written = json.loads((tmp_path / "out/comparison.json").read_text(encoding="utf-8"))
    assert written["examples"][0]["evidence"] == {"p": [spans]}


@pytest.mark.parametrize("changed", ["p.jsonl", "r.jsonl"])
def test_texts_of_files_that_changed_or_are_gone_are_not_shown_and_the_file_is_named(scored, tmp_path, changed):
    score_three(scored, tmp_path)
    file = tmp_path / changed
    file.write_text(file.read_text(encoding="utf-8").replace("a", "b"), encoding="utf-8")
    for reason in (f"{changed} has changed since it was scored", f"{changed} no longer exists"):
        comparison = compare_files([str(tmp_path / "p.scores.json")], tmp_path / "out", QUICK)
        assert len(comparison.examples) == 3
        assert all(not example.predictions and example.document is None for example in comparison.examples)
        (note,) = comparison.notes
        assert note.startswith("The texts of p are not shown: ")
        assert reason in note
        for page in ("comparison.md", "comparison.html"):
            assert reason in (tmp_path / "out" / page).read_text(encoding="utf-8")
        file.unlink(missing_ok=True)


def test_the_hash_of_a_folder_is_that_of_the_texts_that_are_scored_in_all_its_folders(tmp_path):
    texts = tmp_path / "texts"
    (texts / "deep").mkdir(parents=True)
    (texts / "deep/a.txt").write_text("One.")
    before = hash_of_texts(texts)
    (texts / "scores.json").write_text("{}")
    assert hash_of_texts(texts) == before
    (texts / "deep/a.txt").write_text("Two.")
    assert hash_of_texts(texts) != before


def test_a_folder_that_changed_is_named(scored, tmp_path):
    for side in ("p", "r"):
        (tmp_path / side).mkdir()
        (tmp_path / side / "one.txt").write_text("The bridge fell.", encoding="utf-8")
    evaluate(tmp_path / "p", tmp_path / "r", tmp_path / "p.scores.json")
    assert not compare_files([str(tmp_path / "p.scores.json")], tmp_path / "out", QUICK).notes
    (tmp_path / "p" / "one.txt").write_text("The bridge stood.", encoding="utf-8")
    assert "/p has changed" in compare_files([str(tmp_path / "p.scores.json")], tmp_path / "out", QUICK).notes[0]


def test_scores_of_an_earlier_version_are_refused_with_what_to_do(scored, tmp_path):
    content = json.loads((scored / "good.scores.json").read_text(encoding="utf-8"))
    del content["signature_parts"]
    (tmp_path / "old.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match=r"old.json: was written by an earlier version; score its files again"):
        compare_files([str(tmp_path / "old.json")], tmp_path / "out", QUICK)


def test_examples_that_differ_are_refused_or_the_shared_ones_compared(scored, tmp_path):
    references = scored / "references.jsonl"
    fewer = write_jsonl(tmp_path / "fewer.jsonl", read_examples(scored / "good.jsonl")[4:])
    evaluate(fewer, references, tmp_path / "fewer.json", EvaluationOptions(policy=Policy("intersect")))
    files = [str(scored / "good.scores.json"), str(tmp_path / "fewer.json")]
    with pytest.raises(InputError, match=r"4 only in the first \('3-0', '3-1', '3-2', …\), 0 only in the second;"):
        compare_files(files, tmp_path / "out", QUICK)
    comparison = compare_files(files, tmp_path / "out", ComparisonOptions(on_mismatch="intersect", samples=200))
    assert comparison.num_examples == 20
    good, same = (system for system in comparison.systems if system.kind == "model")
    assert good.metrics == same.metrics
    assert comparison.tests[0].p_adjusted == 1
    assert [system.name for system in comparison.best("rouge1")] == ["good", "fewer"]


def test_scores_made_in_another_way_or_of_other_references_are_refused(scored, tmp_path):
    predictions, references = scored / "good.jsonl", scored / "references.jsonl"
    evaluate(predictions, references, tmp_path / "a.json", EvaluationOptions(rouge=RougeSettings(stemmer=False)))
    rows = read_examples(references)
    rows[3]["summary"] = "Something else."
    evaluate(predictions, write_jsonl(tmp_path / "other.jsonl", rows), tmp_path / "b.json")
    good = str(scored / "good.scores.json")
    with pytest.raises(InputError, match="stem is porter in the first and no in the second"):
        compare_files([good, str(tmp_path / "a.json")], tmp_path / "out")
    with pytest.raises(InputError, match="have the same ids but different references"):
        compare_files([good, str(tmp_path / "b.json")], tmp_path / "out")


def test_what_cannot_be_read_is_refused_with_the_reason(scored, tmp_path):
    (tmp_path / "no.json").write_text("[1]", encoding="utf-8")
    good = str(scored / "good.scores.json")
    for arguments, options, message in (
        ([str(tmp_path / "none.json")], QUICK, "none.json: is not a file that `summarizer evaluate` wrote"),
        ([str(tmp_path / "no.json")], QUICK, "no.json: is not a file that `summarizer evaluate` wrote$"),
        ([f"oracle-1={good}"], QUICK, "its model would be called oracle-1, as one of its baselines; name it: NAME="),
        ([good, good], QUICK, "several systems would be called good; name them"),
        ([good], ComparisonOptions(training=("x",)), "--training x: expected NAME=PATH"),
        ([good], ComparisonOptions(training=(f"x={good}",)), "cannot be read"),
        (
            [good],
            ComparisonOptions(benchmarks=tmp_path / "none"),
            "is not a file that `summarizer benchmark encoders` wrote",
        ),
    ):
        with pytest.raises(InputError, match=message):
            compare_files(arguments, tmp_path / "out", options)
    with pytest.raises(InputError, match="is a file; name a folder"):
        compare_files([good], tmp_path / "no.json", QUICK)
    twice = compare_files([f"first={good}", f"second={good}"], tmp_path / "out", QUICK)
    assert [system.name for system in twice.systems[:2]] == ["first", "second"]


def test_the_command_writes_everything_and_prints_a_table_without_torch(scored, tmp_path):
    code = (
        "import sys; from summarizer.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: assert 'torch' not in sys.modules"
    )
    files = [str(scored / f"{name}.scores.json") for name in ("good", "poor")]
    command = [sys.executable, "-c", code, "compare", *files, "-o", str(tmp_path / "out"), "--samples", "100"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    for shown in ("good", "poor", "oracle", "ROUGE-Lsum", "differs from good", "signature"):
        assert shown in done.stdout
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {
        "comparison.json",
        "comparison.html",
        "comparison.md",
        "comparison.csv",
        "rouge.png",
        "lengths.png",
    } <= written


@pytest.mark.parametrize(
    ("argument", "name"),
    [("runs/mine/scores.json", "mine"), ("scores.json", "scores"), ("a.scores.json", "a"), ("b=scores.json", "b")],
)
def test_a_system_is_called_after_its_file_or_the_folder_of_its_scores(argument, name):
    assert _name_and_path(argument) == (name, Path(argument.removeprefix("b=")))


def test_a_line_that_evaluate_did_not_write_is_named(scored, tmp_path):
    for name in ("good.scores.json", "good.scores.examples.jsonl"):
        (tmp_path / name).write_text((scored / name).read_text(encoding="utf-8"), encoding="utf-8")
    path = tmp_path / "good.scores.examples.jsonl"
    first, *others = path.read_text(encoding="utf-8").splitlines()
    for change, reason in (({"id": None}, "has no id"), ({"rouge2": {}}, "has no 'precision'")):
        line = {name: value for name, value in {**json.loads(first), **change}.items() if value is not None}
        path.write_text("\n".join([first, json.dumps(line), *others[1:]]), encoding="utf-8")
        with pytest.raises(InputError, match=rf"examples\.jsonl:2: {reason}; score its files again"):
            compare_files([str(tmp_path / "good.scores.json")], tmp_path / "out", QUICK)


def test_too_few_examples_for_any_test_are_noted(scored):
    assert not _limit_of_tests(6, 1, QUICK)
    assert _limit_of_tests(5, 1, QUICK).startswith(
        "5 examples are too few for the tests: no p-value can be below 0.062"
    )
    assert "below 0.16" in _limit_of_tests(6, 5, ComparisonOptions())  # of Holm's correction
    assert not _limit_of_tests(6, 5, ComparisonOptions(correction="benjamini-hochberg"))
    assert _limit_of_tests(40, 1, ComparisonOptions(samples=10)).startswith("--samples 10 is too small")


@pytest.mark.parametrize("policy", [Policy(duplicates="references"), Policy(pair_by="line", mismatch="intersect")])
def test_texts_are_shown_as_they_were_paired(tmp_path, policy):
    rows = [{"id": n, "summary": f"The {n} bridge fell."} for n in ("first", "second")]
    predictions = write_jsonl(tmp_path / "p.jsonl", rows)
    references = write_jsonl(tmp_path / "r.jsonl", [*rows, {"id": "first", "summary": "The bridge stood."}])
    evaluate(predictions, references, tmp_path / "p.scores.json", EvaluationOptions(policy=policy))
    comparison = compare_files([str(tmp_path / "p.scores.json")], tmp_path / "out", QUICK)
    expected = "The first bridge fell." + ("\n\nThe bridge stood." if policy.pair_by == "id" else "")
    assert comparison.examples[0].reference == expected
    assert comparison.examples[1].predictions == {"p": "The second bridge fell."}
