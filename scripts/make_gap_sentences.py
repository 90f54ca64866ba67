"""Pretraining pairs from documents without summaries: the most central sentences are taken out and become the summary.

Gap sentences as in PEGASUS (Zhang et al. 2020, its variant Ind-Orig): each sentence is scored by its ROUGE-1 F-measure
against the rest of its document, and the best ones are the summary. Unlike in PEGASUS, no mask token marks their place.
"""

import json
from collections import Counter
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from summarizer import __version__
from summarizer.batch.input_documents import count_documents, documents_of
from summarizer.batch.inputs import find_inputs
from summarizer.cli import run_script
from summarizer.cli.options import Overwrite
from summarizer.documents.document import ReadingOptions
from summarizer.errors import InputError
from summarizer.evaluation.baselines import is_heading
from summarizer.evaluation.rouge import make_score
from summarizer.evaluation.rouge_tokens import make_tokenizer
from summarizer.files import json_text, remove_asides, write_whole
from summarizer.outputs import Form, check_folder, form
from summarizer.progress import WorkProgress
from summarizer.text import split_sentences

MIN_SENTENCES = 4  # fewer leave too little to read
VALIDATION_EVERY = 20  # documents, of which the first is for validation
DESCRIPTION = "gap_sentences.json"
FIELDS = frozenset(("id", "document", "summary"))
FORMS = {
    DESCRIPTION: form("json", "inputs", "settings.share", "counts.pairs"),
    **{f"{split}.jsonl": Form("jsonl", FIELDS, FIELDS) for split in ("train", "validation")},
}
MAX_REASONS = 5  # said of documents that are left out

Place = tuple[int, int, int]  # the line of a sentence, and where in it the sentence begins and ends


def gap_sentences(document: str, share: float, max_words: int, words_read: int | None = None) -> tuple[str, str] | None:
    """(what is left of the document, its gap sentences by line, in its order), or None for one of too few sentences.

    A `share` of its sentences, one at least, is taken out: those most like the rest, headings never, and of the ranked
    ones those are left in that would bring the summary past `max_words`. Of the document only the sentences within its
    first `words_read` words are read. Where words are not spaced apart, a character counts as one.
    """
    lines, sentences = _read(document, words_read)
    if len(sentences) < MIN_SENTENCES:
        return None
    whole: Counter[str] = Counter()
    for counts in sentences.values():
        whole.update(counts)
    num_tokens = whole.total()

    def centrality(place: Place) -> float:
        own = sentences[place]
        hits = sum(min(count, whole[token] - count) for token, count in own.items())
        return make_score(hits, own.total(), num_tokens - own.total()).fmeasure

    taken: list[Place] = []
    words = 0
    for place in sorted(sentences, key=centrality, reverse=True):
        length = sentences[place].total()
        if words + length <= max_words:
            taken.append(place)
            words += length
        if len(taken) >= max(1, round(share * len(sentences))):
            break
    taken.sort()
    summary = "\n".join(lines[row][start:end] for row, start, end in taken)
    for row, start, end in reversed(taken):
        lines[row] = " ".join(f"{lines[row][:start]}{lines[row][end:]}".split())
    return ("\n".join(line for line in lines if line), summary) if taken else None


def _read(document: str, words_read: int | None) -> tuple[list[str], dict[Place, Counter[str]]]:
    """The lines of the document as far as it is read, and the token counts of each sentence that is not a heading."""
    tokenizer = make_tokenizer("unicode")
    lines: list[str] = []
    sentences: dict[Place, Counter[str]] = {}
    words = 0
    for line in document.split("\n"):
        end = 0
        for sentence in [] if is_heading(line) else split_sentences(line):
            counts = Counter(tokenizer.tokenize(sentence))
            words += counts.total()
            if words_read is not None and words > words_read:
                return [*lines, line[:end]], sentences
            start = line.index(sentence, end)
            end = start + len(sentence)
            sentences[len(lines), start, end] = counts
        lines.append(line)
    return lines, sentences


def main(
    inputs: Annotated[list[str], typer.Argument(help="Files, folders and globs, as summarize reads them.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to write.")],
    documents: Annotated[int | None, typer.Option(min=2, help="Maximum number of documents to read.")] = None,
    share: Annotated[float, typer.Option(min=0.01, max=0.5, help="Fraction of the sentences to take out.")] = 0.15,
    max_words: Annotated[int, typer.Option(min=1, help="Maximum words in a summary.")] = 200,
    words_read: Annotated[
        int | None, typer.Option(min=1, help="Maximum words to read of a document, such as the model's limit.")
    ] = None,
    document_column: Annotated[
        str | None, typer.Option(help="Column of JSONL, CSV and Parquet files. Defaults to the first usual name found.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write train.jsonl and validation.jsonl (one document in twenty) with the columns id, document and summary.

    gap_sentences.json beside them records how they were made.
    """
    found, options = find_inputs(inputs, output), ReadingOptions(document_column)
    check_folder(output, FORMS, [DESCRIPTION], overwrite)
    paths = [output / f"{split}.jsonl" for split in ("train", "validation")]
    for path in paths:
        remove_asides(path)
    every = (document for file in found.files for document in documents_of(file, options))
    pairs = left_out = 0
    with ExitStack() as stack:
        splits = [stack.enter_context(write_whole(path)) for path in paths]
        description = stack.enter_context(write_whole(output / DESCRIPTION))
        total = documents or count_documents(found)
        progress = stack.enter_context(WorkProgress("choosing sentences", "documents", total))
        for document in islice(every, documents):
            progress.advance()
            gap = gap_sentences(document.text, share, max_words, words_read)
            if document.error or not gap:
                left_out += 1
                if left_out <= MAX_REASONS:
                    reason = document.error or f"fewer than {MIN_SENTENCES} sentences, or none short enough"
                    progress.say(f"{document.path}: {document.id} left out: {reason}")
                continue
            row = {"id": document.id, "document": gap[0], "summary": gap[1]}
            splits[pairs % VALIDATION_EVERY == 0].write(json.dumps(row, ensure_ascii=False) + "\n")
            pairs += 1
        if pairs < 2:
            raise InputError(f"at least two documents with {MIN_SENTENCES} sentences are needed: one is for validation")
        validation_pairs = -(-pairs // VALIDATION_EVERY)
        settings = {"documents": documents, "share": share, "max_words": max_words, "words_read": words_read}
        settings |= {"document_column": document_column}
        counts = {"pairs": pairs, "validation_pairs": validation_pairs, "left_out": left_out}
        content = {"version": __version__, "inputs": inputs, "settings": settings, "counts": counts}
        description.write(json_text(content))
    print(f"{pairs:,} pairs, {validation_pairs:,} of them for validation; {left_out:,} documents left out")


if __name__ == "__main__":
    run_script(main)
