"""`summarizer benchmark NAME`: the options are made from the settings of the benchmark; heavy imports are inside."""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from importlib import import_module
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from summarizer.benchmarks import settings
from summarizer.cli.options import Overwrite

benchmark = typer.Typer(
    no_args_is_help=True,
    help="Measure speed and memory on this machine. Compared systems run in turns; medians are reported.",
)

_NAMES = {"dtypes": ["--dtype"], "backward": ["--backward"], "model": ["-m", "--model"]}  # where not --field-name
_OUTPUT = Annotated[Path, typer.Option("-o", "--output", help="The JSON file to write.")]
_PLOT = Annotated[Path | None, typer.Option(help="The PNG file to write. Defaults to the JSON file's name with .png.")]


def _add_command(name: str, settings_class: type, keys: Sequence[str]) -> None:
    """Add the command that runs `measure` of the module `name` and prints the table of its result.

    `keys` distinguish its result from those of the other benchmarks.
    """

    def command(output: Path, overwrite: bool, plot: Path | None = None, **values: Any) -> None:
        from summarizer.files import write_json
        from summarizer.outputs import MARKED, check_files, form

        chosen = _settings(settings_class, values)
        plot = plot or output.with_suffix(".png")
        plots = {plot: MARKED} if name == "encoders" else {}
        check_files({output: form("json", "machine", "settings", *keys), **plots}, overwrite)
        module = import_module(f"summarizer.benchmarks.{name}")
        result = module.measure(chosen)
        write_json(output, result)
        if name == "encoders":
            module.plot_encoders(plot, result)
        if name == "profile":
            print("\n".join(module.summary_lines(result)))
        else:
            from summarizer.reporting.benchmark_tables import TABLES

            print("\n".join(TABLES[name](result)))

    options = [("output", _OUTPUT, Parameter.empty), *_options(settings_class)]
    if name == "encoders":
        options.append(("plot", _PLOT, None))
    options.append(("overwrite", Overwrite, False))
    command.__annotations__ = {option: annotation for option, annotation, _ in options}
    command.__signature__ = Signature(  # pyright: ignore[reportFunctionMemberAccess]
        [
            Parameter(option, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for option, annotation, default in options
        ]
    )
    benchmark.command(name, help=settings_class.__doc__)(command)


def _options(settings_class: Any) -> list[tuple[str, Any, Any]]:
    """The name, type and default of each option; a list is text with commas."""
    options: list[tuple[str, Any, Any]] = []
    for each, kind in _typed_fields(settings_class):
        if is_dataclass(kind):
            options += _options(kind)
        elif "help" in each.metadata:
            is_list = get_origin(kind) is list
            default = ",".join(map(str, each.default_factory())) if is_list else each.default
            lowest = None if is_list else each.metadata["limits"].get("at least")
            option = typer.Option(*_NAMES.get(each.name, []), help=each.metadata["help"], min=lowest)
            options.append((each.name, Annotated[str if is_list else kind, option], default))
    return options


def _settings(settings_class: Any, values: dict[str, Any]) -> Any:
    """The settings with the values of the options. Raises a usage error for a list that cannot be read."""
    chosen = {}
    for each, kind in _typed_fields(settings_class):
        if is_dataclass(kind):
            chosen[each.name] = _settings(kind, values)
        elif each.name in values:
            value = values[each.name]
            chosen[each.name] = _items(each.name, value, *get_args(kind)) if get_origin(kind) is list else value
    return settings_class(**chosen)


def _typed_fields(settings_class: Any) -> list[tuple[Any, Any]]:
    kinds = get_type_hints(settings_class)
    return [(each, kinds[each.name]) for each in fields(settings_class)]


def _items(name: str, text: str, kind: Any) -> list[Any]:
    """The distinct items between commas: numbers in order, or names. Raises a usage error for anything else."""
    option = _NAMES.get(name, [f"--{name.replace('_', '-')}"])[-1]
    words = list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if kind is int:
        if not words or not all(word.isdecimal() and int(word) > 0 for word in words):
            raise typer.BadParameter(f"'{text}': give positive whole numbers separated by commas", param_hint=option)
        return sorted({int(word) for word in words})
    choices = get_args(kind)
    if not words or (choices and not set(words) <= set(choices)):
        of = f" of {', '.join(choices)}" if choices else ""
        raise typer.BadParameter(f"'{text}': give names{of} separated by commas", param_hint=option)
    return words


BENCHMARKS = (  # name, settings, and keys that distinguish the result from those of the others
    ("encoders", settings.EncoderSettings, ["rows.encoder"]),
    ("generation", settings.GenerationSettings, ["rows.system", "settings.num_beams"]),
    ("training", settings.TrainingSettings, ["rows.system", "settings.target_tokens"]),
    ("rouge", settings.RougeBenchmarkSettings, ["rows.processes"]),
    ("mixer", settings.MixerSettings, ["rows.form"]),
    ("methods", settings.MethodSettings, ["rows.method"]),
    ("profile", settings.ProfileSettings, ["training", "summarizing"]),
)
for _name, _class, _keys in BENCHMARKS:
    _add_command(_name, _class, _keys)
