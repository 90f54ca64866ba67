"""The compared models, of one size and with random weights: ours, and those of transformers for long documents."""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import (
    BigBirdPegasusConfig,
    BigBirdPegasusForConditionalGeneration,
    LEDConfig,
    LEDForConditionalGeneration,
    PegasusXConfig,
    PegasusXForConditionalGeneration,
)
from transformers.models.bigbird_pegasus.modeling_bigbird_pegasus import BigBirdPegasusEncoder
from transformers.models.led.modeling_led import LEDEncoder
from transformers.models.pegasus_x.modeling_pegasus_x import PegasusXEncoder

from summarizer.benchmarks.settings import Sizes
from summarizer.errors import InputError
from summarizer.models import FastformerSummarizerForConditionalGeneration, SummarizerConfig
from summarizer.models.mixers import MIXERS
from summarizer.models.seq2seq import SummarizerEncoder

FIRST_WORD = 4  # token ids below are special
LED_WINDOW = 512
_OTHERS = {
    "led": (LEDConfig, LEDEncoder, LEDForConditionalGeneration),
    "bigbird_pegasus": (BigBirdPegasusConfig, BigBirdPegasusEncoder, BigBirdPegasusForConditionalGeneration),
    "pegasus_x": (PegasusXConfig, PegasusXEncoder, PegasusXForConditionalGeneration),
}


def encoder_names() -> list[str]:
    """All encoders that can be compared: the token mixings of this package, and transformers' encoders."""
    return [*MIXERS, *_OTHERS]


def check_names(names: list[str], choices: list[str]) -> None:
    """Raise InputError for a name that is not among the choices."""
    for name in names:
        if name not in choices:
            raise InputError(f"unknown name '{name}'; choose from {', '.join(choices)}")


def make_encoder(name: str, sizes: Sizes, max_length: int) -> nn.Module:
    """An encoder, called like transformers' with input_ids and attention_mask; no dropout, float32, evaluation mode."""
    torch.manual_seed(0)
    if name in MIXERS:
        return SummarizerEncoder(_own_config(name, sizes, max_length)).eval()
    config, encoder, _ = _OTHERS[name]
    return encoder(_other_config(name, config, sizes, max_length)).eval()


def make_seq2seq(name: str, sizes: Sizes, max_length: int) -> Any:
    """A model without dropout, in float32 and evaluation mode; ours has the copy mechanism, as shipped."""
    torch.manual_seed(0)
    if name in MIXERS:
        config = _own_config(name, sizes, max_length, copy_mechanism=True)
        return FastformerSummarizerForConditionalGeneration(config).eval()
    config, _, model = _OTHERS[name]
    return model(_other_config(name, config, sizes, max_length)).eval()


def make_inputs(name: str, batch_size: int, length: int, vocab_size: int, device: torch.device) -> dict[str, Tensor]:
    """Random documents without padding, the same for all models; LED's first token attends to all."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(FIRST_WORD, vocab_size, (batch_size, length), generator=generator)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if name == "led":
        inputs["global_attention_mask"] = torch.zeros_like(ids).index_fill_(1, torch.tensor([0]), 1)
    return {key: tensor.to(device) for key, tensor in inputs.items()}


def _own_config(mixer: str, sizes: Sizes, max_length: int, copy_mechanism: bool = False) -> SummarizerConfig:
    options = {"max_length": max_length} if mixer == "linformer" else None
    return SummarizerConfig(
        mixer=mixer,
        mixer_options=options,
        copy_mechanism=copy_mechanism,
        max_source_positions=max_length,
        **_shape(sizes),
    )


def _other_config(name: str, config: Any, sizes: Sizes, max_length: int) -> Any:
    rounded = -(-max_length // LED_WINDOW) * LED_WINDOW  # LED and PEGASUS-X pad to whole windows and blocks
    own: dict[str, dict[str, Any]] = {
        "led": {"max_encoder_position_embeddings": rounded, "attention_window": LED_WINDOW},
        "bigbird_pegasus": {"max_position_embeddings": rounded, "attention_type": "block_sparse"},
        "pegasus_x": {"max_position_embeddings": rounded},
    }
    return config(
        activation_function="gelu", pad_token_id=0, bos_token_id=2, eos_token_id=3, decoder_start_token_id=2,
        forced_eos_token_id=None, **_shape(sizes), **own[name],
    )  # fmt: skip


def _shape(sizes: Sizes) -> dict[str, Any]:
    sides = {"layers": sizes.layers, "attention_heads": sizes.heads, "ffn_dim": sizes.ffn_dim}
    both = {f"{side}_{key}": value for side in ("encoder", "decoder") for key, value in sides.items()}
    return {"d_model": sizes.d_model, "vocab_size": sizes.vocab_size, "dropout": 0.0, **both}
