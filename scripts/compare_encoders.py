"""Train, test and compare configurations: python scripts/compare_encoders.py CONFIG… -o FOLDER [key=value …].

Stopped, the same command goes on where it was; finished runs are used again.
"""

from pathlib import Path
from typing import Annotated

import typer

from summarizer.errors import InputError


def main(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="CONFIG… [key=value …]", help="YAML files, the first the reference, then settings for all of them."
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder of the runs, comparison.json and .md.")],
    seeds: Annotated[str, typer.Option(help="Seeds of each configuration, such as 1,2,3.")] = "1",
    steps: Annotated[int | None, typer.Option(min=1, help="Optimizer steps, the same for all.")] = None,
    minutes: Annotated[float | None, typer.Option(help="Minutes of training, the same for all.")] = None,
    control: Annotated[str, typer.Option(help="The configuration without token mixing.")] = "no_mixing",
    launcher: Annotated[str, typer.Option(help="Such as 'accelerate launch'; by default this Python.")] = "",
) -> None:
    """Train each configuration on the same data and budget, test it on the same documents, and print one table."""
    from summarizer.experiments.study import compare

    configs = [Path(argument) for argument in arguments if "=" not in argument]
    overrides = [argument for argument in arguments if "=" in argument]
    if steps is not None:
        overrides.append(f"training.steps={steps}")
    if minutes is not None:
        overrides += [f"training.max_minutes={minutes}", "training.steps=1000000"]
    try:
        numbers = [int(seed) for seed in seeds.split(",")]
    except ValueError:
        raise InputError(f"--seeds {seeds}: whole numbers separated by commas are needed") from None
    print(compare(configs, output, overrides, numbers, control, launcher))


if __name__ == "__main__":
    try:
        typer.run(main)
    except InputError as error:
        raise SystemExit(f"compare_encoders: {error}") from None
