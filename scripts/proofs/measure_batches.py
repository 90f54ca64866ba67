"""Documents per second and peak memory of `summarizer summarize` for few and for many short documents.

Each number of documents runs in a separate process with a tiny model. So the time is mostly that of reading, encoding,
batching and writing. Peak memory should not grow with the number of documents. Prints a JSON summary. Needs fork.
"""

import json
import os
import random
import tempfile
from pathlib import Path
from typing import Annotated, Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import typer
from batch_resume import TEXT, write_model

from summarizer.cli.app import main as command_line
from summarizer.cli.app import run_script
from summarizer.cli.options import Overwrite
from summarizer.errors import InputError
from summarizer.files import write_json
from summarizer.outputs import check_files, form

OPTIONS = (
    "--num-beams",
    "1",
    "--min-summary-tokens",
    "8",
    "--max-summary-tokens",
    "8",
    "--dtype",
    "float32",
    "--quiet",
)


def measure(folder: Path, documents: int) -> dict[str, Any]:
    """Summarize `documents` documents of 20 to 60 words in a process of its own."""
    rng = random.Random(documents)
    words = TEXT.split()
    with (folder / f"{documents}.jsonl").open("w") as file:
        for _ in range(documents):
            file.write(json.dumps({"text": " ".join(rng.choices(words, k=rng.randint(20, 60)))}) + "\n")
    output = folder / f"summaries-{documents}.jsonl"
    pid = os.fork()
    if not pid:
        status = 1
        try:
            model = ["--model", str(folder / "model")]
            command_line(["summarize", str(folder / f"{documents}.jsonl"), "-o", str(output), *model, *OPTIONS])
        except SystemExit as end:
            status = int(end.code or 0)
        finally:
            os._exit(status)
    _, status, usage = os.wait4(pid, 0)
    if status:
        raise InputError(f"exit status {os.waitstatus_to_exitcode(status)}")
    run = json.loads(output.with_suffix(".run.json").read_text())
    return {
        "documents": documents,
        "ok": run["counts"]["ok"],
        "documents_per_second": round(documents / run["seconds"], 1),
        "peak_memory_mib": round(usage.ru_maxrss / 1024, 1),
    }


def main(
    documents: Annotated[list[int] | None, typer.Argument(help="How many; by default 1000 and 10000.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the summary here as well.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Measure each count of documents."""
    if output is not None:
        check_files({output: form("json", "documents", "documents_per_second")}, overwrite)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_model(folder / "model")
        result = [measure(folder, count) for count in documents or (1000, 10000)]
    if output is not None:
        write_json(output, result)
    print(json.dumps(result))


if __name__ == "__main__":
    run_script(main)
