"""The options of `summarizer summarize` and of `summarize_files`. No torch here."""

from dataclasses import dataclass, field
from typing import Literal

from summarizer.batch.output_files import TextFormat
from summarizer.documents.document import ReadingOptions
from summarizer.generation.options import SummarySettings
from summarizer.settings import setting


@dataclass(frozen=True)
class BatchOptions:
    """All options of `summarize_files`; the command line makes an option of each."""

    model: str = setting("default", "A model folder, the hub id of any seq2seq model, or default.", option="-m --model")
    device: str = setting("auto", "auto, cpu, cuda, cuda:1, mps … auto prefers an accelerator.")
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = setting(
        "auto", "Precision of the model. auto is bfloat16 where it is fast, else float32."
    )
    text_format: TextFormat = setting(
        "txt", "Format of the files in an output folder: plain text or Markdown.", option="--format"
    )
    show_evidence: bool = setting(
        False,
        "Show under each line of a summary the passages of the document that it comes from, with their character "
        "offsets. For the terminal and --format md; records always hold them.",
    )
    keep_text: bool = setting(False, "Put the text that was read into the record of each document.")
    settings: SummarySettings = field(default_factory=SummarySettings)
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    max_documents: int | None = setting(None, "Summarize only the first N documents.", at_least=1)
    quiet: bool = setting(False, "Print only failures.")
    overwrite: bool = setting(False, "Replace files that are not an earlier output of this command.")
    json_progress: bool = setting(False, "Print progress as JSON lines on stderr, for programs.")
