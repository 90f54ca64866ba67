"""Tiny training runs; the finished one is shared, and to be left as it is."""

import os
from pathlib import Path

import pytest

from summarizer.config import RunConfig
from summarizer.config_files import load_config
from tests.corpus import pair_rows, tiny_tokenizer, write_jsonl

os.environ.setdefault("ACCELERATE_USE_CPU", "true")  # runs are compared bit for bit

BASE = """
data: {{train: [{folder}/train.jsonl], validation: [{folder}/validation.jsonl], tokenizer: {folder}/tokenizer,
       cache_dir: {folder}/cache, max_target_tokens: 20}}
output_dir: {folder}/runs
training: {{steps: 6, tokens_per_batch: 160, batches_per_step: 2, warmup_steps: 2, log_every: 1, validate_every: 3,
           save_every: 3, rouge_examples: 2, trackers: []}}
generation: {{num_beams: 2, max_summary_tokens: 4}}
"""
TINY_MODEL = """
model: {d_model: 32, encoder_layers: 2, decoder_layers: 2, encoder_attention_heads: 4, decoder_attention_heads: 4,
        encoder_ffn_dim: 32, decoder_ffn_dim: 32, dropout: 0.1, neighbor_kernel_size: 3, copy_mechanism: true}
"""


def _write_base(folder: Path) -> Path:
    write_jsonl(folder / "train.jsonl", pair_rows(25, seed=1))
    write_jsonl(folder / "validation.jsonl", pair_rows(7, seed=2))
    tiny_tokenizer().save_pretrained(folder / "tokenizer")
    (folder / "pretrained.yaml").write_text(BASE.format(folder=folder), encoding="utf-8")
    (folder / "base.yaml").write_text(BASE.format(folder=folder) + TINY_MODEL, encoding="utf-8")
    return folder


@pytest.fixture
def configure(tmp_path):
    """A function that gives the tiny run's configuration under overrides; the run folder is runs/base."""
    _write_base(tmp_path)

    def configure(*overrides: str, name: str = "base") -> RunConfig:
        return load_config(tmp_path / f"{name}.yaml", list(overrides))

    return configure


@pytest.fixture(autouse=True)
def _fresh_accelerator():
    """Accelerate keeps its state in the process; each run here is to be the first."""
    _forget_accelerator()
    yield
    _forget_accelerator()


def _forget_accelerator() -> None:
    from accelerate.state import AcceleratorState

    AcceleratorState._reset_state(reset_partial_state=True)


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Path:
    """The run folder of the tiny run after its six steps."""
    from summarizer.training.loop import train

    _forget_accelerator()
    folder = _write_base(tmp_path_factory.mktemp("finished"))
    return train(load_config(folder / "base.yaml", ["training.keep_checkpoints=9", "training.rouge_examples=7"]))
