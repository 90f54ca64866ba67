"""Which examples a comparison shows, and their texts out of the files that `evaluate` read or stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from summarizer.errors import InputError
from summarizer.evaluation.examples import Example, Policy, pair_examples
from summarizer.evaluation.files_of_texts import Columns
from summarizer.evaluation.score_files import hash_of_texts
from summarizer.evidence import Evidence, read_evidence
from summarizer.reporting.scored_files import ScoredFile, read_lines


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


@dataclass
class ExampleTexts:
    """The texts of an example, as far as they are there."""

    document: str | None = None
    reference: str | None = None
    predictions: dict[str, str] = field(default_factory=dict)  # by system
    evidence: dict[str, Evidence] = field(default_factory=dict)  # by system, of those whose records hold it

    def take(self, example: Example, system: str) -> None:
        """Take the texts of an example as `evaluate` scored it, with the prediction of `system`."""
        self.document = example.document if self.document is None else self.document
        self.reference = "\n\n".join(example.references) if self.reference is None else self.reference
        self.predictions[system] = example.prediction
        if example.evidence is not None:
            self.evidence[system] = example.evidence


def read_texts(files: Sequence[ScoredFile], ids: Sequence[str]) -> tuple[dict[str, ExampleTexts], list[str]]:
    """The texts by id, and a line about each scored file whose texts cannot be shown, with the reason."""
    texts = {row_id: ExampleTexts() for row_id in ids}
    notes = []
    for file in files:
        try:
            if not _take_stored_texts(file, texts):
                _take_texts_of_inputs(file, texts)
        except InputError as error:
            notes.append(f"The texts of {file.model.name} are not shown: {error}")
    return texts, notes


def _take_stored_texts(file: ScoredFile, texts: Mapping[str, ExampleTexts]) -> bool:
    """Take the texts that `evaluate --store-texts` kept; returns whether it kept any."""
    stored = False
    for line in read_lines(file.path):
        if line["id"] in texts and "texts" in line:
            kept, found = line["texts"], texts[line["id"]]
            reference, *others = kept["references"]
            example = Example(
                *(line["id"], kept["prediction"], reference, kept["document"]),
                other_references=tuple(others),
                evidence=read_evidence(kept.get("evidence")),
            )
            found.take(example, file.model.name)
            for name, text in kept["baselines"].items():
                found.predictions.setdefault(name, text)
            stored = True
    return stored


def _take_texts_of_inputs(file: ScoredFile, texts: Mapping[str, ExampleTexts]) -> None:
    """Take the texts from the files that were scored. Raises InputError where one is gone or has changed since."""
    paths = {side: Path(file.path.resolve().parent, file.inputs[side]) for side in ("predictions", "references")}
    for side, path in paths.items():
        if not path.exists():
            raise InputError(f"{path} no longer exists")
        if hash_of_texts(path) != file.inputs["files_sha256"][side]:
            raise InputError(f"{path} has changed since it was scored; score it again")
    columns = Columns(**file.inputs["columns"])
    policy = _tolerant_policy(file.signature.parts)
    for example in pair_examples(paths["predictions"], paths["references"], columns, policy, with_evidence=True):
        if example.id in texts:
            texts[example.id].take(example, file.model.name)


def _tolerant_policy(parts: Mapping[str, Any]) -> Policy:
    """The pairing that the signature records; `evaluate` has decided already what is scored."""
    return Policy("zero", parts.get("duplicates", "first"), "zero", parts.get("pair_by", "id"))
