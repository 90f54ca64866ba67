"""Documents as a model will read them: title, sections, and one sentence a line. No torch here."""

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise

from summarizer.batch.input_documents import InputDocument
from summarizer.batch.inputs import find_inputs
from summarizer.batch.reader_process import read_inputs
from summarizer.batch.records import encoded
from summarizer.documents.document import ReadingOptions
from summarizer.errors import InputError
from summarizer.languages import LANGUAGES, detect_language
from summarizer.text import split_sentences


def print_texts(
    inputs: Sequence[str], reading: ReadingOptions, language: str | None = None, as_json: bool = False
) -> int:
    """Print what is read of files, folders, globs or "-"; returns how many documents failed.

    Each is a page for people, or with `as_json` a line of JSON. Raises InputError if there is nothing to read.
    """
    if language is not None and language not in LANGUAGES:
        raise InputError(f"unknown language '{language}'; choose from {', '.join(LANGUAGES)}")
    found = find_inputs(inputs, None)
    num_failed = 0
    for document in read_inputs(found, reading):
        if document.error is not None:
            num_failed += 1
            print(f"failed: {document.id}: {document.error}", file=sys.stderr)
        if as_json:
            page = json.dumps(_values(document, language), ensure_ascii=False)
        elif document.error is None:
            page = ("" if found.is_one_document else f"== {document.id} ==\n") + _page(document, language)
        else:
            continue
        sys.stdout.buffer.write(encoded(page) + b"\n")
        sys.stdout.buffer.flush()
    return num_failed


def _values(document: InputDocument, language: str | None) -> dict[str, object]:
    """What a line of JSON holds; `start` is the character offset of a section in `text`."""
    language = language or detect_language(document.text)
    return {
        "id": document.id,
        "path": document.path,
        "title": document.title,
        "status": "failed" if document.error is not None else "ok" if document.text else "empty",
        "error": document.error,
        "reader": document.reader,
        "notes": document.notes,
        "language": language,
        "sections": [{"title": title, "start": start} for title, start in document.sections],
        "sentences": split_sentences(document.text, language=language),
        "text": document.text,
    }


def _page(document: InputDocument, language: str | None) -> str:
    language = language or detect_language(document.text)
    about = {"title": document.title, "reader": document.reader, "language": language}
    lines = [f"{name}: {value}" for name, value in about.items() if value]
    lines += [f"note: {note}" for note in document.notes]
    for has_heading, part in _parts(document):
        sentences = split_sentences(part, language=language)
        lines += ["", *([f"## {sentences[0]}", *sentences[1:]] if has_heading else sentences)]
    return "\n".join(lines if document.text else [*lines, "", "(no text)"]) + "\n"


def _parts(document: InputDocument) -> Iterator[tuple[bool, str]]:
    """The text before the first section, and each section; whether it begins with a heading."""
    headings = {start: title for title, start in document.sections}
    for start, end in pairwise(sorted({0, *headings, len(document.text)})):
        yield bool(headings.get(start)), document.text[start:end]
