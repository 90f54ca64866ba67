"""What a model makes of its token mixing: python scripts/measure_mixing.py CONFIG MODEL -o FILE.json [key=value …].

The configuration says the task and the validation documents. The model has Fastformer layers, or compares sentences
with the document. With task=selection, the sentences that it selects are measured.
"""

from pathlib import Path
from typing import Annotated

import typer

from summarizer.cli import run_script
from summarizer.cli.options import Overwrite
from summarizer.outputs import check_files, form

RESULT = form("json", "version", "machine", "task", "num_documents", "rows")


def main(
    config: Annotated[Path, typer.Argument(help="A YAML file, as for training: its task and data are used.")],
    model: Annotated[str, typer.Argument(help="A model folder, a hub id or 'default'.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The JSON file to write.")],
    overrides: Annotated[list[str] | None, typer.Argument(metavar="[key=value …]", help="Over the file.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Measure the loss with the documents' own global vectors and with others' in their place; print a table.

    All global vectors are replaced, then those of each part. task=selection also measures the average precision.
    The first half of the validation documents gives the means over others, the second half the losses.
    """
    from summarizer.config_files import load_config
    from summarizer.experiments.mixing_use import measure_mixing_use, mixing_use_table
    from summarizer.files import write_json

    check_files({output: RESULT}, overwrite)
    write_json(output, measure_mixing_use(load_config(config, overrides), model))
    print(mixing_use_table(output))


if __name__ == "__main__":
    run_script(main)
