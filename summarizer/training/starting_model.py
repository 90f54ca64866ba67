"""What a run starts from: the tokenizer, the model and its generation settings, built from the configuration."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoModel, AutoModelForSeq2SeqLM, AutoModelForSequenceClassification

from summarizer.config import RunConfig
from summarizer.errors import InputError
from summarizer.generation.limits import source_limit
from summarizer.generation.options import SummarySettings
from summarizer.generation_options import GenerationOptions
from summarizer.models import FastformerSummarizerForSentenceSelection, SummarizerConfig
from summarizer.models.loading import ModelFiles
from summarizer.models.mixers import make_mixer
from summarizer.models.published import source_prefix

# Options that change the computation but not the shape of any weight.
_OF_TRUNK = (
    "encoder_layers", "decoder_layers", "decoder_attention_heads", "activation_function", "norm", "positions",
    "scale_embedding",
)  # fmt: skip

NAMES_WHEN_LOADED = "_weight_conversions"  # private name of transformers; a test fails when it is gone

# How our model with the other head names the encoder's weights; of tied embeddings, the first name is saved.
_OF_ENCODER = {r"^model\.shared\.": "encoder.embed_tokens.", r"^model\.encoder\.": "encoder."}
OTHER_HEADS: dict[Any, dict[str, str]] = {
    AutoModelForSequenceClassification: _OF_ENCODER,
    FastformerSummarizerForSentenceSelection: _OF_ENCODER,
    AutoModelForSeq2SeqLM: {r"^encoder\.embed_tokens\.": "model.shared.", r"^encoder\.": "model.encoder."},
}


def load_tokenizer(config: RunConfig) -> Any:
    """The tokenizer that the run names: its own, that of the model it starts from, or the default."""
    key = "pretrained" if config.data.tokenizer is None and config.pretrained else "data.tokenizer"
    name = config.data.tokenizer or config.pretrained or "default"
    files = ModelFiles(name, key, needs_config=False)
    tokenizer, data = files.tokenizer(), config.data
    if config.data.tokenizer and config.pretrained:
        _check_vocabulary(tokenizer, config.data.tokenizer, config.pretrained)
    given = {"source_language": data.source_language, "target_language": data.target_language}
    if not any(given.values()):
        return tokenizer
    codes = {*tokenizer.all_special_tokens, *tokenizer.get_added_vocab(), *getattr(tokenizer, "lang_code_to_id", ())}
    for setting, code in given.items():
        if code is not None and not hasattr(tokenizer, "src_lang"):
            raise InputError(f"data.{setting}: the tokenizer '{name}' has no languages")
        if code is not None and code not in codes:
            raise InputError(f"data.{setting}: '{code}' is not a language code of the tokenizer '{name}'")
    source = data.source_language or tokenizer.src_lang
    return files.tokenizer(src_lang=source, tgt_lang=data.target_language or tokenizer.tgt_lang or source)


def _check_vocabulary(tokenizer: Any, name: str, pretrained: str) -> None:
    """Raise InputError if the tokenizer gives other ids to the tokens of a pretrained model; it may add tokens."""
    folder = Path(pretrained)
    if folder.is_dir() and not any(folder.glob("tokenizer*")):  # transformers would make up one
        return
    try:
        known = ModelFiles(pretrained, "pretrained").tokenizer().get_vocab()
    except InputError:  # the model has no tokenizer of its own
        return
    vocabulary = tokenizer.get_vocab()
    if any(vocabulary.get(token) != token_id for token, token_id in known.items()):
        raise InputError(
            f"data.tokenizer '{name}' has another vocabulary than pretrained '{pretrained}'; remove data.tokenizer, or "
            "clear it with data.tokenizer=null: the tokenizer of the pretrained model is then used"
        )


def prefix_of_run(config: RunConfig) -> str:
    """The text before each document: as the run says, or as the files of the model that it starts from."""
    if config.task != "summarization":
        return ""
    if config.data.source_prefix is None and config.pretrained is not None:
        return source_prefix(ModelFiles(config.pretrained, "pretrained").config())
    return config.data.source_prefix or ""


def make_model(
    config: RunConfig, tokenizer: Any, auto_class: Any = AutoModelForSeq2SeqLM, **options: Any
) -> tuple[Any, list[str]]:
    """The model of `auto_class` to train, new by `config.model` or pretrained, and notes about its weights.

    `options` go into the model's configuration. Raises InputError for settings that do not fit.
    """
    torch.manual_seed(config.seed)
    if config.pretrained is None:
        model, notes = _new_model(config, tokenizer, auto_class, options), []
    else:
        model, notes = _load_pretrained(config, auto_class, options)
        model.config.task_specific_params = None
    if prefix := prefix_of_run(config):  # generation adds what training added to the documents
        model.config.task_specific_params = {"summarization": {"prefix": prefix}}
    if config.training.initial_embeddings is not None:
        _copy_embeddings(model, config.training.initial_embeddings)
    if config.training.initial_trunk is not None:
        _copy_trunk(model, config.training.initial_trunk)
    if config.training.gradient_checkpointing:
        model.activation_checkpointing_enable({"use_reentrant": False})
    model.config.sentence_per_line = config.data.sentence_per_line
    if auto_class is AutoModelForSeq2SeqLM:
        model.generation_config = make_generation_config(model, config.generation)
        notes += _start_in_language(model, tokenizer, config)
    return model.train(), notes  # a pretrained model is loaded in evaluation mode


def _start_in_language(model: Any, tokenizer: Any, config: RunConfig) -> list[str]:
    """Let summaries start with the token of their language, if the tokenizer has languages; returns a note."""
    if getattr(tokenizer, "src_lang", None) is None:
        return []
    framed = tokenizer(text_target="a").input_ids
    ordinary = {tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id}
    first, last = (token_id if token_id not in ordinary else None for token_id in (framed[0], framed[-1]))
    if first in tokenizer.all_special_ids:  # mBART-50, NLLB
        model.generation_config.forced_bos_token_id = first
    elif last is not None:  # the first mBART: the labels are shifted so that their last token is the first
        model.config.decoder_start_token_id = model.generation_config.decoder_start_token_id = last
    if config.data.target_language is not None:
        return []
    return [f"summaries are in {tokenizer.tgt_lang or tokenizer.src_lang}; data.target_language sets another language"]


def check_new_model(config: RunConfig) -> None:
    """Raise InputError for keys and values of `config.model` that cannot be right, before any data is read."""
    if config.pretrained is not None:
        return
    with _naming_model():
        made = SummarizerConfig.from_options({"vocab_size": 2**31, **config.model})
        for mixer, options in ((made.mixer, made.mixer_options), (made.sentence_mixer, made.sentence_mixer_options)):
            make_mixer(mixer, made.d_model, made.encoder_attention_heads, options)


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


def _new_model(config: RunConfig, tokenizer: Any, auto_class: Any, options: dict[str, Any]) -> Any:
    """A new model; `config.model` takes precedence over what the tokenizer says. InputError names a wrong key."""
    from_tokenizer = {
        "vocab_size": len(tokenizer),
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "decoder_start_token_id": tokenizer.bos_token_id,
    }
    with _naming_model():
        model_config = SummarizerConfig.from_options({**from_tokenizer, **config.model})
        if (size := model_config.vocab_size) < len(tokenizer):
            raise ValueError(f"vocab_size={size} is less than the tokenizer's {len(tokenizer)} tokens")
        model_config.update(options)
        return auto_class.from_config(model_config)


@contextmanager
def _naming_model() -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError) as error:
        raise InputError(f"model: {' '.join(str(error).split())}") from error


def _load_pretrained(config: RunConfig, auto_class: Any, options: dict[str, Any]) -> tuple[Any, list[str]]:
    """The model that `config.pretrained` names, and a line each about missing and unused weights.

    A model of ours with another head lends its encoder. Raises InputError where nothing can be loaded.
    """
    name = str(config.pretrained)
    files = ModelFiles(name, "pretrained")
    is_ours = files.config().model_type == SummarizerConfig.model_type
    model, loaded = files.weights(
        auto_class,
        dtype=torch.float32,
        key_mapping=OTHER_HEADS[auto_class] if is_ours else None,
        ignore_mismatched_sizes=auto_class is AutoModelForSequenceClassification,
        **options,
    )
    if is_ours:  # transformers would save the weights under the names that they were loaded from
        vars(model).pop(NAMES_WHEN_LOADED, None)
    new = sorted({*loaded["missing_keys"], *(key for key, *_ in loaded["mismatched_keys"])})
    if len(new) >= len(model.state_dict()):
        raise InputError(f"pretrained '{name}' has no weight that fits {type(model).__name__}")
    notes = [f"new weights, which pretrained '{name}' lacks: {_some(new)}"] if new else []
    if unused := sorted(loaded["unexpected_keys"]):
        notes.append(f"unused weights of pretrained '{name}': {_some(unused)}")
    return model, notes


def _some(names: list[str]) -> str:
    return f"{len(names)} tensors, {', '.join(names[:3])}" + (", …" if len(names) > 3 else "")


def _copy_embeddings(model: Any, name: str) -> None:
    """Copy the token embeddings of a model with the same vocabulary, scaled to the own standard deviation."""
    donor, _ = ModelFiles(name, "initial_embeddings").weights(AutoModel)
    taken, own = donor.get_input_embeddings().weight, model.get_input_embeddings().weight
    if taken.shape != own.shape:
        raise InputError(f"initial_embeddings '{name}' has shape {tuple(taken.shape)}, the model {tuple(own.shape)}")
    with torch.no_grad():
        own.copy_(taken.to(own.dtype) * (own.std() / taken.std()))


def _copy_trunk(model: Any, name: str) -> None:
    """Copy every weight except those of the token mixing from another model of ours, to compare mixers."""
    files = ModelFiles(name, "initial_trunk")
    if (kind := files.config().model_type) != model.config.model_type:
        raise InputError(f"initial_trunk '{name}' has model_type={kind}, the model {model.config.model_type}")
    donor, loaded = files.weights(type(model), dtype=torch.float32)
    taken, own = (
        {key: weight for key, weight in each.state_dict().items() if ".mixer." not in key} for each in (donor, model)
    )
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
