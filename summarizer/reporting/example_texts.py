"""Which examples a comparison shows, and their texts out of the files that `evaluate` read or stored."""

from collections.abc import Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from summarizer.errors import InputError
from summarizer.evaluation.examples import Policy, open_examples
from summarizer.evaluation.files_of_texts import Columns
from summarizer.reporting.scored_files import ScoredFile, read_lines

_TOLERANT = Policy("zero", "first", "zero")  # `evaluate` has decided already what is scored


def choose_examples(fmeasures: np.ndarray, count: int) -> list[int]:
    """Positions of examples to show, of F [examples, systems]: the first system's best and worst, and those about
    which the systems differ most, by turns; all, in their order, where there are no more than `count`.
    """
    if len(fmeasures) <= count:
        return list(range(len(fmeasures)))
    ascending = np.argsort(fmeasures[:, 0], kind="stable").tolist()
    disputed = np.argsort(-np.ptp(fmeasures, axis=1), kind="stable").tolist()
    by_turns = chain.from_iterable(zip_longest(reversed(ascending), ascending, disputed))
    return sorted(list(dict.fromkeys(by_turns))[:count])


def read_texts(files: Sequence[ScoredFile], ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """By id: document, reference, and the predictions by system, as far as the files are still there and the same."""
    texts: dict[str, dict[str, Any]] = {row_id: {"predictions": {}} for row_id in ids}
    for file in files:
        for row_id, found in _stored_texts(file, texts.keys()) or _texts_of_inputs(file, texts.keys()):
            texts[row_id].setdefault("document", found["document"])
            texts[row_id].setdefault("reference", "\n\n".join(found["references"]))
            texts[row_id]["predictions"][file.model.name] = found["prediction"]
            for name, text in found["baselines"].items():
                texts[row_id]["predictions"].setdefault(name, text)
    return texts


def _stored_texts(file: ScoredFile, wanted: Any) -> list[tuple[str, dict[str, Any]]]:
    return [(line["id"], line["texts"]) for line in read_lines(file.path) if "texts" in line and line["id"] in wanted]


def _texts_of_inputs(file: ScoredFile, wanted: Any) -> list[tuple[str, dict[str, Any]]]:
    """From the files that were scored; nothing where they are gone or hold other rows now."""
    inputs = file.content.get("inputs")
    if not inputs:
        return []
    predictions, references = (Path(file.path.resolve().parent, inputs[side]) for side in ("predictions", "references"))
    if not (predictions.exists() and references.exists()):
        return []
    try:
        with open_examples(predictions, references, Columns(**inputs["columns"]), _TOLERANT) as examples:
            return [
                (
                    example.id,
                    {
                        "document": example.document,
                        "references": example.references,
                        "prediction": example.prediction,
                        "baselines": {},
                    },
                )
                for example in examples
                if example.id in wanted
            ]
    except InputError:
        return []
