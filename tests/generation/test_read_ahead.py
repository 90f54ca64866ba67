import threading
import time

import pytest

from summarizer.generation import read_ahead as ahead
from summarizer.generation.read_ahead import read_ahead


def test_items_come_in_order_and_at_most_the_budget_ahead():
    made = []

    def items():
        for number in range(50):
            made.append(number)
            yield number

    taken = []
    for number in read_ahead(items(), lambda _: 2, budget=8):
        taken.append(number)
        time.sleep(0.001)
        assert len(made) <= len(taken) + 5
    assert taken == list(range(50))


def test_they_are_made_while_others_are_used():
    made = threading.Event()

    def items():
        yield 1
        made.set()
        yield 2

    for number in read_ahead(items(), lambda _: 1, budget=10):
        assert made.wait(10), number


def test_an_error_comes_after_the_items_before_it():
    def items():
        yield 1
        raise ValueError("broken")

    found = []
    with pytest.raises(ValueError, match="broken"):
        found.extend(read_ahead(items(), lambda _: 1, budget=1))
    stream = read_ahead(items(), lambda _: 1, budget=1)
    assert next(stream) == 1
    with pytest.raises(ValueError, match="broken"):
        next(stream)


def test_closing_it_ends_the_thread():
    before = threading.active_count()
    stream = read_ahead(iter(int, 1), lambda _: 1, budget=3)
    assert next(stream) == 0
    assert threading.active_count() == before + 1
    stream.close()
    assert threading.active_count() == before
    assert list(read_ahead([], lambda _: 1, budget=3)) == []


def test_closing_it_does_not_wait_for_input_that_never_comes(monkeypatch):
    monkeypatch.setattr(ahead, "STOPPING_SECONDS", 0.01)
    never = threading.Event()

    def items():
        yield 1
        never.wait(60)

    stream = read_ahead(items(), lambda _: 1, budget=10)
    assert next(stream) == 1
    started = time.monotonic()
    stream.close()
    assert time.monotonic() - started < 30
    never.set()
