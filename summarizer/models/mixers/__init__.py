"""Token mixings of the encoder: forward(hidden_states [B, N, d], mask [B, N] bool, True = real token) → [B, N, d]."""

from collections.abc import Sequence
from inspect import signature
from typing import Protocol, runtime_checkable

from torch import nn

from summarizer.models.mixers.bigbird import BigBird
from summarizer.models.mixers.fastformer import Fastformer
from summarizer.models.mixers.full import FullAttention
from summarizer.models.mixers.linear import LinearAttention
from summarizer.models.mixers.linformer import Linformer
from summarizer.models.mixers.longformer import Longformer
from summarizer.models.mixers.none import NoMixing
from summarizer.models.mixers.poolingformer import Poolingformer

MIXERS: dict[str, type[nn.Module]] = {
    "bigbird": BigBird,
    "fastformer": Fastformer,
    "full": FullAttention,
    "linear": LinearAttention,
    "linformer": Linformer,
    "longformer": Longformer,
    "none": NoMixing,
    "poolingformer": Poolingformer,
}

# The option `preset` says over which defaults the other options go. A mixer's own defaults are what its authors
# published; "paper" is what the Fastformer paper gave it for summarization (table 9: 64 tokens of window, of global and
# of random attention, blocks of 32, 64 projected rows). The one window of 256 that it gives for Poolingformer is taken
# for the larger of the two, the smaller being in the published proportion.
PRESETS: dict[str, dict[str, dict[str, int]]] = {
    "published": {},
    "paper": {
        "bigbird": {"block_size": 32, "num_random_blocks": 2},
        "linformer": {"projection_size": 64},
        "longformer": {"window_size": 64, "num_global_tokens": 64},
        "poolingformer": {"window_size": 64, "pooling_window_size": 256},
    },
}


@runtime_checkable
class PlacedMixer(Protocol):
    """A mixer that depends on those of the layers below it."""

    def place_above(self, mixers: Sequence[nn.Module]) -> None:
        """Take from `mixers`, first layer to last, what it needs."""


def make_mixer(
    name: str, d_model: int, num_heads: int, options: dict | None = None, below: Sequence[nn.Module] = ()
) -> nn.Module:
    """Build the mixer `name` of the layer above those that have the mixers `below`, first to last.

    Raises ValueError that names the choices for an unknown mixer, preset or option.
    """
    if name not in MIXERS:
        raise ValueError(f"unknown mixer '{name}'; choose from {', '.join(sorted(MIXERS))}")
    options = dict(options or {})
    preset = options.pop("preset", "published")
    if preset not in PRESETS:
        raise ValueError(f"unknown preset '{preset}' of '{name}'; choose from {', '.join(sorted(PRESETS))}")
    try:
        mixer = MIXERS[name](d_model, num_heads, **{**PRESETS[preset].get(name, {}), **options})
    except TypeError as error:
        choices = [option for option in signature(MIXERS[name]).parameters if option not in ("d_model", "num_heads")]
        choices.append("preset")
        raise ValueError(f"mixer_options of '{name}': {error}; choose from {', '.join(choices)}") from error
    if isinstance(mixer, PlacedMixer):
        mixer.place_above(below)
    return mixer
