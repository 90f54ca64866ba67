import json

import pytest

from summarizer.errors import InputError
from summarizer.training.loop import train
from summarizer.training.rehearsals import HIGHEST, LOWEST, STEPS, try_rates


def descent(curvature):
    """Steps of gradient descent on curvature · x² / 2, stable below a rate of 2 / curvature; the loss before each."""
    position = 1.0

    def take_step(rate):
        nonlocal position
        loss = curvature * position**2 / 2
        position -= rate * curvature * position
        return loss

    return take_step


@pytest.mark.parametrize("curvature", [10.0, 100.0, 1000.0])
def test_the_suggestion_lets_the_loss_fall_and_follows_the_curvature(curvature):
    trial = try_rates(descent(curvature))
    assert 0.01 / curvature < trial.suggestion < 2 / curvature
    assert trial.learning_rates == sorted(trial.learning_rates)
    assert len(trial.learning_rates) == len(trial.losses) == len(trial.smoothed)


def test_the_trial_ends_where_the_loss_grows_or_is_not_finite():
    assert try_rates(descent(1000.0)).learning_rates[-1] < HIGHEST
    losses = iter([3.0, 2.0, 1.0, float("nan"), 0.0])
    assert try_rates(lambda _: next(losses)).losses == [3.0, 2.0, 1.0]
    flat = try_rates(lambda _: 1.0)
    assert (len(flat.losses), flat.learning_rates[0]) == (STEPS, LOWEST)
    assert flat.learning_rates[-1] == pytest.approx(HIGHEST)
    rising = iter(range(1, 9))  # by less and less of its value, and never falling
    assert try_rates(lambda _: float(next(rising, "nan"))).suggestion == LOWEST
    with pytest.raises(InputError, match="the loss is not finite before the first step"):
        try_rates(lambda _: float("nan"))


def test_it_is_found_on_the_training_data_and_no_run_is_written(configure, capsys):
    folder = train(configure("training.batches_per_step=1"), rehearsal="find-lr")
    trial = json.loads((folder.parent / "base-learning-rate.json").read_text(encoding="utf-8"))
    assert 1e-4 < trial["suggestion"] < 1e-1
    assert min(trial["smoothed"]) < 0.8 * trial["smoothed"][0]
    assert f"training.learning_rate={trial['suggestion']:.1e} is where the loss fell" in capsys.readouterr().err
    assert {path.name for path in folder.parent.iterdir()} == {"base-learning-rate.json", "base-learning-rate.png"}
