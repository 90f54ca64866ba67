"""Long texts to classify: the sections of articles, each labelled with its heading, as JSONL.

Reads pairs whose documents have headings on lines of their own (as SumPubMed has) and writes train.jsonl,
validation.jsonl and test.jsonl with the columns id, text and label. Headings stay out of the texts.
"""

import json
from collections.abc import Iterable
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import IO, Annotated

import typer

from summarizer import __version__
from summarizer.cli import run_script
from summarizer.cli.options import Overwrite
from summarizer.config import DataConfig
from summarizer.data.pairs import Pair, ReadReport, find_pairs, read_pairs
from summarizer.errors import InputError
from summarizer.files import json_text, write_whole
from summarizer.outputs import Form, check_folder, form

HEADINGS = ("BACKGROUND", "methods", "RESULTS", "discussion", "CONCLUSIONS")
SPLITS = ("train", "validation", "test")
DESCRIPTION = "sections.json"
FIELDS = frozenset(("id", "text", "label"))
FORMS = {
    DESCRIPTION: form("json", "settings.corpus", "settings.articles", "sections"),
    **{f"{split}.jsonl": Form("jsonl", FIELDS, FIELDS) for split in SPLITS},
}


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
    overwrite: Overwrite = False,
) -> None:
    """Write train.jsonl, validation.jsonl and test.jsonl with a section a row, and sections.json about them."""
    check_folder(output, FORMS, [DESCRIPTION], overwrite)
    counts = {}
    with ExitStack() as stack:
        for split in SPLITS:
            file = stack.enter_context(write_whole(output / f"{split}.jsonl"))
            pairs = read_pairs(find_pairs([corpus], split), DataConfig(), ReadReport())
            limit = articles if split == "train" else max(1, articles // 10)
            counts[split] = _write_sections(file, islice(pairs, limit), shortest)
            if not counts[split]:
                raise InputError(f"{corpus}: no {split} article has a section under {', '.join(HEADINGS)}")
            print(f"{split}: {counts[split]:,} sections from at most {limit:,} articles")
        settings = {"corpus": corpus, "articles": articles, "shortest": shortest}
        description = stack.enter_context(write_whole(output / DESCRIPTION))
        description.write(json_text({"version": __version__, "settings": settings, "sections": counts}))


def _write_sections(file: IO[str], pairs: Iterable[Pair], shortest: int) -> int:
    """Write a row for each section; returns how many."""
    rows = 0
    for pair in pairs:
        for part, (label, text) in enumerate(sections(pair.document, shortest)):
            file.write(json.dumps({"id": f"{pair.id}-{part}", "text": text, "label": label}) + "\n")
            rows += 1
    return rows


if __name__ == "__main__":
    run_script(main)
