"""Compare the model on a device with the CPU, and bfloat16 with float32: compare_devices.py DEVICE OUTPUT.json."""

from pathlib import Path
from typing import Annotated, Any

import torch
import typer

from summarizer.benchmarks.compared_models import make_inputs, make_seq2seq
from summarizer.benchmarks.settings import Sizes
from summarizer.cli import run_script
from summarizer.cli.options import Overwrite
from summarizer.errors import InputError
from summarizer.files import write_json
from summarizer.outputs import check_files, form

SIZES = Sizes(d_model=64, layers=2, heads=4, ffn_dim=128, vocab_size=500)
LENGTH = 384  # more than 2 d: the folded form
TOLERANCES = {"float32": 1e-3, "bfloat16": 0.1}  # of the largest value


def results_on(device: torch.device, dtype: torch.dtype) -> dict[str, Any]:
    """Loss, log probabilities, gradients and a summary of one model on one padded batch, on the CPU in float32."""
    model = make_seq2seq("fastformer", SIZES, LENGTH).to(device)
    batch = make_inputs("fastformer", 2, LENGTH, SIZES.vocab_size, device)
    batch["attention_mask"][1, LENGTH // 2 :] = 0
    labels = batch["input_ids"][:, :12]
    with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
        output = model(**batch, labels=labels)
    output.loss.backward()
    gradients = [parameter.grad.flatten() for parameter in model.parameters() if parameter.grad is not None]
    tensors = {"loss": output.loss, "log_probabilities": output.logits, "gradients": torch.cat(gradients)}
    summary = model.to(dtype).generate(**batch, num_beams=3, max_new_tokens=12, min_new_tokens=12)
    return {**{name: tensor.detach().float().cpu() for name, tensor in tensors.items()}, "summary": summary.tolist()}


def compare(device: torch.device) -> dict[str, Any]:
    """Differences over the largest value, by dtype, and whether float32 writes the same summaries."""
    expected = results_on(torch.device("cpu"), torch.float32)
    comparison: dict[str, Any] = {}
    for dtype in TOLERANCES:
        found = results_on(device, getattr(torch, dtype))
        comparison[dtype] = {
            name: float((found[name] - expected[name]).abs().max() / expected[name].abs().max())
            for name in expected
            if name != "summary"
        }
        comparison[dtype]["same_summaries"] = found["summary"] == expected["summary"]
    return comparison


def main(
    device: Annotated[str, typer.Argument(help="Such as cuda.")],
    output: Annotated[Path, typer.Argument(help="The JSON file to write.")],
    overwrite: Overwrite = False,
) -> None:
    """Write the differences from the CPU; the exit status is 1 if one is too large."""
    check_files({output: form("json", "float32.same_summaries", "bfloat16.same_summaries")}, overwrite)
    comparison = compare(torch.device(device))
    write_json(output, comparison)
    print(comparison)
    too_far = [
        f"{dtype} {name} {value:.1e}"
        for dtype, figures in comparison.items()
        for name, value in figures.items()
        if name != "same_summaries" and not value <= TOLERANCES[dtype]
    ]
    if not comparison["float32"]["same_summaries"]:
        too_far.append("float32 summaries differ")
    if too_far:
        raise InputError(f"differs from the CPU: {', '.join(too_far)}")


if __name__ == "__main__":
    run_script(main)
