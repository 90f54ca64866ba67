"""Which weights become model folders; the best and the last are tested with the loop."""

import re
import shutil
import signal
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file

from summarizer.errors import StoppedError
from summarizer.evaluation.signature import signature_of_texts
from summarizer.training.best_models import BestModels, mean_weights
from summarizer.training.checkpoint import complete_checkpoints, read_state
from summarizer.training.loop import train
from tests.training.test_loop import on_micro_batch, validations_of  # noqa: F401  (a fixture)

SETTINGS = ["training.average_best=2", "training.rouge_examples=0"]


def test_the_mean_of_the_best_weights_is_validated_and_written_where_it_is_better(configure, monkeypatch, capsys):
    """Two candidates beside the last weights, on both sides: their mean is the last weights, and known to be good."""
    original = BestModels.save_mean_of_best

    def with_candidates_beside(best, state, log):
        last = dict(best.engine.trained.model.named_parameters())
        for step, sign in zip(state.candidates, (1, -1), strict=True):
            beside = {name: (value + sign * 0.25).detach() for name, value in last.items()}
            save_file(beside, best.folder / f"candidates/step-{step}/model.safetensors")
        original(best, replace(state, best_score=-99.0), log)

    monkeypatch.setattr(BestModels, "save_mean_of_best", with_candidates_beside)
    folder = train(configure(*SETTINGS))
    said = re.search(
        r"the mean of the weights after steps 3, 6: validation_loss (\S+): better than best/, written to averaged/",
        capsys.readouterr().err,
    )
    assert said
    assert float(said[1]) == pytest.approx(validations_of(folder)[6], abs=1e-3)
    averaged, last = (load_file(folder / name / "model.safetensors") for name in ("averaged", "last"))
    for name, value in last.items():  # which the mean has not changed
        torch.testing.assert_close(averaged[name], value, atol=1e-6, rtol=0)
    checkpoint = load_file(folder / "checkpoints/step-000006/model.safetensors")
    assert all(torch.equal(checkpoint[name], value) for name, value in last.items())


def test_a_mean_that_is_no_better_is_said_and_not_written(configure, capsys):
    folder = train(configure(*SETTINGS, "training.learning_rate=0", "training.validate_every=2"))
    assert "the mean of the weights after steps 2, 4: " in capsys.readouterr().err  # the first of equals
    assert not (folder / "averaged").exists()
    assert (folder / "last").is_dir()


def test_the_mean_is_that_of_the_files(tmp_path):
    paths = [tmp_path / f"{number}.safetensors" for number in range(3)]
    for number, path in enumerate(paths):
        save_file({"a": torch.full((2,), float(number)), "b": torch.tensor([number * 10.0])}, path)
    mean = mean_weights(paths)
    assert mean["a"].tolist() == [1.0, 1.0]
    assert mean["b"].tolist() == [10.0]


def test_a_stopped_run_keeps_the_candidates_of_its_checkpoints_and_ends_with_those_of_one_never_stopped(
    configure,
    on_micro_batch,  # noqa: F811  (the fixture imported above)
    monkeypatch,
):
    settings = [*SETTINGS, "training.validate_every=1", "training.save_every=2", "training.keep_checkpoints=1"]
    straight = train(configure(*settings, "name=straight"))
    on_micro_batch(lambda number, *_: signal.raise_signal(signal.SIGTERM) if number == 8 else None)
    with pytest.raises(StoppedError):
        train(configure(*settings))
    monkeypatch.undo()
    folder = train(configure(*settings, "resume=true"))
    states = [read_state(complete_checkpoints(run / "checkpoints")[-1]) for run in (straight, folder)]
    assert states[0].candidates == states[1].candidates
    assert len(states[0].candidates) == 2
    for run in (straight, folder):
        assert {path.name for path in (run / "candidates").iterdir()} == {f"step-{n}" for n in states[0].candidates}
    for step in states[0].candidates:
        first, second = (load_file(run / f"candidates/step-{step}/model.safetensors") for run in (straight, folder))
        assert all(torch.equal(value, second[name]) for name, value in first.items())


def test_with_another_best_metric_the_best_model_is_selected_again(configure, capsys):
    settings = ["training.average_best=2", "training.keep_checkpoints=2", "training.validate_every=1"]
    folder = train(configure(*settings, "training.best_metric=rouge1"))
    before = read_state(complete_checkpoints(folder / "checkpoints")[-1])
    assert before.best_score is not None
    assert before.best_score >= 0
    train(configure(*settings, "training.steps=8", "resume=true"))
    assert "training.best_metric was rouge1: best/ will be selected again, by loss" in capsys.readouterr().err
    after = read_state(complete_checkpoints(folder / "checkpoints")[-1])
    assert after.best_score is not None
    assert after.best_score < 0
    assert set(after.candidates) == {"7", "8"}


def test_candidates_that_someone_deleted_are_said_and_left_out(configure, capsys):
    folder = train(configure(*SETTINGS))
    shutil.rmtree(folder / "candidates")
    train(configure(*SETTINGS, "training.steps=7", "resume=true"))
    assert "the weights after step 3, 6 are missing from candidates/: left out of the mean" in capsys.readouterr().err
    assert set(read_state(complete_checkpoints(folder / "checkpoints")[-1]).candidates) == {"7"}


def test_the_model_card_carries_the_signature_of_its_scores(finished):
    card = (finished / "best/README.md").read_text(encoding="utf-8")
    assert f"- Signature of the scores: `{signature_of_texts(7)}`" in card
    assert "|n:7|" in str(signature_of_texts(7))
