"""What token mixing is worth to a trained Fastformer: its loss when every document gets the same global vectors.

In this layer, tokens affect each other only through the global vectors (equations 4 and 6). With the mean over other
documents in their place, the layer applies the same linear map to every token and mixes nothing; everything else stays
as trained. The increase of the loss is what the mixing was worth to this model.
"""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from summarizer import __version__
from summarizer.benchmarks.machine import describe_machine
from summarizer.config import RunConfig, of_trained_model
from summarizer.data.batching import collate, num_labels_in
from summarizer.errors import InputError
from summarizer.experiments.study_table import interval_text, intervals
from summarizer.models.loading import bfloat16_is_fast, choose_device
from summarizer.models.mixers.fastformer import Fastformer
from summarizer.reporting.markdown import markdown_table
from summarizer.training.loop import TASKS

Vectors = Literal["own", "mean", "another's"]
VECTORS: dict[Vectors, str] = {
    "own": "its own, as trained",
    "mean": "the mean over other documents",
    "another's": "those of another document",
}


def measure_mixing_use(config: RunConfig, model_name: str) -> dict[str, Any]:
    """The model's loss on the configuration's validation documents with each of VECTORS.

    The first half of the documents gives the means, the second half the losses: per target token or, of a
    classifier, per document. Raises InputError for a model without Fastformer layers and for fewer than four documents.
    """
    trained = of_trained_model(config, model_name)
    task = TASKS[config.task](replace(trained, data=replace(config.data, tokenizer=None)))
    if config.task == "classification":
        task.prepare("train")  # sets the classes
    data = task.prepare("validation")
    if data is None or len(data) < 4:
        raise InputError("at least four documents in data.validation are needed")
    device = choose_device("auto")
    model = task.make_model().to(device).eval()
    layers = [module for module in model.modules() if isinstance(module, Fastformer)]
    if not layers:
        raise InputError(f"'{model_name}' has no Fastformer layers")
    batches = [
        {name: tensor.to(device) for name, tensor in collate([row], task.tokenizer.pad_token_id).items()}
        for row in data.rows
    ]
    half = len(batches) // 2

    def losses(documents: list[dict[str, Tensor]]) -> np.ndarray:
        autocast = torch.autocast(device.type, torch.bfloat16, enabled=bfloat16_is_fast(device))
        with torch.no_grad(), autocast:
            return np.array([float(task.summed_loss(model, batch, 0.0)) / num_labels_in(batch) for batch in documents])

    uses = model.config.encoder_layers // len(layers) if model.config.share_encoder_layers else 1
    global_vectors = _GlobalVectors(layers, uses)
    with global_vectors.replaced_by("own"):
        losses(batches[:half])  # only to keep their vectors
    by_vectors: dict[Vectors, np.ndarray] = {"own": losses(batches[half:])}
    for vectors in VECTORS:
        if vectors != "own":
            with global_vectors.replaced_by(vectors):
                by_vectors[vectors] = losses(batches[half:])
    rows = [
        {"vectors": vectors, **intervals({"loss": found, "difference": found - by_vectors["own"]})}
        for vectors, found in by_vectors.items()
    ]
    return {
        "version": __version__,
        "machine": describe_machine(device),
        "task": config.task,
        "num_documents": len(batches) - half,
        "rows": rows,
    }


def mixing_use_table(path: Path) -> str:
    """The table of a result file."""
    content = json.loads(path.read_text(encoding="utf-8"))
    lines = []
    for row in content["rows"]:
        cells = [VECTORS[row["vectors"]], interval_text(row["loss"], ".3f")]
        cells.append("" if row["vectors"] == "own" else interval_text(row["difference"], "+.4f"))
        lines.append(cells)
    head = ["global vectors of each document", "loss, nats (95 %)", "loss − as trained"]
    return f"{markdown_table(head, lines, right=True)}\n\n{content['num_documents']} documents."


def mixing_uses_table(files: dict[str, Path]) -> str:
    """One line for each result file, by its label: the loss, and the difference with the mean vectors."""
    lines = []
    for label, path in files.items():
        content = json.loads(path.read_text(encoding="utf-8"))
        rows = {row["vectors"]: row for row in content["rows"]}
        loss, difference = rows["own"]["loss"]["mean"], interval_text(rows["mean"]["difference"], "+.4f")
        lines.append([label, str(content["num_documents"]), f"{loss:.3f}", difference])
    return markdown_table(["model", "documents", "loss, nats", "rise with the mean vectors"], lines, right=True)


class _GlobalVectors:
    """Keeps and replaces the global vectors of all stages of all layers; each batch is one document.

    `uses`: how often each layer runs for a document; more than once if the encoder's layers are shared.
    """

    def __init__(self, layers: list[Fastformer], uses: int = 1) -> None:
        self._layers, self._uses = layers, uses
        self._seen: dict[tuple[int, int, int], list[Tensor]] = {}  # by layer, stage and use, each [1, d]

    @contextmanager
    def replaced_by(self, vectors: Vectors) -> Iterator[None]:
        """In this context the layers get `vectors`; with "own", the vectors of the documents are recorded."""
        given = {key: self._mean(seen) if vectors == "mean" else seen[-1] for key, seen in self._seen.items()}
        calls: Counter[tuple[int, int]] = Counter()

        def replace_vectors(place: tuple[int, int], _module: Any, _inputs: Any, own: Tensor) -> Tensor:
            key = *place, calls[place] % self._uses
            calls[place] += 1
            if vectors == "own":
                self._seen.setdefault(key, []).append(own)
                return own
            replacement = given[key].to(own.dtype)
            if vectors == "another's":
                given[key] = own  # for the next document
            return replacement

        hooks = [
            stage.register_forward_hook(partial(replace_vectors, (number, index)))
            for number, layer in enumerate(self._layers)
            for index, stage in enumerate(layer.global_vectors)
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    @staticmethod
    def _mean(seen: list[Tensor]) -> Tensor:
        return torch.stack(seen).float().mean(dim=0)
