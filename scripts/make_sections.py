"""Long texts to classify: the sections of articles, each labelled with its heading, as JSONL.

Reads pairs whose documents have headings on lines of their own (as SumPubMed has) and writes train.jsonl,
validation.jsonl and test.jsonl with the columns id, text and label. Headings stay out of the texts.
"""

import json
from pathlib import Path
from typing import Annotated

import typer

from summarizer.config import DataConfig
from summarizer.data.pairs import ReadReport, find_pairs, read_pairs
from summarizer.errors import InputError
from summarizer.files import write_whole

HEADINGS = ("BACKGROUND", "methods", "RESULTS", "discussion", "CONCLUSIONS")


def sections(document: str, shortest: int) -> list[tuple[str, str]]:
    """(heading, text) of each section under one of HEADINGS that has at least `shortest` words."""
    found: list[tuple[str, list[str]]] = []
    for line in document.split("\n"):
        if line.strip() in HEADINGS:
            found.append((line.strip(), []))
        elif found:
            found[-1][1].append(line)
    texts = ((heading.lower(), "\n".join(lines).strip()) for heading, lines in found)
    return [(heading, text) for heading, text in texts if len(text.split()) >= shortest]


def main(
    corpus: Annotated[str, typer.Argument(help="A folder with train*, validation* and test* files of articles.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to write.")],
    articles: Annotated[
        int, typer.Option(min=1, help="Maximum training articles; a tenth of it for validation and test.")
    ] = 4000,
    shortest: Annotated[int, typer.Option(min=1, help="Minimum words in a section.")] = 100,
) -> None:
    """Write train.jsonl, validation.jsonl and test.jsonl with a section a row."""
    for split in ("train", "validation", "test"):
        limit = articles if split == "train" else max(1, articles // 10)
        rows = 0
        with write_whole(output / f"{split}.jsonl") as file:
            for number, pair in enumerate(read_pairs(find_pairs([corpus], split), DataConfig(), ReadReport())):
                if number == limit:
                    break
                for part, (label, text) in enumerate(sections(pair.document, shortest)):
                    file.write(json.dumps({"id": f"{pair.id}-{part}", "text": text, "label": label}) + "\n")
                    rows += 1
            if not rows:
                raise InputError(f"{corpus}: no {split} article has a section under {', '.join(HEADINGS)}")
        print(f"{split}: {rows:,} sections from at most {limit:,} articles")


if __name__ == "__main__":
    try:
        typer.run(main)
    except InputError as error:
        raise SystemExit(f"make_sections: {error}") from None
