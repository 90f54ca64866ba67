"""Train and test a list of configurations on the same data, seeds, budget and test documents.

Each run has a folder OUTPUT/NAME-seedN: the run folder of `train`, and result.json once it is tested. Finished runs are
reused; an interrupted run continues.
"""

import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from accelerate import Accelerator

from summarizer.config import RunConfig, of_trained_model
from summarizer.config_files import COMPLETE_CONFIG, changed_keys, load_config, to_yaml
from summarizer.data.pairs import Pair, ReadReport, find_pairs, read_pairs
from summarizer.errors import InputError
from summarizer.evaluation.evaluate import EvaluationOptions, evaluate
from summarizer.evaluation.score_files import examples_path
from summarizer.files import write_json, write_whole
from summarizer.generation.options import SummarySettings
from summarizer.generation.summarizer import Summarizer
from summarizer.outputs import MARKED, check_folder, form
from summarizer.training.classification import Classification, accuracy_and_macro_f1
from summarizer.training.sentence_selection import SentenceSelection, average_precisions
from summarizer.training.stop_signals import StopSignals
from summarizer.training.validation import share_in_batches

Say = Callable[[str], None]
STUDY_FILES = {
    "study.json": form("json", "settings.reference", "num_examples", "rows", "curves"),
    "study.md": MARKED,
    "study.png": MARKED,
}


@dataclass(frozen=True)
class Study:
    """The configurations to compare, and what all of them share. Differences are from the first configuration."""

    configs: list[Path]
    output: Path
    overrides: list[str] = field(default_factory=list)  # key=value for every configuration
    seeds: list[int] = field(default_factory=lambda: [1])
    launcher: str = ""  # command such as "accelerate launch"; empty: this Python
    control: str = "no_mixing"  # name of the configuration without token mixing
    overwrite: bool = False  # write into a folder that holds other files


def run_all(study: Study, say: Say) -> Iterator[list[dict[str, Any]]]:
    """Train and test every configuration with every seed; yields all results so far after each new one.

    Raises InputError when a training run fails or is stopped; the same call continues.
    """
    runs = [_configure(path, study, seed) for seed in study.seeds for path in study.configs]
    names = [run.name for run in runs]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise InputError(f"two configurations have the same run name: {', '.join(twice)}")
    configs = {file: COMPLETE_CONFIG for name in names for file in (f"{name}.yaml", f"{name}/config.yaml")}
    check_folder(study.output, {**configs, **STUDY_FILES}, [*configs, "study.json"], study.overwrite)
    for run in runs[1 : len(study.configs)]:
        for changed in changed_keys(runs[0], run):
            if not changed.startswith("model."):
                say(f"note: {run.name} differs from {runs[0].name} in more than the model: {changed}")
    finished = {run.name: result for run in runs if (result := _finished_before(run, study))}
    if finished:
        say(f"{len(finished)} of {len(runs)} runs are already finished")
        yield [finished[name] for name in names if name in finished]
    for run in runs:
        if run.name not in finished:
            say(f"{len(finished) + 1} of {len(runs)}: {run.name}")
            finished[run.name] = _result(run, study)
            yield [finished[name] for name in names if name in finished]


def _configure(path: Path, study: Study, seed: int) -> RunConfig:
    overrides = [*study.overrides, f"seed={seed}", f"output_dir={study.output}", "resume=true"]
    config = load_config(path, overrides)
    for split in ("validation", "test"):
        if not getattr(config.data, split):
            raise InputError(f"{path}: data.{split} is empty; a study needs {split} documents")
    return replace(config, name=f"{path.stem}-seed{seed}")


def _finished_before(config: RunConfig, study: Study) -> dict[str, Any] | None:
    """The result of a finished run. Raises InputError where the folder holds a run of another configuration."""
    folder = study.output / config.name
    path = folder / "result.json"
    result = _read_result(path) if path.is_file() else None
    if result is not None:
        key = result["key"]
        if "tested_on" in result and result["tested_on"] != _tested_on(config):
            raise InputError(f"{path} was measured on other test documents; delete it to test the run again")
    elif any(folder.glob("checkpoints/step-*")):
        key = _key(load_config(folder / "config.yaml"))
    else:
        return None
    if key != _key(config):  # its steps were made under other settings
        raise InputError(f"{folder} holds a run of another configuration; choose another output folder")
    return result


def _read_result(path: Path) -> dict[str, Any]:
    try:
        result = json.loads(path.read_bytes())
    except ValueError as error:
        raise InputError(f"{path} is damaged; delete it to test the run again ({error})") from error
    if not isinstance(result, dict) or not {"name", "seed", "key", "examples"} <= result.keys():
        raise InputError(f"{path} is not the result of a run; delete it to test the run again")
    return result


def _tested_on(config: RunConfig) -> list[str]:
    """Hashes that identify the test documents."""
    return find_pairs(config.data.test, "test", config.data.hub_name).fingerprint()


def _result(config: RunConfig, study: Study) -> dict[str, Any]:
    folder = study.output / config.name
    _train(config, study)
    trained = _training_account(folder)
    model = folder / ("best" if (folder / "best").is_dir() else "last")
    tested = TESTS[config.task](config, model)
    result = {
        "name": config.name.rpartition("-seed")[0],
        "seed": config.seed,
        "key": _key(config),
        "tested_on": _tested_on(config),
        "config": asdict(config)["model"],
        **trained,
        **tested,
    }
    write_json(folder / "result.json", result)
    return result


def _key(config: RunConfig) -> str:
    return hashlib.sha256(to_yaml(replace(config, output_dir="", resume=False)).encode()).hexdigest()[:16]


def _train(config: RunConfig, study: Study) -> None:
    """Train in a separate process, so that peak memory and global settings are those of this run alone."""
    path = study.output / f"{config.name}.yaml"
    with write_whole(path) as file:
        file.write(to_yaml(config))
    command = study.launcher.split() or [sys.executable]
    status, stopped = _run([*command, "-m", "summarizer.cli", "train", str(path)])
    if status or stopped:
        how = "was stopped" if stopped else f"ended with exit status {status}"
        raise InputError(f"training {config.name} {how}; repeat the command to continue")


def _run(command: list[str]) -> tuple[int, bool]:
    """Run a command to its end; returns its exit status, and whether it received a stop signal.

    Ctrl-C and SIGTERM are passed on once to the command and its processes. The command then writes a checkpoint, so
    this function waits for it.
    """
    with subprocess.Popen(command, start_new_session=True) as child:  # a terminal's Ctrl-C reaches it only through us
        with _PassedOn(child) as stop:
            status = child.wait()
        return status, stop.received > 0


class _PassedOn(StopSignals):
    """Passes stop signals on to a child process and its process group."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        super().__init__()
        self._child = child

    def receive(self, number: int, _: FrameType | None) -> None:
        """Pass the signal on."""
        self.received = number
        if hasattr(os, "killpg"):
            os.killpg(self._child.pid, number)
        else:
            self._child.send_signal(number)


def _training_account(folder: Path) -> dict[str, Any]:
    """Speed, memory and curves of a run, from its metrics.jsonl."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    steps = [line for line in lines if "source_tokens_per_second" in line]
    if not steps:
        raise InputError(f"{folder}: no step was logged")
    return {
        "steps": steps[-1]["step"],
        "training_source_tokens_per_second": statistics.median(line["source_tokens_per_second"] for line in steps),
        "peak_memory_mb": max((line.get("peak_memory_mb", 0.0) for line in steps), default=None),
        "training_loss": [[line["step"], line["loss"]] for line in steps if "loss" in line],
        "validation": [
            {name: value for name, value in line.items() if name in ("step", "validation_loss", "accuracy", "macro_f1")}
            for line in lines
            if "validation_loss" in line
        ],
    }


def _test_summarizer(config: RunConfig, model: Path) -> dict[str, Any]:
    """Summarize the test documents and score them, with the generation settings of the model folder."""
    folder = model.parent / "test"
    pairs = _test_pairs(config)
    summarizer = Summarizer.from_pretrained(str(model))
    settings = SummarySettings(
        max_source_tokens=config.data.max_source_tokens, tokens_per_batch=config.training.tokens_per_batch
    )
    summarizer.summarize([pairs[0].document], settings)  # warm-up
    started = time.perf_counter()
    summaries = summarizer.summarize([pair.document for pair in pairs], settings)
    seconds = time.perf_counter() - started
    records = [
        {"id": pair.id, "summary": summary.text, "status": summary.status, "error": summary.error}
        for pair, summary in zip(pairs, summaries, strict=True)
    ]
    _write_jsonl(folder / "summaries.jsonl", records)
    references = [{"id": pair.id, "document": pair.document, "summary": pair.target} for pair in pairs]
    _write_jsonl(folder / "references.jsonl", references)
    evaluation = evaluate(
        folder / "summaries.jsonl", folder / "references.jsonl", folder / "scores.json", EvaluationOptions()
    )
    per_example = [
        json.loads(line) for line in examples_path(evaluation.output).read_text(encoding="utf-8").splitlines()
    ]
    return {
        "parameters": summarizer.model.num_parameters(),
        "documents_per_second": len(pairs) / seconds,
        "signature": str(evaluation.signature),
        "text_measures": evaluation.text_measures,
        "examples": {
            metric: [100 * scores[metric]["fmeasure"] for scores in per_example] for metric in evaluation.scores
        },
    }


def _test_classifier(config: RunConfig, model: Path) -> dict[str, Any]:
    """Accuracy and macro-F1 on the test documents."""
    task = Classification(of_trained_model(config, str(model)))
    task.prepare("train")  # it defines the classes
    data = task.prepare("test")
    trained = task.make_model()
    if data is None:
        raise InputError("data.test is empty")
    accelerator = Accelerator(cpu=not torch.accelerator.is_available())
    started = time.perf_counter()
    predicted = dict(task.predict(trained.to(accelerator.device), data, accelerator))
    seconds = time.perf_counter() - started
    confusion = torch.zeros(len(task.classes), len(task.classes))
    labels = [label for (label,) in data.rows["labels"]]
    for index, label in enumerate(labels):
        confusion[label, predicted[index]] += 1
    return {
        "parameters": trained.num_parameters(),
        "documents_per_second": len(labels) / seconds,
        "macro_f1": accuracy_and_macro_f1(confusion)["macro_f1"],
        "examples": {"accuracy": [100.0 * (predicted[index] == label) for index, label in enumerate(labels)]},
    }


def _test_selector(config: RunConfig, model: Path) -> dict[str, Any]:
    """Average precision on the test documents."""
    task = SentenceSelection(of_trained_model(config, str(model)))
    data = task.prepare("test")
    trained = task.make_model()
    if data is None:
        raise InputError("data.test is empty")
    accelerator = Accelerator(cpu=not torch.accelerator.is_available())
    trained.to(accelerator.device).eval()
    found: dict[int, float | None] = {}
    started = time.perf_counter()
    batches = share_in_batches(data, config.training.tokens_per_batch, accelerator, task.tokenizer.pad_token_id)
    with accelerator.autocast():
        for indices, batch in batches:
            found.update(zip(indices, average_precisions(trained, batch), strict=True))
    seconds = time.perf_counter() - started
    precisions = [found[index] for index in range(len(data))]
    return {
        "parameters": trained.num_parameters(),
        "documents_per_second": len(data) / seconds,
        "examples": {"average_precision": [100 * each for each in precisions if each is not None]},
    }


TESTS = {"summarization": _test_summarizer, "classification": _test_classifier, "selection": _test_selector}


def _test_pairs(config: RunConfig) -> list[Pair]:
    data = config.data
    found = read_pairs(find_pairs(data.test, "test", data.hub_name), data, ReadReport())
    pairs = list(islice(found, data.max_test_examples))
    if not pairs:
        raise InputError("data.test has no usable pair of document and summary")
    return pairs


def _write_jsonl(path: Path, rows: list[dict[str, Any]]) -> None:
    with write_whole(path) as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
