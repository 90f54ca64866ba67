"""Sliding-window attention in blocks: what Longformer and both levels of Poolingformer are made of."""

import torch
import torch.nn.functional as F
from torch import Tensor

SMALLEST_CHUNK = 64  # queries: below that the kernel's products are too thin to pay


def attend_to_band(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_mask: Tensor,
    reach: int,
    stride: int = 1,
    global_keys: tuple[Tensor, Tensor, Tensor] | None = None,
) -> Tensor:
    """Softmax attention of each token to the keys at most `reach` positions away, in time and memory N × reach.

    query [B, N, h, d_h]; key and value [B, M, h, d_h], key j standing at position j × stride, M = ⌈N / stride⌉;
    key_mask [B, M] bool; global_keys: further keys and values [B, G, h, d_h] that every token sees, and their mask
    [B, G] → [B, N, d].

    The queries are cut into chunks; each reads one stretch of keys, its own with the reach on both sides. The key at a
    token's own position is always visible, so that no padding token is without any.
    """
    batch_size, length, num_heads, head_size = query.shape
    reach = min(reach, length)
    side = _ceil_div(reach, stride)
    own_keys = _ceil_div(min(max(reach, SMALLEST_CHUNK), length), stride)
    chunk = own_keys * stride
    num_chunks = _ceil_div(length, chunk)
    margins = (side, num_chunks * own_keys + side - key.shape[1])

    def stretches(values: Tensor) -> Tensor:  # [B, M, ...] → [B, C, own_keys + 2 side, ...]
        padded = F.pad(values, (0, 0) * (values.dim() - 2) + margins)
        return padded.unfold(1, own_keys + 2 * side, own_keys).movedim(-1, 2)

    slots = torch.arange(-side, own_keys + side, device=query.device)
    tokens = torch.arange(chunk, device=query.device)[:, None]
    near = (slots * stride - tokens).abs() <= reach
    visible = near & (stretches(key_mask)[:, :, None] | (slots == tokens // stride))  # [B, C, chunk, keys]
    keys, values = stretches(key), stretches(value)
    if global_keys is not None:
        every_chunk = (-1, num_chunks, -1, -1, -1)
        keys = torch.cat([global_keys[0][:, None].expand(every_chunk), keys], dim=2)
        values = torch.cat([global_keys[1][:, None].expand(every_chunk), values], dim=2)
        global_visible = global_keys[2][:, None, None].expand(-1, num_chunks, chunk, -1)
        visible = torch.cat([global_visible, visible], dim=3)
    queries = F.pad(query, (0, 0, 0, 0, 0, num_chunks * chunk - length)).unflatten(1, (num_chunks, chunk))
    mixed = F.scaled_dot_product_attention(
        *(part.flatten(0, 1).transpose(1, 2) for part in (queries, keys, values)),
        attn_mask=visible.flatten(0, 1)[:, None],
    )  # [B × C, h, chunk, d_h]
    mixed = mixed.transpose(1, 2).reshape(batch_size, num_chunks * chunk, num_heads * head_size)
    return mixed[:, :length]


def _ceil_div(number: int, divisor: int) -> int:
    return -(-number // divisor)
