"""Peak memory is that of the work alone, whatever this process has held before."""

from functools import partial

import pytest
import torch

from summarizer.benchmarks.peak_memory import peak_megabytes

MEGABYTES = 100


def work(megabytes):
    """Fill so many megabytes, twice what is kept, and let go of them."""
    kept = torch.ones(megabytes // 2 * 250_000)
    return partial(fill, kept)


def fill(kept):
    torch.ones(2 * len(kept)).sum()


@pytest.mark.usefixtures("forked_workers")
def test_the_peak_counts_what_the_work_takes_and_not_what_stands_already():
    before = torch.ones(3 * MEGABYTES * 250_000)  # of this process, which does not count
    peak = peak_megabytes(work, MEGABYTES, device=torch.device("cpu"))
    assert peak == pytest.approx(MEGABYTES, rel=0.2)
    assert before.numel()
