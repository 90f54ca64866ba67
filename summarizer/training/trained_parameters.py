"""Training only a part: frozen parameters, and low-rank adapters (LoRA) in place of the weights."""

import copy
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from safetensors.torch import save_file

from summarizer.config import LoraConfig, TrainingConfig
from summarizer.errors import InputError
from summarizer.optional import import_optional


def choose_what_is_trained(model: Any, settings: TrainingConfig) -> None:
    """Insert adapters and freeze parameters, in place. Raises InputError for names that the model does not have."""
    if settings.lora is not None:
        _insert_adapters(model, settings.lora)
    for pattern in settings.freeze:
        found = [parameter for name, parameter in model.named_parameters() if fnmatchcase(name, pattern)]
        if not found:
            names = ", ".join(name for name, _ in list(model.named_parameters())[:4])
            raise InputError(f"training.freeze: no parameter name matches '{pattern}'; the names are {names}, …")
        for parameter in found:
            parameter.requires_grad_(False)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise InputError("training.freeze leaves no parameter to train")


def without_adapters(model: Any) -> Any:
    """The model itself, or, where it has adapters, a copy with plain weights that include them."""
    if not any(hasattr(module, "base_layer") for module in model.modules()):
        return model
    merged = copy.deepcopy(model)
    for name, module in list(merged.named_modules()):
        if hasattr(module, "base_layer"):
            module.merge()
            parent, _, own = name.rpartition(".")
            setattr(merged.get_submodule(parent), own, module.get_base_layer())
    if hasattr(merged, "peft_config"):
        del merged.peft_config
    return merged


def save_adapters(model: Any, folder: Path, base: str | None) -> None:
    """Write the adapters of a model, where it has any, as peft's PeftModel.from_pretrained loads them over `base`."""
    if not hasattr(model, "peft_config"):
        return
    from peft import get_peft_model_state_dict

    folder.mkdir()
    (config,) = model.peft_config.values()
    replace(config, base_model_name_or_path=base, inference_mode=True).save_pretrained(folder)
    tensors = get_peft_model_state_dict(model)
    save_file(
        {f"base_model.model.{name}": tensor.detach().cpu().contiguous() for name, tensor in tensors.items()},
        folder / "adapter_model.safetensors",
    )


def _insert_adapters(model: Any, settings: LoraConfig) -> None:
    peft = import_optional("peft", "lora", "training.lora")
    config = peft.LoraConfig(
        r=settings.r,
        lora_alpha=settings.alpha,  # pyright: ignore  (any number)
        lora_dropout=settings.dropout,
        target_modules=settings.target_modules or "all-linear",
    )
    try:
        peft.inject_adapter_in_model(config, model)
    except ValueError as error:  # no module of that name, or of a kind that has no adapter
        raise InputError(f"training.lora: {' '.join(str(error).split())}") from error
