"""Longest common subsequences, the slowest part of ROUGE. Each row of the table is stored as bits of one integer.

Bit j-1 of row i is 1 where table[i][j] = table[i][j-1] + 1, so a cell is a count of bits (Allison and Dix, 1986).
The numbers, and which of several longest subsequences is taken, are rouge-score's; only the time differs.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

Tokens = Sequence[str]


def lcs_length(reference: Tokens, prediction: Tokens) -> int:
    """The length of the longest common subsequence."""
    return _rows(reference, _positions(prediction))[-1].bit_count()


def union_lcs_hits(reference: Sequence[Tokens], prediction: Sequence[Tokens]) -> int:
    """Matched tokens of summary-level ROUGE-L, of sentences against sentences.

    Per reference sentence: the union of its longest common subsequences with every predicted sentence, in which no
    token counts more often than it occurs in either text.
    """
    left_in_reference = Counter(token for sentence in reference for token in sentence)
    left_in_prediction = Counter(token for sentence in prediction for token in sentence)
    positions = [_positions(sentence) for sentence in prediction]
    hits = 0
    for sentence in reference:
        matched: set[int] = set()
        for predicted, places in zip(prediction, positions, strict=True):
            matched.update(_matched_indices(sentence, predicted, places))
        for index in matched:
            token = sentence[index]
            if left_in_prediction[token] > 0 and left_in_reference[token] > 0:
                hits += 1
                left_in_prediction[token] -= 1
                left_in_reference[token] -= 1
    return hits


class SentencesLcs:
    """Sentences, indexed once, for their longest common subsequences with other sentences, all in one pass.

    The tables of all sentences stand one after the other in one integer. A guard bit ends each of them. It is set
    before every subtraction, so that none borrows from the next table, and cleared after it.
    """

    def __init__(self, sentences: Iterable[Tokens]) -> None:
        self._places: dict[str, list[int]] = {}
        self._positions: dict[str, int] = {}  # as far as asked for
        self._spans: list[tuple[int, int]] = []
        end = 0
        for sentence in sentences:
            for place, token in enumerate(sentence, start=end):
                self._places.setdefault(token, []).append(place)
            self._spans.append((end, end + len(sentence)))
            end += len(sentence) + 1
        self._num_bits = end
        self._starts = self._bits(start for start, _ in self._spans)
        self._guards = self._bits(stop for _, stop in self._spans)

    def longest(self, tokens: Tokens) -> int:
        """The length of the longest subsequence that `tokens` and one of the sentences have in common."""
        row = 0
        for token in tokens:
            both = row | self._positions_of(token) | self._guards
            row = both & (both ^ (both - (row << 1 | self._starts))) & ~self._guards
        bits = f"{row:0{self._num_bits}b}"[::-1]
        return max((bits.count("1", start, stop) for start, stop in self._spans), default=0)

    def _positions_of(self, token: str) -> int:
        if token not in self._positions:
            self._positions[token] = self._bits(self._places.get(token, ()))
        return self._positions[token]

    def _bits(self, places: Iterable[int]) -> int:
        """An integer whose bits are set at these places."""
        content = bytearray(self._num_bits // 8 + 1)
        for place in places:
            content[place >> 3] |= 1 << (place & 7)
        return int.from_bytes(content, "little")


def _positions(tokens: Tokens) -> dict[str, int]:
    """For each token, an integer whose bits are set at its positions."""
    positions: dict[str, int] = {}
    for index, token in enumerate(tokens):
        positions[token] = positions.get(token, 0) | 1 << index
    return positions


def _rows(reference: Tokens, positions: dict[str, int]) -> list[int]:
    row = 0
    rows = [row]
    for token in reference:
        both = row | positions.get(token, 0)
        row = both & (both ^ (both - (row << 1 | 1)))
        rows.append(row)
    return rows


def _matched_indices(reference: Tokens, prediction: Tokens, positions: dict[str, int]) -> list[int]:
    """Positions in `reference` of the longest common subsequence that rouge-score's backtracking finds."""
    rows = _rows(reference, positions)
    matched = []
    i, j = len(reference), len(prediction)
    length = rows[i].bit_count()  # table[i][j]
    while length > 0:
        if reference[i - 1] == prediction[j - 1]:
            matched.append(i - 1)
            i, j, length = i - 1, j - 1, length - 1
            continue
        without_predicted = length - (rows[i] >> (j - 1) & 1)  # table[i][j-1]
        without_reference = (rows[i - 1] & ((1 << j) - 1)).bit_count()  # table[i-1][j]
        if without_predicted > without_reference:
            j, length = j - 1, without_predicted
        else:
            i, length = i - 1, without_reference
    return matched
