from itertools import count, islice

import pytest

from summarizer.evaluation.parallel import CHUNKS_AHEAD, JOBS_AT_ONCE, open_map


def half(number: int) -> float:
    return number / 2


def test_results_come_in_order_and_jobs_are_taken_only_as_they_are_needed():
    numbers = count(1)
    with open_map(2) as map_jobs:
        assert list(islice(map_jobs(half, numbers), 100)) == [number / 2 for number in range(1, 101)]
        assert next(numbers) <= 101 + JOBS_AT_ONCE * (2 * CHUNKS_AHEAD + 1)
        assert list(map_jobs(half, [])) == []


def test_less_than_one_process_is_refused():
    with pytest.raises(ValueError, match="processes must be at least 1"), open_map(0):
        pass
