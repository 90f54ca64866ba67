"""Check that steps do not depend on the number of processes: training_scaling.py [-o result.json].

Steps of four micro-batches are taken by one, two and four processes (gloo). The losses, learning rates and gradients of
each step must be equal. This includes numbers of micro-batches or documents that the processes cannot divide evenly,
shared encoder layers, tied embeddings, gradient checkpointing, and resuming with another number of processes.
"""

import json
import os
import socket
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer
from tiny_run import logged_metrics, write_tiny_run

from summarizer.cli import run_script
from summarizer.cli.options import Overwrite
from summarizer.outputs import check_files, form

os.environ.setdefault("ACCELERATE_USE_CPU", "true")

VARIANTS = {
    "plain": [],
    "shared layers, gradient checkpointing": [
        "model.share_encoder_layers=true", "training.gradient_checkpointing=true"
    ],
}  # fmt: skip
TOLERANCE = 1e-6
TOLERANCE_OF_LOSSES = 1e-5


def main(
    processes: Annotated[str, typer.Option(help="Their numbers, the first the reference.")] = "1,2,4",
    steps: Annotated[int, typer.Option(min=1, help="The fifth is a short one.")] = 8,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="A file for the summary, too.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Print what was compared as JSON; exit status 0 if all is equal."""
    import datasets  # noqa: F401  (the processes are forked with everything imported)

    from summarizer.files import write_json
    from summarizer.training import loop  # noqa: F401  (for the same reason)

    output, worlds = output and output.absolute(), [int(number) for number in processes.split(",")]
    if output is not None:
        check_files({output: form("json", "equal", "processes", "variants")}, overwrite)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_tiny_run(Path(folder), steps=steps, batches_per_step=4, save_every=steps, validate_every=steps)
        results = {name: _compare(name.split()[0], worlds, overrides) for name, overrides in VARIANTS.items()}
        results["resumed with other numbers of processes"] = _compare_resumed(worlds, steps)
        os.chdir("/")
    summary = {
        "equal": all(result["equal"] for result in results.values()),
        "processes": worlds,
        "micro_batches_a_step": 4,
        "steps": steps,
        "tolerance_of_gradients": TOLERANCE,
        "tolerance_of_losses": TOLERANCE_OF_LOSSES,
        "variants": results,
    }
    if output is not None:
        write_json(output, summary)
    print(json.dumps(summary))
    raise typer.Exit(0 if summary["equal"] else 1)


def _compare(variant: str, worlds: list[int], overrides: list[str]) -> dict[str, Any]:
    """Train in each world and compare with one process."""
    import torch

    names = [f"{variant}-{world}" for world in worlds]
    for name, world in zip(names, worlds, strict=True):
        _run_processes(name, world, overrides)
    logged = [logged_metrics(Path("runs", name)) for name in names]
    gradients = [torch.load(f"{name}.gradients", weights_only=True) for name in names]
    alone = gradients[0]
    largest = [
        max(float((mine[key] - theirs[key]).abs().max()) for key in mine)
        for others in gradients[1:]
        for mine, theirs in zip(alone, others, strict=True)
    ]
    losses, rates = (
        [[line[key] for line in lines if key in line] for lines in logged] for key in ("loss", "learning_rate")
    )
    loss_difference = max(
        abs(mine - theirs) for other in losses[1:] for mine, theirs in zip(losses[0], other, strict=True)
    )
    same_rates = all(other == rates[0] for other in rates[1:])
    return {
        "equal": max(largest) <= TOLERANCE and same_rates,
        "largest_difference_of_a_gradient": max(largest),
        "largest_gradient": max(float(gradient.abs().max()) for step in alone for gradient in step.values()),
        "largest_difference_of_a_loss": loss_difference,
        "same_learning_rates": same_rates,
    }


def _compare_resumed(worlds: list[int], steps: int) -> dict[str, Any]:
    """Train on with another number of processes after half of the steps, and compare with the first number alone."""
    constant = ["training.schedule=constant"]  # as cosine depends on the number of steps
    _run_processes("straight", worlds[0], constant)
    _run_processes("resumed", worlds[-1], [*constant, f"training.steps={steps // 2}"])
    _run_processes("resumed", worlds[0], [*constant, "resume=true"])
    straight, resumed = (
        [line["loss"] for line in logged_metrics(Path("runs", name)) if "loss" in line]
        for name in ("straight", "resumed")
    )
    difference = max(abs(mine - theirs) for mine, theirs in zip(straight, resumed, strict=True))
    return {"equal": difference <= TOLERANCE_OF_LOSSES, "largest_difference_of_a_loss": difference}


def _run_processes(name: str, world: int, overrides: list[str]) -> None:
    """Train the run `name` on `world` processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    children = []
    for rank in range(world):
        if (pid := os.fork()) == 0:
            os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(world)}
            os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank)}
            _train(name, overrides)
        children.append(pid)
    statuses = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
    if any(statuses):
        raise SystemExit(f"{name}: failed, statuses {statuses}\n{Path(f'{name}.log').read_text(encoding='utf-8')}")


def _train(name: str, overrides: list[str]) -> None:
    """Train in this forked process, keep the gradients of every step before they are clipped, and end the process."""
    import torch
    from accelerate import Accelerator

    from summarizer.config_files import load_config
    from summarizer.training import loop

    models: list[Any] = []
    steps: list[dict[str, Any]] = []
    prepare, clip = Accelerator.prepare, Accelerator.clip_grad_norm_

    def prepare_and_note(accelerator: Any, model: Any, *rest: Any) -> Any:
        models.append(model)
        return prepare(accelerator, model, *rest)

    def note_and_clip(accelerator: Any, parameters: Any, *rest: Any) -> Any:
        steps.append({key: value.grad.clone() for key, value in models[0].named_parameters()})
        return clip(accelerator, parameters, *rest)

    Accelerator.prepare, Accelerator.clip_grad_norm_ = prepare_and_note, note_and_clip  # pyright: ignore (spied on)
    status = 1
    try:
        os.dup2(os.open(f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
        loop.train(load_config(Path("run.yaml"), [f"name={name}", *overrides]))
        if os.environ["RANK"] == "0":
            torch.save(steps, f"{name}.gradients")
        status = 0
    except Exception:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(status)


if __name__ == "__main__":
    run_script(main)
