"""Predictions paired with references by id or by order: predictions in memory, references and documents streamed."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from summarizer.columns import ID_COLUMNS
from summarizer.errors import InputError
from summarizer.evaluation.files_of_texts import (
    Columns,
    TextRow,
    check_id_column,
    is_list_of_texts,
    read_predictions,
    read_references,
)
from summarizer.evidence import Evidence

_OTHER_WAYS = "--id-column names the column of the ids, --pair-by line pairs the rows in order"
NAMED = 3  # the number of ids listed in a message
_WHOLE_NUMBER = re.compile(r"\d+\.0")  # as some programs write a column of numbers into CSV


@dataclass(frozen=True)
class Policy:
    """What to do with unmatched, duplicate and empty rows."""

    mismatch: Literal["error", "intersect", "zero"] = "error"  # zero: a reference without a prediction scores 0
    duplicates: Literal["error", "first", "last", "references"] = "error"  # references: repeated rows are several
    empty: Literal["zero", "drop", "error"] = "zero"  # empty or failed predictions, and empty references
    pair_by: Literal["id", "line"] = "id"  # id: by line where a file of bare texts or neither file has ids


@dataclass(frozen=True)
class Example:
    """A prediction with its reference, and the document where the references file holds it."""

    id: str
    prediction: str  # "" for a failed or missing one
    reference: str
    document: str | None = None
    failed: bool = False
    other_references: tuple[str, ...] = ()
    source_cut: bool | None = None
    evidence: Evidence | None = None  # of the prediction

    @property
    def references(self) -> tuple[str, ...]:
        """All references."""
        return (self.reference, *self.other_references)


@dataclass
class Examples:
    """Streams the examples in the order of the references; `counts` and `notes` tell how the policy was applied."""

    num_examples: int
    stream: Callable[[], Iterator[Example]]
    counts: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return self.num_examples

    def __iter__(self) -> Iterator[Example]:
        return self.stream()


@dataclass
class _Side:
    """The ids of a file's rows in order, whether each text is empty, and the row that each id names."""

    path: Path
    ids: list[str | None] = field(default_factory=list)
    empty: list[bool] = field(default_factory=list)
    positions: dict[str, int] = field(default_factory=dict)
    num_repeated: int = 0
    further: dict[str, list[str]] = field(default_factory=dict)  # texts of repeated rows, where all are references

    def add(self, row: TextRow, policy: Policy) -> None:
        """Take the next row in."""
        if policy.pair_by == "id" and self.ids and (row.id is None) != (self.ids[0] is None):
            location = row.location if row.id is None else self.path
            raise InputError(f"{location}: has no id, but other rows have one; --pair-by line needs no ids")
        if policy.duplicates == "references" and row.id is not None:
            if row.id in self.further:
                self.further[row.id] += [row.text, *row.other_texts]
            else:
                self.further[row.id] = []
        self.ids.append(row.id)
        self.empty.append(not any(text.strip() for text in (row.text, *row.other_texts)))

    def index_lines(self) -> None:
        """Keep the ids as names of the examples only where they are complete and each is unique."""
        if len({row_id for row_id in self.ids if row_id is not None}) < len(self.ids):
            self.ids = [None] * len(self.ids)

    def index(self, duplicates: str, notes: list[str]) -> None:
        """Map each id to its position, and apply the policy for duplicates."""
        if all(row_id and _WHOLE_NUMBER.fullmatch(row_id) for row_id in self.ids):
            self.ids = [str(row_id).removesuffix(".0") for row_id in self.ids]
        for position, row_id in enumerate(self.ids):
            if row_id is not None and (duplicates == "last" or row_id not in self.positions):
                self.positions[row_id] = position
        counts = Counter(row_id for row_id in self.ids if row_id is not None)
        if twice := [row_id for row_id, count in counts.items() if count > 1]:
            if duplicates == "error":
                raise InputError(
                    f"{self.path}: {len(twice)} ids occur more than once{first_of(twice)};"
                    " --on-duplicates first or last keeps one of each, and references scores against all rows of an id"
                )
            if duplicates == "references":
                for row_id, is_empty in zip(self.ids, self.empty, strict=True):
                    self.empty[self.positions[str(row_id)]] &= is_empty
                found = f"{len(twice)} ids occur more than once{first_of(twice)}"
                notes.append(f"{self.path}: {found}: their rows are several references")
                return
            self.num_repeated = sum(counts[row_id] - 1 for row_id in twice)
            notes.append(
                f"{self.path}: {len(twice)} ids occur more than once{first_of(twice)}: the {duplicates} of each is used"
            )


def pair_examples(
    predictions_path: Path, references_path: Path, columns: Columns, policy: Policy, with_evidence: bool = False
) -> Examples:
    """Pair the rows of two files (or folders) by id, or by order where a side has bare texts or the policy says so.

    The references file is read once here, and again each time the examples are iterated. Raises InputError, naming
    the first few ids, for what the policy refuses.
    """
    check_id_column((predictions_path, references_path), columns)
    rows = list(read_predictions(predictions_path, columns, with_evidence))
    predictions, references = _Side(predictions_path), _Side(references_path)
    for row in rows:
        predictions.add(row, policy)
    for row in read_references(references_path, columns):
        references.add(row, policy)
    notes: list[str] = []
    for side in (predictions, references):
        if not side.ids:
            raise InputError(f"{side.path}: holds no rows")
        if policy.pair_by == "line":
            side.index_lines()
        else:
            several = side is references or policy.duplicates != "references"
            side.index(policy.duplicates if several else "error", notes)
    partners, counts = _pair(predictions, references, policy, notes)  # by the position of the reference
    _decide_empty(predictions, references, partners, policy, notes)
    if not partners:
        raise InputError(f"no examples to score in {predictions_path} and {references_path}: {'; '.join(notes)}")

    def stream() -> Iterator[Example]:
        for position, reference in enumerate(read_references(references_path, columns)):
            if position in partners:
                partner = partners[position]
                prediction = None if partner is None else rows[partner]
                yield Example(
                    references.ids[position] or (partner is not None and predictions.ids[partner]) or str(position + 1),
                    prediction.text if prediction else "",
                    reference.text,
                    reference.document,
                    failed=prediction is not None and prediction.failed,
                    other_references=(*reference.other_texts, *references.further.get(str(reference.id), ())),
                    source_cut=prediction.source_cut if prediction else None,
                    evidence=prediction.evidence if prediction else None,
                )

    return Examples(len(partners), stream, counts, notes)


def _pair(
    predictions: _Side, references: _Side, policy: Policy, notes: list[str]
) -> tuple[dict[int, int | None], dict[str, int]]:
    """For each reference that is scored, the position of its prediction, or None for a missing one."""
    sides = (predictions, references)
    with_ids = [side.ids[0] is not None and policy.pair_by == "id" for side in sides]
    rows = _positions_by_rows(predictions.ids, references) if with_ids == [True, False] else {}
    if all(with_ids) or rows:
        ours, theirs = predictions.positions, rows or references.positions
    elif any(with_ids) and not any(is_list_of_texts(side.path) for side in sides):
        path = references.path if with_ids[0] else predictions.path
        usual = " or ".join(ID_COLUMNS)
        raise InputError(f"{path}: has no id column ({usual}), but the other file has one; {_OTHER_WAYS}")
    else:
        ours, theirs = ({str(line): line - 1 for line in range(1, len(side.ids) + 1)} for side in sides)
    without_prediction = [row_id for row_id in theirs if row_id not in ours]
    without_reference = [row_id for row_id in ours if row_id not in theirs]
    what = "ids" if all(with_ids) else "rows"
    found = (
        f"the {what} of {predictions.path} and {references.path} differ: {len(ours) - len(without_reference)} in both, "
        f"{len(without_prediction)} references without a prediction{first_of(without_prediction)}, "
        f"{len(without_reference)} predictions without a reference{first_of(without_reference)}"
    )
    if without_prediction or without_reference:
        if len(ours) == len(without_reference):
            raise InputError(f"{found}; they have none in common; {_OTHER_WAYS}")
        if policy.mismatch == "error":
            raise InputError(f"{found}; --on-mismatch intersect scores the shared ones, zero scores missing ones 0")
        notes.append(
            f"{found}; {'the rest is left out' if policy.mismatch == 'intersect' else 'missing predictions score 0'}"
        )
    partners = {
        position: ours.get(row_id) for row_id, position in theirs.items() if row_id in ours or policy.mismatch == "zero"
    }
    return dict(sorted(partners.items())), {
        "predictions_left_out": len(without_reference),
        "references_left_out": len(without_prediction) if policy.mismatch == "intersect" else 0,
        "predictions_missing": len(without_prediction) if policy.mismatch == "zero" else 0,
        "duplicates_left_out": predictions.num_repeated + references.num_repeated,
    }


def _positions_by_rows(ids: Sequence[str | None], references: _Side) -> dict[str, int]:
    """Positions of references without ids under the names that `summarize` gives to their rows, FILE:1, FILE:2 …

    Empty if `ids` are not such names.
    """
    named = [str(row_id).rpartition(":") for row_id in ids]
    files = {file for file, _, _ in named}
    if len(files) > 1 or Path(min(files)).name != references.path.name or not all(row.isdigit() for *_, row in named):
        return {}
    return {f"{min(files)}:{position + 1}": position for position in range(len(references.ids))}


def _decide_empty(
    predictions: _Side, references: _Side, partners: dict[int, int | None], policy: Policy, notes: list[str]
) -> None:
    for kind, found in (
        ("predictions", [at for at, partner in partners.items() if partner is not None and predictions.empty[partner]]),
        ("references", [at for at in partners if references.empty[at]]),
    ):
        if not found:
            continue
        message = f"{len(found)} {kind} are empty{first_of([references.ids[at] or str(at + 1) for at in found])}"
        if policy.empty == "error":
            raise InputError(f"{message}; --on-empty zero scores them 0, drop leaves them out")
        notes.append(f"{message}: {'scored 0' if policy.empty == 'zero' else 'left out'}")
        if policy.empty == "drop":
            for at in found:
                partners.pop(at, None)


def first_of(ids: Sequence[str]) -> str:
    """The first few ids in parentheses, or an empty string."""
    named = ", ".join(repr(row_id) for row_id in ids[:NAMED])
    return f" ({named}{', …' if len(ids) > NAMED else ''})" if ids else ""
