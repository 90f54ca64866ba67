"""Give pairs whose numbers were replaced by a placeholder numbers again: made-up ones, but the same in both texts.

A summary's placeholder gets the number of the document's placeholder whose neighbouring words are most like its own, so
that a model learns to take numbers from where its document has them. The numbers themselves mean nothing.
"""

import json
import random
import re
from pathlib import Path
from typing import Annotated

import typer

from summarizer.config import DataConfig
from summarizer.data.documents import ReadReport, find_pairs, read_pairs
from summarizer.files import InputError, write_whole
from summarizer.progress import WorkProgress

LIKENESS = {-1: 3, 1: 3, -2: 2, 2: 2, -3: 1, 3: 1}  # what a like word so far from the placeholder counts


def fill(document: str, summary: str, placeholder: str, randomness: random.Random) -> tuple[str, str]:
    """Both texts with numbers for placeholders; where the document has none, the summary gets numbers of its own."""
    words, gaps = _split(document, placeholder)
    by_neighbour: dict[tuple[int, str], list[int]] = {}
    places = [index for index, word in enumerate(words) if word == placeholder]
    for place in places:
        for offset in LIKENESS:
            by_neighbour.setdefault((offset, _word(words, place + offset)), []).append(place)
    numbers = {place: _number(words, place, randomness) for place in places}
    summary_words, summary_gaps = _split(summary, placeholder)
    filled = list(summary_words)
    for index, word in enumerate(summary_words):
        if word != placeholder:
            continue
        likeness = dict.fromkeys(places, 0)
        for offset, weight in LIKENESS.items():
            for place in by_neighbour.get((offset, _word(summary_words, index + offset)), ()):
                likeness[place] += weight
        best = max(places, key=likeness.__getitem__, default=None)
        filled[index] = _number(summary_words, index, randomness) if best is None else numbers[best]
    for place, number in numbers.items():
        words[place] = number
    return _join(words, gaps), _join(filled, summary_gaps)


def _split(text: str, placeholder: str) -> tuple[list[str], list[str]]:
    """Words, placeholders and punctuation, and the white space after each."""
    pairs = re.findall(rf"({re.escape(placeholder)}|\w+|[^\w\s])(\s*)", text)
    return [word for word, _ in pairs], [gap for _, gap in pairs]


def _join(words: list[str], gaps: list[str]) -> str:
    return "".join(part for pair in zip(words, gaps, strict=True) for part in pair)


def _word(words: list[str], index: int) -> str:
    return words[index] if 0 <= index < len(words) else ""


def _number(words: list[str], place: int, randomness: random.Random) -> str:
    """A number of a kind that is usual before the next word or after the last one."""
    before, after = _word(words, place - 1), _word(words, place + 1)
    if before in "<>=" and _word(words, place - 2) == "p":
        return f"0.{randomness.choice(['05', '01', '001', '0001', f'0{randomness.randint(1, 99):02}'])}"
    if before in ("in", "since", "until") and randomness.random() < 0.5:
        return str(randomness.randint(1970, 2020))
    if after == "%":
        return randomness.choice([str(randomness.randint(1, 100)), f"{randomness.uniform(0, 100):.1f}"])
    kind = randomness.random()
    if kind < 0.4:
        return str(randomness.randint(1, 12))
    if kind < 0.65:
        return str(randomness.randint(10, 99))
    if kind < 0.75:
        return str(randomness.randint(100, 999))
    if kind < 0.8:
        return f"{randomness.randint(1, 99)},{randomness.randint(0, 999):03}"
    return f"{randomness.uniform(0, 10 ** randomness.randint(0, 2)):.{randomness.randint(1, 2)}f}"


def main(
    data: Annotated[list[str], typer.Argument(help="Pairs: .jsonl, .csv, .parquet, folders (their train* files).")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The .jsonl or .jsonl.gz file to write.")],
    placeholder: Annotated[str, typer.Option(help="What stands for a number.")] = "<dig>",
    seed: Annotated[int, typer.Option(help="Of the made-up numbers.")] = 1,
) -> None:
    """Write the pairs with numbers in place of the placeholders."""
    randomness = random.Random(seed)
    report = ReadReport()
    with write_whole(output) as file, WorkProgress("filling in numbers", "pairs", None) as progress:
        for pair in read_pairs(find_pairs(data, "train"), DataConfig(), report):
            document, summary = fill(pair.document, pair.target, placeholder, randomness)
            file.write(json.dumps({"id": pair.id, "document": document, "summary": summary}) + "\n")
            progress.advance()
    for line in report.lines():
        print(f"left out: {line}")


if __name__ == "__main__":
    try:
        typer.run(main)
    except InputError as error:
        raise SystemExit(f"fill_placeholders: {error}") from None
