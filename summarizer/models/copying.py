"""Copying source tokens (See et al. 2017, pointer-generator): p(w) = (1 − c) p_generate(w) + c Σ_{i: x_i = w} a_i.

Everything is in log space, so that a gate c near 0 or 1 gives no infinity. Shapes: B documents, R = B × beams target
rows, T target tokens, N source tokens, d = d_model, V vocabulary.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from summarizer.models.fused_linear import NarrowLinear, project
from summarizer.models.layers import at_least_float32, tensors_together

NEVER = torch.finfo(torch.float32).min  # the log of a probability of zero that gradients survive


@tensors_together
@dataclass  # not frozen: transformers' exporter copies it field by field
class CopySource:
    """What a document offers for copying: keys [B, N, d], token ids [B, N], mask [B, N] bool."""

    keys: Tensor
    input_ids: Tensor
    mask: Tensor

    def select(self, documents: Tensor) -> "CopySource":
        """That of some of the documents, by their places in the batch."""
        return CopySource(self.keys[documents], self.input_ids[documents], self.mask[documents])


class CopyMechanism(nn.Module):
    """A single-headed attention that points at source tokens, and the gate between copying and generating."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.gate = NarrowLinear(d_model, 1)

    def read(self, document: Tensor, input_ids: Tensor, mask: Tensor) -> CopySource:
        """What to copy from in a document [B, N, d] with its tokens [B, N]."""
        return CopySource(project(self.key, document), input_ids, mask)

    def scores(self, hidden_states: Tensor, source: CopySource) -> Tensor:
        """Attention scores [B, beams × T, N] for hidden_states [R, T, d]; NEVER at padding.

        A document without real tokens offers its padding: the distribution then sums to 1 all the same.
        """
        query = project(self.query, hidden_states).reshape(source.keys.shape[0], -1, hidden_states.shape[-1])
        scores = at_least_float32(torch.bmm(query, source.keys.transpose(1, 2))) * hidden_states.shape[-1] ** -0.5
        visible = source.mask | ~source.mask.any(dim=1, keepdim=True)
        return scores.masked_fill(~visible[:, None, :], NEVER)

    def log_gates(self, hidden_states: Tensor) -> tuple[Tensor, Tensor]:
        """log c and log (1 − c), each [R, T]: the shares of copying and of generating."""
        gate = at_least_float32(project(self.gate, hidden_states).squeeze(-1))
        return F.logsigmoid(gate), F.logsigmoid(-gate)

    def target_log_probabilities(
        self, hidden_states: Tensor, source: CopySource, labels: Tensor, generated: Tensor
    ) -> Tensor:
        """log p of each label [B, T], given log p_generate of it; no tensor over the vocabulary is needed."""
        scores = self.scores(hidden_states, source)  # [B, T, N]
        matches = labels[:, :, None] == source.input_ids[:, None, :]
        copied = torch.logsumexp(scores.masked_fill(~matches, NEVER), dim=-1) - torch.logsumexp(scores, dim=-1)
        log_copy, log_generate = self.log_gates(hidden_states)
        # Where nothing matches, logsumexp of N times NEVER is NEVER still; adding log c must not overflow it.
        return torch.logaddexp(log_generate + generated, (log_copy + copied).clamp(min=NEVER))

    def all_log_probabilities(self, hidden_states: Tensor, source: CopySource, generated: Tensor) -> Tensor:
        """log p of every token [R, T, V] for hidden_states [R, T, d] and log p_generate [R, T, V]."""
        rows, length, _ = hidden_states.shape
        attention = self.scores(hidden_states, source).softmax(dim=-1)  # [B, beams × T, N]
        ids = source.input_ids[:, None, :].expand_as(attention)
        copied = attention.new_zeros(*attention.shape[:2], generated.shape[-1])
        copied = copied.scatter_add(2, ids, attention).view(rows, length, -1)
        log_copy, log_generate = self.log_gates(hidden_states)
        copied = copied.clamp(min=torch.finfo(torch.float32).tiny).log()
        return torch.logaddexp(log_generate[..., None] + generated, log_copy[..., None] + copied)
