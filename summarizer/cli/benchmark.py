"""`summarizer benchmark encoders | generation | training | rouge | mixer | profile`, with heavy imports inside."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

benchmark = typer.Typer(
    no_args_is_help=True,
    help="Measure speed and memory on this machine. What is compared runs in turns, and medians are reported.",
)

Output = Annotated[Path, typer.Option("-o", "--output", help="The JSON file to write.")]
Dtype = Annotated[Literal["float32", "bfloat16", "float16"], typer.Option(help="Of training: autocast to it.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps …")]
Repeats = Annotated[int, typer.Option(min=1, help="Medians are taken over so many, after a warm-up.")]
MaxSeconds = Annotated[float, typer.Option(min=0, help="What takes longer in its warm-up is measured that once.")]
Memory = Annotated[bool, typer.Option(help="Measure peak memory too, on a CPU in a process for each cell.")]
BatchTokens = Annotated[int | None, typer.Option(min=1, help="Source tokens in a batch; by default one document.")]
DModel = Annotated[int, typer.Option(min=2, help="Width of all models.")]
Layers = Annotated[int, typer.Option(min=1, help="Layers of each encoder, and of each decoder.")]
Heads = Annotated[int, typer.Option(min=1, help="Attention heads.")]
FfnDim = Annotated[int, typer.Option(min=1, help="Inner width of the feed-forward blocks.")]
Lengths = Annotated[str, typer.Option(help="Source tokens, separated by commas.")]


@benchmark.command("encoders")
def benchmark_encoders(
    output: Output,
    encoders: Annotated[
        str, typer.Option(help="Separated by commas: token mixings of this package, led, bigbird_pegasus, pegasus_x.")
    ] = "fastformer,full,led,bigbird_pegasus,pegasus_x",
    lengths: Lengths = "4096,16384",
    dtype: Annotated[str, typer.Option(help="float32, bfloat16, or both with a comma.")] = "float32",
    backward: Annotated[bool, typer.Option("--backward", help="Time forward and backward too.")] = False,
    plot: Annotated[Path | None, typer.Option(help="By default the JSON file's name with .png.")] = None,
    batch_tokens: BatchTokens = None,
    d_model: DModel = 512,
    layers: Layers = 4,
    heads: Heads = 8,
    ffn_dim: FfnDim = 2048,
    repeats: Repeats = 5,
    max_seconds: MaxSeconds = 60.0,
    memory: Memory = True,
    device: Device = "auto",
) -> None:
    """Time and memory of encoders of one size against length, with growth, crossover and the floor."""
    plot = plot or output.with_suffix(".png")
    settings = {
        "encoders": _names(encoders), "lengths": _numbers("--lengths", lengths), "backward": backward,
        "dtypes": _names(dtype, "--dtype", ("float32", "bfloat16", "float16")), "batch_tokens": batch_tokens,
        "repeats": repeats, "max_seconds": max_seconds, "memory": memory, "device": device,
    }  # fmt: skip

    def measure() -> dict[str, Any]:
        from summarizer.benchmarks.compared_models import Sizes
        from summarizer.benchmarks.encoders import EncoderSettings, measure_encoders, plot_encoders

        sizes = Sizes(d_model, layers, heads, ffn_dim)
        result = measure_encoders(EncoderSettings(sizes=sizes, **settings))
        plot_encoders(plot, result)
        return result

    _run("encoders", measure, output, plot)


@benchmark.command("generation")
def benchmark_generation(
    output: Output,
    lengths: Lengths = "1024,16384",
    num_beams: Annotated[str, typer.Option(help="Separated by commas.")] = "1,4",
    batch_sizes: Annotated[str, typer.Option(help="Documents at a time, separated by commas.")] = "1",
    systems: Annotated[
        str, typer.Option(help="fastformer; expanded, the same with a copy of the document a beam; led.")
    ] = "fastformer,expanded,led",
    new_tokens: Annotated[int, typer.Option(min=1, help="Every summary has exactly so many.")] = 64,
    dtype: Dtype = "float32",
    d_model: DModel = 512,
    layers: Layers = 4,
    heads: Heads = 8,
    ffn_dim: FfnDim = 2048,
    repeats: Repeats = 3,
    max_seconds: MaxSeconds = 120.0,
    memory: Memory = True,
    device: Device = "auto",
) -> None:
    """Summaries per second with beams, the memory of a document, and what beam search itself takes."""
    settings = {
        "lengths": _numbers("--lengths", lengths), "num_beams": _numbers("--num-beams", num_beams),
        "batch_sizes": _numbers("--batch-sizes", batch_sizes), "systems": _names(systems), "new_tokens": new_tokens,
        "dtype": dtype, "repeats": repeats, "max_seconds": max_seconds, "memory": memory, "device": device,
    }  # fmt: skip

    def measure() -> dict[str, Any]:
        from summarizer.benchmarks.compared_models import Sizes
        from summarizer.benchmarks.generation import GenerationSettings, measure_generation

        return measure_generation(GenerationSettings(sizes=Sizes(d_model, layers, heads, ffn_dim), **settings))

    _run("generation", measure, output)


@benchmark.command("training")
def benchmark_training(
    output: Output,
    systems: Annotated[
        str, typer.Option(help="Of fastformer, led, bigbird_pegasus, pegasus_x.")
    ] = "fastformer,led,bigbird_pegasus",
    lengths: Lengths = "4096",
    target_tokens: Annotated[int, typer.Option(min=1, help="Of each summary.")] = 256,
    batch_tokens: BatchTokens = None,
    dtype: Dtype = "float32",
    d_model: DModel = 512,
    layers: Layers = 4,
    heads: Heads = 8,
    ffn_dim: FfnDim = 2048,
    repeats: Repeats = 3,
    max_seconds: MaxSeconds = 120.0,
    memory: Memory = True,
    device: Device = "auto",
) -> None:
    """Source tokens per second of whole training steps (forward, backward, clipping, AdamW), and the floor."""
    settings = {
        "lengths": _numbers("--lengths", lengths), "systems": _names(systems), "target_tokens": target_tokens,
        "batch_tokens": batch_tokens, "dtype": dtype, "repeats": repeats, "max_seconds": max_seconds,
        "memory": memory, "device": device,
    }  # fmt: skip

    def measure() -> dict[str, Any]:
        from summarizer.benchmarks.compared_models import Sizes
        from summarizer.benchmarks.training import TrainingSettings, measure_training

        return measure_training(TrainingSettings(sizes=Sizes(d_model, layers, heads, ffn_dim), **settings))

    _run("training", measure, output)


@benchmark.command("rouge")
def benchmark_rouge(
    output: Output,
    processes: Annotated[str, typer.Option(help="Numbers of processes, separated by commas.")] = "1,2",
    examples: Annotated[int, typer.Option(min=1, help="Pairs of texts that are scored.")] = 200,
    words: Annotated[int, typer.Option(min=1, help="Of each text.")] = 200,
    repeats: Repeats = 3,
) -> None:
    """Examples per second of `summarizer evaluate`'s scoring against plain rouge-score; the scores must be equal."""
    numbers = _numbers("--processes", processes)

    def measure() -> dict[str, Any]:
        from summarizer.benchmarks.rouge import RougeBenchmarkSettings, measure_rouge

        return measure_rouge(RougeBenchmarkSettings(numbers, examples, words, repeats))

    _run("rouge", measure, output)


@benchmark.command("mixer")
def benchmark_mixer(
    output: Output,
    length: Annotated[int, typer.Option(min=1, help="Tokens.")] = 16_384,
    d_model: DModel = 512,
    heads: Heads = 8,
    batch_size: Annotated[int, typer.Option(min=1)] = 1,
    dtype: Dtype = "float32",
    repeats: Repeats = 5,
    memory: Memory = True,
    device: Device = "auto",
) -> None:
    """The Fastformer as it is computed, folded into one matrix a document, against the paper's equations literally."""

    def measure() -> dict[str, Any]:
        from summarizer.benchmarks.mixer import MixerSettings, measure_mixer

        return measure_mixer(MixerSettings(length, d_model, heads, batch_size, dtype, repeats, memory, device))

    _run("mixer", measure, output)


@benchmark.command("profile")
def benchmark_profile(
    output: Output,
    model: Annotated[str, typer.Option("-m", "--model", help="A model folder, a hub id, or default.")] = "default",
    batch_size: Annotated[int, typer.Option(min=1)] = 8,
    source_tokens: Annotated[int, typer.Option(min=1)] = 2048,
    target_tokens: Annotated[int, typer.Option(min=1)] = 320,
    num_beams: Annotated[int, typer.Option(min=1)] = 4,
    dtype: Annotated[Literal["auto", "float32", "bfloat16", "float16"], typer.Option()] = "auto",
    device: Device = "auto",
    repeats: Repeats = 5,
) -> None:
    """Training and summarizing speed of a model, where the time goes, and the floor in FLOPs."""
    from summarizer.benchmarks.profile import ProfileSettings, profile_model, summary_lines
    from summarizer.files import check_writable, write_json

    check_writable(output)
    result = profile_model(
        ProfileSettings(model, batch_size, source_tokens, target_tokens, num_beams, dtype, device, repeats)
    )
    write_json(output, result)
    print("\n".join(summary_lines(result)))


def _run(name: str, measure: Callable[[], dict[str, Any]], *outputs: Path) -> None:
    """Measure, write the first of `outputs`, print the table; outputs that cannot be written are found before."""
    from summarizer.files import check_writable, write_json
    from summarizer.reporting.benchmark_tables import TABLES

    for path in outputs:
        check_writable(path)
    result = measure()
    write_json(outputs[0], result)
    print("\n".join(TABLES[name](result)))


def _names(text: str, option: str = "", choices: tuple[str, ...] = ()) -> list[str]:
    """The distinct words between commas. Raises a usage error for none, or one that is not among the choices."""
    names = list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if not names or (choices and not set(names) <= set(choices)):
        raise typer.BadParameter(
            f"'{text}': give names separated by commas, of {', '.join(choices)}", param_hint=option
        )
    return names


def _numbers(option: str, text: str) -> list[int]:
    """The distinct positive numbers between commas, in order. Raises a usage error for anything else."""
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() and int(word) > 0 for word in words):
        raise typer.BadParameter(f"'{text}': give positive whole numbers separated by commas", param_hint=option)
    return sorted({int(word) for word in words})
