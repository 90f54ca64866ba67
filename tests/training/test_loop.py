import json
import re
import shutil
import signal

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

import summarizer
from summarizer.config_files import load_config
from summarizer.data.batching import collate, load_shares
from summarizer.data.preparation import prepare
from summarizer.data.tokenizer import train_tokenizer
from summarizer.errors import InputError, StoppedError
from summarizer.generation.summarizer import Summarizer
from summarizer.training import best_models, loop, summarization
from summarizer.training.checkpoint import complete_checkpoints
from summarizer.training.loop import TrainingError, train
from summarizer.training.stop_signals import StopSignals
from tests.corpus import TEXTS, sentence, write_jsonl


def metrics_of(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]


def losses_of(folder):
    return {line["step"]: line["loss"] for line in metrics_of(folder) if "loss" in line}


def validations_of(folder):
    return {line["step"]: line["validation_loss"] for line in metrics_of(folder) if "validation_loss" in line}


def assert_same_tensors(first, second):
    first, second = load_file(first), load_file(second)
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        assert torch.equal(tensor, second[name]), name


def assert_same_run(first, second):
    """The same losses, weights and optimizer, bit for bit."""
    assert losses_of(first) == losses_of(second)
    assert validations_of(first) == validations_of(second)
    for name in ("model", "optimizer"):
        path = f"checkpoints/step-000006/{name}.safetensors"
        assert_same_tensors(first / path, second / path)
    for name in ("best", "last"):
        assert_same_tensors(first / name / "model.safetensors", second / name / "model.safetensors")


@pytest.fixture
def on_micro_batch(monkeypatch):
    """A function that lets `action(loss, model)` see, and replace, the loss of a training micro-batch by its number."""

    def install(action):
        original, count = summarization.summed_loss, [0]

        def patched(model, batch, smoothing):
            count[0] += 1
            loss = original(model, batch, smoothing)
            changed = action(count[0], loss, model)
            return loss if changed is None else changed

        monkeypatch.setattr(summarization, "summed_loss", patched)

    return install


def test_a_run_folder_holds_what_it_promises(finished):
    names = {"config.yaml", "metrics.jsonl", "checkpoints", "best", "last", ".lock"}
    assert {path.name for path in finished.iterdir()} == names
    assert [path.name for path in complete_checkpoints(finished / "checkpoints")] == ["step-000003", "step-000006"]
    assert [path.name for path in (finished / "checkpoints").iterdir() if path.name.startswith(".")] == []
    assert load_config(finished / "config.yaml").name == "base"
    metrics = metrics_of(finished)
    assert [line["step"] for line in metrics] == [1, 2, 3, 3, 4, 5, 6, 6]
    assert set(metrics[0]) == {
        *("step", "loss", "learning_rate", "grad_norm", "source_tokens_per_second", "documents_per_second"),
        "peak_memory_mb",
    }
    assert set(metrics[3]) == {"step", "validation_loss", "rouge1", "rouge2", "rougeL", "rougeLsum"}
    assert losses_of(finished)[6] < losses_of(finished)[1]


@pytest.mark.parametrize("name", ["best", "last"])
def test_best_and_last_are_model_folders_of_the_ecosystem(finished, name):
    model, tokenizer = (
        AutoModelForSeq2SeqLM.from_pretrained(finished / name),
        AutoTokenizer.from_pretrained(finished / name),
    )
    assert isinstance(model, summarizer.FastformerSummarizerForConditionalGeneration)
    assert (model.generation_config.num_beams, model.generation_config.max_new_tokens) == (2, 4)
    assert model.config.sentence_per_line
    assert len(tokenizer) == model.config.vocab_size
    card = (finished / name / "README.md").read_text(encoding="utf-8")
    assert "library_name: transformers" in card
    assert str(finished.parent.parent) not in card.partition("```yaml")[0]
    (summary,) = Summarizer(model.eval(), tokenizer).summarize(["The patients improved. The others did not improve."])
    assert summary.error is None


def test_best_is_the_model_of_the_lowest_validation_loss_and_last_that_of_the_last_step(finished):
    losses = validations_of(finished)
    best = min(losses, key=losses.__getitem__)
    for folder, step in (("best", best), ("last", 6)):
        assert_same_tensors(
            finished / folder / "model.safetensors", finished / f"checkpoints/step-{step:06d}/model.safetensors"
        )
    state = json.loads((finished / "checkpoints/step-000006/state.json").read_text(encoding="utf-8"))
    assert state["best_score"] == -losses[best]


def test_a_run_stopped_by_a_signal_says_how_to_go_on_and_ends_like_one_never_stopped(
    finished, configure, on_micro_batch, monkeypatch
):
    before = signal.getsignal(signal.SIGTERM)
    on_micro_batch(lambda number, *_: signal.raise_signal(signal.SIGTERM) if number == 4 else None)
    with pytest.raises(StoppedError, match=r"stopped after step 2; resume=true continues from .*step-000002"):
        train(configure())
    assert signal.getsignal(signal.SIGTERM) is before
    monkeypatch.undo()
    folder = train(configure("resume=true"))
    assert [line["step"] for line in metrics_of(folder)] == [1, 2, 3, 3, 4, 5, 6, 6]
    assert_same_run(folder, finished)


def test_a_run_killed_after_a_checkpoint_ends_like_one_never_stopped(finished, configure, tmp_path):
    config = configure("resume=true")
    folder = tmp_path / "runs" / "base"
    shutil.copytree(finished, folder)
    shutil.rmtree(folder / "checkpoints" / "step-000006")
    shutil.rmtree(folder / "last")
    (folder / "checkpoints" / ".step-000006.part").mkdir()
    with (folder / "metrics.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"step": 7, "lo')  # what a kill in the middle of a line leaves
    train(config)
    assert [line["step"] for line in metrics_of(folder)] == [1, 2, 3, 3, 4, 5, 6, 6]
    assert_same_run(folder, finished)
    assert not list((folder / "checkpoints").glob(".*"))


def test_the_first_best_model_comes_with_a_checkpoint_to_go_on_from(configure, monkeypatch):
    class Killed(BaseException):
        """Like SIGKILL: nothing is written after it."""

    original = best_models.BestModels.validate

    def kill_in_the_second(best, state, log):
        if state.step == 4:
            raise Killed
        return original(best, state, log)

    settings = ("training.validate_every=2", "training.save_every=100")
    monkeypatch.setattr(best_models.BestModels, "validate", kill_in_the_second)
    with pytest.raises(Killed):
        train(configure(*settings))
    monkeypatch.undo()
    folder = train(configure(*settings, "resume=true"))
    assert sorted(validations_of(folder)) == [2, 4, 6]


def test_a_signal_in_the_last_step_is_no_failure(configure, on_micro_batch):
    on_micro_batch(lambda number, *_: signal.raise_signal(signal.SIGTERM) if number == 1 else None)
    folder = train(configure("training.steps=1", "data.validation=[]"))
    assert [path.name for path in complete_checkpoints(folder / "checkpoints")] == ["step-000001"]
    assert not (folder / "best").exists()


def test_a_finished_run_resumed_with_more_steps_goes_on_and_with_no_more_stays(configure, capsys):
    settings = ["training.schedule=constant", "training.rouge_examples=0"]
    straight = train(configure(*settings, "name=straight", "training.steps=4", "training.validate_every=2"))
    for steps in (2, 2, 4):
        folder = train(configure(*settings, f"training.steps={steps}", "resume=true", "training.validate_every=2"))
    assert losses_of(folder) == losses_of(straight)
    assert list(validations_of(folder)) == [2, 4]
    assert_same_tensors(folder / "last/model.safetensors", straight / "last/model.safetensors")
    assert "resumed from" in capsys.readouterr().err


def test_an_existing_run_is_not_overwritten(finished, configure, tmp_path):
    config = configure()
    (tmp_path / "runs" / "base" / "checkpoints").mkdir(parents=True)
    shutil.copytree(finished / "checkpoints/step-000003", tmp_path / "runs/base/checkpoints/step-000003")
    shutil.copy(finished / "config.yaml", tmp_path / "runs/base")
    with pytest.raises(InputError, match="runs/base already holds a run; pass resume=true to continue it"):
        train(config)
    names = {path.name for path in (tmp_path / "runs" / "base").iterdir()}
    assert names == {".lock", "checkpoints", "config.yaml"}


def test_a_loss_that_is_not_finite_stops_with_the_documents_and_the_last_good_checkpoint(
    configure, on_micro_batch, monkeypatch
):
    settings = ["training.save_every=1", "training.rouge_examples=0", "training.max_skipped_in_a_row=0"]
    on_micro_batch(lambda number, loss, _: loss * float("nan") if number == 6 else None)
    with pytest.raises(
        TrainingError, match=r"not finite at step 3, .*last good checkpoint is .*step-000002;"
    ) as caught:
        train(configure(*settings))
    ids = str(caught.value).partition("with the documents ")[2].partition(";")[0].split(", ")
    assert 0 < len(ids) <= 8
    assert all(name.startswith("1-") for name in ids)
    folder = configure().output_dir + "/base"
    assert "\n" not in str(caught.value)
    assert [path.name for path in complete_checkpoints(loop.Path(folder, "checkpoints"))][-1] == "step-000002"
    assert not loop.Path(folder, "last").exists()
    monkeypatch.undo()
    assert len(losses_of(train(configure(*settings, "resume=true")))) == 6


def test_a_step_that_is_not_finite_is_skipped_counted_and_without_effect(configure, on_micro_batch, capsys):
    on_micro_batch(lambda number, loss, _: loss * float("nan") if number in (3, 6) else None)
    folder = train(configure("training.rouge_examples=0", "training.save_every=1", "training.keep_checkpoints=9"))
    assert sorted(losses_of(folder)) == [1, 4, 5, 6]
    said = capsys.readouterr().err
    assert "step skipped: the loss (nan) or its gradient (nan) is not finite at step 2, with the documents 1-" in said
    names = [path.name for path in complete_checkpoints(folder / "checkpoints")]
    assert names == [f"step-{step:06d}" for step in (1, 4, 5, 6)]  # none that could be spoilt
    state = json.loads((folder / "checkpoints/step-000006/state.json").read_text(encoding="utf-8"))
    assert (state["skipped_steps"], state["skipped_in_a_row"]) == (2, 0)


def test_a_damaged_newest_checkpoint_is_named_and_the_one_before_used(finished, configure, tmp_path, capsys):
    folder = tmp_path / "runs" / "base"
    shutil.copytree(finished, folder)
    (folder / "checkpoints/step-000006/state.json").write_text("{}", encoding="utf-8")
    train(configure("resume=true"))
    said = capsys.readouterr().err
    assert "step-000006 is damaged" in said
    assert f"resumed from {folder}/checkpoints/step-000003" in said
    assert_same_run(folder, finished)


def test_what_changed_since_the_checkpoint_is_said_and_what_cannot_change_refused(
    finished, configure, tmp_path, capsys
):
    folder = tmp_path / "runs" / "base"
    shutil.copytree(finished, folder)
    for override in (
        "seed=2",
        "training.tokens_per_batch=80",
        "training.batches_per_step=1",
        "data.max_source_tokens=9",
    ):
        key = override.partition("=")[0]
        with pytest.raises(TrainingError, match=rf"cannot be resumed: .* changed: .*{key}: .* → ") as caught:
            train(configure("resume=true", override, "training.steps=7"))
        assert "training.steps" not in str(caught.value)
    train(configure("resume=true", "training.steps=7", "training.rouge_examples=0"))
    assert "changed since then: training.steps: 6 → 7" in capsys.readouterr().err


def test_a_run_that_ended_early_and_has_nothing_left_to_do_is_left_as_it_is(configure, capsys):
    settings = ("training.early_stopping_patience=1", "training.learning_rate=0", "training.rouge_examples=0")
    folder = train(configure(*settings, "training.validate_every=1"))
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    train(configure(*settings, "training.validate_every=1", "resume=true"))
    assert "nothing is left to do after step 2 of 6" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_what_rests_on_few_documents_and_documents_longer_than_a_micro_batch_are_named(configure, capsys):
    short = ("training.steps=1", "training.validate_every=1")
    train(configure(*short, "training.best_metric=rouge1", "training.rouge_examples=2", "training.tokens_per_batch=40"))
    said = capsys.readouterr().err
    assert "training.best_metric rest on only 2 validation documents" in said
    assert "training.rouge_examples should give at least 50" in said
    longest = re.search(r"documents have more than training.tokens_per_batch=40 .* The longest, 1-\d+, has (\d+)", said)
    assert longest is not None
    assert int(longest[1]) > 40
    train(configure(*short, "name=other", "training.early_stopping_patience=2", "training.average_best=2"))
    said = capsys.readouterr().err
    assert "training.early_stopping_patience and training.average_best rest on only 7 validation documents" in said
    assert "data.validation should give at least 50" in said
    assert "more than training.tokens_per_batch" not in said


def test_a_finished_run_is_left_as_it_is(finished, configure, tmp_path, capsys):
    folder = tmp_path / "runs" / "base"
    shutil.copytree(finished, folder)
    card = (folder / "last/README.md").read_text(encoding="utf-8")
    assert '- Validation: {"validation_loss"' in card
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    train(configure("resume=true", "training.trackers=[tensorboard]"))
    said = capsys.readouterr().err
    assert "nothing is left to do after step 6 of 6" in said
    assert "trackers" not in said  # a change without an effect on the models
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    shutil.rmtree(folder / "checkpoints")
    for resume in ("true", "false"):
        with pytest.raises(InputError, match="holds models of a run but none of its checkpoints; pass another name"):
            train(configure(f"resume={resume}"))


def test_the_average_is_validated_and_kept_and_a_stop_does_not_change_it(configure, on_micro_batch, monkeypatch):
    overrides = ["training.ema_decay=0.9", "training.rouge_examples=0"]
    straight = train(configure(*overrides, "name=straight", "training.keep_checkpoints=9"))
    on_micro_batch(lambda number, *_: signal.raise_signal(signal.SIGTERM) if number == 4 else None)
    with pytest.raises(StoppedError, match="stopped"):
        train(configure(*overrides))
    monkeypatch.undo()
    folder = train(configure(*overrides, "resume=true"))
    assert_same_run(folder, straight)
    averaged = load_file(straight / "checkpoints/step-000006/average.safetensors")
    last = load_file(straight / "last/model.safetensors")
    assert any(
        not torch.equal(last[n], t)
        for n, t in load_file(straight / "checkpoints/step-000006/model.safetensors").items()
    )
    for name, value in last.items():
        assert torch.equal(value, averaged[name])


def test_a_budget_in_minutes_ends_training_validated_and_saved(configure):
    folder = train(configure("training.max_minutes=1e-6", "training.rouge_examples=0"))
    assert [line["step"] for line in metrics_of(folder)] == [1, 1]
    assert (folder / "last").is_dir()
    assert (folder / "best").is_dir()
    state = json.loads((folder / "checkpoints/step-000001/state.json").read_text(encoding="utf-8"))
    assert 0 < state["seconds"] < 60


def test_a_dry_run_says_what_would_be_done_and_writes_no_run(configure, capsys):
    folder = train(configure("data.max_source_tokens=40"), rehearsal="dry-run")
    said = capsys.readouterr().err
    assert not folder.exists()
    for part in (
        "25 pairs",
        "truncated sources: ",
        "51,105 parameters",
        "steps per epoch",
        "% padding",
        "about 0 h 0 min of training",
    ):
        assert part in said
    (folder / "last").mkdir(parents=True)  # a run of that name may be there already
    train(configure("data.max_source_tokens=40"), rehearsal="dry-run")
    assert [path.name for path in folder.iterdir()] == ["last"]


def test_documents_in_two_splits_are_warned_about(configure, tmp_path, capsys):
    for split in ("validation", "test"):
        shutil.copy(tmp_path / "train.jsonl", tmp_path / f"{split}.jsonl")
    overrides = ["data.max_validation_examples=4", f"data.test=[{tmp_path}/test.jsonl]", "data.max_test_examples=2"]
    train(configure("training.steps=1", "training.rouge_examples=0", *overrides), rehearsal="dry-run")
    said = capsys.readouterr().err
    assert "warning: 4 validation documents are also training documents: 1-0, 1-1, 1-2\n" in said
    assert "warning: 2 test documents are also training documents: 1-0, 1-1\n" in said
    assert "warning: 2 test documents are also validation documents: 1-0, 1-1\n" in said


def test_a_hub_is_not_asked_for_test_documents_to_compare_with_ones_own(configure, capsys):
    train(configure("data.test=[somebody/somewhere]"), rehearsal="dry-run")
    assert "test documents" not in capsys.readouterr().err


def test_failures_of_validation_summaries_are_said(configure, monkeypatch, capsys):
    from summarizer.models import FastformerSummarizerForConditionalGeneration as Model

    def fail(*_, **__):
        raise RuntimeError("no luck")

    monkeypatch.setattr(Model, "generate", fail)
    train(configure("training.steps=1"))
    assert re.search(
        r"2 of 2 validation summaries failed, the first: 2-\d: RuntimeError: no luck", capsys.readouterr().err
    )


def test_a_batch_out_of_memory_names_its_length_and_what_to_lower(configure, on_micro_batch):
    def too_much(*_):
        raise torch.OutOfMemoryError("CUDA out of memory")

    on_micro_batch(too_much)
    with pytest.raises(
        TrainingError, match=r"out of memory at step 1 with \d+ × \d+ source tokens; lower training.tokens"
    ):
        train(configure())


def test_a_rate_far_too_high_is_found_out(configure):
    with pytest.raises(TrainingError, match="not finite at step"):
        train(configure("training.learning_rate=1e30", "training.warmup_steps=0", "data.validation=[]"))


def test_training_stops_early_when_validations_no_longer_improve(configure, capsys):
    overrides = ["training.steps=50", "training.learning_rate=0", "training.validate_every=1"]
    folder = train(configure(*overrides, "training.early_stopping_patience=2", "training.rouge_examples=0"))
    assert list(validations_of(folder)) == [1, 2, 3]
    assert "stopped early: loss did not improve in 2 validations" in capsys.readouterr().err
    assert (folder / "last").is_dir()


def test_the_best_model_can_be_chosen_by_rouge(configure):
    folder = train(configure("training.best_metric=rouge1", "training.steps=3"))
    state = json.loads((folder / "checkpoints/step-000003/state.json").read_text(encoding="utf-8"))
    assert state["best_score"] == metrics_of(folder)[-1]["rouge1"]


def gradients_of_a_step(config, monkeypatch, together):
    """The gradients of the first step, its micro-batches one by one, or all their rows in one."""
    runs = []
    monkeypatch.setattr(loop, "take_steps", lambda run, _: runs.append(run))
    train(config)
    (run,) = runs
    micro_batches = next(load_shares(run.training_data.rows, run.plan, 0, 0, 1))
    run.stop = StopSignals()
    assert len(micro_batches) == 4
    if together:
        micro_batches = [[row for rows in micro_batches for row in rows]]
    monkeypatch.setattr(run.trained.optimizer, "zero_grad", lambda **_: None)
    statistics = run.step(micro_batches)
    return statistics, {name: p.grad for name, p in run.trained.model.named_parameters()}


def test_four_micro_batches_give_the_loss_and_gradients_of_one_batch(configure, monkeypatch):
    settings = ["training.batches_per_step=4", "model.dropout=0", "training.max_grad_norm=.inf"]
    results = []
    for together in (False, True):
        results.append(gradients_of_a_step(configure(*settings, f"name={together}"), monkeypatch, together))
    (apart, gradients), (whole, expected) = results
    assert apart["loss"] == pytest.approx(whole["loss"], rel=1e-6)
    assert apart["grad_norm"] == pytest.approx(whole["grad_norm"], rel=1e-5)
    assert (apart["labels"], apart["documents"]) == (whole["labels"], whole["documents"])
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradient, expected[name], atol=1e-6, rtol=1e-4)


def test_the_batches_of_a_run_are_those_of_the_plan_also_when_workers_load_them(configure, monkeypatch):
    runs = []
    monkeypatch.setattr(loop, "take_steps", lambda run, _: runs.append(run))
    for workers in (0, 1):
        train(configure(f"training.num_workers={workers}", f"name=w{workers}"))
    taken = []
    for run in runs:
        batches = load_shares(run.training_data.rows, run.plan, 0, 0, 1, run.settings.num_workers)
        taken.append([[[row["id"] for row in rows] for rows in next(batches)] for _ in range(12)])
        batches.close()
    assert taken[0] == taken[1]
    ids = [row["id"] for row in runs[0].training_data.rows]
    planned = runs[0].plan.steps()
    assert taken[0] == [[[ids[index] for index in batch] for batch in next(planned)] for _ in range(12)]


def test_bfloat16_lasts_past_checkpoints_and_validations(configure, on_micro_batch):
    seen = []

    def observe(_number, _loss, model):
        handle = model.model.encoder.register_forward_hook(lambda *_: seen.append(torch.is_autocast_enabled("cpu")))
        handles.append(handle)

    handles = []
    on_micro_batch(observe)
    overrides = ["training.mixed_precision=bf16", "training.steps=3", "training.save_every=1"]
    folder = train(configure(*overrides, "training.validate_every=1", "training.rouge_examples=1"))
    assert len(seen) > 10
    assert all(seen)
    assert {tensor.dtype for tensor in load_file(folder / "last/model.safetensors").values()} == {torch.float32}


def test_the_loss_scaler_of_float16_is_resumed_too(configure, monkeypatch):
    make_accelerator = loop.make_accelerator

    def with_scaler(*arguments):  # which accelerate leaves disabled on a CPU
        accelerator = make_accelerator(*arguments)
        accelerator.scaler = torch.amp.GradScaler("cpu", init_scale=64.0, growth_interval=3)
        return accelerator

    monkeypatch.setattr(loop, "make_accelerator", with_scaler)
    overrides = ["training.mixed_precision=fp16", "training.schedule=constant", "training.rouge_examples=0"]
    straight = train(configure(*overrides, "training.steps=4", "name=straight"))
    folder = train(configure(*overrides, "training.steps=2"))
    train(configure(*overrides, "training.steps=4", "resume=true"))
    states = [
        json.loads((run / "checkpoints/step-000004/state.json").read_text(encoding="utf-8"))
        for run in (straight, folder)
    ]
    assert states[0]["loss_scaler"]["scale"] == 128.0
    assert states[0]["loss_scaler"] == states[1]["loss_scaler"]
    assert_same_tensors(folder / "last/model.safetensors", straight / "last/model.safetensors")


def test_an_unknown_tracker_is_one_clear_line(configure):
    with pytest.raises(InputError, match=r"^training\.mixed_precision or training\.trackers: .*nothing") as caught:
        train(configure("training.trackers=[nothing]"))
    assert "\n" not in str(caught.value)


def test_tensorboard_gets_what_metrics_jsonl_gets(configure):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    overrides = ["training.trackers=[tensorboard]", "training.steps=2", "training.validate_every=2"]
    folder = train(configure(*overrides, "training.rouge_examples=0"))
    events = EventAccumulator(str(next(folder.rglob("events.out.*")).parent)).Reload()
    assert [event.step for event in events.Scalars("train/loss")] == [1, 2]
    assert [event.value for event in events.Scalars("train/loss")] == pytest.approx(list(losses_of(folder).values()))
    assert len(events.Scalars("validation/loss")) == 1


def tiny_bart_folder(path):
    from transformers import BartConfig, BartForConditionalGeneration

    from tests.corpus import tiny_tokenizer

    torch.manual_seed(0)
    config = BartConfig(
        vocab_size=500, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=128, dropout=0.1,
        pad_token_id=0, bos_token_id=2, eos_token_id=3, decoder_start_token_id=2,
    )  # fmt: skip
    BartForConditionalGeneration(config).save_pretrained(path)
    tiny_tokenizer().save_pretrained(path)
    return path


def test_a_pretrained_model_of_the_ecosystem_trains_and_resumes_in_the_same_loop(configure, tmp_path):
    bart = tiny_bart_folder(tmp_path / "bart")
    overrides = [f"pretrained={bart}", "data.tokenizer=null", "training.schedule=constant", "training.steps=4"]
    overrides += ["training.validate_every=4", "training.rouge_examples=2", "training.label_smoothing=0.1"]
    straight = train(configure(*overrides, name="pretrained"))
    folder = train(configure(*overrides, "training.steps=2", "name=again", name="pretrained"))
    train(configure(*overrides, "resume=true", "name=again", name="pretrained"))
    assert losses_of(folder) == losses_of(straight)
    assert_same_tensors(folder / "last/model.safetensors", straight / "last/model.safetensors")
    model = AutoModelForSeq2SeqLM.from_pretrained(straight / "last")
    assert type(model).__name__ == "BartForConditionalGeneration"
    assert metrics_of(straight)[-1]["rouge1"] >= 0


def test_documents_longer_than_a_pretrained_model_reads_stop_before_training(configure, tmp_path):
    bart = tiny_bart_folder(tmp_path / "bart")
    rows = [{"document": "cells " * 200, "summary": "cells"}]
    loop.Path(tmp_path / "train.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with pytest.raises(InputError, match=r"reads 128 at most; set data\.max_source_tokens=128"):
        train(configure(f"pretrained={bart}", "data.tokenizer=null", name="pretrained"))


def test_the_validation_loss_counts_each_document_once(finished):
    config = load_config(finished / "config.yaml")
    tokenizer = AutoTokenizer.from_pretrained(finished / "last")
    model = AutoModelForSeq2SeqLM.from_pretrained(finished / "last").eval()
    data = prepare(config.data.validation, "validation", config.data, tokenizer, None)
    loss_sum, num_tokens = 0.0, 0
    with torch.no_grad():
        for row in data.rows:
            batch = collate([row], tokenizer.pad_token_id)
            loss_sum += float(model(**batch).loss) * len(row["labels"])
            num_tokens += len(row["labels"])
    assert validations_of(finished)[6] == pytest.approx(loss_sum / num_tokens, rel=1e-5)


def test_validation_rouge_is_that_of_summarize_and_evaluate(finished):
    from summarizer.data.pairs import ReadReport, find_pairs, read_pairs
    from summarizer.evaluation.rouge import score_texts

    config = load_config(finished / "config.yaml")
    pairs = list(read_pairs(find_pairs(config.data.validation, "validation"), config.data, ReadReport()))
    model = Summarizer.from_pretrained(str(finished / "last"), device="cpu", dtype="float32")
    summaries = model.summarize([pair.document for pair in pairs])
    scores = score_texts([summary.text for summary in summaries], [pair.target for pair in pairs])
    assert len(pairs) == 7
    assert {name: metrics_of(finished)[-1][name] for name in scores} == pytest.approx(
        {name: 100 * value for name, value in scores.items()}
    )


def test_validation_scores_the_summaries_that_summarize_writes_with_their_capitals_and_numbers(
    configure, tmp_path, monkeypatch
):
    texts = [*TEXTS, *(f"{sentence(12, seed)} <dig> of <dig>" for seed in range(300))]
    tokenizer = train_tokenizer(texts, 500, lowercase=True, number_placeholder="<dig>")
    tokenizer.save_pretrained(tmp_path / "tokenizer")
    documents = [
        f"We saw {number} Patients. {sentence(9, number)} Of them {number + 7} improved." for number in (3, 41)
    ]
    rows = [{"document": document, "summary": document[:20]} for document in documents]
    write_jsonl(tmp_path / "validation.jsonl", rows)
    scored: list[list[str]] = []
    monkeypatch.setattr(
        summarization, "score_texts", lambda predictions, _: scored.append(predictions) or {"rouge1": 0.0}
    )
    folder = train(configure("training.steps=2", "data.max_source_tokens=12"))
    model = Summarizer.from_pretrained(str(folder / "last"), device="cpu", dtype="float32")
    assert scored[-1] == [summary.text for summary in model.summarize(documents, max_source_tokens=12)]
    assert any(text != text.lower() for text in scored[-1])
