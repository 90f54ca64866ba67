"""The decoder: causal self-attention with a cache, and cross-attention that reads a document computed once.

Shapes: B documents, R = B × beams target rows (rows of one document stand together), T target tokens, N source tokens,
d = d_model, h heads, d_h = d / h.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers.cache_utils import Cache, EncoderDecoderCache
from transformers.modeling_layers import GradientCheckpointingLayer

from summarizer.models.configuration import SummarizerConfig
from summarizer.models.fused_linear import project
from summarizer.models.layers import FeedForward, Residual, in_compute_dtype, layer_norm, sinusoids, tensors_together

FEW_QUERIES = 16  # from 32 on the fused kernel wins


@tensors_together
@dataclass  # not frozen: transformers' exporter copies it field by field
class CrossAttentionCache:
    """A document's keys and values for one decoder layer, each [B, h, N, d_h]; shared by all its beams."""

    keys: Tensor
    values: Tensor

    def select(self, documents: Tensor) -> "CrossAttentionCache":
        """Those of some of the documents, by their places in the batch."""
        return CrossAttentionCache(self.keys[documents], self.values[documents])


@dataclass(frozen=True)
class LayerOutputs:
    """What is kept of every decoder layer; None: not asked for."""

    hidden_states: list[Tensor] | None = None  # the inputs of the layers, and what the decoder returns, [R, T, d]
    self_attentions: list[Tensor] | None = None  # [R, h, T, past + T]
    cross_attentions: list[Tensor] | None = None  # [R, h, T, N]

    @classmethod
    def asked(cls, hidden_states: bool, attentions: bool) -> "LayerOutputs":
        """Empty lists for what is to be kept."""
        return cls([] if hidden_states else None, [] if attentions else None, [] if attentions else None)

    def as_outputs(self) -> dict[str, tuple[Tensor, ...] | None]:
        """By transformers' names."""
        kept = {
            "decoder_hidden_states": self.hidden_states,
            "decoder_attentions": self.self_attentions,
            "cross_attentions": self.cross_attentions,
        }
        return {name: None if tensors is None else tuple(tensors) for name, tensors in kept.items()}


def _split_heads(projected: Tensor, num_heads: int) -> Tensor:
    """[R, T, d] → [R, h, T, d_h]."""
    return projected.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def _attend_with_weights(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Attention by plain products: what scaled_dot_product_attention returns, and the weights [B, h, Q, N]."""
    scores = (query * query.shape[-1] ** -0.5) @ keys.transpose(2, 3)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=-1)
    return weights @ values, weights


def _attend(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """Attention of query [B, h, Q, d_h] to keys and values [B, h, N, d_h], with mask [B, 1, 1, N] bool.

    torch's fused kernel, but for the few queries of a decoding step in half precision on a CPU: it is made for square
    blocks, and two plain products are up to 1.6 times faster.
    """
    few = query.shape[2] <= FEW_QUERIES and query.dtype == torch.bfloat16 and query.device.type == "cpu"
    if not few or torch.is_grad_enabled():
        return F.scaled_dot_product_attention(query, keys, values, attn_mask=mask)
    scores = (query * query.shape[-1] ** -0.5) @ keys.transpose(2, 3)
    return scores.masked_fill_(~mask, -torch.inf).softmax(dim=-1) @ values


class SelfAttention(nn.Module):
    """Causal attention over the target so far."""

    def __init__(self, d_model: int, num_heads: int, layer_index: int) -> None:
        super().__init__()
        self.num_heads, self.layer_index = num_heads, layer_index
        self.query_key_value = nn.Linear(d_model, 3 * d_model)
        self.output = nn.Linear(d_model, d_model)

    def forward(
        self, hidden_states: Tensor, mask: Tensor | None, cache: Cache | None, kept: LayerOutputs | None = None
    ) -> Tensor:
        """hidden_states [R, T, d], mask [R or 1, 1, T, past + T] bool or None for plain causal → [R, T, d]."""
        query, key, value = (
            _split_heads(x, self.num_heads) for x in project(self.query_key_value, hidden_states).chunk(3, -1)
        )
        if cache is not None:
            key, value = cache.update(key, value, self.layer_index)
        is_causal = mask is None and bool(query.shape[2] > 1)  # a single query, the last, sees everything
        if kept is None or kept.self_attentions is None:
            attended = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=is_causal)
        else:
            if is_causal:
                mask = torch.ones(query.shape[2], query.shape[2], dtype=torch.bool, device=query.device).tril()
            attended, weights = _attend_with_weights(query, key, value, mask)
            kept.self_attentions.append(weights)
        return project(self.output, attended.transpose(1, 2).flatten(2))


class CrossAttention(nn.Module):
    """Attention over the document; the beams of a document are more queries to one set of keys and values."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query = nn.Linear(d_model, d_model)
        self.key_value = nn.Linear(d_model, 2 * d_model)
        self.output = nn.Linear(d_model, d_model)

    def read(self, document: Tensor) -> CrossAttentionCache:
        """Keys and values of a document [B, N, d]; without gradients each head's lie together, for speed."""
        key, value = (_split_heads(x, self.num_heads) for x in project(self.key_value, document).chunk(2, dim=-1))
        if not torch.is_grad_enabled():
            key, value = key.contiguous(), value.contiguous()
        return CrossAttentionCache(key, value)

    def forward(
        self, hidden_states: Tensor, document: CrossAttentionCache, mask: Tensor, kept: LayerOutputs | None = None
    ) -> Tensor:
        """hidden_states [R, T, d], mask [B, 1, 1, N] bool → [R, T, d]."""
        rows, length, d_model = hidden_states.shape
        query = project(self.query, hidden_states).view(document.keys.shape[0], -1, d_model)  # [B, beams × T, d]
        queries = _split_heads(query, self.num_heads)
        if kept is None or kept.cross_attentions is None:
            attended = _attend(queries, document.keys, document.values, mask)
        else:
            attended, weights = _attend_with_weights(queries, document.keys, document.values, mask)
            kept.cross_attentions.append(weights.unflatten(2, (-1, length)).transpose(1, 2).flatten(0, 1))
        return project(self.output, attended.transpose(1, 2).reshape(rows, length, d_model))


class DecoderLayer(GradientCheckpointingLayer):
    """Self-attention, cross-attention, feed-forward, each with residual and norm."""

    def __init__(self, config: SummarizerConfig, layer_index: int) -> None:
        super().__init__()
        d_model, heads = config.d_model, config.decoder_attention_heads
        self.residual = Residual(config.dropout, config.norm == "pre")
        self.self_attention = SelfAttention(d_model, heads, layer_index)
        self.self_attention_norm = layer_norm(config)
        self.cross_attention = CrossAttention(d_model, heads)
        self.cross_attention_norm = layer_norm(config)
        self.feed_forward = FeedForward(d_model, config.decoder_ffn_dim, config.activation_function)
        self.feed_forward_norm = layer_norm(config)

    def forward(
        self,
        hidden_states: Tensor,
        mask: Tensor | None,
        document_keys: Tensor,
        document_values: Tensor,
        document_mask: Tensor,
        cache: Cache | None = None,
        kept: LayerOutputs | None = None,
    ) -> Tensor:
        """hidden_states [R, T, d] → [R, T, d]; keys and values as in CrossAttentionCache, masks as in the attentions.

        Tensors of their own, since reentrant checkpointing sees no gradients through a data class.
        """
        sublayer = self.residual
        document = CrossAttentionCache(document_keys, document_values)
        hidden_states = sublayer(hidden_states, self.self_attention, self.self_attention_norm, mask, cache, kept)
        hidden_states = sublayer(
            hidden_states, self.cross_attention, self.cross_attention_norm, document, document_mask, kept
        )
        return sublayer(hidden_states, self.feed_forward, self.feed_forward_norm)


class DecoderStack(nn.Module):
    """Sinusoidal positions and layers over embedded target tokens."""

    def __init__(self, config: SummarizerConfig) -> None:
        super().__init__()
        self.d_model = config.d_model
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(DecoderLayer(config, index) for index in range(config.decoder_layers))
        self.final_norm = layer_norm(config) if config.norm == "pre" else nn.Identity()

    def read(self, document: Tensor) -> list[CrossAttentionCache]:
        """The keys and values of each layer for a document [B, N, d]."""
        attentions: list[Any] = [layer.cross_attention for layer in self.layers]
        return [attention.read(document) for attention in attentions]

    def forward(
        self,
        embeddings: Tensor,
        document: list[CrossAttentionCache],
        document_mask: Tensor,
        target_mask: Tensor | None = None,
        cache: Cache | None = None,
        kept: LayerOutputs | None = None,
    ) -> Tensor:
        """embeddings [R, T, d], document_mask [B, N] bool → [R, T, d]. What is asked for is added to `kept`.

        target_mask: [R, past + T], True = real token; or [R, 1, T, cache length] bool, as transformers' `generate`
        makes it for a static cache; or None.
        """
        if isinstance(cache, EncoderDecoderCache):
            cache = cache.self_attention_cache
        past: Any = 0 if cache is None else cache.get_seq_length()
        if isinstance(past, Tensor):  # of a static cache
            past = int(past)  # not of a number: an export would fix it
        length = embeddings.shape[1]
        positions = torch.arange(past, past + length, device=embeddings.device)
        mask = None
        if target_mask is not None and target_mask.dim() == 4:
            mask = target_mask
        elif target_mask is not None or (length > 1 and past):
            mask = _causal_mask(positions, past + length, target_mask)
        if mask is not None:  # positions count the real tokens: padding on the left changes nothing
            positions = mask[:, 0].sum(dim=-1) - 1
        visible = document_mask | ~document_mask.any(dim=1, keepdim=True)  # finite for a document without tokens
        embeddings = embeddings + sinusoids(positions, self.d_model).to(embeddings.dtype)
        hidden_states = self.dropout(in_compute_dtype(embeddings))
        visible = visible[:, None, None, :]
        states = None if kept is None else kept.hidden_states
        for layer, read in zip(self.layers, document, strict=True):
            if states is not None:
                states.append(hidden_states)
            hidden_states = layer(hidden_states, mask, read.keys, read.values, visible, cache=cache, kept=kept)
        hidden_states = self.final_norm(hidden_states)
        if states is not None:
            states.append(hidden_states)
        return hidden_states


def _causal_mask(indices: Tensor, total: int, target_mask: Tensor | None) -> Tensor:
    """[R or 1, 1, T, total = past + T] bool: the T indices see themselves and the real tokens before them."""
    causal = torch.arange(total, device=indices.device)[None, :] <= indices[:, None]
    if target_mask is None:
        return causal[None, None]
    itself = torch.arange(total, device=indices.device)[None, :] == indices[:, None]  # no row without a key
    return (causal & target_mask[:, None, None, :total].bool()) | itself
