"""What the global vectors are worth to a trained model: its loss when every document gets the same ones.

In a Fastformer layer, tokens affect each other only through the global vectors (equations 4 and 6). With the mean over
other documents in their place, the layer applies the same linear map to every token and mixes nothing; everything else
stays as trained. The increase of the loss is what the mixing was worth to this model. In the comparison of sentences
with the document, the document vector is the global vector.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from summarizer import __version__
from summarizer.benchmarks.machine import describe_machine
from summarizer.config import RunConfig, of_trained_model
from summarizer.data.batching import collate, num_labels_in
from summarizer.errors import InputError
from summarizer.experiments.study_table import interval_text, intervals
from summarizer.models.loading import bfloat16_is_fast, choose_device
from summarizer.models.mixers.fastformer import Fastformer
from summarizer.padding import IGNORED
from summarizer.reporting.markdown import markdown_table
from summarizer.training.loop import TASKS
from summarizer.training.sentence_selection import average_precision

Vectors = Literal["own", "mean", "another's"]
VECTORS: dict[Vectors, str] = {
    "own": "its own, as trained",
    "mean": "the mean over other documents",
    "another's": "those of another document",
}
REPLACEMENTS: tuple[Vectors, ...] = ("mean", "another's")
ALL = "all"  # parts of the model


def measure_mixing_use(config: RunConfig, model_name: str) -> dict[str, Any]:
    """The model's loss on the configuration's validation documents with each of VECTORS, in all parts and in each.

    The first half of the documents gives the means, the second half the losses: per target token; of a classifier, per
    document; of a sentence selector, per sentence, with the average precision, 0 to 1. A row without `part` is for all
    parts together. Raises InputError for a model without global vectors and for fewer than four documents.
    """
    trained = of_trained_model(config, model_name)
    task = TASKS[config.task](replace(trained, data=replace(config.data, tokenizer=None)))
    if config.task == "classification":
        task.prepare("train")  # sets the classes
    data = task.prepare("validation")
    rows = [] if data is None else list(data.rows)
    if config.task == "selection":
        rows = [row for row in rows if 1 in row["labels"]]  # the others have no average precision
    if len(rows) < 4:
        raise InputError("at least four documents in data.validation are needed")
    device = choose_device("auto")
    model = task.make_model().to(device).eval()
    if new := [note for note in task.notes if note.startswith("new weights")]:
        raise InputError(f"the model does not fit task={config.task}: {new[0]}")
    parts = _parts_with_global_vectors(model)
    if not parts[ALL]:
        raise InputError(f"'{model_name}' has no Fastformer layers and no comparison with the document")
    batches = [
        {name: tensor.to(device) for name, tensor in collate([row], task.tokenizer.pad_token_id).items()}
        for row in rows
    ]
    half = len(batches) // 2

    def measure(
        documents: list[dict[str, Tensor]], vectors: Vectors, part: Sequence[_GlobalVectors]
    ) -> dict[str, np.ndarray]:
        autocast = torch.autocast(device.type, torch.bfloat16, enabled=bfloat16_is_fast(device))
        with torch.no_grad(), autocast, ExitStack() as stack:
            for global_vectors in part:
                stack.enter_context(global_vectors.replaced_by(vectors))
            found = [_measures(task, model, batch) for batch in documents]
        return {name: np.array([each[name] for each in found]) for name in found[0]}

    measure(batches[:half], "own", parts[ALL])  # only to keep their vectors
    own = measure(batches[half:], "own", ())
    results = [{"vectors": "own", **_row(own, own)}]
    for name, part in parts.items():
        for vectors in REPLACEMENTS:
            row = {"vectors": vectors, **_row(measure(batches[half:], vectors, part), own)}
            results.append(row if name == ALL else {"part": name, **row})
    return {
        "version": __version__,
        "machine": describe_machine(device),
        "task": config.task,
        "num_documents": len(batches) - half,
        "rows": results,
    }


def _measures(task: Any, model: Any, batch: dict[str, Tensor]) -> dict[str, float]:
    """The loss of a document; of a sentence selector also the average precision, 0 to 1."""
    if task.config.task != "selection":
        return {"loss": float(task.summed_loss(model, batch, 0.0)) / num_labels_in(batch)}
    output, labels = model(**batch), batch["labels"]
    real = labels != IGNORED
    return {"loss": float(output.loss), "average_precision": average_precision(output.logits[real], labels[real])}


def _row(found: dict[str, np.ndarray], own: dict[str, np.ndarray]) -> dict[str, dict[str, float]]:
    """The measures with their intervals, and their differences from those with the documents' own vectors."""
    names = {"loss": "difference", "average_precision": "average_precision_difference"}
    return intervals({**found, **{names[name]: values - own[name] for name, values in found.items()}})


def _parts_with_global_vectors(model: Any) -> dict[str, list["_GlobalVectors"]]:
    """The parts to replace: all, each Fastformer layer, those of tokens and of sentences, the document vector."""
    scorer = getattr(model, "scorer", None)
    of_sentences = [] if scorer is None else _layers(scorer)
    of_tokens = [layer for layer in _layers(model) if layer not in of_sentences]
    uses = model.config.encoder_layers if model.config.share_encoder_layers else 1
    parts = {
        "token layers": [_GlobalVectors(layer.global_vectors, uses) for layer in of_tokens],
        "sentence layers": [_GlobalVectors(layer.global_vectors) for layer in of_sentences],
        "document vector": [],
    }
    if scorer is not None and scorer.comparison is not None:
        parts["document vector"] = [_GlobalVectors([scorer.comparison.document_vector], normalize=True)]
    layers = {
        f"{name[:-1]} {number}": [layer]
        for name in ("token layers", "sentence layers")
        if len(parts[name]) > 1
        for number, layer in enumerate(parts[name], start=1)
    }
    everything = [vectors for part in parts.values() for vectors in part]
    parts = {name: part for name, part in {**parts, **layers}.items() if 0 < len(part) < len(everything)}
    return {ALL: everything, **parts}


def _layers(module: nn.Module) -> list[Fastformer]:
    return [each for each in module.modules() if isinstance(each, Fastformer)]


def mixing_use_table(path: Path) -> str:
    """The table of a result file."""
    content = json.loads(path.read_text(encoding="utf-8"))
    rows = content["rows"]
    has_parts = any("part" in row for row in rows)
    selects = "average_precision" in rows[0]
    lines = []
    for row in rows:
        is_own = row["vectors"] == "own"
        cells = ["" if is_own else row.get("part", ALL)] if has_parts else []
        cells += [VECTORS[row["vectors"]], interval_text(row["loss"], ".3f")]
        cells.append("" if is_own else interval_text(row["difference"], "+.4f"))
        if selects:
            cells.append(interval_text(_percent(row["average_precision"])))
            cells.append("" if is_own else interval_text(_percent(row["average_precision_difference"]), "+.2f"))
        lines.append(cells)
    head = ["part"] if has_parts else []
    head += ["global vectors of each document", "loss, nats (95 %)", "loss − as trained"]
    head += ["average precision, % (95 %)", "average precision − as trained"] if selects else []
    return f"{markdown_table(head, lines, right=True)}\n\n{content['num_documents']} documents."


def _percent(interval: dict[str, float]) -> dict[str, float]:
    return {name: 100 * value for name, value in interval.items()}


def mixing_uses_table(files: dict[str, Path]) -> str:
    """One line for each result file, by its label: the loss, and the difference with the mean vectors."""
    lines = []
    for label, path in files.items():
        content = json.loads(path.read_text(encoding="utf-8"))
        rows = {row["vectors"]: row for row in content["rows"] if "part" not in row}
        loss, difference = rows["own"]["loss"]["mean"], interval_text(rows["mean"]["difference"], "+.4f")
        lines.append([label, str(content["num_documents"]), f"{loss:.3f}", difference])
    return markdown_table(["model", "documents", "loss, nats", "rise with the mean vectors"], lines, right=True)


class _GlobalVectors:
    """Keeps and replaces the global vectors that pass through some modules; each batch is one document.

    `uses`: how often each module runs for a document; more than once if the encoder's layers are shared.
    `normalize`: the vectors have length 1, and so shall their means.
    """

    def __init__(self, places: Iterable[nn.Module], uses: int = 1, normalize: bool = False) -> None:
        self._places, self._uses, self._normalize = list(places), uses, normalize
        self._seen: dict[tuple[int, int], list[Tensor]] = {}  # by place and use, each [1, d] or [1, 1, d]

    @contextmanager
    def replaced_by(self, vectors: Vectors) -> Iterator[None]:
        """In this context the model gets `vectors`; with "own", the vectors of the documents are recorded."""
        given = {key: self._mean(seen) if vectors == "mean" else seen[-1] for key, seen in self._seen.items()}
        calls: Counter[int] = Counter()

        def replace_vectors(place: int, _module: Any, _inputs: Any, own: Tensor) -> Tensor:
            key = place, calls[place] % self._uses
            calls[place] += 1
            if vectors == "own":
                self._seen.setdefault(key, []).append(own)
                return own
            replacement = given[key].to(own.dtype)
            if vectors == "another's":
                given[key] = own  # for the next document
            return replacement

        hooks = [
            module.register_forward_hook(partial(replace_vectors, place)) for place, module in enumerate(self._places)
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def _mean(self, seen: list[Tensor]) -> Tensor:
        mean = torch.stack(seen).float().mean(dim=0)
        return F.normalize(mean, dim=-1) if self._normalize else mean
