"""The settings of each benchmark. A field made by `setting` is an option of its command, the docstring is its help."""

from dataclasses import dataclass, field
from typing import Literal

from summarizer.settings import setting

Dtype = Literal["float32", "bfloat16", "float16"]


REPEATS = "Number of measurements after a warm-up; the median is reported."
MAX_SECONDS = "If the warm-up of a system takes longer, it is the only measurement."
MEMORY = "Measure peak memory too; on a CPU each measurement is a separate process."
DEVICE = "auto, cpu, cuda, cuda:1, mps …"
LENGTHS = "Source tokens, separated by commas."
BATCH_TOKENS = "Source tokens in a batch. Defaults to one document."
BATCH_SIZE = "Documents in a batch."
SUMMARY_TOKENS = "Tokens in each summary."
WIDTH = "Width of all models."
HEADS = "Attention heads."


@dataclass(frozen=True)
class Sizes:
    """The sizes of all compared models; the decoder has those of the encoder."""

    d_model: int = setting(512, WIDTH, at_least=2)
    layers: int = setting(4, "Layers of each encoder, and of each decoder.", at_least=1)
    heads: int = setting(8, HEADS, at_least=1)
    ffn_dim: int = setting(2048, "Inner width of the feed-forward blocks.", at_least=1)
    vocab_size: int = 12_000


class _TokenBatches:
    batch_tokens: int | None

    def batch_size(self, length: int) -> int:
        """Documents of that length in a batch."""
        return max(1, self.batch_tokens // length) if self.batch_tokens else 1


@dataclass(frozen=True)
class EncoderSettings(_TokenBatches):
    """Measure time and memory of encoders of equal size, by document length."""

    encoders: list[str] = setting(
        ["fastformer", "full", "led", "bigbird_pegasus", "pegasus_x"],
        "Separated by commas: token mixings of this package, led, bigbird_pegasus, pegasus_x.",
    )
    lengths: list[int] = setting([4096, 16_384], LENGTHS)
    dtypes: list[Dtype] = setting(["float32"], "Types of weights and activations, separated by commas.")
    backward: bool = setting(False, "Also measure forward and backward together.")
    sizes: Sizes = field(default_factory=Sizes)
    batch_tokens: int | None = setting(None, BATCH_TOKENS, at_least=1)
    repeats: int = setting(5, REPEATS, at_least=1)
    max_seconds: float = setting(60.0, MAX_SECONDS, at_least=0)
    memory: bool = setting(True, MEMORY)
    device: str = setting("auto", DEVICE)

    @property
    def directions(self) -> list[str]:
        """The passes that are timed."""
        return ["forward", "forward_backward"] if self.backward else ["forward"]


@dataclass(frozen=True)
class GenerationSettings:
    """Measure summaries per second, the memory of a document, and the time of beam search itself."""

    lengths: list[int] = setting([1024, 16_384], LENGTHS)
    num_beams: list[int] = setting([1, 4], "Numbers of beams, separated by commas.")
    batch_sizes: list[int] = setting([1], "Documents in a batch, separated by commas.")
    systems: list[str] = setting(
        ["fastformer", "expanded", "led"],
        "fastformer, expanded (copies the document for each beam), led. Separated by commas.",
    )
    new_tokens: int = setting(64, SUMMARY_TOKENS, at_least=1)
    dtype: Dtype = setting("float32", "Type of weights and activations.")
    sizes: Sizes = field(default_factory=Sizes)
    repeats: int = setting(3, REPEATS, at_least=1)
    max_seconds: float = setting(120.0, MAX_SECONDS, at_least=0)
    memory: bool = setting(True, MEMORY)
    device: str = setting("auto", DEVICE)


@dataclass(frozen=True)
class TrainingSettings(_TokenBatches):
    """Measure source tokens per second of whole training steps (forward, backward, clipping, AdamW)."""

    lengths: list[int] = setting([4096], LENGTHS)
    systems: list[str] = setting(
        ["fastformer", "led", "bigbird_pegasus"], "Separated by commas: fastformer, led, bigbird_pegasus, pegasus_x."
    )
    target_tokens: int = setting(256, SUMMARY_TOKENS, at_least=1)
    batch_tokens: int | None = setting(None, BATCH_TOKENS, at_least=1)
    dtype: Dtype = setting("float32", "Autocast to this type; weights are float32.")
    sizes: Sizes = field(default_factory=Sizes)
    repeats: int = setting(3, REPEATS, at_least=1)
    max_seconds: float = setting(120.0, MAX_SECONDS, at_least=0)
    memory: bool = setting(True, MEMORY)
    device: str = setting("auto", DEVICE)


@dataclass(frozen=True)
class RougeBenchmarkSettings:
    """Compare the speed of `summarizer evaluate` and of rouge-score, and check that the scores are equal."""

    processes: list[int] = setting([1, 2], "Numbers of processes, separated by commas.")
    examples: int = setting(200, "Pairs of texts to score.", at_least=1)
    words: int = setting(200, "Words in each text.", at_least=1)
    repeats: int = setting(3, REPEATS, at_least=1)
    seed: int = 1


@dataclass(frozen=True)
class MixerSettings:
    """Compare Fastformer as implemented (one matrix per document) with the equations of the paper, one by one."""

    length: int = setting(16_384, "Tokens in each document.", at_least=1)
    d_model: int = setting(512, WIDTH, at_least=2)
    heads: int = setting(8, HEADS, at_least=1)
    batch_size: int = setting(1, BATCH_SIZE, at_least=1)
    dtype: Dtype = setting("float32", "Type of weights and activations.")
    repeats: int = setting(5, REPEATS, at_least=1)
    memory: bool = setting(True, MEMORY)
    device: str = setting("auto", DEVICE)


@dataclass(frozen=True)
class ProfileSettings:
    """Measure the training and summarizing speed of a model, and list its most expensive operations."""

    model: str = setting("default", "A model folder, a hub id, or default.")
    batch_size: int = setting(8, BATCH_SIZE, at_least=1)
    source_tokens: int = setting(2048, "Tokens in each document.", at_least=1)
    target_tokens: int = setting(320, SUMMARY_TOKENS, at_least=1)
    num_beams: int = setting(4, "Beams of beam search.", at_least=1)
    dtype: Literal["auto", Dtype] = setting("auto", "Type for summarizing. Training autocasts to it.")
    device: str = setting("auto", DEVICE)
    repeats: int = setting(5, REPEATS, at_least=1)
    seed: int = 1


@dataclass(frozen=True)
class MethodSettings:
    """Compare the seconds a document of extracting, grounded and free writing, and LexRank."""

    documents: str = setting("samples/documents", "What to summarize: a file, folder or glob, as for `summarize`.")
    max_documents: int = setting(8, "Documents to summarize, the first ones.", at_least=1)
    model: str = setting("default", "A model that selects sentences: a model folder, or default.")
    other_model: str | None = setting(None, "Another model, which writes freely: a model folder or a hub id.")
    sentences: int = setting(10, "Sentences of LexRank's summaries.", at_least=1)
    repeats: int = setting(3, REPEATS, at_least=1)
    device: str = setting("auto", DEVICE)
