"""Tokenise pairs once, into a memory-mapped Arrow file whose name is a hash of their content and the settings."""

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from summarizer.config import DataConfig, Split
from summarizer.data.pairs import DataSplit, Pair, ReadReport, Target
from summarizer.data.source_tokens import Source, SourceEncoder
from summarizer.data.splits import find_split, read_split
from summarizer.errors import InputError
from summarizer.files import write_json, write_whole
from summarizer.progress import WorkProgress

if TYPE_CHECKING:
    import datasets

FORMAT_VERSION = 4  # raise it when what is stored changes
PAIRS_AT_A_TIME = 256


@dataclass(frozen=True)
class PreparedData:
    """Tokenised pairs and a report of what was skipped or truncated.

    rows: columns id, input_ids, labels (both ending in </s>), target (the summary's text or the class's name),
    dropped_source and dropped_target (tokens cut off); source_lengths and target_lengths are held in memory.
    The labels of classes are all [0]: their numbers follow from the training data's names.
    """

    rows: "datasets.Dataset"
    source_lengths: list[int]
    target_lengths: list[int]
    report: dict[str, Any]

    def __len__(self) -> int:
        return len(self.source_lengths)

    def lines(self) -> list[str]:
        """A readable report: the numbers of pairs, skipped rows and truncated texts."""
        report = self.report
        lines = [f"{report['split']}: {len(self):,} pairs"]
        if report["duplicates"]:
            what = "dropped" if report["drops_duplicates"] else "data.drop_duplicates=true drops them"
            lines.append(f"{report['duplicates']:,} rows equal an earlier row in document and target: {what}")
        if report["dropped"]:
            lines.append("dropped: " + "; ".join(report["dropped"]))
        for side in ("source", "target"):
            if report[f"truncated_{side}s"]:
                lines.append(
                    f"truncated {side}s: {report[f'truncated_{side}s']:,} to {report[f'max_{side}_tokens']:,} tokens "
                    f"({report[f'dropped_{side}_tokens']:,} tokens dropped in total)"
                )
        return lines


def identical_documents(data: PreparedData, others: PreparedData) -> list[str]:
    """The ids of `others` whose documents, as they are read, are among those of `data`."""
    known = set(_hashes_of_documents(data))
    return [id_ for id_, hashed in zip(others.rows["id"], _hashes_of_documents(others), strict=True) if hashed in known]


def _hashes_of_documents(data: PreparedData) -> Iterator[int]:
    for ids in data.rows.data["input_ids"].iterchunks():  # straight from the file's memory: seconds for a gigabyte
        values, offsets = ids.values.to_numpy(), ids.offsets.to_pylist()
        for start, end in itertools.pairwise(offsets):
            yield hash(values[start:end].tobytes())


def prepare(
    entries: list[str],
    split: Split,
    config: DataConfig,
    tokenizer: Any,
    limit: int | None,
    target: Target = "summary",
) -> PreparedData:
    """Tokenise a split, or find it in the cache. `limit` takes the first pairs only.

    Raises InputError if there is nothing to read or no pair is usable.
    """
    import datasets

    source = find_split(entries, split, config)
    key = _cache_key(source, split, config, tokenizer, limit, target)
    arrow = Path(config.cache_dir, f"{split}-{key}.arrow")
    account = arrow.with_suffix(".json")
    if not (arrow.is_file() and account.is_file()):
        report = _write_arrow(arrow, source, split, config, tokenizer, limit, target)
        write_json(account, report)
    report = json.loads(account.read_text(encoding="utf-8"))
    rows = datasets.Dataset.from_file(str(arrow))
    table = rows.data
    return PreparedData(rows, table["source_length"].to_pylist(), table["target_length"].to_pylist(), report)


def _cache_key(
    source: DataSplit, split: Split, config: DataConfig, tokenizer: Any, limit: int | None, target: Target
) -> str:
    settings = asdict(config)
    relevant = ("document_column", "summary_column", "max_source_tokens", "max_target_tokens", "sentence_per_line")
    if target == "label":
        relevant = ("document_column", "label_column", "max_source_tokens", "sentence_per_line")
    if getattr(tokenizer, "src_lang", None) is not None:  # the fingerprint of the tokenizer has that of documents only
        relevant += ("source_language", "target_language")
    if config.source_prefix:
        relevant += ("source_prefix",)
    if split == "train":
        relevant += ("drop_duplicates",)
    if split != "test" and config.holds_out_validation:
        relevant += ("validation_fraction", "split_seed")
    parts = {
        "target": target,
        "version": FORMAT_VERSION,
        "content": source.fingerprint(),
        "tokenizer": _tokenizer_fingerprint(tokenizer),
        "limit": limit,
        **{name: settings[name] for name in relevant},
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _tokenizer_fingerprint(tokenizer: Any) -> str:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        described = json.dumps(tokenizer.get_vocab(), sort_keys=True)
    else:  # truncation and padding are set by each call, so they do not identify the tokenizer
        described = json.dumps({**json.loads(backend.to_str()), "truncation": None, "padding": None}, sort_keys=True)
    return hashlib.sha256(described.encode()).hexdigest()


def _write_arrow(
    arrow: Path,
    source: DataSplit,
    split: Split,
    config: DataConfig,
    tokenizer: Any,
    limit: int | None,
    target: Target,
) -> dict[str, Any]:
    """Tokenise into the Arrow file; returns the counts of pairs, skipped and duplicate rows and truncated texts."""
    import pyarrow as pa

    id_type = pa.uint16() if len(tokenizer) <= 2**16 else pa.int32()
    schema = pa.schema(
        {
            "id": pa.string(),
            "input_ids": pa.list_(id_type),
            "labels": pa.list_(id_type),
            "target": pa.string(),
            "source_length": pa.int32(),
            "target_length": pa.int32(),
            "dropped_source": pa.int32(),
            "dropped_target": pa.int32(),
        }
    )
    read = ReadReport()
    totals: Counter[str] = Counter()
    pairs = read_split(source, split, config, read, target)
    if split == "train":
        pairs = _without_duplicates(pairs, totals, config.drop_duplicates)
    pairs = itertools.islice(pairs, limit)
    prefix = (config.source_prefix or "").strip()
    sources = SourceEncoder(tokenizer, config.max_source_tokens, prefix, config.sentence_per_line)
    targets = SourceEncoder(tokenizer, config.max_target_tokens, as_target=True) if target == "summary" else None
    with (
        WorkProgress(f"preparing {split}", "pairs", limit) as progress,
        write_whole(arrow, "wb") as file,
        pa.ipc.new_stream(file, schema) as writer,
    ):
        for batch in _batched(pairs, PAIRS_AT_A_TIME):
            columns = _tokenize(batch, sources, targets, tokenizer.eos_token_id)
            totals["pairs"] += len(batch)
            for side in ("source", "target"):
                totals[f"truncated_{side}s"] += sum(dropped > 0 for dropped in columns[f"dropped_{side}"])
                totals[f"dropped_{side}_tokens"] += sum(columns[f"dropped_{side}"])
            writer.write_batch(pa.record_batch(columns, schema=schema))
            progress.advance(len(batch))
        if not totals["pairs"]:
            what = "; ".join(read.lines()) or "the files hold no rows"
            raise InputError(f"data.{source.split}: no pair can be used: {what}")
    return {
        "split": split,
        **totals,
        "duplicates": totals["duplicates"],
        "drops_duplicates": config.drop_duplicates,
        "dropped": read.lines() if source.split == split else [],  # held-out pairs: reported with the training pairs
        "max_source_tokens": config.max_source_tokens,
        "max_target_tokens": config.max_target_tokens,
    }


def _without_duplicates(pairs: Iterator[Pair], totals: Counter[str], drop: bool) -> Iterator[Pair]:
    """Count pairs that equal an earlier one in `totals`, and leave them out if `drop` is set."""
    seen: set[bytes] = set()
    for pair in pairs:
        key = hashlib.blake2b(json.dumps([pair.document, pair.target]).encode(), digest_size=16).digest()
        if is_duplicate := key in seen:
            totals["duplicates"] += 1
        seen.add(key)
        if not (is_duplicate and drop):
            yield pair


def _tokenize(
    batch: list[Pair], sources: SourceEncoder, targets: SourceEncoder | None, end: int | None
) -> dict[str, list]:
    documents = sources.encode_many([pair.document for pair in batch])
    texts = [pair.target for pair in batch]
    encoded = [Source((0,), 1) for _ in batch] if targets is None else targets.encode_many(texts)
    # A summary cut off has no end: the model must not learn to stop in the middle of a sentence.
    labels = [_without_end(target.ids, end) if target.dropped_tokens else target.ids for target in encoded]
    return {
        "id": [pair.id for pair in batch],
        "input_ids": [source.ids for source in documents],
        "labels": labels,
        "target": texts,
        "source_length": [len(source.ids) for source in documents],
        "target_length": [len(ids) for ids in labels],
        "dropped_source": [source.dropped_tokens for source in documents],
        "dropped_target": [target.dropped_tokens for target in encoded],
    }


def _without_end(ids: tuple[int, ...], end: int | None) -> tuple[int, ...]:
    """Without the end token, which may stand before the token of a language."""
    return tuple(token_id for token_id in ids if token_id != end) if end in ids else ids[:-1]


def _batched(items: Iterator[Pair], size: int) -> Iterator[list[Pair]]:
    while batch := list(itertools.islice(items, size)):
        yield batch
