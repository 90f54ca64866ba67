"""Who holds the weights: every process all of them, or each a part (FSDP). Only this module knows which.

Checkpoints, validation and model folders see whole tensors and whole models either way.
"""

import copy
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from accelerate import Accelerator
from accelerate.utils import FullyShardedDataParallelPlugin
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import OffloadPolicy, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from summarizer.config import TrainingConfig
from summarizer.errors import InputError
from summarizer.training.optim import make_optimizer

# The launcher's FSDP settings that must have these values.
FSDP_SETTINGS = {"fsdp_version": 2, "cpu_ram_efficient_loading": False, "activation_checkpointing": False}


class ExponentialAverage:
    """θ̄ ← decay · θ̄ + (1 − decay) · θ after each step, in float32; younger averages decay faster.

    The decay after t steps is min(decay, (1 + t) / (10 + t)), so that the first weights do not linger.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.weights: dict[str, Tensor] = {
            name: parameter.detach().float().clone() for name, parameter in model.named_parameters()
        }

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        """Take in the weights after step number `step` (from 1)."""
        decay = min(self.decay, (1 + step) / (10 + step))
        current = dict(model.named_parameters())
        for name, value in self.weights.items():
            value.lerp_(current[name].float(), 1 - decay)

    @torch.no_grad()
    def restart(self, weights: Mapping[str, Tensor]) -> None:
        """Continue from these weights."""
        for name, value in self.weights.items():
            value.copy_(weights[name])


@contextmanager
def weights_applied(weights: Mapping[str, Tensor], model: nn.Module) -> Iterator[None]:
    """The model with other weights, by the names of its parameters; with its own again afterwards."""
    own = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    _copy(weights, model)
    try:
        yield
    finally:
        _copy(own, model)


@torch.no_grad()
def _copy(weights: Mapping[str, Tensor], model: nn.Module) -> None:
    for name, parameter in model.named_parameters():
        parameter.copy_(weights[name])


@dataclass(frozen=True)
class Trained:
    """What training changes, beside its state: tensors as this process holds them (`whole` gives all of one)."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    average: ExponentialAverage | None = None


def make_engine(accelerator: Accelerator, model: Any, settings: TrainingConfig) -> "Engine":
    """The engine that the launcher asks for."""
    fsdp = fsdp_settings()
    return Replicated(accelerator, model, settings) if fsdp is None else Sharded(accelerator, model, settings, fsdp)


def fsdp_settings() -> FullyShardedDataParallelPlugin | None:
    """The launcher's FSDP settings, None where it asks for no FSDP. Raises InputError for what is not supported.

    They are read from the environment, since accelerate ignores them on processes without GPUs.
    """
    if os.environ.get("ACCELERATE_USE_FSDP", "false") != "true":
        return None
    plugin = FullyShardedDataParallelPlugin()
    for name, value in FSDP_SETTINGS.items():
        if getattr(plugin, name) != value:
            key = name if name.startswith("fsdp_") else f"fsdp_{name}"
            raise InputError(f"the launcher's {key} must be {str(value).lower()}: see configs/accelerate/fsdp.yaml")
    return plugin


def clip_gradients(engine: "Engine", max_norm: float) -> float:
    """Scale gradients to at most `max_norm`; returns their norm before, 0 if there are no gradients."""
    norm: Any = engine.accelerator.clip_grad_norm_(engine.model.parameters(), max_norm)
    return float(whole(norm)) if norm is not None else 0.0


def whole(tensor: Tensor) -> Tensor:
    """The whole of a tensor that may be split over the processes; all of them must call this."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def held_like(value: Tensor, other: Tensor) -> Tensor:
    """The whole tensor `value` as this process holds `other`: all of it, or the same part."""
    if not isinstance(other, DTensor):
        return value
    # Every process has the whole value, so none needs to send it.
    return distribute_tensor(value.to(other.device), other.device_mesh, other.placements, src_data_rank=None)


class Replicated:
    """Every process holds the whole model, alone or under DistributedDataParallel.

    `model` is for training's forward; all processes call each method together.
    """

    note = ""  # for the line that describes a run

    def __init__(self, accelerator: Accelerator, model: Any, settings: TrainingConfig) -> None:
        self.accelerator = accelerator
        self.model, optimizer = accelerator.prepare(model, make_optimizer(model, settings))
        # Keep the mixed precision: accelerate would remove it from the model for good.
        bare = accelerator.unwrap_model(self.model, keep_fp32_wrapper=True)
        self.trained = Trained(bare, optimizer, _make_average(bare, settings))

    def without_exchange(self) -> AbstractContextManager[None]:
        """For a backward pass that another one of the same step follows: gradients are exchanged only in the last."""
        return self.accelerator.no_sync(self.model)

    @contextmanager
    def whole_model(self) -> Iterator[Any]:
        """A plain model for this process alone: the model itself, with averaged weights if there are any."""
        model, average = self.trained.model, self.trained.average
        with nullcontext() if average is None else weights_applied(average.weights, model):
            yield model


class Sharded:
    """Each process holds a part of every weight, gradient and optimizer state: FSDP2 by layers.

    Every process makes the whole model first, and gathers it again for each validation and model folder.
    """

    note = ", each with a part of the model"

    def __init__(
        self,
        accelerator: Accelerator,
        model: Any,
        settings: TrainingConfig,
        plugin: FullyShardedDataParallelPlugin,
    ) -> None:
        if settings.split_on_out_of_memory:  # the other processes would not run the second half
            raise InputError(
                "training.split_on_out_of_memory is not supported with FSDP; lower training.tokens_per_batch"
            )
        self.accelerator = accelerator
        # The model without its weights. With `memo`, tied weights stay tied in the copy.
        memo = {id(p): nn.Parameter(torch.empty_like(p, device="meta"), p.requires_grad) for p in model.parameters()}
        self._skeleton = copy.deepcopy(model, memo)
        # In evaluation_mode accelerate adds mixed precision but no DistributedDataParallel.
        self.model = accelerator.prepare_model(model, device_placement=True, evaluation_mode=True)
        for tensor in (*self.model.parameters(), *self.model.buffers()):
            dist.broadcast(tensor.data, src=0)
        _shard(self.model, accelerator, plugin)
        optimizer: Any = accelerator.prepare_optimizer(make_optimizer(self.model, settings))
        self.trained = Trained(self.model, optimizer, _make_average(self.model, settings))

    def without_exchange(self) -> AbstractContextManager[None]:
        """Gradients are exchanged in each backward pass, since no process has room for whole ones."""
        return nullcontext()

    @contextmanager
    @torch.no_grad()
    def whole_model(self) -> Iterator[Any]:
        """A plain model for this process alone: a copy gathered from all processes."""
        average = self.trained.average
        names = {} if average is None else {id(p): name for name, p in self.model.named_parameters()}
        gathered: dict[int, Tensor] = {}
        weights = {}
        for name, tensor in self.model.state_dict(keep_vars=True).items():
            key = id(tensor)
            if key not in gathered:
                value = average.weights[names[key]] if average is not None and key in names else tensor
                value = whole(value).to(tensor.dtype)
                is_parameter = isinstance(tensor, nn.Parameter)
                gathered[key] = nn.Parameter(value, tensor.requires_grad) if is_parameter else value
            weights[name] = gathered[key]
        model = copy.deepcopy(self._skeleton)
        model.load_state_dict(weights, assign=True)
        with torch.enable_grad():
            yield model.to(self.accelerator.device)


def _make_average(model: nn.Module, settings: TrainingConfig) -> ExponentialAverage | None:
    return None if settings.ema_decay is None else ExponentialAverage(model, settings.ema_decay)


def _shard(model: Any, accelerator: Accelerator, plugin: FullyShardedDataParallelPlugin) -> None:
    """Split every layer (what `_no_split_modules` names) by itself and the rest as one unit, in place.

    A unit's weights are whole only inside its own forward pass. The modules in the model's `separate_modules` are used
    outside the forward pass of their layer, so they are units of their own.
    """
    # The outputs of `separate_modules` are views, but nothing changes them in place.
    warnings.filterwarnings("ignore", r"FSDP2-wrapped module \(FSDPLinear\) returned a view", UserWarning)
    policy: Any = plugin.cpu_offload or OffloadPolicy()
    mesh = init_device_mesh(accelerator.device.type, (accelerator.num_processes,))
    separate, layers = getattr(model, "separate_modules", ()), model._no_split_modules or ()
    units = [module for name, module in model.named_modules() if name.endswith(tuple(separate))] if separate else []
    units += [module for module in model.modules() if type(module).__name__ in layers]
    for unit in units:
        fully_shard(unit, mesh=mesh, reshard_after_forward=bool(plugin.reshard_after_forward), offload_policy=policy)
    fully_shard(model, mesh=mesh, offload_policy=policy)


Engine = Replicated | Sharded
