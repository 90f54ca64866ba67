"""The files of an evaluation: where they are, what they were made of, and whether they may be written."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from summarizer.errors import UsageError
from summarizer.evaluation.files_of_texts import text_files
from summarizer.evaluation.rouge import ROUGE_TYPES
from summarizer.files import hash_of_file, is_gzipped
from summarizer.outputs import check_files, form

_SCORES = form("json", "num_examples", "signature", "scores", "counts")
_EXAMPLES = form("jsonl", "id", *ROUGE_TYPES)


def default_output(predictions_path: Path) -> Path:
    """`summaries.scores.json` for `summaries.jsonl`, beside it."""
    name = Path(predictions_path.stem) if is_gzipped(predictions_path) else predictions_path
    return predictions_path.with_name(f"{name.stem}.scores.json")


def examples_path(output: Path) -> Path:
    """The file of the scores of each example: `scores.examples.jsonl` beside `scores.json`."""
    return output.with_suffix(".examples.jsonl")


def check_output(output: Path, inputs: Sequence[Path], overwrite: bool) -> None:
    """Raise UsageError if a file of the scores cannot be written, is an input, or is not an earlier one."""
    if output.is_dir():
        raise UsageError(f"{output}: is a folder; name a file, such as {output / 'scores.json'}")
    for written in (output, examples_path(output)):
        if written.resolve() in [path.resolve() for path in inputs]:
            raise UsageError(f"{written}: is one of the inputs and would be overwritten; choose another -o")
    check_files({output: _SCORES, examples_path(output): _EXAMPLES}, overwrite)


def hash_of_texts(path: Path) -> str:
    """SHA-256 of a file's content, or of the names and contents of the text files below a folder."""
    if not path.is_dir():
        return hash_of_file(path)
    lines = [f"{file.relative_to(path).as_posix()}\0{hash_of_file(file)}\n" for file in text_files(path)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def relative(path: Path, folder: Path) -> str:
    """A path seen from a folder, so that both can move together; as it is where no relative path leads there."""
    try:
        return Path(os.path.relpath(path.resolve(), folder)).as_posix()
    except ValueError:
        return str(path)
