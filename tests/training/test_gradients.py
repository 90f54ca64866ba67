"""A micro-batch that does not fit into memory is halved, and the step is the same."""

import pytest
import torch

from summarizer.training import summarization
from summarizer.training.loop import TrainingError, train
from tests.processes import said_by_two_processes
from tests.training.test_loop import assert_same_tensors, losses_of, metrics_of

TWO_PROCESSES = """
def run(rank):
    original = summarization.summed_loss

    def patched(model, batch, smoothing):
        if rank == 1 and len(batch["labels"]) > 1 and model.training:
            raise MemoryError
        return original(model, batch, smoothing)

    summarization.summed_loss = patched
    loop.train(load_config(Path(sys.argv[1]), sys.argv[2:]))
"""
SETTINGS = ["training.steps=3", "training.rouge_examples=0", "model.dropout=0", "training.tokens_per_batch=400"]


@pytest.fixture
def memory_for(monkeypatch):
    """A function that lets memory suffice for so many rows: more fail, in the forward pass or in the backward one."""

    def install(rows, in_backward):
        original = summarization.summed_loss

        class Fail(torch.autograd.Function):
            @staticmethod
            def forward(_context, loss):
                return loss.clone()

            @staticmethod
            def backward(_context, gradient):
                raise torch.OutOfMemoryError("CUDA out of memory")

        def patched(model, batch, smoothing):
            loss = original(model, batch, smoothing)
            if torch.is_grad_enabled() and len(batch["labels"]) > rows:
                if not in_backward:
                    raise torch.OutOfMemoryError("CUDA out of memory")
                # One parameter has its gradient before the rest fails.
                return Fail.apply(loss) + next(model.parameters()).sum()
            return loss

        monkeypatch.setattr(summarization, "summed_loss", patched)

    return install


@pytest.mark.parametrize("in_backward", [False, True])
def test_a_batch_out_of_memory_is_halved_until_it_fits_and_the_step_is_the_same(
    configure, memory_for, in_backward, capsys
):
    straight = train(configure(*SETTINGS, "name=straight"))
    memory_for(2, in_backward)
    folder = train(configure(*SETTINGS, "training.split_on_out_of_memory=true"))
    assert "out of memory at step 1 with " in capsys.readouterr().err
    assert losses_of(folder) == pytest.approx(losses_of(straight), rel=1e-5)
    norms, expected = ([line["grad_norm"] for line in metrics_of(run) if "loss" in line] for run in (folder, straight))
    assert norms == pytest.approx(expected, rel=1e-5)


def test_a_single_document_out_of_memory_ends_the_run_with_the_settings_to_lower(configure, memory_for):
    memory_for(0, in_backward=False)
    with pytest.raises(TrainingError, match=r"out of memory at step 1 with 1 × \d+ source tokens; lower training.tok"):
        train(configure(*SETTINGS, "training.split_on_out_of_memory=true"))


def test_without_an_out_of_memory_nothing_changes(configure):
    folders = [train(configure(*SETTINGS, f"name=n{on}", f"training.split_on_out_of_memory={on}")) for on in (0, 1)]
    assert_same_tensors(*(folder / "last/model.safetensors" for folder in folders))


@pytest.mark.slow
def test_one_of_two_processes_halves_its_batches_and_the_steps_are_those_of_one_process(forked, configure, tmp_path):
    settings = [*SETTINGS, "training.batches_per_step=4", "training.split_on_out_of_memory=true"]
    straight = train(configure(*settings, "name=straight"))
    output = said_by_two_processes(forked, TWO_PROCESSES, str(tmp_path / "base.yaml"), *settings)
    assert "2 process(es)" in output, output
    assert losses_of(tmp_path / "runs/base") == pytest.approx(losses_of(straight), rel=1e-5)
