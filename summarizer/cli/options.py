"""Options of a command from the settings of a data class, each named, typed and described there alone."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import Field, fields, is_dataclass
from inspect import Parameter, signature
from typing import Annotated, Any

import typer

from summarizer.generation_options import GenerationOptions

Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace files that are not an earlier output of this command.")
]


def options_of(data_class: type, without: Collection[str] = ()) -> Callable[[Any], Any]:
    """A decorator: the command's last parameter, `**values`, becomes an option for each setting of `data_class`.

    The settings named in `without` get no option.
    """

    def decorate(command: Any) -> Any:
        own = signature(command)
        settings = [each for each in _settings(data_class) if each.name not in without]
        parameters = [*list(own.parameters.values())[:-1], *map(_parameter, settings)]
        command.__signature__ = own.replace(parameters=parameters)
        return command

    return decorate


def from_options(data_class: Any, values: dict[str, Any]) -> Any:
    """The data class with these values of its options. Raises InputError if it refuses one."""
    of_class = {each.name: each.type for each in fields(data_class)}
    return data_class(
        **{name: from_options(kind, values) if is_dataclass(kind) else values[name] for name, kind in of_class.items()}
    )


def _settings(data_class: Any) -> Iterator[Field]:
    """The settings, also of data classes within."""
    for each in fields(data_class):
        if is_dataclass(each.type):
            yield from _settings(each.type)
        else:
            yield each


def _parameter(setting: Field) -> Parameter:
    text, limits, names = (setting.metadata[key] for key in ("help", "limits", "option"))
    if setting in fields(GenerationOptions):
        text += " Defaults to the model's own setting."
    if setting.type is bool and not names:
        names = f"--{setting.name.replace('_', '-')}"  # without an option to turn it off
    option = typer.Option(*names.split(), help=text, min=limits.get("at least"))
    return Parameter(
        setting.name, Parameter.KEYWORD_ONLY, default=setting.default, annotation=Annotated[setting.type, option]
    )
