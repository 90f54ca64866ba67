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
            help="Files, folders (read recursively) and globs: text, Markdown, HTML, PDF, Word, EPUB and JATS XML; "
            ".jsonl, .csv and .parquet with one document per row; .gz of all these. - reads plain text from stdin.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", help="A .jsonl, .csv or .parquet file, or a folder. Defaults to the terminal."),
    ] = None,
    text_format: Annotated[
        Literal["txt", "md"],
        typer.Option("--format", help="Format of the files in an output folder: plain text or Markdown."),
    ] = "txt",
    model: Annotated[
        str, typer.Option("-m", "--model", help="A model folder, the hub id of any seq2seq model, or default.")
    ] = "default",
    num_beams: Annotated[
        int | None, typer.Option(min=1, help="Number of beams of beam search. Defaults to the model's own setting.")
    ] = None,
    max_summary_tokens: Annotated[
        int | None, typer.Option(min=1, help="Maximum summary length, in tokens. Defaults to the model's own setting.")
    ] = None,
    min_summary_tokens: Annotated[
        int | None, typer.Option(min=0, help="Minimum summary length, in tokens. Defaults to the model's own setting.")
    ] = None,
    length: Annotated[
        Literal["short", "medium", "long"] | None, typer.Option(help="Summary length: at most 64, 160 or 384 tokens.")
    ] = None,
    num_candidates: Annotated[
        int, typer.Option(min=1, help="Number of summaries per document. Needs at least as many beams, or --do-sample.")
    ] = 1,
    length_penalty: Annotated[
        float | None,
        typer.Option(
            help="Length penalty of beam search; higher values give longer summaries. Defaults to the model's own."
        ),
    ] = None,
    no_repeat_words: Annotated[
        int | None, typer.Option(min=0, help="Block repeated n-grams of N words; 0 turns it off.")
    ] = None,
    no_repeat_ngram_size: Annotated[
        int | None,
        typer.Option(min=0, help="Block repeated n-grams of N tokens, which may be parts of words; 0 turns it off."),
    ] = None,
    numbers_from_document: Annotated[
        bool | None,
        typer.Option(
            "--numbers-from-document/--any-numbers",
            help="Allow only numbers that occur in the document. On by default for models with number "
            "placeholders, such as the default model.",
        ),
    ] = None,
    max_source_tokens: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Truncate documents to N tokens. Defaults to the whole document, or as much as the model can read.",
        ),
    ] = None,
    tokens_per_batch: Annotated[
        int, typer.Option(min=1, help="Maximum number of source tokens in a batch; lower it to use less memory.")
    ] = SummarySettings.tokens_per_batch,
    early_stopping: Annotated[
        bool | None,
        typer.Option(
            help="Stop beam search when num_beams summaries are complete. Defaults to the model's own setting."
        ),
    ] = None,
    do_sample: Annotated[
        bool | None, typer.Option("--do-sample", help="Sample tokens at random instead of beam search.")
    ] = None,
    temperature: Annotated[float | None, typer.Option(help="Temperature of --do-sample.")] = None,
    top_p: Annotated[
        float | None,
        typer.Option(help="Sample from the most likely tokens of this total probability; needs --do-sample."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of --do-sample.")] = SummarySettings.seed,
    dtype: Annotated[
        Literal["auto", "float32", "bfloat16", "float16"],
        typer.Option(help="Precision of the model. auto is bfloat16 where it is fast, else float32."),
    ] = "auto",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps … auto prefers an accelerator.")] = "auto",
    document_column: Annotated[
        str | None,
        typer.Option(
            help="Column of .jsonl, .csv and .parquet files with the document. Defaults to a usual name such as text."
        ),
    ] = None,
    files_from: Annotated[Path | None, typer.Option(help="File with more INPUTs, one per line.")] = None,
    by_section: Annotated[
        bool, typer.Option("--by-section", help="Also summarize each section or chapter, if the file marks them.")
    ] = False,
    max_document_mb: Annotated[
        int, typer.Option(min=1, help="Maximum file size in MiB, packed and unpacked; larger files fail.")
    ] = 256,
    max_pages: Annotated[int, typer.Option(min=1, help="Maximum number of pages of a PDF; longer PDFs fail.")] = 5000,
    read_timeout: Annotated[
        int,
        typer.Option(
            min=1, help="Maximum time to read one PDF, Word, EPUB, HTML or XML file or one Parquet row, in seconds."
        ),
    ] = 120,
    max_documents: Annotated[int | None, typer.Option(min=1, help="Summarize only the first N documents.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only failures.")] = False,
    json_progress: Annotated[
        bool, typer.Option("--json-progress", help="Print progress as JSON lines on stderr, for programs.")
    ] = False,
) -> None:
    """Summarize documents. Exit status: 0; 1 if any document failed; 2 if the command cannot be run as given."""
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
        from summarizer.documents.document import ReadingLimits

        limits = ReadingLimits(max_document_mb * 2**20, max_pages, read_timeout)
        reading = ReadingOptions(document_column, by_section, limits)
        options = BatchOptions(
            model, device, dtype, reading, text_format, max_documents, quiet, json_progress, settings
        )
        named = [*(inputs or []), *(read_list(files_from) if files_from else [])]
        report = summarize_files(named, output, options)
    except InputError as error:  # about the call; a document that fails has a record
        raise UsageError(str(error)) from error
    else:
        for line in [] if json_progress else report.failure_lines() if quiet else report.lines():
            print(line, file=sys.stderr)
        raise typer.Exit(1 if report.counts["failed"] else 0)
