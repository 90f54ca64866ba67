"""Labels for sentence selection: which sentences of a document a greedy oracle takes, over token ids; idf of tokens.

The labels lie in an Arrow file beside the prepared token ids, from which they follow.
"""

import itertools
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from summarizer.data.preparation import PreparedData
from summarizer.data.source_tokens import special_ids
from summarizer.errors import InputError
from summarizer.files import write_json, write_whole
from summarizer.padding import IGNORED
from summarizer.progress import WorkProgress

LABELS_VERSION = 1  # raise it when the labels change
MOST_SENTENCES = 20  # that are labelled 1 in a document
DOCUMENTS_AT_A_TIME = 256

Ids = NDArray[np.int64]


def prepare_labels(data: PreparedData, tokenizer: Any, column: str = "labels") -> PreparedData:
    """The same documents with labels of their sentences, made or found in the cache.

    rows: `column` has 1 for a sentence that the oracle takes, 0 for another, −100 for an empty line. By default it
    replaces the labels of the summary. A sentence is what stands between line breaks. The report gains
    `document_frequencies`, one number for each token of the vocabulary.
    Raises InputError where the tokenizer has no token for a line break.
    """
    import datasets

    line_break = line_break_id(tokenizer)
    tokens = Path(data.rows.cache_files[0]["filename"])
    arrow = tokens.with_name(f"{tokens.stem}-sentences-{LABELS_VERSION}.arrow")
    account = arrow.with_suffix(".json")
    if not (arrow.is_file() and account.is_file()):
        frequencies = _write_labels(arrow, data, line_break, special_ids(tokenizer), len(tokenizer))
        write_json(account, {"document_frequencies": frequencies.tolist()})
    report = {**data.report, **json.loads(account.read_text(encoding="utf-8"))}
    labels = datasets.Dataset.from_file(str(arrow))
    lengths = labels.data["num_sentences"].to_pylist()
    own = data.rows
    if column == "labels":
        own = own.remove_columns("labels")
    else:
        labels = labels.rename_column("labels", column)
        lengths = data.target_lengths
    rows = datasets.concatenate_datasets([own, labels.remove_columns("num_sentences")], axis=1)
    return replace(data, rows=rows, target_lengths=lengths, report=report)


def line_break_id(tokenizer: Any) -> int:
    """The token of a line break, which separates sentences. Raises InputError where the tokenizer has none."""
    found = tokenizer.convert_tokens_to_ids("\n")
    if found is None or found == tokenizer.unk_token_id:
        raise InputError("this tokenizer has no token for a line break, which separates sentences; choose another")
    return int(found)


def inverse_document_frequencies(data: PreparedData) -> NDArray[np.float64]:
    """idf [V] = log((D + 1) / (df + 1)) over the D documents of labelled data."""
    frequencies = np.asarray(data.report["document_frequencies"], dtype=np.float64)
    return np.log((len(data) + 1) / (frequencies + 1))


def split_at_breaks(ids: Ids, line_break: int, special: frozenset[int]) -> list[Ids]:
    """The token ids of each line, without special ones; an empty line is an empty array."""
    text = ids[~np.isin(ids, list(special))]
    parts = np.split(text, np.flatnonzero(text == line_break))
    return [parts[0], *(part[1:] for part in parts[1:])]


def greedy_labels(sentences: list[Ids], summary: list[Ids], most: int = MOST_SENTENCES) -> list[int]:
    """1 for each sentence that a greedy oracle takes, 0 for the others.

    It starts with no sentence and adds the one that raises F1 of unigrams + F1 of bigrams against the summary the most,
    the first of equal ones, until none raises it or `most` are taken. Bigrams do not cross the ends of a line.
    """
    tallies = [_Tally.of(sentences, summary, order) for order in (1, 2)]
    labels = np.zeros(len(sentences), dtype=np.int64)
    best = 0.0
    for _ in range(min(most, len(sentences))):
        scores = sum(tally.f1_with_each() for tally in tallies)
        scores = np.where(labels, -1.0, scores)
        chosen = int(np.argmax(scores))
        if scores[chosen] <= best:
            break
        best = scores[chosen]
        labels[chosen] = 1
        for tally in tallies:
            tally.add(chosen)
    return labels.tolist()


@dataclass
class _Tally:
    """n-grams of one order: what each sentence has of the summary's, and how much of those is still wanted.

    A sentence's counts are triples (sentence, n-gram, count), sorted by sentence, so that a step costs what the
    document and its summary share, and memory grows with no product of the two.
    """

    sentence: Ids
    ngram: Ids
    count: Ids
    wanted: Ids  # of each n-gram, not yet taken
    lengths: Ids  # n-grams of each sentence
    num_wanted: int
    num_taken: int = 0
    num_hits: int = 0

    @classmethod
    def of(cls, sentences: list[Ids], summary: list[Ids], order: int) -> "_Tally":
        reference = np.concatenate([_ngrams(line, order) for line in summary]) if summary else np.zeros(0, np.int64)
        known, wanted = np.unique(reference, return_counts=True)
        ngrams = [_ngrams(sentence, order) for sentence in sentences]
        lengths = np.array([len(each) for each in ngrams], dtype=np.int64)
        flat = np.concatenate(ngrams) if ngrams else np.zeros(0, np.int64)
        places = np.searchsorted(known, flat)
        shared = places < len(known)
        shared[shared] = known[places[shared]] == flat[shared]
        pairs = np.repeat(np.arange(len(ngrams)), lengths)[shared] * max(1, len(known)) + places[shared]
        pairs, count = np.unique(pairs, return_counts=True)
        sentence, ngram = np.divmod(pairs, max(1, len(known)))
        return cls(sentence, ngram, count, wanted, lengths, len(reference))

    def f1_with_each(self) -> NDArray[np.float64]:
        """F1 of the sentences taken and one more, for each."""
        gains = np.bincount(self.sentence, np.minimum(self.count, self.wanted[self.ngram]), len(self.lengths))
        sizes = self.num_taken + self.lengths + self.num_wanted
        return 2 * (self.num_hits + gains) / np.maximum(sizes, 1)

    def add(self, index: int) -> None:
        """Take a sentence."""
        own = slice(*np.searchsorted(self.sentence, (index, index + 1)))
        hits = np.minimum(self.count[own], self.wanted[self.ngram[own]])
        self.wanted[self.ngram[own]] -= hits
        self.num_hits += int(hits.sum())
        self.num_taken += int(self.lengths[index])


def _ngrams(ids: Ids, order: int) -> Ids:
    """A number for each n-gram of one or two tokens."""
    return ids if order == 1 else (ids[:-1] << 32) + ids[1:]


def _write_labels(arrow: Path, data: PreparedData, line_break: int, special: frozenset[int], vocab_size: int) -> Ids:
    """Label every document; returns in how many documents each token is."""
    import pyarrow as pa

    schema = pa.schema({"labels": pa.list_(pa.int8()), "num_sentences": pa.int32()})
    frequencies = np.zeros(vocab_size, dtype=np.int64)
    columns = (data.rows.data[name].iterchunks() for name in ("input_ids", "labels"))
    documents = zip(*(itertools.chain.from_iterable(column) for column in columns), strict=True)
    with (
        WorkProgress(f"labelling {data.report['split']}", "documents", len(data)) as progress,
        write_whole(arrow, "wb") as file,
        pa.ipc.new_stream(file, schema) as writer,
    ):
        while batch := list(itertools.islice(documents, DOCUMENTS_AT_A_TIME)):
            labels = []
            for document, summary in batch:
                ids, wanted = (np.asarray(each.values.to_numpy(), dtype=np.int64) for each in (document, summary))
                sentences = split_at_breaks(ids, line_break, special)
                chosen = greedy_labels(sentences, split_at_breaks(wanted, line_break, special))
                labels.append([one if len(each) else IGNORED for one, each in zip(chosen, sentences, strict=True)])
                frequencies[np.unique(ids)] += 1
            columns_of_batch = {"labels": labels, "num_sentences": list(map(len, labels))}
            writer.write_batch(pa.record_batch(columns_of_batch, schema=schema))
            progress.advance(len(batch))
    return frequencies
