"""Extracts by a sentence selector: python scripts/extract_summaries.py MODEL PAIRS -o OUT.jsonl --max-words 300.

PAIRS is a file of documents with summaries. `summarizer evaluate OUT.jsonl PAIRS` scores the extracts.
"""

import itertools
import json
from pathlib import Path
from typing import Annotated

import typer

from summarizer.cli import run_script
from summarizer.cli.options import Overwrite
from summarizer.errors import InputError

DOCUMENTS_AT_A_TIME = 64
FIELDS = frozenset(("id", "summary", "source_tokens", "dropped_tokens"))  # of a line of the output


def main(
    model: Annotated[str, typer.Argument(help="A model folder that a run with `task: selection` wrote.")],
    pairs: Annotated[Path, typer.Argument(help="JSONL, CSV or Parquet with documents and summaries.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The JSONL file to write.")],
    max_words: Annotated[int | None, typer.Option(help="Words of an extract.")] = None,
    max_sentences: Annotated[int | None, typer.Option(help="Sentences of an extract.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Tokens of an extract.")] = None,
    max_source_tokens: Annotated[int | None, typer.Option(help="Tokens of a document that are read.")] = None,
    max_examples: Annotated[int | None, typer.Option(help="Read only the first pairs.")] = None,
    dtype: Annotated[str, typer.Option(help="auto, float32, bfloat16 or float16.")] = "auto",
    overwrite: Overwrite = False,
) -> None:
    """Choose the best sentences of each document and write them in the order of the document, one a line."""
    from summarizer.config import DataConfig
    from summarizer.data.pairs import ReadReport, find_pairs, read_pairs
    from summarizer.files import write_whole
    from summarizer.generation.choosing import Budget
    from summarizer.generation.extracting import load_selector, score_sentences
    from summarizer.generation.options import SummarySettings
    from summarizer.outputs import Form, check_files

    check_files({output: Form("jsonl", FIELDS, FIELDS)}, overwrite)
    try:
        budget = Budget(max_words, max_sentences, max_tokens)
    except ValueError as error:
        raise InputError(str(error)) from error
    if budget == Budget():
        raise InputError("set --max-words, --max-sentences or --max-tokens")
    selector, tokenizer = load_selector(model, dtype=dtype)
    settings = SummarySettings(max_source_tokens=max_source_tokens)
    read = itertools.islice(read_pairs(find_pairs([str(pairs)], "test"), DataConfig(), ReadReport()), max_examples)
    written = 0
    with write_whole(output) as file:
        while batch := list(itertools.islice(read, DOCUMENTS_AT_A_TIME)):
            scored = score_sentences(selector, tokenizer, [pair.document for pair in batch], settings)
            for pair, document in zip(batch, scored, strict=True):
                record = {"id": pair.id, "summary": document.extract(budget)}
                record |= {"source_tokens": document.source_tokens, "dropped_tokens": document.dropped_tokens}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
                written += 1
        if not written:
            raise InputError(f"{pairs}: holds no pair of a document and a summary")


if __name__ == "__main__":
    run_script(main)
