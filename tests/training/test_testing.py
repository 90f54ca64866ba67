import json
import shutil
from pathlib import Path

import pytest

from summarizer.cli.app import main
from summarizer.config_files import load_config
from summarizer.errors import UsageError
from summarizer.generation.summarizer import Summarizer
from summarizer.training.testing import score_test_data
from tests.corpus import pair_rows, write_jsonl


@pytest.fixture
def run(finished, tmp_path):
    """A copy of the finished run, and the test data: two of the rows have one id."""
    shutil.copytree(finished, tmp_path / "run")
    rows = [{**row, "id": "same" if number > 2 else row["id"]} for number, row in enumerate(pair_rows(5, seed=3))]
    write_jsonl(tmp_path / "test.jsonl", [*rows, {"document": "", "summary": "x"}])
    return tmp_path / "run"


def lines_of(path: Path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_best_model_is_scored_on_the_test_data_with_summaries_as_summarize_writes_them(run, tmp_path, capsys):
    override = f"data.test=[{tmp_path}/test.jsonl]"
    for _ in range(2):  # the second time, its own earlier output is replaced
        with pytest.raises(SystemExit) as end:
            main(["test", str(run), override])
        assert not end.value.code
    out = capsys.readouterr().out
    assert "lead-1" in out
    assert "oracle" in out
    scores = json.loads((run / "test/scores.json").read_text(encoding="utf-8"))
    assert scores["num_examples"] == 5
    records = lines_of(run / "test/summaries.jsonl")
    assert [record["id"] for record in records] == ["3-0", "3-1", "3-2", "same", "same#2"]
    documents = [row["document"] for row in lines_of(run / "test/references.jsonl")]
    written = Summarizer.from_pretrained(str(run / "best")).summarize(documents)
    assert [record["summary"] for record in records] == [summary.text for summary in written]
    card = (run / "best/README.md").read_text(encoding="utf-8")
    shown = f'- Test: {{"rouge1": {round(100 * scores["scores"]["rouge1"]["fmeasure"]["mean"], 4)}'
    assert card.count("- Test: ") == card.count(shown) == 1
    assert scores["signature"] in card
    assert card.index("- Validation: ") < card.index("- Test: ") < card.index("## Configuration")


def test_what_cannot_be_tested_is_one_line_and_foreign_files_are_left_alone(run, tmp_path):
    override = [f"data.test=[{tmp_path}/test.jsonl]"]
    for folder, overrides, model, named in (
        (tmp_path, override, None, "is not the folder of a run"),
        (run, [], None, r"has no test data; name them: summarizer test .*run 'data\.test=\[FILE\]'"),
        (run, override, "averaged", "has no model averaged"),
    ):
        with pytest.raises(UsageError, match=named):
            score_test_data(folder, overrides, model)
    (run / "test").mkdir()
    (run / "test/notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match=r"holds other files \(notes\.txt\)"):
        score_test_data(run, override)
    assert [path.name for path in (run / "test").iterdir()] == ["notes.txt"]


def test_a_task_without_text_is_scored_by_its_own_metrics(run, tmp_path, configure):
    from summarizer.training.loop import train

    settings = ("task=selection", "training.steps=2", "training.validate_every=2", "training.rouge_examples=0")
    folder = train(configure(*settings, "model.copy_mechanism=false", f"data.test=[{tmp_path}/test.jsonl]"))
    tested, scores = score_test_data(folder)
    assert tested == folder / "best"
    assert isinstance(scores, dict)
    assert 0 <= scores["average_precision"] <= 1
    written = json.loads((folder / "test/scores.json").read_text(encoding="utf-8"))
    assert written == {"num_examples": 5, "scores": scores}
    assert load_config(folder / "config.yaml").data.test
    assert "(5 documents)" in (folder / "best/README.md").read_text(encoding="utf-8")
