"""Block-sparse attention to neighbours, both ends and random blocks (Zaheer et al. 2020, arXiv 2007.14062)."""

from collections.abc import Sequence
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from summarizer.models.fused_linear import project
from summarizer.models.mixers.checks import check_at_least
from summarizer.models.mixers.full import Attention, attend_to_all, split_heads


class BigBird(Attention):
    """Each block of tokens attends to itself, its two neighbours, the first, the last and a few random blocks.

    The first and the last block attend to everything. Short documents get full attention. All of that goes by the
    document's own length, never by that of the batch.

    block_size: tokens in a block.
    num_random_blocks: r, how many random blocks each head of each block attends to.
    seed: of the random blocks, which also differ from layer to layer.
    """

    def __init__(
        self, d_model: int, num_heads: int, *, block_size: int = 64, num_random_blocks: int = 3, seed: int = 0
    ) -> None:
        super().__init__(d_model, num_heads)
        check_at_least(1, block_size=block_size)
        check_at_least(0, num_random_blocks=num_random_blocks, seed=seed)
        self.block_size = block_size
        self.num_random_blocks = num_random_blocks
        self.seed = seed
        self.layer_index = 0

    def place_above(self, mixers: Sequence[nn.Module]) -> None:
        """Random blocks differ from layer to layer."""
        self.layer_index = len(mixers)

    def forward(self, hidden_states: Tensor, mask: Tensor) -> Tensor:
        """hidden_states [B, N, d], mask [B, N] bool → [B, N, d]."""
        query, key, value = split_heads(project(self.query_key_value, hidden_states), 3, self.num_heads)
        positions = torch.arange(1, mask.shape[1] + 1, device=mask.device)
        lengths = (mask * positions).amax(dim=1)
        limit = (5 + 2 * self.num_random_blocks) * self.block_size
        long = lengths >= limit
        if long.all():
            return project(self.output, self._block_sparse(query, key, value, mask, lengths))
        mixed = query.new_zeros(hidden_states.shape)
        mixed[~long, :limit] = attend_to_all(*(part[~long, :limit] for part in (query, key, value, mask)))
        if long.any():
            mixed[long] = self._block_sparse(*(part[long] for part in (query, key, value, mask, lengths)))
        return project(self.output, mixed)

    def _block_sparse(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor, lengths: Tensor) -> Tensor:
        """query, key, value [B, N, h, d_h], mask [B, N], lengths [B] → [B, N, d]."""
        batch_size, length, num_heads, head_size = query.shape
        size, device = self.block_size, query.device
        num_blocks = -(-length // size)
        blocks = self._attended_blocks(lengths, num_blocks).to(device)  # [B, h, n, 5 + r]
        padding = num_blocks * size - length
        query, key, value = (F.pad(part, (0, 0, 0, 0, 0, padding)) for part in (query, key, value))
        mask = F.pad(mask, (0, padding))

        rows = torch.arange(batch_size, device=device)[:, None]
        heads = torch.arange(batch_size * num_heads, device=device)[:, None]
        flat_blocks = (blocks.clamp(min=0).view(batch_size * num_heads, -1) + heads * num_blocks).flatten()

        def by_head(tokens: Tensor) -> Tensor:  # [B, n × size, h, d_h] → [B × h, n, size, d_h]
            return tokens.transpose(1, 2).reshape(batch_size * num_heads, num_blocks, size, head_size)

        def gather(tokens: Tensor) -> Tensor:  # → [B × h, n, (5 + r) × size, d_h]
            rows_of_blocks = by_head(tokens).reshape(-1, size * head_size)  # index_select: its backward is a fast one
            return rows_of_blocks.index_select(0, flat_blocks).view(batch_size * num_heads, num_blocks, -1, head_size)

        real = mask.view(batch_size, num_blocks, size)[rows, blocks.clamp(min=0).flatten(1)]
        visible = real.view(*blocks.shape, size) & (blocks >= 0)[..., None]
        visible = visible.view(batch_size * num_heads, num_blocks, 1, -1)
        visible = visible | ~visible.any(dim=-1, keepdim=True)  # blocks of padding
        mixed = F.scaled_dot_product_attention(by_head(query), gather(key), gather(value), attn_mask=visible)
        mixed = mixed.view(batch_size, num_heads, num_blocks, size, head_size).permute(0, 2, 3, 1, 4).flatten(3)

        last = torch.div(lengths - 1, size, rounding_mode="floor")
        ends = torch.stack([torch.zeros_like(last), last], dim=1)  # [B, 2]
        end_queries = query.unflatten(1, (num_blocks, size))[rows, ends].flatten(1, 2)
        from_ends = attend_to_all(end_queries, key, value, mask).view(batch_size, 2, size, -1)
        mixed = mixed.index_put((rows, ends), from_ends)  # [B, n, size, d]
        return mixed.flatten(1, 2)[:, :length]

    def _attended_blocks(self, lengths: Tensor, num_blocks: int) -> Tensor:
        """Of each document's blocks, which ones each head attends to: [B, h, n, 5 + r], −1 where there is none."""
        tables = []
        for length in lengths.tolist():
            own_blocks = -(-length // self.block_size)
            table = attended_blocks(own_blocks, self.num_random_blocks, self.num_heads, self.seed, self.layer_index)
            tables.append(F.pad(table, (0, 0, 0, num_blocks - own_blocks), value=-1))
        return torch.stack(tables)


@lru_cache(maxsize=4096)
def attended_blocks(num_blocks: int, num_random_blocks: int, num_heads: int, seed: int, layer_index: int) -> Tensor:
    """For each block of a document the first, previous, own, next, last and random blocks, none twice; −1 for none.

    [h, n, 5 + r]. A pure function of its arguments, so the same in every call and every process. The rows of the first
    and the last block mean nothing: those attend to all.
    """
    own = torch.arange(num_blocks)
    first, last = torch.zeros_like(own), torch.full_like(own, num_blocks - 1)
    fixed = torch.stack([first, own - 1, own, own + 1, last], dim=1)
    generator = torch.Generator().manual_seed((seed << 16) + layer_index)
    priorities = torch.rand(num_heads, num_blocks, num_blocks, generator=generator)
    taken = torch.zeros(num_blocks, num_blocks, dtype=torch.bool).scatter_(1, fixed.clamp(0, num_blocks - 1), True)
    chosen = priorities.masked_fill(taken, -1).topk(num_random_blocks).indices
    fixed[own - 1 <= 0, 1] = fixed[own + 1 >= num_blocks - 1, 3] = -1  # that neighbour is the first or the last block
    return torch.cat([fixed.expand(num_heads, -1, -1), chosen], dim=2)
