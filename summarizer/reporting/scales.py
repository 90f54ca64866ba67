"""From values to places on an axis, and the round numbers that stand on it."""

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Axis:
    """What an axis measures, how its numbers read, and whether it is logarithmic."""

    label: str
    log: bool = False
    number: Callable[[float], str] = lambda value: f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


@dataclass(frozen=True)
class Scale:
    """From values (low to high) to places in the viewBox (start to end)."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def place(self, value: float) -> float:
        """Where `value` stands."""
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers between `low` and `high`, at most about `most`: steps of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / max(most, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    return [round(index * step, 10) for index in range(math.ceil(low / step), math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """1, 2, 5 times the powers of ten between `low` and `high`, or fewer of them where that would be over `most`.

    A range too narrow for two of those has plain round numbers.
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        found = [factor * 10.0**power for power in powers for factor in factors]
        found = [tick for tick in found if low * 0.999 <= tick <= high * 1.001]
        if len(found) <= most:
            break
    return found if len(found) > 1 else ticks(low, high, most)


def widened(low: float, high: float, log: bool = False, share: float = 0.06) -> tuple[float, float]:
    """A range with room at both ends; a range of one value becomes one that can be drawn."""
    if log:
        factor = (high / low) ** share if high > low else 1.5
        return low / factor, high * factor
    room = (high - low) * share or abs(high) * 0.1 or 1.0
    return low - room, high + room
