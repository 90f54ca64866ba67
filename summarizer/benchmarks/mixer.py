"""The Fastformer layer as it is computed, folded into one matrix per document, and as in the paper's equations."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from summarizer.benchmarks.meter import BACKWARD, FORWARD, Meter
from summarizer.benchmarks.settings import MixerSettings
from summarizer.models.layers import at_least_float32
from summarizer.models.mixers.fastformer import Fastformer

FOLDED, LITERAL = "folded", "literal"


class LiteralFastformer(nn.Module):
    """Equations 2 to 6 of arXiv 2108.09084 on N × d tensors, with the parameters of a Fastformer of default options."""

    def __init__(self, fastformer: Fastformer) -> None:
        super().__init__()
        self.fastformer = fastformer

    def forward(self, hidden_states: Tensor, mask: Tensor) -> Tensor:
        """hidden_states [B, N, d], mask [B, N] bool → [B, N, d]."""
        queries = self.fastformer.query(hidden_states)
        keys = self.fastformer.keys[0](hidden_states)
        keys_in_context = self._pool(queries, mask, 0) * keys
        values_in_context = self._pool(keys_in_context, mask, 1) * queries
        return self.fastformer.transform(values_in_context) + queries

    def _pool(self, tokens: Tensor, mask: Tensor, stage: int) -> Tensor:
        """tokens [B, N, d] → their weighted mean by heads, [B, 1, d]."""
        heads = tokens.unflatten(-1, (self.fastformer.num_heads, -1))  # [B, N, h, d_h]
        scores = (heads * self.fastformer.score_vectors[stage]).sum(dim=-1) * self.fastformer.head_size**-0.5
        scores = at_least_float32(scores).masked_fill(~mask[..., None], torch.finfo(torch.float32).min)
        weights = scores.softmax(dim=1).to(tokens.dtype)
        return (weights[..., None] * heads).sum(dim=1, keepdim=True).flatten(-2)


def measure(settings: MixerSettings) -> dict[str, Any]:
    """Time and memory of both forms, and the difference of their outputs. Returns the content of the JSON file."""
    keys = [(form, direction) for direction in (FORWARD, BACKWARD) for form in (FOLDED, LITERAL)]
    meter = Meter(settings, "the mixer", len(keys), len(keys))
    folded, hidden_states, mask = _make(settings, meter.device)
    forms = {FOLDED: folded, LITERAL: LiteralFastformer(folded)}
    rows: dict[str, dict[str, Any]] = {form: {} for form in forms}
    with meter.progress:
        runs = {(form, direction): _work(forms[form], hidden_states, mask, direction) for form, direction in keys}
        for (form, direction), timing in meter.times(runs).items():
            rows[form][f"{direction}_ms"] = timing.milliseconds
        for form, direction in keys if settings.memory else []:
            rows[form][f"{direction}_peak_mb"] = meter.peak(mixer_work, settings, form, direction)
    with torch.no_grad():
        outputs = [form(hidden_states, mask) for form in forms.values()]
    return meter.result(
        rows=[{"form": form, **figures} for form, figures in rows.items()],
        ratios={name: rows[LITERAL][name] / rows[FOLDED][name] for name in rows[FOLDED] if rows[FOLDED][name]},
        difference=float((outputs[0] - outputs[1]).abs().max()),
    )


def mixer_work(settings: MixerSettings, form: str, direction: str, device_name: str) -> Callable[[], object]:
    """The work that is timed, with parameters and inputs of its own; for a process that measures memory."""
    folded, hidden_states, mask = _make(settings, torch.device(device_name))
    return _work(folded if form == FOLDED else LiteralFastformer(folded), hidden_states, mask, direction)


def _make(settings: MixerSettings, device: torch.device) -> tuple[Fastformer, Tensor, Tensor]:
    torch.manual_seed(0)
    options: Any = {"device": device, "dtype": getattr(torch, settings.dtype)}
    hidden_states = torch.randn(settings.batch_size, settings.length, settings.d_model).to(**options)
    mask = torch.ones(hidden_states.shape[:2], dtype=torch.bool, device=device)
    folded = Fastformer(settings.d_model, settings.heads).to(**options)
    return folded, hidden_states.requires_grad_(), mask


def _work(mixer: nn.Module, hidden_states: Tensor, mask: Tensor, direction: str) -> Callable[[], object]:
    grad = torch.ones_like(hidden_states)

    def forward() -> None:
        with torch.no_grad():
            mixer(hidden_states, mask)

    def forward_backward() -> None:
        mixer(hidden_states, mask).backward(grad)
        mixer.zero_grad(set_to_none=True)
        hidden_states.grad = None

    return forward if direction == FORWARD else forward_backward
