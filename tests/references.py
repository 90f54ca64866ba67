"""Naive, literal versions of what the package computes cleverly: the ground truth for its outputs and gradients."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from summarizer.models.mixers.bigbird import BigBird, attended_blocks
from summarizer.models.mixers.fastformer import Fastformer
from summarizer.models.mixers.full import FullAttention
from summarizer.models.mixers.linear import LinearAttention
from summarizer.models.mixers.linformer import Linformer
from summarizer.models.mixers.longformer import Longformer
from summarizer.models.mixers.none import NoMixing
from summarizer.models.mixers.poolingformer import Poolingformer


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
    """Vaswani et al. 2017, equation 1: every token attends to every real token."""
    return _by_sequence(module, hidden_states, mask, lambda x, real: _attend(module, x, real, lambda i: True))


def longformer(module: Longformer, hidden_states: Tensor, mask: Tensor) -> Tensor:
    """Beltagy et al. 2020, section 3.1, a token at a time."""

    def sequence(x: Tensor, real: Tensor) -> Tensor:
        positions = torch.arange(len(x))
        is_global = positions < module.num_global_tokens
        rows = _attend(module, x, real, lambda i: ((positions - i).abs() <= module.reach) | is_global)
        if is_global.any():
            key, value = module.global_key_value(x).chunk(2, dim=-1)
            every = _softmax_attention(module, module.global_query(x), key, value, lambda i: real)
            rows = torch.where(is_global[:, None], every, rows)
        return rows

    return _by_sequence(module, hidden_states, mask, sequence)


def bigbird(module: BigBird, hidden_states: Tensor, mask: Tensor) -> Tensor:
    """Zaheer et al. 2020, appendix D, a token at a time, with the package's choice of random blocks."""

    def sequence(x: Tensor, real: Tensor) -> Tensor:
        size, length = module.block_size, int(real.nonzero().max()) + 1
        num_blocks = -(-length // size)
        if length < (5 + 2 * module.num_random_blocks) * size:
            return _attend(module, x, real, lambda i: True)
        blocks_of_keys = torch.arange(len(x)) // size
        heads = []
        for head in range(module.num_heads):
            chosen = attended_blocks(
                num_blocks, module.num_random_blocks, module.num_heads, module.seed, module.layer_index
            )[head, :, 5:]

            def sees(i: int, chosen: Tensor = chosen) -> Tensor | bool:
                own = i // size
                if own in (0, num_blocks - 1) or own >= num_blocks:
                    return True
                wanted = [0, own - 1, own, own + 1, num_blocks - 1, *chosen[own].tolist()]
                return torch.isin(blocks_of_keys, torch.tensor(wanted))

            heads.append(_attend(module, x, real, sees).chunk(module.num_heads, dim=-1)[head])
        return torch.cat(heads, dim=-1)

    return _by_sequence(module, hidden_states, mask, sequence)


def linformer(module: Linformer, hidden_states: Tensor, mask: Tensor) -> Tensor:
    """Wang et al. 2020, equation 7: keys and values of the real tokens, projected along the length."""

    def sequence(x: Tensor, real: Tensor) -> Tensor:
        key, value = (linear(x) * real[:, None] for linear in (module.key, module.value))
        heads = []
        for head, (q, k, v) in enumerate(_heads(module, module.query(x), key, value)):
            e, f = (part[head % len(part), :, : len(x)] for part in module.projections[[0, -1]])
            heads.append((q @ (e @ k).T / q.shape[-1] ** 0.5).softmax(dim=-1) @ (f @ v))
        return torch.cat(heads, dim=-1)

    return _by_sequence(module, hidden_states, mask, sequence)


def linear(module: LinearAttention, hidden_states: Tensor, mask: Tensor) -> Tensor:
    """Katharopoulos et al. 2020, equation 5, as attention: all pairs of tokens."""

    def sequence(x: Tensor, real: Tensor) -> Tensor:
        heads = []
        for q, k, v in _heads(module, *module.query_key_value(x).chunk(3, dim=-1)):
            similarity = (nn.functional.elu(q) + 1) @ (nn.functional.elu(k[real]) + 1).T
            heads.append(similarity / similarity.sum(dim=-1, keepdim=True) @ v[real])
        return torch.cat(heads, dim=-1)

    return _by_sequence(module, hidden_states, mask, sequence)


def no_mixing(module: NoMixing, hidden_states: Tensor, mask: Tensor) -> Tensor:
    """Each token by itself."""
    return _by_sequence(module, hidden_states, mask, lambda x, real: x)


def poolingformer(module: Poolingformer, hidden_states: Tensor, mask: Tensor) -> Tensor:
    """Zhang et al. 2021, section 3: project, then pool, a window at a time; masks must be prefixes."""

    def sequence(x: Tensor, real: Tensor) -> Tensor:
        x, positions = x[real], torch.arange(int(real.sum()))
        local = _attend(module, x, positions >= 0, lambda i: (positions - i).abs() <= module.reach)  # y
        key_value = module.pooled_key_value(local)
        centres, pooled = positions[:: module.stride], []
        for centre in centres.tolist():
            offsets = torch.arange(module.kernel_size) - module.kernel_size // 2
            inside = (centre + offsets >= 0) & (centre + offsets < len(x))
            window = key_value[centre + offsets[inside]]
            if module.pooling_weights is not None:
                delta = module.pooling_weights(local[centre])[inside].softmax(dim=0)
                pooled.append((delta[:, None] * window).sum(dim=0))
            else:
                pooled.append(window.mean(dim=0) if module.pooling == "mean" else window.amax(dim=0))
        key, value = torch.stack(pooled).chunk(2, dim=-1)
        query = module.pooled_query(local)
        far = _softmax_attention(module, query, key, value, lambda i: (centres - i).abs() <= module.pooling_reach)  # z
        return nn.functional.pad(local + far, (0, 0, 0, len(real) - len(x)))

    return _by_sequence(module, hidden_states, mask, sequence)


def _by_sequence(module: nn.Module, hidden_states: Tensor, mask: Tensor, sequence: Callable) -> Tensor:
    """The output projection of `sequence(x [N, d], real [N])` for each; what it gives for padding means nothing."""
    rows = [module.output(sequence(x, real)) for x, real in zip(hidden_states, mask, strict=True)]
    return torch.stack(rows)


def _attend(module: nn.Module, x: Tensor, real: Tensor, sees: Callable[[int], Tensor | bool]) -> Tensor:
    return _softmax_attention(module, *module.query_key_value(x).chunk(3, dim=-1), lambda i: real & sees(i))


def _softmax_attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, sees: Callable[[int], Tensor]
) -> Tensor:
    """Each query i [N, d] attends to the keys that `sees(i)` marks; without any it gets zeros."""
    heads = []
    for q, k, v in _heads(module, query, key, value):
        rows = []
        for i in range(len(q)):
            visible = sees(i)
            rows.append((q[i] @ k[visible].T / q.shape[-1] ** 0.5).softmax(dim=-1) @ v[visible])
        heads.append(torch.stack(rows))
    return torch.cat(heads, dim=-1)


def _heads(module: nn.Module, *parts: Tensor) -> Iterator[tuple[Tensor, ...]]:
    return zip(*(part.chunk(module.num_heads, dim=-1) for part in parts), strict=True)


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
