"""Pairs of document and summary, from local files or a hub data set."""

import glob
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from summarizer.columns import (
    DOCUMENT_COLUMNS,
    LABEL_COLUMNS,
    SUMMARY_COLUMNS,
    find_column,
    id_of,
    label_of,
    text_of,
)
from summarizer.config import DataConfig
from summarizer.errors import InputError
from summarizer.files import hash_of_file
from summarizer.hub import data_hub_is_away
from summarizer.rows import ROW_SUFFIXES, Row, read_rows, row_format
from summarizer.text import clean_text

Target = Literal["summary", "label"]
NAMED_ROWS = 3  # locations listed for each reason


@dataclass(frozen=True)
class Pair:
    """A document with its target: a summary, or the name of its class. All clean text."""

    id: str
    document: str
    target: str


@dataclass
class ReadReport:
    """Skipped rows: the number for each reason, and the locations of the first few."""

    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def drop(self, reason: str, location: str) -> None:
        """Count a skipped row."""
        self.counts[reason] += 1
        named = self.examples.setdefault(reason, [])
        if len(named) < NAMED_ROWS:
            named.append(location)

    def lines(self) -> list[str]:
        """One line per reason."""
        return [
            f"{count} × {reason} (first: {', '.join(self.examples[reason])})" for reason, count in self.counts.items()
        ]


@dataclass(frozen=True)
class DataSplit:
    """Where a split's pairs come from: local files, or a hub data set and its split."""

    split: str
    files: tuple[Path, ...] = ()
    hub_id: str | None = None
    hub_name: str | None = None

    def fingerprint(self) -> list[str]:
        """What identifies the content: hashes of the files, or of the Arrow files of a hub data set."""
        if self.hub_id is None:
            return [hash_of_file(path) for path in self.files]
        hashes = [hash_of_file(Path(file["filename"])) for file in _load_hub_split(self).cache_files]
        return [self.hub_id, str(self.hub_name), self.split, *hashes]


def find_pairs(entries: list[str], split: str, hub_name: str | None = None) -> DataSplit:
    """Resolve `entries` (files, globs, or folders of files; or one hub id) for a split.

    In a folder the files whose names begin with the split's (train*, validation* or val*, test*) are taken. The only
    file of a folder is training data whatever its name. Raises InputError for an entry that leads to no file.
    """
    if not entries:
        raise InputError(f"data.{split} is empty: name files, folders, globs or a hub id")
    files: list[Path] = []
    for entry in entries:
        path = Path(entry)
        if path.is_dir():
            found = _split_files(path, split)
            if not found:
                names = " or ".join(f"{prefix}*" for prefix in _prefixes(split))
                hint = "; data.validation_fraction=0.1 holds out training documents" if split == "validation" else ""
                raise InputError(
                    f"data.{split}: the folder '{entry}' holds no file {names} ({', '.join(ROW_SUFFIXES)}){hint}"
                )
        elif path.is_file():
            found = [path]
        else:
            found = sorted(filter(Path.is_file, map(Path, glob.glob(entry, recursive=True))))  # noqa: PTH207 (absolute ones too)
        if not found and len(entries) == 1 and re.fullmatch(r"[\w.-]+/[\w.-]+", entry) and row_format(path) is None:
            return DataSplit(split, hub_id=entry, hub_name=hub_name)
        if not found:
            raise InputError(f"data.{split}: '{entry}' matches no file ({', '.join(ROW_SUFFIXES)}) and is not a hub id")
        files += found
    return DataSplit(split, files=tuple(files))


def read_pairs(
    data_split: DataSplit, config: DataConfig, report: ReadReport, target: Target = "summary"
) -> Iterator[Pair]:
    """Stream the pairs of a split; unusable rows are counted in `report`.

    Raises InputError when a column is missing, naming those that are there.
    """
    columns: tuple[str, str] | None = None
    for row in _rows(data_split):
        if row.error is not None:
            report.drop(row.error.partition(" (")[0], row.location)
            continue
        columns = columns or _columns(row, config, target)
        document_cell, target_cell = (row.columns.get(column) for column in columns)
        try:
            document = clean_text(text_of(document_cell))
            wanted = label_of(target_cell) if target == "label" else clean_text(text_of(target_cell))
        except ValueError as error:
            report.drop(f"a cell that {error}", row.location)
            continue
        if not document or not wanted:
            report.drop("empty document" if not document else f"empty {target}", row.location)
            continue
        yield Pair(id_of(row) or row.location, document, wanted)


def _columns(row: Row, config: DataConfig, target: Target) -> tuple[str, str]:
    document = find_column(row, config.document_column, DOCUMENT_COLUMNS, "data.document_column")
    if target == "label":
        return document, find_column(row, config.label_column, LABEL_COLUMNS, "data.label_column")
    return document, find_column(row, config.summary_column, SUMMARY_COLUMNS, "data.summary_column")


def _prefixes(split: str) -> tuple[str, ...]:
    return ("validation", "val", "dev") if split == "validation" else (split,)


def _split_files(folder: Path, split: str) -> list[Path]:
    found = [path for path in sorted(folder.iterdir()) if path.is_file() and row_format(path)]
    of_split = [path for path in found if path.name.startswith(_prefixes(split))]
    if split == "train" and len(found) == 1 and not found[0].name.startswith((*_prefixes("validation"), "test")):
        return found
    return of_split


def _rows(data_split: DataSplit) -> Iterator[Row]:
    if data_split.hub_id is not None:
        for number, columns in enumerate(_load_hub_split(data_split), start=1):
            yield Row(f"{data_split.hub_id}:{data_split.split}:{number}", dict(columns))
    for path in data_split.files:
        yield from read_rows(path)


def _load_hub_split(data_split: DataSplit) -> Any:
    """The split of a hub data set; code in the repository is never run."""
    import datasets

    name = str(data_split.hub_id)
    is_away = data_hub_is_away(name)
    try:
        with _offline() if is_away else nullcontext():
            return datasets.load_dataset(name, data_split.hub_name, split=data_split.split, keep_in_memory=False)
    except Exception as error:  # the hub client's errors share no base class
        message = " ".join(str(error).split())
        if is_away and isinstance(error, ConnectionError):
            message = "there is no such file or folder, the hub cannot be reached, and the local cache does not have it"
        raise InputError(f"data.{data_split.split}: cannot load '{name}': {message}") from error


@contextmanager
def _offline() -> Iterator[None]:
    """Data sets from the local cache only. Without this, their client asks the hub six times in 25 seconds."""
    from datasets import config

    previous, config.HF_HUB_OFFLINE = config.HF_HUB_OFFLINE, True
    try:
        yield
    finally:
        config.HF_HUB_OFFLINE = previous
