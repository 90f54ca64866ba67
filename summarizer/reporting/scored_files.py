"""What `evaluate` wrote, read back: systems with the scores and measures of each example."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from summarizer.errors import InputError
from summarizer.evaluation.examples import first_of
from summarizer.evaluation.rouge import MEASURES
from summarizer.evaluation.score_files import examples_path
from summarizer.evaluation.signature import Signature
from summarizer.evaluation.text_measures import MEASURE_NAMES

_AGAIN = "score its files again with `summarizer evaluate`"


@dataclass(frozen=True)
class System:
    """A model or a baseline."""

    name: str
    kind: Literal["model", "baseline"]
    ids: list[str]
    metrics: tuple[str, ...]
    scores: np.ndarray  # [examples, metrics, precision | recall | fmeasure]
    measures: np.ndarray  # [examples, MEASURE_NAMES]; NaN where one has no meaning

    def select(self, ids: Sequence[str]) -> "System":
        """The same system on these examples, in this order."""
        position = {row_id: index for index, row_id in enumerate(self.ids)}
        rows = [position[row_id] for row_id in ids]
        return replace(self, ids=list(ids), scores=self.scores[rows], measures=self.measures[rows])

    def fmeasures(self, metrics: Sequence[str]) -> np.ndarray:
        """F [examples, metrics]."""
        columns = [self.metrics.index(metric) for metric in metrics]
        return self.scores[:, columns, MEASURES.index("fmeasure")]


@dataclass(frozen=True)
class ScoredFile:
    """A scores.json with the examples beside it."""

    path: Path
    signature: Signature
    inputs: dict[str, Any]  # where the texts are, their columns and their hashes, as `evaluate` wrote them
    model: System
    baselines: list[System]


def read_files(arguments: Sequence[str]) -> list[ScoredFile]:
    """Read the files of `[NAME=]PATH` arguments. Raises InputError for other files, and for equal names."""
    files = [_read_file(*_name_and_path(argument)) for argument in arguments]
    names = [file.model.name for file in files]
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise InputError(f"several systems would be called {twice[0]}; name them: NAME={files[0].path} …")
    return files


def check_comparable(files: Sequence[ScoredFile]) -> None:
    """Raises InputError where scores were not made in the same way, or against other references."""
    first = files[0]
    for other in files[1:]:
        ours_of_all, theirs_of_all = first.signature.of_a_score, other.signature.of_a_score
        for name in ours_of_all.keys() | theirs_of_all.keys():
            ours, theirs = ours_of_all.get(name), theirs_of_all.get(name)
            if ours != theirs and name != "bertscore":
                raise InputError(
                    f"{first.path} and {other.path} cannot be compared: "
                    f"{name} is {ours} in the first and {theirs} in the second"
                )
        hashes = [file.inputs["references_sha256"] for file in (first, other)]
        if first.model.ids == other.model.ids and hashes[0] != hashes[1]:
            raise InputError(f"{first.path} and {other.path} have the same ids but different references")


def shared_ids(files: Sequence[ScoredFile], on_mismatch: str) -> list[str]:
    """The examples that all systems have, in the order of the first. Raises InputError where that is not all."""
    first = files[0]
    ids = first.model.ids
    known = set(ids)
    for other in files[1:]:
        others = set(other.model.ids)
        missing = [row_id for row_id in first.model.ids if row_id not in others]
        added = [row_id for row_id in other.model.ids if row_id not in known]
        if (missing or added) and on_mismatch == "error":
            raise InputError(
                f"the examples of {first.path} and {other.path} differ: {len(missing)} only in the first"
                f"{first_of(missing)}, {len(added)} only in the second{first_of(added)};"
                " --on-mismatch intersect compares on the shared ones"
            )
        ids = [row_id for row_id in ids if row_id in others]
    if not ids:
        raise InputError("the systems have no example in common")
    return ids


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The examples beside a scores.json."""
    try:
        with examples_path(path).open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                content = json.loads(line)
                if not isinstance(content, dict) or "id" not in content:
                    raise InputError(f"{examples_path(path)}:{number}: has no id; {_AGAIN}")
                yield content
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"{examples_path(path)}: cannot be read: {error}") from error


def _name_and_path(argument: str) -> tuple[str, Path]:
    name, equals, path = argument.partition("=")
    if equals and not Path(argument).exists():
        return name, Path(path)
    path = Path(argument)
    stem = path.name.removesuffix(".json").removesuffix(".scores")
    in_folder = stem == "scores" and path.parent != Path()  # the folder that one is in says nothing of a system
    return (path.resolve().parent.name if in_folder else stem), path


def _read_file(name: str, path: Path) -> ScoredFile:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        metrics, num_examples, inputs = tuple(content["scores"]), content["num_examples"], content["inputs"]
    except (KeyError, TypeError) as error:
        raise InputError(f"{path}: is not a file that `summarizer evaluate` wrote") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: is not a file that `summarizer evaluate` wrote: {error}") from error
    try:
        signature = Signature.from_json(content["signature_parts"])
        if not {"references_sha256", "files_sha256", "columns"} <= inputs.keys():
            raise KeyError("files_sha256")
    except (KeyError, TypeError, AttributeError):
        raise InputError(f"{path}: was written by an earlier version; {_AGAIN}") from None
    ids: list[str] = []
    scores: dict[str, list[list[list[float]]]] = {}
    measures: dict[str, list[list[float | None]]] = {}
    for number, line in enumerate(read_lines(path), start=1):
        if name in line.get("baselines", {}):
            raise InputError(f"{path}: its model would be called {name}, as one of its baselines; name it: NAME={path}")
        ids.append(line["id"])
        try:
            for system, columns in {name: line, **line.get("baselines", {})}.items():
                scores.setdefault(system, []).append(
                    [[columns[metric][measure] for measure in MEASURES] for metric in metrics]
                )
                measures.setdefault(system, []).append([columns["measures"].get(each) for each in MEASURE_NAMES])
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{examples_path(path)}:{number}: has no {error}; {_AGAIN}") from error
    if len(ids) != num_examples:
        raise InputError(f"{path}: counts {num_examples} examples, but {examples_path(path)} holds {len(ids)}")
    model, *baselines = (
        System(
            system,
            "baseline" if number else "model",
            ids,
            metrics,
            np.array(scores[system]),
            np.array(measures[system], dtype=float),
        )
        for number, system in enumerate(scores)
    )
    return ScoredFile(path, signature, inputs, model, baselines)
