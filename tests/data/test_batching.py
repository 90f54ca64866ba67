import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from summarizer.data.batching import BatchPlan, collate, cut_by_tokens, share_of
from summarizer.padding import IGNORED

LENGTHS = np.random.default_rng(0).lognormal(6, 0.8, 400).astype(int).clip(5, 2048).tolist()
TARGETS = np.random.default_rng(1).integers(5, 300, 400).tolist()
PLAN = BatchPlan(LENGTHS, TARGETS, tokens_per_batch=4096, batches_per_step=4, seed=1)

plans = st.builds(
    lambda lengths, budget, per_step, seed: BatchPlan(lengths, lengths, budget, per_step, seed),
    st.lists(st.integers(1, 60), min_size=1, max_size=40), st.integers(1, 200), st.integers(1, 5), st.integers(0, 3),
)  # fmt: skip


def documents(steps):
    return [index for step in steps for batch in step for index in batch]


@settings(deadline=None)
@given(plans)
def test_every_document_comes_exactly_once_an_epoch_within_the_budget(plan):
    for epoch in range(2):
        steps = plan.epoch(epoch)
        assert sorted(documents(steps)) == list(range(len(plan.lengths)))
        assert all(len(step) == plan.batches_per_step for step in steps[:-1])
        assert 0 < len(steps[-1]) <= plan.batches_per_step
        for batch in itertools.chain(*steps):
            longest = max(plan.lengths[index] for index in batch)
            assert len(batch) * longest <= plan.tokens_per_batch or len(batch) == 1


@settings(deadline=None)
@given(plans, st.integers(0, 30))
def test_starting_at_a_step_equals_skipping_those_before_it(plan, start):
    skipped = list(itertools.islice(plan.steps(), start, start + 5))
    assert list(itertools.islice(plan.steps(start), 5)) == skipped


@pytest.mark.parametrize("num_processes", [1, 2, 3, 4])
def test_the_shares_of_the_processes_make_up_the_step(num_processes):
    for step in itertools.islice(PLAN.steps(), 2 * len(PLAN.epoch(0))):
        shares = [share_of(step, process, num_processes) for process in range(num_processes)]
        assert len({len(share) for share in shares}) == 1
        together = [batch for round_ in zip(*shares, strict=True) for batch in round_]
        assert together[: len(step)] == step
        assert together[len(step) :] == [[]] * (len(together) - len(step))
        assert len(together) - len(step) < num_processes


def test_epochs_and_seeds_differ_and_repeat():
    assert PLAN.epoch(0) == replace(PLAN).epoch(0)
    orders = [documents(plan.epoch(epoch)) for plan in (PLAN, replace(PLAN, seed=2)) for epoch in range(3)]
    assert len(set(map(tuple, orders))) == 6


def test_the_plan_does_not_depend_on_global_random_states():
    np.random.seed(5)
    torch.manual_seed(5)
    assert PLAN.epoch(3) == PLAN.epoch(3)


def test_neighbouring_micro_batches_differ_in_length():
    means = [np.mean([LENGTHS[index] for index in batch]) for batch in itertools.chain(*PLAN.epoch(0))]
    assert abs(np.corrcoef(means[:-1], means[1:])[0, 1]) < 0.3


@pytest.mark.parametrize("budget", [16_384, 65_536])
def test_less_than_a_twentieth_is_padding_for_lengths_like_those_of_articles(budget):
    lengths = np.random.default_rng(2).lognormal(8.1, 0.7, 3000).astype(int).clip(100, 16_384).tolist()
    plan = BatchPlan(lengths, [300] * 3000, budget, 1, seed=1)
    padded = sum(len(batch) * max(lengths[index] for index in batch) for (batch,) in plan.epoch(0))
    assert plan.padding_share() == pytest.approx(1 - sum(lengths) / padded)
    assert plan.padding_share() < 0.05


def test_documents_cut_to_the_same_length_are_grouped_by_their_targets():
    targets = np.random.default_rng(3).integers(10, 500, 1000).tolist()
    plan = BatchPlan([2048] * 1000, targets, 16_384, 1, seed=1)
    batches = list(itertools.chain(*plan.epoch(0)))
    padded = sum(len(batch) * max(targets[index] for index in batch) for batch in batches)
    assert 1 - sum(targets) / padded < 0.05


def test_a_document_over_the_budget_is_alone_and_others_fill_it():
    assert cut_by_tokens([0, 1, 2, 3, 4], [2, 2, 5, 11, 1], 10) == [[0, 1], [2], [3], [4]]
    assert cut_by_tokens([], [], 10) == []


def test_collated_rows_are_padded_on_the_right():
    rows = [{"input_ids": [5, 6, 3], "labels": [7, 3], "id": "a"}, {"input_ids": [8, 3], "labels": [9, 9, 9, 3]}]
    batch = collate(rows, pad_token_id=1)
    assert batch["input_ids"].tolist() == [[5, 6, 3], [8, 3, 1]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 1, 0]]
    assert batch["labels"].tolist() == [[7, 3, IGNORED, IGNORED], [9, 9, 9, 3]]
    assert {tensor.dtype for tensor in batch.values()} == {torch.int64}
