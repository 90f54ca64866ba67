"""Train, test and compare configurations: python scripts/compare_encoders.py CONFIG… -o FOLDER [key=value …].

After an interruption, the same command continues; finished runs are reused.
"""

from pathlib import Path
from typing import Annotated

import typer

from summarizer.cli import run_script
from summarizer.cli.options import Overwrite
from summarizer.errors import InputError


def main(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="CONFIG… [key=value …]",
            help="YAML files, the first for reference, then settings for all.",
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the runs and the study's files.")],
    seeds: Annotated[str, typer.Option(help="Random seeds of each configuration, such as 1,2,3.")] = "1",
    steps: Annotated[int | None, typer.Option(min=1, help="Optimizer steps, the same for all.")] = None,
    minutes: Annotated[float | None, typer.Option(help="Minutes of training, the same for all.")] = None,
    control: Annotated[str, typer.Option(help="Name of the configuration without token mixing.")] = "no_mixing",
    launcher: Annotated[str, typer.Option(help="Such as 'accelerate launch'. Defaults to this Python.")] = "",
    overwrite: Overwrite = False,
) -> None:
    """Train each configuration on the same data and budget, test it on the same documents, and print one table."""
    from summarizer.experiments.runs import Study
    from summarizer.experiments.study import run_study

    configs = [Path(argument) for argument in arguments if "=" not in argument]
    overrides = [argument for argument in arguments if "=" in argument]
    if steps is not None:
        overrides.append(f"training.steps={steps}")
    if minutes is not None:
        overrides += [f"training.max_minutes={minutes}", "training.steps=1000000"]
    try:
        numbers = [int(seed) for seed in seeds.split(",")]
    except ValueError:
        raise InputError(f"--seeds {seeds}: give whole numbers separated by commas") from None
    print(run_study(Study(configs, output, overrides, numbers, launcher, control, overwrite)))


if __name__ == "__main__":
    run_script(main)
