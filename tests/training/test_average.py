import pytest
import torch

from summarizer.training.engine import ExponentialAverage, weights_applied
from tests.tiny import tiny_model


def test_the_average_follows_the_weights_and_the_first_ones_do_not_linger():
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(model.weight, 100.0)
    average = ExponentialAverage(model, 0.5)
    expected = 100.0
    for step, value in enumerate((1.0, 2.0, 3.0, 4.0, 5.0, 6.0), start=1):
        torch.nn.init.constant_(model.weight, value)
        average.update(model, step)
        decay = min(0.5, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * value
    assert average.weights["weight"].item() == pytest.approx(expected, rel=1e-6)


def test_the_model_has_the_average_for_a_while_and_its_own_weights_again_also_after_an_error():
    model = tiny_model()
    own = {name: value.clone() for name, value in model.state_dict().items()}
    average = ExponentialAverage(model, 0.9)
    for value in average.weights.values():
        value.fill_(0.25)

    def use():
        with weights_applied(average.weights, model):
            assert all((parameter == 0.25).all() for parameter in model.parameters())
            raise KeyError

    with pytest.raises(KeyError):
        use()
    for name, value in model.state_dict().items():
        assert torch.equal(value, own[name])
