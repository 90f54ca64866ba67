"""Token mixings of the encoder: forward(hidden_states [B, N, d], mask [B, N] bool, True = real token) → [B, N, d]."""

from torch import nn

from summarizer.models.mixers.fastformer import Fastformer
from summarizer.models.mixers.full import FullAttention

MIXERS: dict[str, type[nn.Module]] = {
    "fastformer": Fastformer,
    "full": FullAttention,
}


def make_mixer(name: str, d_model: int, num_heads: int, options: dict | None = None) -> nn.Module:
    """Build the mixer `name`. Raises ValueError that names the choices for an unknown mixer or option."""
    if name not in MIXERS:
        raise ValueError(f"unknown mixer '{name}'; choose from {', '.join(sorted(MIXERS))}")
    try:
        return MIXERS[name](d_model, num_heads, **(options or {}))
    except TypeError as error:
        raise ValueError(f"mixer_options of '{name}': {error}") from error
