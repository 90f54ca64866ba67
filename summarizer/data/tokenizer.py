"""The tokenizer: SentencePiece unigram with byte fallback, trained here, saved so that AutoTokenizer loads it."""

import itertools
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import sentencepiece
from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import Unigram
from transformers import PreTrainedTokenizerFast

from summarizer.config import DataConfig
from summarizer.data.pairs import ReadReport, find_pairs, read_pairs
from summarizer.errors import InputError, UsageError
from summarizer.outputs import check_folder, form, write_all

PAD, UNKNOWN, BEGIN, END, MASK = "<pad>", "<unk>", "<s>", "</s>", "<mask>"
# Non-characters, which clean text never holds: one stands for a ▁ of the text, which else means a space; the other
# stands inside what only looks like a special token or a byte, such as </s> or <0x41>.
BLOCK, BREAK = "\ufffe", "\uffff"
# A number that is not part of a word such as COVID-19, p53, 2.5-fold or v1.0.2b.
NUMBER = r"(?<![\w.,<\-–])[0-9]+(?:[.,][0-9]+)*(?![\w\-–])(?![.,][0-9])"
_FORMS = {  # of the files of a folder
    "tokenizer.json": form("json", "model", "normalizer"),
    "tokenizer_config.json": form("json", "tokenizer_class", "do_lower_case", "number_placeholder"),
}
NO_LIMIT = int(1e30)  # transformers' own mark of a tokenizer without a maximum length


def train_from_pairs(
    entries: list[str],
    output: Path,
    vocab_size: int,
    max_examples: int,
    config: DataConfig,
    lowercase: bool = False,
    number_placeholder: str | None = None,
    overwrite: bool = False,
) -> list[str]:
    """Train on the first `max_examples` training pairs of each entry and write the folder; returns a report.

    Raises InputError when a file has the name of a validation or test split, or the texts are too few, and UsageError
    when the folder is not an earlier tokenizer of this function and `overwrite` is false.
    """
    check_folder(output, _FORMS, ["tokenizer_config.json"], overwrite)
    if (output / "config.json").exists() and not overwrite:
        raise UsageError(f"{output}: holds a model; choose a new folder, or pass --overwrite to replace its tokenizer")
    report = ReadReport()
    splits = [find_pairs([entry], "train") for entry in entries]
    for path in (path for split in splits for path in split.files):
        if path.name.startswith(("test", "val", "dev")):
            raise InputError(f"{path}: is validation or test data; train the tokenizer on training data only")
    counts = [0] * len(splits)

    def texts() -> Iterator[str]:
        for index, split in enumerate(splits):
            for pair in itertools.islice(read_pairs(split, config, report), max_examples):
                counts[index] += 1
                yield pair.document
                yield pair.target

    try:
        tokenizer = train_tokenizer(texts(), vocab_size, lowercase=lowercase, number_placeholder=number_placeholder)
    except ValueError as error:
        found = " ".join(str(error).split())
        raise InputError(re.sub(r"data\.(\w+)_column", r"--\1-column", found)) from error  # keys that are options here
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        write_all({output / path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())})
    pairs = ", ".join(f"{count:,} pairs of {entry}" for count, entry in zip(counts, entries, strict=True))
    return [*report.lines(), f"{output}: {len(tokenizer):,} pieces, trained on {pairs}"]


def train_tokenizer(
    texts: Iterable[str],
    vocab_size: int,
    num_threads: int = 2,
    lowercase: bool = False,
    number_placeholder: str | None = None,
) -> PreTrainedTokenizerFast:
    """Train a tokenizer on texts, one at a time (a million sentences are sampled from longer streams).

    With `lowercase` it reads all text as lower case. With `number_placeholder` it reads every number that stands alone
    as this one piece, which may be what a corpus has in place of numbers, such as <dig>.
    `summarizer.generation.restoring` gives a summary the capitals and numbers of its document.

    Any clean text comes back from its ids, whatever its script: what is not in the vocabulary is spelled in bytes, and
    what only looks like a special token stays text. Numbers are spelled in digits, so that a number never seen can be
    copied. Raises ValueError when the texts are too few for `vocab_size`.
    """
    normalizer = normalizers.Sequence(_normalizers(lowercase, number_placeholder))
    with tempfile.TemporaryDirectory() as folder:
        prefix = str(Path(folder, "sentencepiece"))
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=(
                    normalizer.normalize_str(line) for text in texts for line in text.splitlines() if line.strip()
                ),
                model_prefix=prefix,
                model_type="unigram",
                vocab_size=vocab_size,
                byte_fallback=True,
                split_digits=True,
                normalization_rule_name="identity",
                character_coverage=0.9999,
                input_sentence_size=1_000_000,
                shuffle_input_sentence=True,
                train_extremely_large_corpus=False,
                num_threads=num_threads,
                pad_id=0,
                unk_id=1,
                bos_id=2,
                eos_id=3,
                pad_piece=PAD,
                unk_piece=UNKNOWN,
                bos_piece=BEGIN,
                eos_piece=END,
                control_symbols=[MASK],
                user_defined_symbols=["\n", *_placeholder_pieces(number_placeholder)],
                minloglevel=2,
            )
        except (RuntimeError, OSError) as error:
            reason = str(error).rpartition("] ")[2]  # without the place in sentencepiece's source
            if most := re.search(r"value <= (\d+)", reason):
                reason = f"these texts give at most {most[1]} pieces, fewer than --vocab-size {vocab_size}"
            raise ValueError(f"training the tokenizer failed: {reason}") from error
        model = sentencepiece.SentencePieceProcessor(model_file=f"{prefix}.model")
    return from_sentencepiece(model, lowercase, number_placeholder)


def from_sentencepiece(
    model: sentencepiece.SentencePieceProcessor, lowercase: bool = False, number_placeholder: str | None = None
) -> PreTrainedTokenizerFast:
    """The same segmentation as a fast tokenizer of transformers; every sequence ends in </s>."""
    pieces = [(model.id_to_piece(index), model.get_score(index)) for index in range(model.get_piece_size())]
    tokenizer = Tokenizer(Unigram(pieces, unk_id=model.unk_id(), byte_fallback=True))
    # A line break stays glued to the word before it, and a space after it makes the next word start like any other.
    markers = "|".join([*(re.escape(token[1:]) for token in (PAD, UNKNOWN, BEGIN, END, MASK)), "0x[0-9A-F]{2}>"])
    tokenizer.normalizer = normalizers.Sequence(
        [
            *_normalizers(lowercase, number_placeholder),
            normalizers.Replace("▁", BLOCK),
            normalizers.Replace(Regex(f"<(?={markers})"), f"<{BREAK}"),
            normalizers.Replace(Regex(r"[^\S\n]*\n\s*"), "\n"),
            normalizers.Replace(Regex(r"[^\S\n]+"), " "),
            normalizers.Replace("\n", "\n "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Replace("▁", " "),
            decoders.Replace("\n ", "\n"),
            decoders.Strip(" ", left=1, right=0),
            decoders.Replace(BREAK, ""),
            decoders.Replace(BLOCK, "▁"),
        ]
    )
    tokenizer.post_processor = processors.TemplateProcessing(single=f"$A {END}", special_tokens=[(END, model.eos_id())])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        unk_token=UNKNOWN,
        bos_token=BEGIN,
        eos_token=END,
        mask_token=MASK,
        model_max_length=NO_LIMIT,
        clean_up_tokenization_spaces=False,
        do_lower_case=lowercase,
        number_placeholder=number_placeholder,
    )


def lowercases(tokenizer: Any) -> bool:
    """Whether a tokenizer reads all text as lower case, by transformers' own name for it."""
    return bool(tokenizer.init_kwargs.get("do_lower_case"))


def number_ids(tokenizer: Any) -> list[int]:
    """Ids of the pieces that stand for a number; none where numbers are spelled in digits."""
    pieces = _placeholder_pieces(tokenizer.init_kwargs.get("number_placeholder"))
    return tokenizer.convert_tokens_to_ids(pieces) if pieces else []


def find_numbers(text: str, number_placeholder: str) -> list[str]:
    """What a tokenizer with that placeholder reads as numbers in a text: numbers that stand alone, and placeholders."""
    # By the tokenizer's own engine: Python's differs in what is part of a word.
    pattern = Regex(f"(?i:{re.escape(number_placeholder)})|{NUMBER}")
    split = pre_tokenizers.Split(pattern, behavior="removed", invert=True)
    return [number for number, _ in split.pre_tokenize_str(text)]


def _normalizers(lowercase: bool, number_placeholder: str | None) -> list[normalizers.Normalizer]:
    numbers = [] if number_placeholder is None else [normalizers.Replace(Regex(NUMBER), number_placeholder)]
    return [*numbers, *([normalizers.Lowercase()] if lowercase else [])]


def _placeholder_pieces(number_placeholder: str | None) -> list[str]:
    return [] if number_placeholder is None else [f"▁{number_placeholder}", number_placeholder]
