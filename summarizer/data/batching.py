"""Micro-batches by token budget from documents of like length, and their tensors.

A step is made of `batches_per_step` micro-batches, whatever the number of processes: each process takes its share of
them, so that one process and many see the same steps in the same order.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from summarizer.padding import IGNORED, pad, pad_with_mask

BUCKET_BATCHES = 50  # documents of about this many micro-batches are sorted by length together


@dataclass(frozen=True)
class BatchPlan:
    """How documents become steps. A micro-batch holds at most `tokens_per_batch` source tokens, padding included."""

    lengths: Sequence[int]  # source tokens
    target_lengths: Sequence[int]
    tokens_per_batch: int
    batches_per_step: int
    seed: int

    def epoch(self, epoch: int) -> list[list[list[int]]]:
        """The steps of an epoch, each a list of micro-batches of document indices; the last one may be short.

        Documents are shuffled by seed and epoch, sorted by length (source, then target) within large buckets, cut into
        micro-batches, and those shuffled again. A document longer than the budget makes a micro-batch of its own.
        """
        generator = np.random.default_rng([self.seed, epoch])
        order = generator.permutation(len(self.lengths))
        lengths, target_lengths = np.asarray(self.lengths), np.asarray(self.target_lengths)
        mean_length = max(1.0, float(lengths.mean()))
        bucket_size = max(1, int(BUCKET_BATCHES * self.tokens_per_batch / mean_length))
        batches: list[list[int]] = []
        for start in range(0, len(order), bucket_size):
            bucket = order[start : start + bucket_size]
            # Sources cut off at the limit are all as long: their targets' lengths then decide.
            bucket = bucket[np.lexsort((target_lengths[bucket], lengths[bucket]))]
            batches += cut_by_tokens(bucket.tolist(), self.lengths, self.tokens_per_batch)
        shuffled = [batches[index] for index in generator.permutation(len(batches))]
        return [shuffled[i : i + self.batches_per_step] for i in range(0, len(shuffled), self.batches_per_step)]

    def steps(self, start: int = 0) -> Iterator[list[list[int]]]:
        """Steps without end, from step number `start` on, epoch after epoch."""
        epoch = 0
        while True:
            steps = self.epoch(epoch)
            if start < len(steps):
                yield from steps[start:]
                start = 0
            else:
                start -= len(steps)
            epoch += 1

    def fingerprint(self, batches_per_step: int) -> str:
        """What the sequence of samples follows from; `batches_per_step` as it was asked for."""
        parts = [list(self.lengths), list(self.target_lengths), self.tokens_per_batch, batches_per_step, self.seed]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    def padding_share(self) -> float:
        """The share of padding among the source tokens of the first epoch."""
        batches = [batch for step in self.epoch(0) for batch in step]
        padded = sum(len(batch) * max(self.lengths[index] for index in batch) for batch in batches)
        return 1 - sum(self.lengths) / padded


def cut_by_tokens(indices: list[int], lengths: Sequence[int], tokens_per_batch: int) -> list[list[int]]:
    """Cut `indices` in order into batches whose padded size (count × longest) is at most `tokens_per_batch`."""
    batches: list[list[int]] = []
    longest = 0
    for index in indices:
        longest = max(longest, lengths[index])
        if batches and (len(batches[-1]) + 1) * longest <= tokens_per_batch:
            batches[-1].append(index)
        else:
            batches.append([index])
            longest = lengths[index]
    return batches


def share_of(step: list[list[int]], process: int, num_processes: int) -> list[list[int]]:
    """The micro-batches of a step for one process: every num_processes-th, [] where they do not go round.

    Every process gets the same number, so that none waits for another.
    """
    rounds = -(-len(step) // num_processes)
    return [step[index] if (index := round_ * num_processes + process) < len(step) else [] for round_ in range(rounds)]


def load_shares(
    rows: Any, plan: BatchPlan, first_step: int, process: int, num_processes: int, num_workers: int = 0
) -> Iterator[list[list[dict[str, Any]]]]:
    """One process's micro-batches of each step from `first_step` on, as lists of rows, loaded by `num_workers`."""
    shares = (share_of(step, process, num_processes) for step in plan.steps(first_step))
    sizes: list[int] = []

    def flat() -> Iterator[list[int]]:
        for share in shares:
            sizes.append(len(share))
            yield from share

    loader = iter(
        DataLoader(
            rows,
            batch_sampler=flat(),  # pyright: ignore  (any iterable of index lists)
            num_workers=num_workers,
            collate_fn=list,
            generator=torch.Generator().manual_seed(plan.seed),
        )
    )
    while True:
        first = next(loader)
        yield [first, *(next(loader) for _ in range(sizes.pop(0) - 1))]


def collate(rows: list[dict[str, Any]], pad_token_id: int) -> dict[str, Tensor]:
    """Pad rows on the right: input_ids and attention_mask [B, N], labels [B, T] with −100 for padding.

    If the rows have sentence labels: sentence_labels [B, S] with −100 for padding, too.
    """
    labels = [name for name in ("labels", "sentence_labels") if name in rows[0]]
    return {
        **pad_with_mask([row["input_ids"] for row in rows], pad_token_id),
        **{name: pad([row[name] for row in rows], IGNORED) for name in labels},
    }


def num_labels_in(batch: dict[str, Tensor]) -> int:
    """The number of real labels (target tokens) in a micro-batch."""
    return int((batch["labels"] != IGNORED).sum())
