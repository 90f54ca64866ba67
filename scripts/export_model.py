"""Copy a model folder with bfloat16 weights, half the size: python scripts/export_model.py runs/mine/best OUTPUT."""

from pathlib import Path
from typing import Annotated

import typer

from summarizer.cli import run_script
from summarizer.cli.options import Overwrite
from summarizer.outputs import check_folder


def main(
    source: Annotated[Path, typer.Argument(help="A model folder.")],
    output: Annotated[Path, typer.Argument(help="The folder to write.")],
    overwrite: Overwrite = False,
) -> None:
    """Write a model with bfloat16 weights; tokenizer, generation settings and card stay as they are.

    With --overwrite, an existing folder is replaced as a whole.
    """
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    import summarizer.models  # noqa: F401 (registers our models with the Auto classes)
    from summarizer.training.checkpoint import save_model_folder

    check_folder(output, {}, [], overwrite)  # its earlier output cannot be told from other model folders
    model = AutoModelForSeq2SeqLM.from_pretrained(source, dtype=torch.bfloat16, use_safetensors=True)
    card = (source / "README.md").read_text(encoding="utf-8") if (source / "README.md").is_file() else ""
    save_model_folder(output, model, AutoTokenizer.from_pretrained(source), card)
    print(f"{output}: {sum(path.stat().st_size for path in output.iterdir()) / 1e6:.1f} MB")


if __name__ == "__main__":
    run_script(main)
