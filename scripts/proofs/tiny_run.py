"""A tiny training run for training_resume.py and training_scaling.py."""

import json
import random
from pathlib import Path
from typing import Any

WORDS = [
    *("patients", "treatment", "weeks", "blood", "pressure", "group", "therapy", "results"),
    *("study", "method", "model", "data", "test", "risk", "dose"),
]
SETTINGS = {
    "output_dir": "runs",
    "model": {
        "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "encoder_ffn_dim": 32,
        "decoder_attention_heads": 4, "decoder_ffn_dim": 32, "dropout": 0.1, "neighbor_kernel_size": 3,
        "copy_mechanism": True,
    },
    "training": {
        "tokens_per_batch": 160, "batches_per_step": 2, "warmup_steps": 5, "log_every": 1, "validate_every": 7,
        "save_every": 2, "rouge_examples": 0, "trackers": [], "ema_decay": 0.95,
    },
}  # fmt: skip
SPEEDS = ("source_tokens_per_second", "documents_per_second", "peak_memory_mb")


def write_tiny_run(folder: Path, **training: Any) -> None:
    """run.yaml, 25 pairs to train on and 7 to validate, and a tokenizer trained on them."""
    import yaml

    from summarizer.data.tokenizer import train_tokenizer

    generator = random.Random(0)
    texts: list[str] = []
    for split, count in (("train", 25), ("validation", 7)):
        rows = []
        for number in range(count):
            lines = [" ".join(generator.choices(WORDS, k=generator.randint(3, 9))) + "." for _ in range(1 + number % 6)]
            rows.append({"id": f"{split}-{number}", "document": "\n".join(lines), "summary": lines[0]})
            texts += lines
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{split}.jsonl").write_text(text, encoding="utf-8")
    train_tokenizer(texts * 5, vocab_size=290, num_threads=1).save_pretrained(folder / "tokenizer")
    data = {"train": ["train.jsonl"], "validation": ["validation.jsonl"], "tokenizer": "tokenizer"}
    settings = {**SETTINGS, "data": {**data, "max_target_tokens": 20}, "training": {**SETTINGS["training"], **training}}
    (folder / "run.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")


def logged_metrics(run: Path) -> list[dict[str, float]]:
    """The lines of a run's metrics.jsonl, without what depends on the machine."""
    lines = map(json.loads, (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
    return [{key: value for key, value in line.items() if key not in SPEEDS} for line in lines]
