"""Naive, literal versions of what the package computes cleverly: the ground truth for its outputs and gradients."""

import torch
from torch import Tensor, nn

from summarizer.models.mixers.fastformer import Fastformer
from summarizer.models.mixers.full import FullAttention


def fastformer(module: Fastformer, hidden_states: Tensor, mask: Tensor) -> Tensor:
    """Equations 2 to 6 and section 3.1 of arXiv 2108.09084 with the module's own parameters, a sequence at a time.

    hidden_states [B, N, d], mask [B, N] bool with a real token in every row → [B, N, d].
    """
    return torch.stack(
        [_fastformer_sequence(module, tokens, real) for tokens, real in zip(hidden_states, mask, strict=True)]
    )


def _fastformer_sequence(module: Fastformer, x: Tensor, real: Tensor) -> Tensor:
    queries = _project(module, module.query, x)  # (2)
    values = queries if module.value is None else _project(module, module.value, x)
    global_vector = _pool(module, queries, real, 0)  # (3), (4)
    for index, key in enumerate(module.keys):
        in_context = _interact(module, global_vector, _project(module, key, x), index)  # p_i = q ∗ k_i
        global_vector = _pool(module, in_context, real, index + 1)  # (5), (6)
    values_in_context = _interact(module, global_vector, values, len(module.keys))  # u_i = k ∗ v_i
    output = module.transform(values_in_context)
    if module.query_residual:
        output = output + queries
    return output if module.output is None else module.output(output)


def _project(module: Fastformer, linear: nn.Linear, x: Tensor) -> Tensor:
    heads = []
    for head in range(module.num_heads):
        rows = slice(head * module.head_size, (head + 1) * module.head_size)
        head_shared = linear.out_features == module.head_size
        weight, bias = (linear.weight, linear.bias) if head_shared else (linear.weight[rows], linear.bias[rows])
        heads.append(x @ weight.T + bias)
    return torch.cat(heads, dim=-1)


def _pool(module: Fastformer, tokens: Tensor, real: Tensor, stage: int) -> Tensor:
    tokens = tokens[real]
    heads = []
    for head in range(module.num_heads):
        own = tokens[:, head * module.head_size : (head + 1) * module.head_size]
        if module.mean_pooling:
            heads.append(own.mean(dim=0))
            continue
        scored = tokens if module.scores_from_all else own
        weights = (scored @ module.score_vectors[stage][head] / module.head_size**0.5).softmax(dim=0)
        heads.append((weights[:, None] * own).sum(dim=0))
    return torch.cat(heads)


def _interact(module: Fastformer, global_vector: Tensor, tokens: Tensor, index: int) -> Tensor:
    if module.interaction == "product":
        return global_vector * tokens
    if module.interaction == "add":
        return global_vector + tokens
    return module.combine[index](torch.cat([global_vector.expand_as(tokens), tokens], dim=-1))


def full_attention(module: FullAttention, hidden_states: Tensor, mask: Tensor) -> Tensor:
    """Vaswani et al. 2017, equation 1, a sequence and a head at a time."""
    rows = []
    for x, real in zip(hidden_states, mask, strict=True):
        query, key, value = (
            part.chunk(module.num_heads, dim=-1) for part in module.query_key_value(x).chunk(3, dim=-1)
        )
        heads = [
            (q @ k[real].T / q.shape[-1] ** 0.5).softmax(dim=-1) @ v[real]
            for q, k, v in zip(query, key, value, strict=True)
        ]
        rows.append(module.output(torch.cat(heads, dim=-1)))
    return torch.stack(rows)


def pointer_generator(generated: Tensor, gates: Tensor, attention: Tensor, source_ids: Tensor) -> Tensor:
    """See et al. 2017, equation 9, in probability space.

    generated [B, T, V] probabilities, gates [B, T] (the share of copying), attention [B, T, N], source_ids [B, N] →
    probabilities [B, T, V].
    """
    mixture = (1 - gates)[..., None] * generated
    for batch in range(source_ids.shape[0]):
        for position, token in enumerate(source_ids[batch].tolist()):
            mixture[batch, :, token] = mixture[batch, :, token] + gates[batch] * attention[batch, :, position]
    return mixture
