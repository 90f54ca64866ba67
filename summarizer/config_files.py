"""A run's configuration from YAML: a file over the defaults, `key=value` overrides over both. No torch here."""

import re
from collections.abc import Iterator
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args

from omegaconf import OmegaConf, read_write
from omegaconf.errors import OmegaConfBaseException

from summarizer.config import RunConfig
from summarizer.errors import InputError
from summarizer.outputs import form
from summarizer.settings import unknown_key


def load_config(path: Path, overrides: list[str] | None = None) -> RunConfig:
    """Read a YAML file over the defaults, then `key=value` overrides (dotted keys) over both.

    `base: other.yaml` at the top of a file names a file to start from, relative to its own folder. The run's name
    defaults to the file's name. Raises InputError that names the key, the file or override, and the valid values; it
    lists all unknown keys.
    """
    additions = [(str(file), _load_yaml(file)) for file in _with_bases(path)]
    for _, loaded in additions:
        loaded.pop("base", None)
    additions += [(f"'{override}'", _parse_override(override)) for override in overrides or []]
    if unknown := [f"{origin}: {line}" for origin, given in additions for line in _unknown_keys(given, RunConfig)]:
        raise InputError("; ".join(unknown))
    config = OmegaConf.structured(RunConfig(name=path.stem))
    for origin, given in additions:
        config = _merge(config, given, origin)
    section = "generation."  # whose own messages begin with the key alone
    try:
        OmegaConf.to_object(config.generation)
        section = ""
        run: Any = OmegaConf.to_object(config)
    except OmegaConfBaseException as error:  # a reference ${key} to an unknown key
        raise InputError(f"{path}: {error.full_key}: {str(error).splitlines()[0]}") from error
    except InputError as error:
        message = f"{section}{error}"
        raise InputError(f"{_origin_of(message, path, overrides or [])}: {message}") from None
    return run


def to_yaml(config: RunConfig) -> str:
    """The complete configuration as YAML, as saved with every run; load_config reads it."""
    return OmegaConf.to_yaml(OmegaConf.structured(config))


# A configuration that `to_yaml` wrote, which has all keys; users write only some of them.
COMPLETE_CONFIG = form("yaml", "task", "name", "output_dir", "seed", "resume", "pretrained", "data", "training")


def changed_keys(before: RunConfig, after: RunConfig) -> list[str]:
    """The keys whose values differ, as "key: before → after"; names and folders of the run are left out."""
    old, new = _flat(asdict(before)), _flat(asdict(after))
    ignored = ("resume", "name", "output_dir", "data.cache_dir")
    return [
        f"{key}: {old.get(key)} → {new.get(key)}"
        for key in {**old, **new}
        if key not in ignored and old.get(key) != new.get(key)
    ]


def _flat(config: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in config.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat


def _with_bases(path: Path) -> list[Path]:
    """The chain of files from the outermost base to `path`."""
    chain = [path]
    while base := _load_yaml(chain[0]).get("base"):
        parent = (chain[0].parent / str(base)).resolve()
        if parent in [file.resolve() for file in chain]:
            raise InputError(f"{chain[0]}: 'base' forms a cycle through {parent}")
        chain.insert(0, parent)
    return chain


def _load_yaml(path: Path) -> dict[str, Any]:
    try:
        loaded = OmegaConf.load(path)
    except FileNotFoundError:
        raise InputError(f"{path}: no such configuration file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except Exception as error:  # yaml's and omegaconf's errors share no base class
        raise _not_yaml(str(path), error) from error
    if not OmegaConf.is_dict(loaded):
        raise InputError(f"{path}: expected keys and values at the top level")
    return OmegaConf.to_container(loaded)  # pyright: ignore  (a dict, as checked)


def _parse_override(override: str) -> dict[str, Any]:
    if "=" not in override or override.startswith("="):
        raise InputError(f"'{override}' is not an override; write key=value, such as training.steps=100")
    try:
        return OmegaConf.to_container(OmegaConf.from_dotlist([override]))  # pyright: ignore  (a dict)
    except Exception as error:  # yaml's and omegaconf's errors share no base class
        raise _not_yaml(f"'{override}'", error) from error


def _not_yaml(origin: str, error: Exception) -> InputError:
    reason = " ".join(str(error).split())
    hint = "; put a value that begins with * or & in quotes, such as ['*encoder*']" if "alias" in reason else ""
    return InputError(f"{origin}: not valid YAML: {reason}{hint}")


def _unknown_keys(given: dict[str, Any], section: Any, prefix: str = "") -> Iterator[str]:
    """A line for each key that the data class `section`, or a section in it, does not have."""
    kinds = _kinds(section)
    for name, value in given.items():
        if name not in kinds:
            elsewhere = [key for key in _dotted_keys(RunConfig) if key.rpartition(".")[2] == name]
            yield f"{prefix}{name}: {unknown_key(str(name), kinds, elsewhere)}"
        elif (own := _section_in(kinds[name])) is not None and isinstance(value, dict):
            yield from _unknown_keys(value, own, f"{prefix}{name}.")


def _dotted_keys(section: Any, prefix: str = "") -> Iterator[str]:
    for name, kind in _kinds(section).items():
        yield prefix + name
        if (own := _section_in(kind)) is not None:
            yield from _dotted_keys(own, f"{prefix}{name}.")


def _kinds(section: Any) -> dict[str, Any]:
    return {each.name: each.type for each in fields(section)}


def _section_in(kind: Any) -> Any:
    """The data class that a field's type is or may be; None for other types."""
    return next((each for each in (kind, *get_args(kind)) if is_dataclass(each)), None)


def _merge(config: Any, addition: dict[str, Any], origin: str) -> Any:
    addition = _as_meant(addition, RunConfig)
    if addition.get("model", {}) is None:  # `model: null` clears the model of a base
        addition["model"] = {}
        with read_write(config):
            config.model = {}
    for name, value in addition.items():
        try:
            config = OmegaConf.merge(config, {name: value})
        except (OmegaConfBaseException, TypeError) as error:
            key = getattr(error, "full_key", None) or str(name)
            raise InputError(f"{origin}: {key}: {_reason(error)}") from error
    return config


def _as_meant(given: dict[str, Any], section: Any) -> dict[str, Any]:
    """The values as the fields' types mean them: 1e3 as the number 1000, an unquoted `no` as the choice."""
    meant = dict(given)
    for name, value in given.items():
        kind = _kinds(section)[name]
        if (own := _section_in(kind)) is not None and isinstance(value, dict):
            meant[name] = _as_meant(value, own)
        elif isinstance(value, float) and value.is_integer() and int in (kind, *get_args(kind)):
            meant[name] = int(value)
        elif value is False and any("no" in get_args(choices) for choices in (kind, *get_args(kind))):
            meant[name] = "no"
    return meant


def _reason(error: Exception) -> str:
    """What is wrong with a value; omegaconf's own wording where it is plain enough."""
    reason = str(error).splitlines()[0]
    if reason.startswith("Invalid value assigned"):
        return "expected a list, such as [a, b]"
    if reason.startswith(("Merge error", "Cannot merge")):
        return "expected keys and values of its own"
    return reason


def _origin_of(message: str, path: Path, overrides: list[str]) -> str:
    """Who is to blame for an error: the overrides whose keys the message names, else the file."""
    named = [
        f"'{override}'"
        for override in overrides
        if re.search(rf"(?<![\w.]){re.escape(override.partition('=')[0])}(?!\w)", message)
    ]
    return ", ".join(named) or str(path)
