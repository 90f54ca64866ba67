import json
import shutil
import signal

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from summarizer.config import TrainingConfig
from summarizer.errors import InputError
from summarizer.training import checkpoint
from summarizer.training.checkpoint import (
    DamagedCheckpointError,
    Trained,
    TrainingState,
    complete_checkpoints,
    finish_folder,
    load_checkpoint,
    load_newest_checkpoint,
    prune_checkpoints,
    save_checkpoint,
    save_model_folder,
)
from summarizer.training.engine import ExponentialAverage
from summarizer.training.optim import make_optimizer
from tests.corpus import tiny_tokenizer
from tests.tiny import padded_batch, padded_labels, tiny_model

STATE = TrainingState(7, best_score=-1.25, validations_without_improvement=2, loss_scaler={"scale": 512.0})


def trained(seed=0, steps=3, optimizer="adamw", **options):
    """A tiny model and its optimizer after some steps."""
    model = tiny_model(seed, copy_mechanism=True, **options)
    optimizer = make_optimizer(model, TrainingConfig(learning_rate=0.1, optimizer=optimizer))
    batch = {**padded_batch([7, 5]), "labels": padded_labels([4, 3])}
    for _ in range(steps):
        model(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer


def take_step(model, optimizer):
    model(**padded_batch([6, 4], seed=3), labels=padded_labels([2, 5], seed=4)).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return model.state_dict()


def assert_equal(first, second):
    assert first.keys() == second.keys()
    for name, value in first.items():
        assert torch.equal(value, second[name]), name


@pytest.mark.parametrize("options", [{}, {"share_encoder_layers": True}, {"optimizer": "muon"}])
def test_weights_optimizer_and_state_come_back_bit_for_bit(tmp_path, options):
    model, optimizer = trained(**options)
    path = save_checkpoint(tmp_path, STATE, Trained(model, optimizer))
    assert path == tmp_path / "step-000007"
    other, other_optimizer = trained(seed=1, steps=1, **options)
    assert load_checkpoint(path, Trained(other, other_optimizer)) == STATE
    assert_equal(model.state_dict(), other.state_dict())
    before, after = optimizer.state_dict(), other_optimizer.state_dict()
    assert json.dumps(before["param_groups"]) == json.dumps(after["param_groups"])  # a list is as good as a tuple
    for index, values in before["state"].items():
        assert_equal(values, after["state"][index])
    assert_equal(take_step(model, optimizer), take_step(other, other_optimizer))
    assert other.lm_head.weight is other.model.shared.weight


def test_a_new_optimizer_takes_the_state_too(tmp_path):
    model, optimizer = trained()
    path = save_checkpoint(tmp_path, STATE, Trained(model, optimizer))
    other, other_optimizer = trained(seed=1, steps=0)
    load_checkpoint(path, Trained(other, other_optimizer))
    assert_equal(take_step(model, optimizer), take_step(other, other_optimizer))


def test_only_complete_checkpoints_count_oldest_first(tmp_path):
    model, optimizer = trained(steps=1)
    for step in (1_000_000, 999_999, 20):
        save_checkpoint(tmp_path, TrainingState(step), Trained(model, optimizer))
    (tmp_path / "step-000030").mkdir()
    (tmp_path / "step-000030" / "model.safetensors").write_bytes(b"half")
    assert [path.name for path in complete_checkpoints(tmp_path)] == ["step-000020", "step-999999", "step-1000000"]
    assert complete_checkpoints(tmp_path / "none") == []


def test_writing_that_is_interrupted_leaves_the_old_checkpoint_and_no_new_one(tmp_path, monkeypatch):
    model, optimizer = trained(steps=1)
    save_checkpoint(tmp_path, TrainingState(1), Trained(model, optimizer))

    def fail(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(checkpoint, "write_json", fail)
    for step in (1, 2):
        with pytest.raises(InputError, match=f"step-00000{step} cannot be written: no space"):
            save_checkpoint(tmp_path, TrainingState(step), Trained(model, optimizer))
    assert [path.name for path in complete_checkpoints(tmp_path)] == ["step-000001"]
    prune_checkpoints(tmp_path, keep=1)
    assert [path.name for path in tmp_path.iterdir()] == ["step-000001"]


def test_saving_a_step_again_replaces_it(tmp_path):
    save_checkpoint(tmp_path, TrainingState(1), Trained(*trained(seed=0)))
    model, optimizer = trained(seed=5)
    path = save_checkpoint(tmp_path, TrainingState(1, best_score=3.0), Trained(model, optimizer))
    other = trained(seed=1)
    assert load_checkpoint(path, Trained(*other)).best_score == 3.0
    assert_equal(model.state_dict(), other[0].state_dict())
    assert [each.name for each in tmp_path.iterdir()] == ["step-000001"]


def test_the_newest_checkpoints_are_kept(tmp_path):
    model, optimizer = trained(steps=1)
    for step in (1, 2, 30, 4):
        save_checkpoint(tmp_path, TrainingState(step), Trained(model, optimizer))
    prune_checkpoints(tmp_path, keep=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-000004", "step-000030"]
    prune_checkpoints(tmp_path, keep=5)
    assert len(complete_checkpoints(tmp_path)) == 2


def test_those_of_every_so_many_steps_are_kept_too(tmp_path):
    for step in range(1, 8):
        save_checkpoint(tmp_path, TrainingState(step), Trained(*trained()))
    prune_checkpoints(tmp_path, keep=2, keep_every=3)
    assert sorted(path.name[-1] for path in tmp_path.iterdir()) == ["3", "6", "7"]


def test_what_someone_put_aside_is_no_checkpoint(tmp_path):
    for step in (1, 2):
        save_checkpoint(tmp_path, TrainingState(step), Trained(*trained(steps=1)))
    shutil.copytree(tmp_path / "step-000001", tmp_path / "step-000001-before-the-change")
    prune_checkpoints(tmp_path, keep=1, keep_every=10)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-000001-before-the-change", "step-000002"]


@pytest.mark.parametrize(("before", "after"), [("adamw", "muon"), ("muon", "adamw")])
def test_a_state_of_another_optimizer_is_refused(tmp_path, before, after):
    def only_a_layer(optimizer):
        model, _ = trained(steps=0)
        for name, parameter in model.named_parameters():
            parameter.requires_grad_("feed_forward.up" in name)  # whose groups are alike for both optimizers
        return Trained(model, make_optimizer(model, TrainingConfig(optimizer=optimizer)))

    saved = only_a_layer(before)
    take_step(saved.model, saved.optimizer)
    path = save_checkpoint(tmp_path, STATE, saved)
    with pytest.raises(InputError, match=r"step-000007: .*: training.optimizer must stay as it was"):
        load_checkpoint(path, only_a_layer(after))


@pytest.mark.parametrize(("before", "after"), [("", "up"), ("up", ""), ("layers.0", "layers.1")])
def test_a_state_of_other_parameters_is_refused_also_where_they_have_the_same_shapes(tmp_path, before, after):
    def frozen(part):
        model, _ = trained(steps=0)
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(not (part and part in name))
        return Trained(model, make_optimizer(model, TrainingConfig()))

    saved = frozen(before)
    take_step(saved.model, saved.optimizer)
    path = save_checkpoint(tmp_path, STATE, saved)
    with pytest.raises(InputError, match=r"training.freeze and training.lora must stay as they were"):
        load_checkpoint(path, frozen(after))
    load_checkpoint(path, frozen(before))


def test_a_checkpoint_of_another_model_or_a_damaged_one_is_an_error_that_names_it(tmp_path):
    path = save_checkpoint(tmp_path, STATE, Trained(*trained()))
    for options in ({"encoder_layers": 3}, {"encoder_layers": 1}, {"d_model": 32}):
        with pytest.raises(InputError, match="step-000007: does not fit this configuration") as caught:
            load_checkpoint(path, Trained(*trained(steps=0, **options)))
        assert len(str(caught.value)) < 400
    state = json.loads((path / "state.json").read_text(encoding="utf-8"))
    assert state["step"] == 7
    (path / "optimizer.safetensors").write_bytes(b"half")
    with pytest.raises(DamagedCheckpointError, match="step-000007 is damaged: the content of optimizer"):
        load_checkpoint(path, Trained(*trained(steps=0)))


def test_a_checkpoint_of_an_earlier_version_is_one_clear_line(tmp_path):
    path = save_checkpoint(tmp_path, STATE, Trained(*trained()))
    optimizer = json.loads((path / "optimizer.json").read_text(encoding="utf-8"))
    state = json.loads((path / "state.json").read_text(encoding="utf-8"))
    del optimizer["parameters"]
    (path / "optimizer.json").write_text(json.dumps(optimizer), encoding="utf-8")
    (path / "state.json").write_text(json.dumps({**state, "sha256": {}}), encoding="utf-8")
    with pytest.raises(InputError, match="step-000007 was written by an earlier version and cannot be resumed"):
        load_checkpoint(path, Trained(*trained(steps=0)))


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "optimizer.json", "state.json"])
def test_the_newest_checkpoint_that_is_not_damaged_is_used_and_the_others_are_named(tmp_path, name):
    model, optimizer = trained()
    good = save_checkpoint(tmp_path, TrainingState(3), Trained(model, optimizer))
    weights = {key: value.clone() for key, value in model.state_dict().items()}
    take_step(model, optimizer)
    newest = save_checkpoint(tmp_path, TrainingState(4), Trained(model, optimizer)) / name
    content = bytearray(newest.read_bytes())
    content[-10] ^= 1  # a single bit
    newest.write_bytes(content)
    other = Trained(*trained(seed=1, steps=0))
    state, path, damaged = load_newest_checkpoint(complete_checkpoints(tmp_path), other)
    assert (state.step, path) == (3, good)
    assert_equal(other.model.state_dict(), weights)
    assert len(damaged) == 1
    assert "step-000004 is damaged" in damaged[0]
    for broken in (newest, good / name):
        broken.write_text("{}", encoding="utf-8")
    with pytest.raises(DamagedCheckpointError, match=r"no checkpoint .*000004 is damaged.*000003 is damaged"):
        load_newest_checkpoint(complete_checkpoints(tmp_path), other)


def test_the_average_of_the_weights_is_kept_and_starts_from_the_weights_where_there_is_none(tmp_path):
    model, optimizer = trained()
    average = ExponentialAverage(model, 0.9)
    take_step(model, optimizer)
    average.update(model, 1)
    path = save_checkpoint(tmp_path, TrainingState(4), Trained(model, optimizer, average))
    other, other_optimizer = trained(seed=1)
    other_average = ExponentialAverage(other, 0.9)
    load_checkpoint(path, Trained(other, other_optimizer, other_average))
    assert_equal(other_average.weights, average.weights)
    path = save_checkpoint(tmp_path, TrainingState(5), Trained(model, optimizer))
    load_checkpoint(path, Trained(other, other_optimizer, other_average))
    assert_equal(other_average.weights, dict(model.named_parameters()))


def test_a_replacement_interrupted_between_its_renames_is_finished(tmp_path):
    target = tmp_path / "best"
    (tmp_path / ".best.old.part").mkdir()
    finish_folder(target)
    assert [path.name for path in tmp_path.iterdir()] == ["best"]
    (tmp_path / ".best.old.part").mkdir()
    finish_folder(target)
    assert [path.name for path in tmp_path.iterdir()] == ["best"]


def test_a_full_disk_is_one_line_that_names_the_checkpoint_and_the_one_before_stays(tmp_path):
    resource = pytest.importorskip("resource", reason="limits on files are of POSIX")
    save_checkpoint(tmp_path, TrainingState(1), Trained(*trained(steps=1)))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write fails then, as on a full disk
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(InputError, match=r"step-000002 cannot be written: .*too large") as caught:
            save_checkpoint(tmp_path, TrainingState(2), Trained(*trained(steps=1)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert "\n" not in str(caught.value)
    assert [path.name for path in complete_checkpoints(tmp_path)] == ["step-000001"]


def test_a_model_folder_appears_whole_and_loads_by_the_auto_classes(tmp_path, monkeypatch):
    model, tokenizer, path = tiny_model(copy_mechanism=True), tiny_tokenizer(), tmp_path / "best"
    save_model_folder(path, model, tokenizer, "# Card\n")
    names = {each.name for each in path.iterdir()}
    assert names == {
        *("config.json", "generation_config.json", "model.safetensors"),
        *("tokenizer.json", "tokenizer_config.json", "README.md"),
    }
    assert_equal(AutoModelForSeq2SeqLM.from_pretrained(path).state_dict(), model.state_dict())
    text = "The patients improved."
    assert AutoTokenizer.from_pretrained(path)(text).input_ids == tokenizer(text).input_ids

    before = load_file(path / "model.safetensors")
    monkeypatch.setattr(tokenizer, "save_pretrained", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save_model_folder(path, tiny_model(seed=9, copy_mechanism=True), tokenizer, "# Card\n")
    assert_equal(load_file(path / "model.safetensors"), before)
    monkeypatch.undo()
    save_model_folder(path, tiny_model(seed=9, copy_mechanism=True), tokenizer, "# New\n")
    assert (path / "README.md").read_text(encoding="utf-8") == "# New\n"
    assert [each.name for each in tmp_path.iterdir()] == ["best"]
    shutil.rmtree(path)
