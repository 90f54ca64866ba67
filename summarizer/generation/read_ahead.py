"""An iterator that a thread of its own keeps filled, within a budget."""

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

T = TypeVar("T")
STOPPING_SECONDS = 2.0


def read_ahead(items: Iterable[T], cost: Callable[[T], int], budget: int) -> Generator[T, None, None]:
    """The items in order, made by a thread that stays at most `budget` of cost (or one item) ahead.

    What making an item raises is raised here, in its place. Closing the iterator stops the thread.
    """
    ready: deque[tuple[T, int]] = deque()
    changed = threading.Condition()
    state = {"ahead": 0, "ended": False, "stopped": False}
    errors: list[BaseException] = []

    def make() -> None:
        try:
            for item in items:
                with changed:
                    ready.append((item, cost(item)))
                    state["ahead"] += ready[-1][1]
                    changed.notify_all()
                    changed.wait_for(lambda: state["stopped"] or state["ahead"] < budget)
                    if state["stopped"]:
                        return
        except BaseException as error:
            errors.append(error)
        finally:
            with changed:
                state["ended"] = True
                changed.notify_all()

    thread = threading.Thread(target=make, name="read_ahead", daemon=True)
    thread.start()
    try:
        while True:
            with changed:
                changed.wait_for(lambda: ready or state["ended"])
                if not ready:
                    break
                item, its_cost = ready.popleft()
                state["ahead"] -= its_cost
                changed.notify_all()
            yield item
        for error in errors:
            raise error
    finally:
        with changed:
            state["stopped"] = True
            changed.notify_all()
        thread.join(STOPPING_SECONDS)  # a thread that still waits for its input is abandoned
