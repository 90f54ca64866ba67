"""How much of a document a model may read, and what memory that takes. No torch here."""

from typing import Any

from summarizer.generation.options import SummarySettings

LINEAR_MIXERS = ("fastformer", "linear")  # whose work holds the same for each token, however many there are


def source_limit(model: Any, tokenizer: Any, settings: SummarySettings) -> int | None:
    """How many source tokens the model may read: the user's limit and the model's, whichever is less; None for any."""
    config = model.config
    limit = None
    if hasattr(config, "positions"):  # our own configuration
        limit = config.max_source_positions if config.positions == "learned" else None
    else:
        config = getattr(config, "encoder", config)
        for name in ("max_encoder_position_embeddings", "max_position_embeddings", "max_source_positions"):
            if (limit := getattr(config, name, None)) is not None:
                limit = min(limit, tokenizer.model_max_length)
                break
    return min((value for value in (limit, settings.max_source_tokens) if value is not None), default=None)


def memory_per_token(model: Any, settings: SummarySettings) -> int | None:
    """About how many bytes a source token takes while it is read and summarized; None where they are not so many each.

    In a model of ours whose encoder is linear: what the feed-forward and the token mixing of a layer hold at a time,
    keys and values of each decoder layer, and the attention of each beam.
    """
    config = model.config
    if getattr(config, "mixer", None) not in LINEAR_MIXERS:
        return None
    beams = settings.num_beams or model.generation_config.num_beams or 1
    numbers = 2 * config.encoder_ffn_dim + (4 + 2 * config.decoder_layers) * config.d_model
    return numbers * model.dtype.itemsize + 8 * beams * config.decoder_attention_heads
