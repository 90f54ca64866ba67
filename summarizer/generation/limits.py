"""How much of a document a model can read, and how much memory that takes. No torch here."""

from typing import Any

from summarizer.generation.options import SummarySettings

LINEAR_MIXERS = ("fastformer", "linear")  # their memory grows linearly with the tokens
_TEXT_BYTES = 1024  # of a token outside the model: its text, its sentence and its id


def source_limit(model: Any, tokenizer: Any, settings: SummarySettings) -> int | None:
    """Maximum source tokens: the smaller of the user's limit and the model's; None: no limit."""
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
    """Estimated bytes for each source token; None for an encoder whose memory is not linear in the tokens.

    Counted are the feed-forward and the token mixing of one layer. A decoder that reads the whole document adds keys
    and values of each layer, and the attention of each beam.
    """
    config = model.config
    if getattr(config, "mixer", None) not in LINEAR_MIXERS:
        return None
    generation = getattr(model, "generation_config", None)  # a sentence selector has none
    beams = settings.num_beams or getattr(generation, "num_beams", None) or 1
    numbers = 2 * config.encoder_ffn_dim + 6 * config.d_model
    if config.sentence_selection:
        return numbers * model.dtype.itemsize + _TEXT_BYTES
    numbers += 2 * config.decoder_layers * config.d_model
    return numbers * model.dtype.itemsize + 8 * beams * config.decoder_attention_heads + _TEXT_BYTES
