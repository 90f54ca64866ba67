import json

import pytest

from summarizer.errors import InputError, StoppedError
from summarizer.training.checkpoint import complete_checkpoints
from summarizer.training.loop import train


def test_callbacks_see_each_logged_line_and_metrics_are_logged_and_in_the_card(configure):
    events, seen = [], []

    def words(summaries, references):
        seen.append((summaries, references))
        return len(" ".join(summaries).split())

    config = configure("training.steps=2", "training.validate_every=2", "training.rouge_examples=3")
    folder = train(config, callbacks=[events.append], metrics={"words": words})
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [{"step": event.step, **event.metrics} for event in events] == lines
    assert {event.folder for event in events} == {folder}
    assert [len(texts) for texts in seen[0]] == [3, 3]
    assert lines[-1]["words"] == len(" ".join(seen[-1][0]).split())
    assert '"words": ' in (folder / "best/README.md").read_text(encoding="utf-8")


def test_an_added_metric_can_choose_the_best_model_and_stop_early(configure, capsys):
    values = iter([1, 3, 2, 2])
    overrides = ["training.steps=6", "training.validate_every=1", "training.rouge_examples=2"]
    config = configure(*overrides, "training.best_metric=mine", "training.early_stopping_patience=2")
    folder = train(config, metrics={"mine": lambda *_: next(values)})
    card = (folder / "best/README.md").read_text(encoding="utf-8")
    assert '"mine": 3.0' in card
    said = capsys.readouterr().err
    assert "stopped early: mine did not improve in 2 validations" in said
    assert "training.best_metric and training.early_stopping_patience rest on only 2 validation documents" in said


def test_a_best_metric_that_nobody_measures_or_that_is_no_number_ends_the_run(configure):
    config = configure("training.best_metric=rouge", "data.train=[nowhere]")
    with pytest.raises(InputError, match=r"^training\.best_metric=rouge: no such metric; choose from loss, .*, a$"):
        train(config, metrics={"a": lambda *_: 0.0})
    config = configure("training.steps=1", "training.rouge_examples=1")
    with pytest.raises(InputError, match=r"the metric a \(nan\) is not finite after step 1"):
        train(config, metrics={"a": lambda *_: float("nan")})


def test_a_callback_can_stop_a_run_so_that_it_can_be_resumed(configure):
    config = configure("training.rouge_examples=0")
    with pytest.raises(StoppedError, match=r"stopped after step 3; resume=true continues from .*step-000003"):
        train(config, callbacks=[lambda event: event.step == 2])
    folder = train(configure("training.rouge_examples=0", "resume=true"))
    assert complete_checkpoints(folder / "checkpoints")[-1].name == "step-000006"


def test_a_metric_needs_a_name_of_its_own_and_summaries_to_measure(configure):
    for overrides, name, named in (
        ([], "rouge1", "'rouge1' is the name of another metric"),
        (["training.rouge_examples=0"], "words", "metrics need task=summarization and training.rouge_examples > 0"),
    ):
        with pytest.raises(InputError, match=named):
            train(configure(*overrides), metrics={name: lambda *_: 0.0})


def test_trackers_get_the_metrics_in_groups(configure):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder = train(configure("training.steps=1", "training.rouge_examples=1", "training.trackers=[tensorboard]"))
    found = EventAccumulator(str(next((folder / "tensorboard").rglob("events*"))))
    found.Reload()
    tags = found.Tags()["scalars"]
    assert {
        "train/loss",
        "train/learning_rate",
        "validation/loss",
        "validation/rouge1",
        "speed/documents_per_second",
    } <= {*tags}
    assert all("/" in tag for tag in tags)
