"""The pairs of a run's splits: validation pairs of their own, or a part of the training pairs that is held out."""

import hashlib
from collections.abc import Iterator

from summarizer.config import DataConfig, Split
from summarizer.data.pairs import DataSplit, Pair, ReadReport, Target, find_pairs, read_pairs
from summarizer.errors import InputError


def find_split(entries: list[str], split: Split, config: DataConfig) -> DataSplit:
    """Where the pairs of a split are. Raises InputError for an entry that leads to no file."""
    source = "train" if split == "validation" and config.holds_out_validation else split
    return find_pairs(entries, source, config.hub_name)


def read_split(
    source: DataSplit, split: Split, config: DataConfig, report: ReadReport, target: Target = "summary"
) -> Iterator[Pair]:
    """Stream the pairs of a split. If validation pairs are held out, the source is read twice.

    Raises InputError when a column is missing, or nothing is left to train on.
    """
    if split == "test" or not config.holds_out_validation:
        return read_pairs(source, config, report, target)
    last = _last_held_out(source, config, target)
    return (
        pair
        for pair in read_pairs(source, config, report, target)
        if (_place(pair.document, config.split_seed) <= last) == (split == "validation")
    )


def _last_held_out(source: DataSplit, config: DataConfig, target: Target) -> int:
    """The largest place of a held-out document. The distinct documents with the smallest places are held out."""
    pairs = read_pairs(source, config, ReadReport(), target)
    places = sorted({_place(pair.document, config.split_seed) for pair in pairs})
    count = max(1, round((config.validation_fraction or 0) * len(places)))
    if count >= len(places):
        raise InputError(f"data.validation_fraction leaves none of {len(places)} distinct documents for training")
    return places[count - 1]


def _place(document: str, seed: int) -> int:
    """A pseudorandom number that depends only on the document and the seed."""
    return int.from_bytes(hashlib.blake2b(f"{seed}\n{document}".encode(), digest_size=8).digest(), "big")
