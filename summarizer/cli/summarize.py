"""The command `summarizer summarize`."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from summarizer.errors import InputError, UsageError
from summarizer.generation.options import SummarySettings


def summarize(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="INPUT",
            help="Files, folders, globs: text, Markdown, HTML, PDF, Word, EPUB, JATS XML; - is plain text on stdin; "
            ".jsonl, .csv and .parquet with a document a row; .gz of them.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", help="A .jsonl, .csv or .parquet file, or a folder; or the terminal."),
    ] = None,
    text_format: Annotated[
        Literal["txt", "md"],
        typer.Option("--format", help="Of the files in a folder: text, or pages of Markdown."),
    ] = "txt",
    model: Annotated[str, typer.Option("-m", "--model", help="A model folder, a hub id, or default.")] = "default",
    num_beams: Annotated[
        int | None, typer.Option(min=1, help="Beams of the search; by default the model's own.")
    ] = None,
    max_summary_tokens: Annotated[
        int | None, typer.Option(min=1, help="Most tokens of a summary; by default the model's own.")
    ] = None,
    min_summary_tokens: Annotated[int | None, typer.Option(min=0, help="Fewest tokens; likewise.")] = None,
    length: Annotated[
        Literal["short", "medium", "long"] | None, typer.Option(help="About 64, 160 or 384 tokens at most.")
    ] = None,
    num_candidates: Annotated[
        int, typer.Option(min=1, help="So many summaries of each document; needs as many beams, or --do-sample.")
    ] = 1,
    length_penalty: Annotated[float | None, typer.Option(help="Of beam search; more means longer; likewise.")] = None,
    no_repeat_words: Annotated[
        int | None, typer.Option(min=0, help="So many words in a row must not come again; 0 allows every repetition.")
    ] = None,
    no_repeat_ngram_size: Annotated[
        int | None, typer.Option(min=0, help="The same, counted in tokens, which may be parts of words.")
    ] = None,
    numbers_from_document: Annotated[
        bool | None,
        typer.Option(
            "--numbers-from-document/--any-numbers",
            help="Only numbers that the document has; by itself for models such as the default one.",
        ),
    ] = None,
    max_source_tokens: Annotated[
        int | None, typer.Option(min=1, help="Read no more of a document; by default all that the model can.")
    ] = None,
    tokens_per_batch: Annotated[
        int, typer.Option(min=1, help="Source tokens at a time; fewer take less memory.")
    ] = SummarySettings.tokens_per_batch,
    early_stopping: Annotated[
        bool | None, typer.Option(help="End a beam search as soon as as many summaries as beams are complete.")
    ] = None,
    do_sample: Annotated[
        bool | None, typer.Option("--do-sample", help="Draw each token at random in place of searching.")
    ] = None,
    temperature: Annotated[float | None, typer.Option(help="Of --do-sample.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Of --do-sample.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of --do-sample.")] = SummarySettings.seed,
    dtype: Annotated[
        Literal["auto", "float32", "bfloat16", "float16"], typer.Option(help="auto: bfloat16 where that is fast.")
    ] = "auto",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps …")] = "auto",
    document_column: Annotated[str | None, typer.Option(help="By default found among the usual names.")] = None,
    files_from: Annotated[Path | None, typer.Option(help="A file that names more INPUTs, one a line.")] = None,
    by_section: Annotated[
        bool, typer.Option("--by-section", help="Also summarize each section or chapter, where the file marks them.")
    ] = False,
    max_document_mb: Annotated[int, typer.Option(min=1, help="Refuse larger files, packed or unpacked.")] = 256,
    max_pages: Annotated[int, typer.Option(min=1, help="Refuse PDFs of more pages.")] = 5000,
    read_timeout: Annotated[
        int, typer.Option(min=1, help="Seconds to read one PDF, Word, EPUB, HTML or XML file, or a row of Parquet.")
    ] = 120,
    max_documents: Annotated[int | None, typer.Option(min=1, help="Take only the first so many.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but what failed.")] = False,
    json_progress: Annotated[
        bool, typer.Option("--json-progress", help="Tell programs: a line of JSON for each event, on stderr.")
    ] = False,
) -> None:
    """Summarize documents; the exit status is 1 if any failed, 2 if there was nothing to do."""
    try:
        settings = SummarySettings(
            num_beams=num_beams,
            max_summary_tokens=max_summary_tokens,
            min_summary_tokens=min_summary_tokens,
            length=length,
            num_candidates=num_candidates,
            length_penalty=length_penalty,
            no_repeat_words=no_repeat_words,
            no_repeat_ngram_size=no_repeat_ngram_size,
            numbers_from_document=numbers_from_document,
            max_source_tokens=max_source_tokens,
            tokens_per_batch=tokens_per_batch,
            early_stopping=early_stopping,
            do_sample=do_sample,
            temperature=temperature,
            top_p=top_p,
            seed=seed,
        )
        from summarizer.batch.input_documents import ReadingOptions
        from summarizer.batch.inputs import read_list
        from summarizer.batch.summarize_files import BatchOptions, summarize_files
        from summarizer.documents.read import ReadingLimits

        limits = ReadingLimits(max_document_mb * 2**20, max_pages, read_timeout)
        reading = ReadingOptions(document_column, by_section, limits)
        options = BatchOptions(
            model, device, dtype, reading, text_format, max_documents, quiet, json_progress, settings
        )
        named = [*(inputs or []), *(read_list(files_from) if files_from else [])]
        report = summarize_files(named, output, options)
    except InputError as error:  # of single documents there is a record; this is about the call
        raise UsageError(str(error)) from error
    else:
        for line in [] if json_progress else report.failure_lines() if quiet else report.lines():
            print(line, file=sys.stderr)
        raise typer.Exit(1 if report.counts["failed"] else 0)
