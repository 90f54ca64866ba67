import math

import pytest
import torch
from torch import nn

from summarizer.config import TrainingConfig
from summarizer.training.optim import learning_rate_at, make_optimizer, set_learning_rate
from tests.tiny import tiny_model


def rates(steps, **settings):
    config = TrainingConfig(steps=100, warmup_steps=10, learning_rate=2.0, min_learning_rate_ratio=0.1, **settings)
    return [learning_rate_at(step, config) for step in steps]


@pytest.mark.parametrize("schedule", ["cosine", "inverse_sqrt", "constant"])
def test_the_rate_climbs_evenly_from_the_first_step_to_the_end_of_warm_up(schedule):
    assert rates([0, 4, 9], schedule=schedule) == pytest.approx([0.2, 1.0, 2.0])


def test_cosine_falls_from_the_peak_to_its_floor_and_stays_there():
    assert rates([10, 55, 100, 150], schedule="cosine") == pytest.approx([2.0, 0.2 + 1.8 / 2, 0.2, 0.2])
    falling = rates(range(10, 101), schedule="cosine")
    assert falling == sorted(falling, reverse=True)


def test_inverse_square_root_halves_at_four_times_the_warm_up():
    assert rates([39, 89], schedule="inverse_sqrt") == pytest.approx([1.0, 2.0 * math.sqrt(10 / 90)])


def test_constant_stays_at_the_peak():
    assert rates([10, 99, 1000], schedule="constant") == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("schedule", ["cosine", "inverse_sqrt", "constant"])
def test_no_warm_up_and_warm_up_longer_than_the_run_are_finite(schedule):
    without = TrainingConfig(steps=1, warmup_steps=0, learning_rate=2.0, schedule=schedule)
    assert learning_rate_at(0, without) == 2.0
    longer = TrainingConfig(steps=5, warmup_steps=10, learning_rate=2.0, schedule=schedule)
    assert learning_rate_at(4, longer) == pytest.approx(1.0)
    assert math.isfinite(learning_rate_at(10, longer))


def test_every_parameter_is_trained_once_and_norms_and_biases_do_not_decay():
    model = tiny_model(copy_mechanism=True, neighbor_kernel_size=3, positions="learned")
    optimizer = make_optimizer(model, TrainingConfig(weight_decay=0.3))
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    decaying, others = ([names[id(p)] for p in group["params"]] for group in optimizer.param_groups)
    assert sorted([*decaying, *others]) == sorted(names.values())
    assert [group["weight_decay"] for group in optimizer.param_groups] == [0.3, 0.0]
    assert not [name for name in decaying if name.endswith("bias") or "norm" in name]
    assert {name for name in names.values() if name.endswith("bias") or "norm" in name} <= set(others)


def test_muon_trains_the_weights_of_linear_layers_and_adamw_the_rest():
    model = tiny_model(copy_mechanism=True, neighbor_kernel_size=3)
    optimizer = make_optimizer(model, TrainingConfig(optimizer="muon", weight_decay=0.3))
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    muon, *others = ([names[id(p)] for p in group["params"]] for group in optimizer.param_groups)
    assert sorted([*muon, *(name for group in others for name in group)]) == sorted(names.values())
    assert {"model.encoder.stack.layers.0.feed_forward.up.weight", "copying.key.weight"} <= set(muon)
    assert not [name for name in muon if "embed" in name or "lm_head" in name or "shared" in name or "bias" in name]
    assert "copying.gate.weight" not in muon


def test_muon_needs_nothing_beside_the_weights_of_linear_layers():
    layer = nn.Linear(32, 32, bias=False)  # as where only adapters are trained
    optimizer = make_optimizer(layer, TrainingConfig(optimizer="muon"))
    before = layer.weight.detach().clone()
    layer(torch.ones(32)).sum().backward()
    optimizer.step()
    assert not torch.equal(layer.weight, before)


def test_an_update_by_muon_is_orthogonal_and_of_the_size_of_adamws():
    model = torch.nn.Sequential(torch.nn.Linear(64, 32, bias=False))
    before = model[0].weight.detach().clone()
    optimizer = make_optimizer(model, TrainingConfig(optimizer="muon", learning_rate=0.1, weight_decay=0.0))
    (model(torch.randn(128, 64)).square().sum()).backward()
    optimizer.step()
    update = (before - model[0].weight.detach()) / 0.1
    singular_values = torch.linalg.svdvals(update)
    assert singular_values.max() < 2 * singular_values.min()
    assert update.square().mean().sqrt().item() == pytest.approx(0.2, rel=0.3)


def test_frozen_parameters_are_left_out_and_the_rate_reaches_every_group():
    model = tiny_model()
    model.lm_head.weight.requires_grad_(requires_grad=False)
    optimizer = make_optimizer(model, TrainingConfig())
    set_learning_rate(optimizer, 0.5)
    assert [group["lr"] for group in optimizer.param_groups] == [0.5, 0.5]
    assert not any(model.lm_head.weight is p for group in optimizer.param_groups for p in group["params"])


def test_under_a_budget_in_minutes_cosine_ends_with_the_time_or_the_steps_whichever_is_first():
    config = TrainingConfig(steps=1000, warmup_steps=0, max_minutes=10, min_learning_rate_ratio=0.1, learning_rate=1.0)
    assert learning_rate_at(10, config, seconds=300) == pytest.approx(0.1 + 0.9 * 0.5)
    assert learning_rate_at(10, config, seconds=600) == pytest.approx(0.1)
    assert learning_rate_at(999, config, seconds=6) == learning_rate_at(999, config)
