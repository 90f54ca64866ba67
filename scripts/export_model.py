"""Copy a model folder with bfloat16 weights, half the size: python scripts/export_model.py runs/mine/best OUTPUT."""

import sys
from pathlib import Path

import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

import summarizer.models  # noqa: F401 (registers our models with the Auto classes)
from summarizer.training.checkpoint import save_model_folder


def export(source: Path, target: Path) -> None:
    """Write `source` to `target` with bfloat16 weights; tokenizer, generation settings and card stay as they are."""
    model = AutoModelForSeq2SeqLM.from_pretrained(source, dtype=torch.bfloat16, use_safetensors=True)
    card = (source / "README.md").read_text(encoding="utf-8") if (source / "README.md").is_file() else ""
    save_model_folder(target, model, AutoTokenizer.from_pretrained(source), card)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    export(Path(sys.argv[1]), Path(sys.argv[2]))
    size = sum(path.stat().st_size for path in Path(sys.argv[2]).iterdir())
    print(f"{sys.argv[2]}: {size / 1e6:.1f} MB")
