"""Texts to summaries with a model by name: the default, a model folder, or any seq2seq model of the hub."""

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from transformers import AutoModelForSeq2SeqLM, GenerationMixin

from summarizer.data.source_tokens import Source, SourceEncoder
from summarizer.errors import InputError
from summarizer.generation.batched import BatchedSummarizer, failed
from summarizer.generation.extracting import Extractor
from summarizer.generation.limits import source_limit
from summarizer.generation.options import Summary, SummarySettings
from summarizer.generation.read_ahead import read_ahead
from summarizer.generation.writer import SummaryWriter
from summarizer.models import FastformerSummarizerForSentenceSelection
from summarizer.models.loading import ModelFiles, choose_device, choose_dtype
from summarizer.models.published import source_prefix

if TYPE_CHECKING:
    from typing_extensions import Unpack  # typing has it from Python 3.11 on

    from summarizer.generation.keyword_options import SummaryOptions

WINDOW_BATCHES = 8  # that are sorted by length together
WINDOW_DOCUMENTS = 1024


class Summarizer:
    """A loaded model with its tokenizer, ready to summarize.

    The model is used as it is, on its device and in its dtype, and keeps its mode (training or not); global random
    states are left alone. In float32 the result for a document does not depend on the others.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.model = model
        self.tokenizer = tokenizer

    @property
    def dtype(self) -> str:
        """The dtype of the model, such as "bfloat16"."""
        return str(self.model.dtype).removeprefix("torch.")

    @classmethod
    def from_pretrained(cls, name: str = "default", device: str = "auto", dtype: str = "auto") -> "Summarizer":
        """Load "default", a model folder or a hub id; safetensors only, and no code from the hub.

        `device` is "auto" or torch's name of one; `dtype` one of DTYPES. Raises InputError when there is no such
        model, or it is not a seq2seq model, or the device is not there.
        """
        place = choose_device(device)
        files = ModelFiles(name)
        tokenizer = files.tokenizer()
        model, loaded = files.weights(
            _class_of(files.config()),
            place,
            dtype=choose_dtype(dtype, place),
            ignore_mismatched_sizes=True,  # reported below, with what is missing
        )
        learned = {key for key, parameter in model.named_parameters() if parameter.requires_grad}
        bad = sorted(learned.intersection([*loaded["missing_keys"], *(key for key, *_ in loaded["mismatched_keys"])]))
        if bad:
            raise InputError(f"model '{name}': its weights lack {len(bad)} needed parameters, such as {bad[0]}")
        return cls(model.eval(), tokenizer)

    def summarize(
        self,
        texts: Iterable[str],
        settings: SummarySettings | None = None,
        *,
        progress: Callable[[int, Summary], bool | None] | None = None,
        **options: "Unpack[SummaryOptions]",
    ) -> list[Summary]:
        """Summarize texts, in order; `options` are fields of SummarySettings, such as num_beams=1.

        `progress` is called with the number of finished texts and the newest summary. If it returns true, the summaries
        so far are returned.
        """
        finished = []
        for summary in self.stream(texts, settings, **options):
            finished.append(summary)
            if progress is not None and progress(len(finished), summary):
                break
        return finished

    def stream(
        self, texts: Iterable[str], settings: SummarySettings | None = None, **options: "Unpack[SummaryOptions]"
    ) -> Iterator[Summary]:
        """Like `summarize`, one summary after the other while `texts` are read a bounded number ahead."""
        waiting: dict[int, Summary] = {}
        position = 0
        for batch in self.batches(texts, settings, **options):
            waiting.update(batch)
            while position in waiting:
                yield waiting.pop(position)
                position += 1

    def batches(
        self,
        texts: Iterable[str | Summary],
        settings: SummarySettings | None = None,
        ahead: bool = False,
        **options: "Unpack[SummaryOptions]",
    ) -> Generator[list[tuple[int, Summary]], None, None]:
        """Like `stream`, but as the batches are finished: lists of (position in `texts`, summary).

        At most WINDOW_BATCHES batches are read at a time, so memory does not grow with the stream; with `ahead`, a
        thread reads as many more while the model works. A Summary in the place of a text is yielded as it is. Raises
        at once InputError for settings that do not fit the model, and TypeError for a single text.
        """
        if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
            raise TypeError(f"expected several texts, such as [text], not one {type(texts).__name__}")
        settings = replace(settings or SummarySettings(), **options)
        config, tokenizer = self.model.config, self.tokenizer
        selects = getattr(self.model, "scorer", None) is not None
        if settings.method == "extract" and not selects:
            raise InputError("this model selects no sentences, so method=extract is not possible; use method=write")
        writes = isinstance(self.model, GenerationMixin)
        if settings.method == "write" and not writes:
            raise InputError("this model selects sentences and writes none, so method=write is not possible")
        method = settings.method or ("extract" if selects and not (writes and settings.writing_options) else "write")
        if method == "extract" and settings.writing_options:
            raise InputError(f"{settings.writing_options[0]} is for summaries that are written, not for extracts")
        kind = Extractor if method == "extract" else SummaryWriter
        maker: BatchedSummarizer = kind(self.model, tokenizer, settings)
        prompt = source_prefix(config).strip()
        limit = source_limit(self.model, tokenizer, settings)
        encoder = SourceEncoder(
            tokenizer, limit, prompt, getattr(config, "sentence_per_line", False), settings.language
        )
        encoded = _encoded(encoder, texts)
        window_tokens = WINDOW_BATCHES * settings.tokens_per_batch
        if ahead:
            shortest = window_tokens // WINDOW_DOCUMENTS  # as documents are counted, so that not too many wait
            encoded = read_ahead(encoded, lambda item: max(len(getattr(item[1], "ids", ())), shortest), window_tokens)
        return _finished_batches(maker, encoded, window_tokens)


def _class_of(config: Any) -> Any:
    """The class of a model that summarizes: a sentence selector, or any seq2seq model."""
    names = config.architectures or []
    own = FastformerSummarizerForSentenceSelection
    return own if own.__name__ in names else AutoModelForSeq2SeqLM


def _encoded(
    encoder: SourceEncoder, texts: Iterable[str | Summary]
) -> Generator[tuple[int, Source | Summary], None, None]:
    """The texts encoded; the summary of one that is blank or cannot be encoded. Raises TypeError for other types."""
    for position, text in enumerate(texts):
        if isinstance(text, Summary):
            yield position, text
            continue
        if not isinstance(text, str):
            raise TypeError(f"text {position} is not a str but {type(text).__name__}")
        try:
            source = encoder.encode(text)
        except Exception as error:  # whatever a tokenizer raises concerns this text
            yield position, failed(error)
        else:
            yield position, source if source.num_text_tokens else Summary("", 0, 0, 0, "empty")


def _finished_batches(
    maker: BatchedSummarizer, encoded: Generator[tuple[int, Source | Summary], None, None], window_tokens: int
) -> Generator[list[tuple[int, Summary]], None, None]:
    window: list[tuple[int, Source]] = []
    waiting_tokens = 0
    try:
        for position, source in encoded:
            if isinstance(source, Summary):
                yield [(position, source)]
                continue
            window.append((position, source))
            waiting_tokens += len(source.ids)
            if waiting_tokens >= window_tokens or len(window) >= WINDOW_DOCUMENTS:
                yield from map(maker.summarize, maker.batches(window))
                window, waiting_tokens = [], 0
        yield from map(maker.summarize, maker.batches(window))
    finally:
        encoded.close()
