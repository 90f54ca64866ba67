"""What a run starts from: the tokenizer, the model and its generation settings, built from the configuration."""

from typing import Any

import torch
import transformers
from transformers import (
    AutoModel,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
)

from summarizer.config import RunConfig, TrainingConfig
from summarizer.errors import InputError
from summarizer.generation.limits import source_limit
from summarizer.generation.options import SummarySettings
from summarizer.generation_options import GenerationOptions
from summarizer.models import FastformerSummarizerForConditionalGeneration, SummarizerConfig
from summarizer.models.loading import ModelFiles

# What a model's weights do not show and its sizes do not tell.
_OF_TRUNK = (
    "encoder_layers", "decoder_layers", "decoder_attention_heads", "activation_function", "norm", "positions",
    "scale_embedding",
)  # fmt: skip

# How a model of ours with the other head names the encoder's weights. The saved name of tied embeddings is the first.
OTHER_HEADS: dict[Any, dict[str, str]] = {
    AutoModelForSequenceClassification: {
        r"^model\.shared\.": "encoder.embed_tokens.",
        r"^model\.encoder\.": "encoder.",
    },
    AutoModelForSeq2SeqLM: {r"^encoder\.embed_tokens\.": "model.shared.", r"^encoder\.": "model.encoder."},
}


def load_tokenizer(config: RunConfig) -> Any:
    """The tokenizer that the run names: its own, that of the model it starts from, or the default."""
    name = config.data.tokenizer or config.pretrained or "default"
    return ModelFiles(name, "data.tokenizer", needs_config=False).tokenizer()


def make_model(config: RunConfig, tokenizer: Any) -> tuple[Any, list[str]]:
    """A new model by `config.model`, or the pretrained one, with the run's generation settings; and lines about it.

    New weights follow from the seed. Raises InputError for settings that do not fit.
    """
    torch.manual_seed(config.seed)
    if config.pretrained is None:
        model, notes = _new_model(config, tokenizer), []
    else:
        model, notes = load_pretrained(AutoModelForSeq2SeqLM, config)
        model.config.task_specific_params = None  # documents are trained on, and so later read, without a prompt
    begin_training(model, config.training)
    model.config.sentence_per_line = config.data.sentence_per_line
    model.generation_config = make_generation_config(model, config.generation)
    return model, notes


def begin_training(model: Any, config: TrainingConfig) -> None:
    """Give a model the weights that it takes from others, checkpointing where it is asked for, and training mode."""
    if config.initial_embeddings is not None:
        copy_embeddings(model, config.initial_embeddings)
    if config.initial_trunk is not None:
        copy_trunk(model, config.initial_trunk)
    if config.gradient_checkpointing:
        model.activation_checkpointing_enable({"use_reentrant": False})
    model.train()  # a pretrained model comes in evaluation mode, without dropout


def check_lengths(model: Any, tokenizer: Any, longest: int) -> None:
    """Raise InputError if the longest document has more tokens than the model has positions."""
    limit = source_limit(model, tokenizer, SummarySettings())
    if limit is not None and longest > limit:
        raise InputError(
            f"the longest document has {longest:,} tokens, and the model reads {limit:,} at most; "
            f"set data.max_source_tokens={limit}"
        )


def make_generation_config(model: Any, options: GenerationOptions) -> transformers.GenerationConfig:
    """The run's generation options as transformers' class, over the model's special tokens."""
    names = ("pad", "bos", "eos", "decoder_start", "forced_bos", "forced_eos")
    own = model.generation_config
    config = transformers.GenerationConfig(**{f"{name}_token_id": getattr(own, f"{name}_token_id") for name in names})
    options.apply_to(config)
    return config


def new_model_config(config: RunConfig, tokenizer: Any) -> SummarizerConfig:
    """The configuration of a new model: `config.model` over what the tokenizer says. InputError names a wrong key."""
    from_tokenizer = {
        "vocab_size": len(tokenizer),
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "decoder_start_token_id": tokenizer.bos_token_id,
    }
    try:
        model_config = SummarizerConfig.from_options({**from_tokenizer, **config.model})
    except (ValueError, TypeError) as error:
        raise InputError(f"model: {' '.join(str(error).split())}") from error
    if model_config.vocab_size < len(tokenizer):
        raise InputError(
            f"model: vocab_size={model_config.vocab_size} is less than the tokenizer's {len(tokenizer)} tokens"
        )
    model_config.sentence_per_line = config.data.sentence_per_line
    return model_config


def _new_model(config: RunConfig, tokenizer: Any) -> FastformerSummarizerForConditionalGeneration:
    model_config = new_model_config(config, tokenizer)
    try:
        return FastformerSummarizerForConditionalGeneration(model_config)
    except (ValueError, TypeError) as error:  # of the mixer's options
        raise InputError(f"model: {' '.join(str(error).split())}") from error


def load_pretrained(auto_class: Any, config: RunConfig, **options: Any) -> tuple[Any, list[str]]:
    """The model that `config.pretrained` names as one of `auto_class`, and a line about what it did not hold or use.

    A model of ours with another head lends its encoder. Raises InputError where nothing can be loaded.
    """
    if config.model:
        raise InputError("'model' describes a new model and 'pretrained' names a trained one; give one of them")
    name = str(config.pretrained)
    files = ModelFiles(name, "pretrained")
    is_ours = files.config().model_type == SummarizerConfig.model_type
    key_mapping = OTHER_HEADS[auto_class] if is_ours else None
    model, loaded = files.weights(auto_class, dtype=torch.float32, key_mapping=key_mapping, **options)
    if is_ours:  # else saving would give the weights their former names again
        vars(model).pop("_weight_conversions", None)
    new = sorted({*loaded["missing_keys"], *(key for key, *_ in loaded["mismatched_keys"])})
    if len(new) >= len(model.state_dict()):
        raise InputError(f"pretrained '{name}' has no weight that fits {type(model).__name__}")
    notes = [f"new weights, which pretrained '{name}' lacks: {_some(new)}"] if new else []
    unused = sorted(loaded["unexpected_keys"])
    return model, [*notes, *([f"weights of pretrained '{name}' without use: {_some(unused)}"] if unused else [])]


def _some(names: list[str]) -> str:
    return f"{len(names)} tensors, {', '.join(names[:3])}" + (", …" if len(names) > 3 else "")


def copy_embeddings(model: Any, name: str) -> None:
    """Take the token embeddings of another model with the same vocabulary, scaled to the spread of the own ones."""
    donor, _ = ModelFiles(name, "initial_embeddings").weights(AutoModel)
    taken, own = donor.get_input_embeddings().weight, model.get_input_embeddings().weight
    if taken.shape != own.shape:
        raise InputError(f"initial_embeddings '{name}' has shape {tuple(taken.shape)}, the model {tuple(own.shape)}")
    with torch.no_grad():
        own.copy_(taken.to(own.dtype) * (own.std() / taken.std()))


def copy_trunk(model: Any, name: str) -> None:
    """Take every weight but those of the token mixing from another model of ours; the mixers stay new.

    Models that start so differ in their mixers alone, and over a trained rest a mixer has something to add at once.
    """
    files = ModelFiles(name, "initial_trunk")
    if (kind := files.config().model_type) != model.config.model_type:
        raise InputError(f"initial_trunk '{name}' has model_type={kind}, the model {model.config.model_type}")
    donor, loaded = files.weights(type(model), dtype=torch.float32)
    taken = {key: weight for key, weight in donor.state_dict().items() if ".mixer." not in key}
    own = {key: weight for key, weight in model.state_dict().items() if ".mixer." not in key}
    unlike = {key for key in taken.keys() & own.keys() if taken[key].shape != own[key].shape}
    unlike |= (taken.keys() ^ own.keys()) | set(loaded["missing_keys"]) | set(loaded["unexpected_keys"])
    has_decoder = any(".decoder." in key for key in own)
    for option in _OF_TRUNK if has_decoder else [each for each in _OF_TRUNK if not each.startswith("decoder_")]:
        given, needed = getattr(donor.config, option), getattr(model.config, option)
        if given != needed:
            raise InputError(f"initial_trunk '{name}' has {option}={given}, the model {needed}")
    if unlike:
        raise InputError(f"initial_trunk '{name}' and the model differ in more than the mixer: {_some(sorted(unlike))}")
    model.load_state_dict(taken, strict=False)
