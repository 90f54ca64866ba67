"""The tokenizer: SentencePiece unigram with byte fallback, trained here, saved so that AutoTokenizer loads it."""

import itertools
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import sentencepiece
from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import Unigram
from transformers import PreTrainedTokenizerFast

from summarizer.config import DataConfig
from summarizer.data.documents import ReadReport, find_pairs, read_pairs
from summarizer.files import InputError

PAD, UNKNOWN, BEGIN, END, MASK = "<pad>", "<unk>", "<s>", "</s>", "<mask>"
# Non-characters, which clean text never holds: one stands for a ▁ of the text, which else means a space; the other
# stands inside what only looks like a special token or a byte, such as </s> or <0x41>.
BLOCK, BREAK = "\ufffe", "\uffff"
NO_LIMIT = int(1e30)  # transformers' own mark of a tokenizer without a maximum length


def train_from_pairs(
    entries: list[str],
    output: Path,
    vocab_size: int,
    max_examples: int,
    config: DataConfig,
    lowercase: bool = False,
    placeholders: Sequence[str] = (),
) -> list[str]:
    """Train on the first `max_examples` training pairs of each entry and write the folder; returns what to say of it.

    Raises InputError when a file has the name of a validation or test split, or the texts are too few.
    """
    if output.exists() and not output.is_dir():
        raise InputError(f"{output}: is a file; name a folder to write")
    report = ReadReport()
    sources = [find_pairs([entry], "train") for entry in entries]
    for path in (path for source in sources for path in source.files):
        if path.name.startswith(("test", "val", "dev")):
            raise InputError(f"{path}: a tokenizer must not have seen validation or test data")
    counts = [0] * len(sources)

    def texts() -> Iterator[str]:
        for index, source in enumerate(sources):
            for pair in itertools.islice(read_pairs(source, config, report), max_examples):
                counts[index] += 1
                yield pair.document
                yield pair.target

    try:
        tokenizer = train_tokenizer(texts(), vocab_size, lowercase=lowercase, placeholders=placeholders)
    except ValueError as error:
        raise InputError(" ".join(str(error).split())) from error
    tokenizer.save_pretrained(output)
    learned = ", ".join(f"{count:,} pairs of {entry}" for count, entry in zip(counts, entries, strict=True))
    return [*report.lines(), f"{output}: {len(tokenizer):,} pieces, learned from {learned}"]


def train_tokenizer(
    texts: Iterable[str],
    vocab_size: int,
    num_threads: int = 2,
    lowercase: bool = False,
    placeholders: Sequence[str] = (),
) -> PreTrainedTokenizerFast:
    """Train a tokenizer on texts, one at a time (a million sentences are sampled from longer streams).

    With `lowercase` it reads all text as lower case; `summarizer.inference.casing` gives a summary its capitals back.
    `placeholders` are what some texts hold in place of what was removed from them, such as <dig> for numbers: a piece
    each, which a summary has only if its document does.

    Any clean text comes back from its ids, whatever its script: what is not in the vocabulary is spelled in bytes, and
    what only looks like a special token stays text. Numbers are spelled in digits, so that a number never seen can be
    copied. Raises ValueError when the texts are too few for `vocab_size`.
    """
    with tempfile.TemporaryDirectory() as folder:
        prefix = str(Path(folder, "sentencepiece"))
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=(
                    line.lower() if lowercase else line for text in texts for line in text.splitlines() if line.strip()
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
                user_defined_symbols=["\n", *(f"{space}{text}" for text in placeholders for space in ("▁", ""))],
                minloglevel=2,
            )
        except (RuntimeError, OSError) as error:
            reason = str(error).rpartition("] ")[2]  # without the place in sentencepiece's source
            raise ValueError(f"training the tokenizer failed: {reason}") from error
        model = sentencepiece.SentencePieceProcessor(model_file=f"{prefix}.model")
    return from_sentencepiece(model, lowercase, placeholders)


def from_sentencepiece(
    model: sentencepiece.SentencePieceProcessor, lowercase: bool = False, placeholders: Sequence[str] = ()
) -> PreTrainedTokenizerFast:
    """The same segmentation as a fast tokenizer of transformers; every sequence ends in </s>."""
    pieces = [(model.id_to_piece(index), model.get_score(index)) for index in range(model.get_piece_size())]
    tokenizer = Tokenizer(Unigram(pieces, unk_id=model.unk_id(), byte_fallback=True))
    # A line break stays glued to the word before it, and a space after it makes the next word start like any other.
    markers = "|".join([*(re.escape(token[1:]) for token in (PAD, UNKNOWN, BEGIN, END, MASK)), "0x[0-9A-F]{2}>"])
    tokenizer.normalizer = normalizers.Sequence(
        [
            *([normalizers.Lowercase()] if lowercase else []),
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
        placeholders=list(placeholders),
    )


def lowercases(tokenizer: Any) -> bool:
    """Whether a tokenizer reads all text as lower case, by transformers' own name for it."""
    return bool(tokenizer.init_kwargs.get("do_lower_case"))


def placeholder_ids(tokenizer: Any) -> list[int]:
    """Ids of the pieces that hold a placeholder of the training texts."""
    placeholders = tokenizer.init_kwargs.get("placeholders") or []
    pieces = tokenizer.get_vocab()
    return [pieces[piece] for text in placeholders for piece in (f"▁{text}", text)]
