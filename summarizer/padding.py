"""Padding of token ids, and the label that marks padding. Imports torch."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

IGNORED = -100  # the label of positions that have no target, as in torch and transformers


def pad(rows: Sequence[Sequence[int]], value: int) -> Tensor:
    """Rows of ids as one tensor [B, N], the shorter ones filled with `value` on the right."""
    return pad_sequence([torch.tensor(row, dtype=torch.long) for row in rows], batch_first=True, padding_value=value)


def pad_with_mask(rows: Sequence[Sequence[int]], pad_token_id: int) -> dict[str, Tensor]:
    """input_ids [B, N] padded on the right, and attention_mask [B, N], 1 for tokens and 0 for padding."""
    return {"input_ids": pad(rows, pad_token_id), "attention_mask": pad([[1] * len(row) for row in rows], 0)}
