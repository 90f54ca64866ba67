"""Additive attention (Wu et al. 2021, arXiv 2108.09084), computed as the dynamic linear layer that it is.

Given its global vectors every stage of the layer is a linear map of the hidden states x. So a stage is kept as that
map and never as an N × d tensor: scores come from x times a thin matrix, a global vector needs only h pooled rows of
x, and the output is x times one d × d matrix per sequence. tests/references.py has the literal form.

Shapes: B sequences, N tokens, d = d_model, h heads, d_h = d / h.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from transformers import initialization as init

from summarizer.models.fused_linear import is_plain, linear, project
from summarizer.models.layers import at_least_float32
from summarizer.models.mixers.checks import check_at_least, check_choice
from summarizer.models.mixers.full import softmax_over_tokens

Interaction = Literal["product", "add", "concat"]
Scores = Literal["own", "all"]
Pooling = Literal["softmax", "mean"]


@dataclass(frozen=True)
class Stage:
    """The map x ↦ gate ∗ (x Wᵀ + bias) + shift, the tokens' queries, keys in context, or values in context."""

    weight: Tensor  # W [d, d]
    bias: Tensor  # [d]
    gate: Tensor | None = None  # [B, d]
    shift: Tensor | None = None  # [B, d]

    def modulate(self, pre_gate: Tensor) -> Tensor:
        """gate ∗ pre_gate + shift for pre_gate [B, N, d] or [B, d]."""
        gate, shift = self.gate, self.shift
        if pre_gate.dim() == 3:
            gate = None if gate is None else gate[:, None]
            shift = None if shift is None else shift[:, None]
        gated = pre_gate if gate is None else gate * pre_gate
        return gated if shift is None else gated + shift


class ScoreVectors(nn.ParameterList):
    """w_α, w_β, …: [h, d_h] or [h, d] a stage; a bias would drop out of the softmax.

    A module of its own, since transformers initialises what a checkpoint lacks by the module that holds it. It is
    called, since accelerate loads offloaded parameters by the call of the module that holds them.
    """

    __call__ = nn.Module.__call__  # that of ParameterList raises

    def forward(self, stage: int) -> Tensor:
        """The vectors of a stage."""
        return self[stage]

    def reset_parameters(self) -> None:
        """Scores of the size of a token's features."""
        for vectors in self:
            init.normal_(vectors, std=vectors.shape[-1] ** -0.5)


class AttentionPooling(torch.autograd.Function):
    """(x [B, N, d], score map M [B, h, d], mask [B, N]) → softmax over tokens of (M xᵀ), times x, [B, h, d].

    Its backward makes one N × d tensor, by a thin product, where autograd would make two and add them.
    """

    @staticmethod
    def forward(ctx: Any, hidden_states: Tensor, score_map: Tensor, mask: Tensor) -> Tensor:
        """The weights are at least float32; the result has the products' dtype."""
        weights = softmax_over_tokens(torch.bmm(score_map, hidden_states.transpose(1, 2)), mask)
        ctx.save_for_backward(hidden_states, score_map, weights)
        return torch.bmm(weights.to(hidden_states.dtype), hidden_states)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:  # pyright: ignore  (as torch documents it)
        """With weights w and gradient g of the result: ∂s = w ∗ (g xᵀ − Σ w ∗ g xᵀ), ∂M = ∂s x, ∂x = wᵀ g + ∂sᵀ M."""
        hidden_states, score_map, weights = ctx.saved_tensors
        dtype = hidden_states.dtype
        grad = grads[0].to(dtype)
        grad_weights = torch.bmm(grad, hidden_states.transpose(1, 2)).to(weights.dtype)
        grad_scores = weights * (grad_weights - (weights * grad_weights).sum(dim=-1, keepdim=True))
        grad_scores = grad_scores.to(dtype)
        over_tokens = torch.cat([weights.to(dtype), grad_scores], dim=1)  # [B, 2 h, N]
        grad_hidden = torch.bmm(over_tokens.transpose(1, 2), torch.cat([grad, score_map.to(dtype)], dim=1))
        return grad_hidden, torch.bmm(grad_scores, hidden_states).to(score_map.dtype), None


class Fastformer(nn.Module):
    """Additive attention with every switch that the paper and its authors' code name.

    num_stages: how many additive attentions in a row; 2 (queries, then keys) is the paper's, 1 takes the global
        query straight into the values, more repeat the key stage with projections of their own.
    share_query_value: W_v = W_q, the paper's default.
    share_heads: every head projects with the same d_h × d matrix; score vectors stay a head's own.
    scores: a head's score reads its own slice ("own", the paper) or the whole vector ("all", the authors' code).
    interaction: how a global vector meets the tokens: element-wise product, sum, or concatenate-then-project.
    pooling: "softmax" weights, or their plain "mean" (an ablation: α and β are then not used).
    query_residual: add the query to the output. output_projection: a further d × d map (the authors' code has one).
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        num_stages: int = 2,
        share_query_value: bool = True,
        share_heads: bool = False,
        scores: Scores = "own",
        interaction: Interaction = "product",
        pooling: Pooling = "softmax",
        query_residual: bool = True,
        output_projection: bool = False,
    ) -> None:
        super().__init__()
        check_choice("scores", scores, get_args(Scores))
        check_choice("interaction", interaction, get_args(Interaction))
        check_choice("pooling", pooling, get_args(Pooling))
        check_at_least(1, num_stages=num_stages)
        self.num_heads = num_heads
        self.head_size = d_model // num_heads
        self.scores_from_all = scores == "all"
        self.interaction = interaction
        self.mean_pooling = pooling == "mean"
        self.query_residual = query_residual

        def projection() -> nn.Linear:
            return nn.Linear(d_model, self.head_size if share_heads else d_model)

        self.query = projection()
        self.keys = nn.ModuleList(projection() for _ in range(num_stages - 1))
        self.value = None if share_query_value else projection()
        score_inputs = d_model if self.scores_from_all else self.head_size
        self.score_vectors = ScoreVectors()
        if not self.mean_pooling:
            self.score_vectors.extend(torch.empty(num_heads, score_inputs) for _ in range(num_stages))
        # Each stage's global vector passes through one of these: a place for forward hooks that measure or replace it.
        self.global_vectors = nn.ModuleList(nn.Identity() for _ in range(num_stages))
        self.combine = nn.ModuleList()  # concat: U_k x + U_g g + c, one for each meeting of a global with the tokens
        if interaction == "concat":
            self.combine.extend(nn.Linear(2 * d_model, d_model) for _ in range(num_stages))
        self.transform = nn.Linear(d_model, d_model)  # W_r
        self.output = nn.Linear(d_model, d_model) if output_projection else None
        self.score_vectors.reset_parameters()

    def forward(self, hidden_states: Tensor, mask: Tensor) -> Tensor:
        """hidden_states [B, N, d], mask [B, N] bool, True = real token → [B, N, d]."""
        query = self._stage(self.query, hidden_states)
        global_vector = self._pool(hidden_states, mask, query, 0)  # equations 3 and 4
        for index, key in enumerate(self.keys):
            stage = self._interact(global_vector, self._stage(key, hidden_states), index)
            global_vector = self._pool(hidden_states, mask, stage, index + 1)  # equations 5 and 6
        value = query if self.value is None else self._stage(self.value, hidden_states)
        value = self._interact(global_vector, value, len(self.keys))
        length, d_model = hidden_states.shape[1:]
        # Folding costs about two d × d × d products a sequence and saves one or more d × d products a token.
        # An exported program has one form for all lengths.
        if torch.compiler.is_exporting() or length > 2 * d_model:
            return self._folded_output(hidden_states, query, value)
        return self._direct_output(hidden_states, query, value)

    def _stage(self, projection: nn.Module, hidden_states: Tensor) -> Stage:
        """The projection as a map of d rows, a head-shared one repeated for every head."""
        weight, bias = _linear_map(projection, hidden_states)
        repeats = self.num_heads * self.head_size // weight.shape[0]
        return Stage(weight.repeat(repeats, 1), bias.repeat(repeats))

    def _interact(self, global_vector: Tensor, tokens: Stage, index: int) -> Stage:
        """The interaction ∗ of a global vector [B, d] with a map of the tokens (section 3.1)."""
        if self.interaction == "product":
            return Stage(tokens.weight, tokens.bias, gate=global_vector)
        if self.interaction == "add":
            return Stage(tokens.weight, tokens.bias, shift=global_vector)
        weight, bias = _linear_map(self.combine[index], global_vector)
        global_part, token_part = weight.chunk(2, dim=1)
        shift = global_vector @ global_part.T + bias
        return Stage(token_part @ tokens.weight, token_part @ tokens.bias, shift=shift)

    def _pool(self, hidden_states: Tensor, mask: Tensor, stage: Stage, index: int) -> Tensor:
        """The global vector [B, d]: each head's weighted mean of its slice of the stage."""
        batch_size, _, d_model = hidden_states.shape
        if self.mean_pooling:
            weights = at_least_float32(mask.to(hidden_states.dtype))
            weights = weights / weights.sum(dim=1, keepdim=True).clamp(min=1)
            pooled = torch.bmm(weights[:, None].to(hidden_states.dtype), hidden_states)
            pooled = pooled.expand(-1, self.num_heads, -1)
        else:
            score_map = self._score_map(stage, index).expand(batch_size, -1, -1)
            pooled = AttentionPooling.apply(hidden_states, score_map, mask)  # [B, h, d]
        weight = stage.weight.view(self.num_heads, self.head_size, d_model)
        heads = torch.einsum("bhd,hed->bhe", pooled, weight)  # W x̄ by head: the weights sum to 1
        return self.global_vectors[index](stage.modulate(heads.reshape(batch_size, d_model) + stage.bias))

    def _score_map(self, stage: Stage, index: int) -> Tensor:
        """The matrix [B, h, d] (or [h, d]) that takes a token to its h scores; constants drop out of the softmax."""
        vectors = self.score_vectors(index) * self.head_size**-0.5
        if not self.scores_from_all:  # head j reads slice j only
            vectors = torch.block_diag(*vectors.split(1))
        if stage.gate is not None:
            vectors = vectors * stage.gate[:, None, :]
        return vectors @ stage.weight

    def _folded_output(self, hidden_states: Tensor, query: Stage, value: Stage) -> Tensor:
        """One product with W = W_o (W_r diag(gate) W_v + W_q) for each sequence."""
        weight = value.weight if value.gate is None else value.gate[:, :, None] * value.weight  # [B, d, d]
        bias = value.modulate(value.bias.expand(hidden_states.shape[0], -1))  # [B, d]
        maps = [self.transform] if self.output is None else [self.transform, self.output]
        for position, layer in enumerate(maps):
            map_weight, map_bias = _linear_map(layer, hidden_states)
            weight = map_weight @ weight
            bias = bias @ map_weight.T + map_bias
            if position == 0 and self.query_residual:
                weight, bias = weight + query.weight, bias + query.bias
        if weight.dim() == 2:
            return torch.matmul(hidden_states, weight.T) + bias[:, None]
        if weight.shape[0] == 1:  # len() would fix the batch size of an exported program
            return linear(hidden_states, weight[0], bias[0])
        return torch.baddbmm(bias[:, None].to(hidden_states.dtype), hidden_states, weight.transpose(1, 2))

    def _direct_output(self, hidden_states: Tensor, query: Stage, value: Stage) -> Tensor:
        """The same, a projection after the other: cheaper for short sequences."""
        queries = linear(hidden_states, query.weight, query.bias)
        same_map = value.weight is query.weight
        values = queries if same_map else linear(hidden_states, value.weight, value.bias)
        output = project(self.transform, value.modulate(values))
        if self.query_residual:
            output = output + queries
        return output if self.output is None else project(self.output, output)


def _linear_map(layer: Any, like: Tensor) -> tuple[Tensor, Tensor]:
    """Weight and bias of a linear layer; where they cannot be read, what it makes of 0 and of the unit vectors.

    `like` has the dtype and the device of the layer's inputs.
    """
    if is_plain(layer):
        return layer.weight, layer.bias
    inputs = torch.eye(layer.in_features + 1, layer.in_features, device=like.device, dtype=like.dtype)
    outputs = layer(inputs)
    bias = outputs[-1]  # the last input is 0
    return (outputs[:-1] - bias).T, bias
