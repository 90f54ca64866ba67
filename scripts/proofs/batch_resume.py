"""Kill `summarizer summarize` many times at random moments, resume it each time, and check the output.

Small documents are summarized into a .jsonl file or a folder, alternately. Each run is killed with SIGKILL while it
starts, while it writes records, or while it renames the output. Then the same command resumes it. The script checks
that no record on disk is lost or summarized again. It also checks that the final output equals that of a run without
kills. The last line of the output is a JSON summary. The exit status is 0 if all checks passed. Needs fork.
"""

import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import typer
from transformers import AutoTokenizer

from summarizer.batch import summarize_files as batch  # noqa: F401 (once, before the forks, which then start in no time)
from summarizer.cli.app import main as command_line
from summarizer.cli.app import run_script
from summarizer.cli.options import Overwrite
from summarizer.errors import InputError
from summarizer.files import write_json
from summarizer.models import FastformerSummarizerForConditionalGeneration, SummarizerConfig
from summarizer.models.loading import DEFAULT_MODEL
from summarizer.outputs import check_files, form

OPTIONS = [
    *("--model", "model", "--num-beams", "1", "--min-summary-tokens", "8", "--max-summary-tokens", "8"),
    *("--tokens-per-batch", "512", "--dtype", "float32", "--quiet"),
]
OUTPUTS = {"file": ("out.jsonl", "out.jsonl"), "folder": ("out", "out/summaries.jsonl")}  # -o, and its records
SHARED = ("documents", "model")  # by all attempts
PHASES = {"start": 0.25, "writing": 0.5, "end": 0.25}
TEXT = (
    "the council met in spring and voted on a new plan for the harbour while fishers asked for more time to repair "
    "their nets because storms had damaged most boats and few buyers came to the market"
)


@dataclass
class Attempts:
    """Runs of one command in one folder, and what was on disk after each that was killed."""

    folder: Path
    output: str
    records: Path
    lines: list[bytes] = field(default_factory=list)  # of .part at the last kill
    lost: int = 0
    twice: int = 0

    @property
    def part(self) -> Path:
        """Where records gather."""
        return self.records.with_name(f"{self.records.name}.part")

    def start(self) -> int:
        """Start the command in a process of its own; returns its id."""
        if pid := os.fork():
            return pid
        log = os.open(self.folder / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        status = 1
        try:
            os.chdir(self.folder)
            command_line(["summarize", "documents", "-o", self.output, *OPTIONS])
        except SystemExit as end:
            status = int(end.code or 0)
        finally:
            os._exit(status)

    def whole_lines(self) -> list[bytes]:
        """The records on disk, without a last one that is not whole."""
        try:
            return [line for line in self.part.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
        except FileNotFoundError:
            return []

    @property
    def ended(self) -> bool:
        """Whether the output is whole and nothing is left to go on from."""
        return self.records.exists() and not self.part.exists()

    def check(self) -> None:
        """Count what a kill lost, and documents that have more than one record."""
        found = self.whole_lines()
        self.lost += len(set(self.lines) - set(found))
        self.twice += sum(count - 1 for count in Counter(json.loads(line)["key"] for line in found).values())
        self.lines = found


def kill_at_random(attempts: Attempts, documents: int, start_seconds: float, rng: random.Random) -> str | None:
    """Start the command and kill it at a moment of a random phase; returns the phase, or None if it ended before."""
    (phase,) = rng.choices(list(PHASES), weights=list(PHASES.values()))
    done = len(attempts.lines)
    lines = {"start": 0, "writing": rng.randint(done, documents), "end": documents}[phase]
    delay = rng.uniform(0, start_seconds if phase == "start" else 0.03)
    pid = attempts.start()
    while len(attempts.whole_lines()) < lines and not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        time.sleep(0.001)
    time.sleep(delay)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return phase if os.WIFSIGNALED(status) else None


def finish(attempts: Attempts) -> None:
    """Let the command come to its end. Raises InputError if it fails."""
    _, status = os.waitpid(attempts.start(), 0)
    if code := os.waitstatus_to_exitcode(status):
        raise InputError(f"exit status {code}: {(attempts.folder / 'log.txt').read_text()[-500:]}")


def outcome(attempts: Attempts) -> dict[str, Any]:
    """Names and contents of all files of the output, without what differs between two runs."""
    found: dict[str, Any] = {}
    for path in sorted(attempts.folder.rglob("*")):
        name = path.relative_to(attempts.folder).as_posix()
        if not path.is_file() or name == "log.txt" or name.partition("/")[0] in SHARED:
            continue
        found[name] = "run description" if name.endswith(".run.json") else path.read_text(encoding="utf-8")
        if name.endswith(".jsonl"):
            found[name] = [{**json.loads(line), "seconds": 0} for line in found[name].splitlines()]
    return found


def write_model(folder: Path) -> None:
    """A tiny model with random parameters and the default model's tokenizer."""
    tokenizer = AutoTokenizer.from_pretrained(DEFAULT_MODEL)
    sizes: dict[str, Any] = {
        f"{part}_{name}": size
        for part in ("encoder", "decoder")
        for name, size in (("ffn_dim", 32), ("layers", 1), ("attention_heads", 2))
    }
    torch.manual_seed(1)
    config = SummarizerConfig(vocab_size=len(tokenizer), d_model=32, **sizes)
    FastformerSummarizerForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def new_attempts(folder: Path, kind: str) -> Attempts:
    """A fresh folder that sees documents and model, which lie beside it, under the same names as all others."""
    folder.mkdir()
    for name in SHARED:
        (folder / name).symlink_to(folder.parent / name)
    output, records = OUTPUTS[kind]
    return Attempts(folder, output, folder / records)


def write_documents(folder: Path, count: int, rng: random.Random) -> None:
    """Texts of 20 to 60 random words; every tenth is XML, which a process of its own reads."""
    folder.mkdir()
    vocabulary = TEXT.split()
    for number in range(count):
        words = " ".join(rng.choices(vocabulary, k=rng.randint(20, 60)))
        name, text = f"{number:05}.txt", f"{words.capitalize()}.\n"
        if number % 10 == 9:
            name, text = f"{number:05}.xml", f"<article><body><p>{text}</p></body></article>"
        (folder / name).write_text(text, encoding="utf-8")


def prove(folder: Path, kills: int, documents: int, seed: int) -> dict[str, Any]:
    """Kill `kills` runs and return what came of it."""
    rng = random.Random(seed)
    write_documents(folder / "documents", documents, rng)
    write_model(folder / "model")
    expected, start_seconds = {}, 0.0
    for kind in OUTPUTS:
        straight = new_attempts(folder / f"straight-{kind}", kind)
        started = time.monotonic()
        finish(straight)
        expected[kind] = outcome(straight)
        seconds = json.loads(straight.records.with_suffix(".run.json").read_text())["seconds"]
        records = expected[kind][straight.records.relative_to(straight.folder).as_posix()]
        start_seconds = max(0.5, (time.monotonic() - started) / 4, seconds / 4)
        if len({record["id"] for record in records}) != documents:
            raise InputError(f"{len(records)} records for {documents} documents, even without a kill")
    phases: Counter[str] = Counter()
    outputs = unequal = lost = twice = 0
    while phases.total() < kills:
        kind = list(OUTPUTS)[outputs % len(OUTPUTS)]
        attempts = new_attempts(folder / f"killed-{outputs}", kind)
        outputs += 1
        while phases.total() < kills:
            phase = kill_at_random(attempts, documents, start_seconds, rng)
            phases.update([phase] if phase else [])
            if attempts.ended:
                attempts.lines = []  # the same command makes it again
                break
            attempts.check()
            print(f"kill {phases.total()}: {phase}, {len(attempts.lines)} records on disk", file=sys.stderr)
            if len(attempts.lines) == documents:  # what is left is its end
                break
        finish(attempts)
        resumed = json.loads(attempts.records.with_suffix(".run.json").read_text())["counts"]["resumed"]
        twice += max(0, len(attempts.lines) - resumed)
        unequal += outcome(attempts) != expected[kind]
        lost, twice = lost + attempts.lost, twice + attempts.twice
    return {
        "kills": phases.total(), "phases": dict(phases), "documents": documents, "outputs": outputs,
        "lost": lost, "twice": twice, "unequal_outputs": unequal, "seed": seed,
    }  # fmt: skip


def main(
    kills: Annotated[int, typer.Option(min=1, help="Runs to kill.")] = 25,
    documents: Annotated[int, typer.Option(min=2, help="Documents of each output.")] = 200,
    seed: Annotated[int, typer.Option(help="Of the documents and the moments.")] = 1,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the summary here as well.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Kill runs at random moments; the exit status is 0 if nothing was lost, nothing done twice, and all is equal."""
    if output is not None:
        check_files({output: form("json", "kills", "phases", "lost")}, overwrite)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        result = prove(Path(folder), kills, documents, seed)
    result["seconds"] = round(time.monotonic() - started, 1)
    result["proved"] = not (result["lost"] or result["twice"] or result["unequal_outputs"])
    if output is not None:
        write_json(output, result)
    print(json.dumps(result))
    raise typer.Exit(0 if result["proved"] else 1)


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        run_script(main)
