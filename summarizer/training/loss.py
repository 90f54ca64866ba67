"""The loss of a micro-batch: summed over its target tokens, divided by the number of those in the whole step."""

from typing import Any

import torch.nn.functional as F
from torch import Tensor

from summarizer.data.batching import IGNORED
from summarizer.models.published import prepare_inputs


def summed_loss(model: Any, batch: dict[str, Tensor], label_smoothing: float = 0.0) -> Tensor:
    """Σ of the negative log-likelihood over the micro-batch's real target tokens, float32.

    Our own models compute it without keeping logits; any other seq2seq model gives its logits.
    """
    bare = model
    while hasattr(bare, "module"):  # under DistributedDataParallel
        bare = bare.module
    if getattr(bare, "accepts_label_smoothing", False):
        output = model(**batch, num_items_in_batch=1, label_smoothing=label_smoothing, return_logits=False)
        return output.loss.float()
    logits = model(**prepare_inputs(bare, batch)).logits
    return F.cross_entropy(
        logits.float().flatten(0, 1),
        batch["labels"].flatten(),
        ignore_index=IGNORED,
        reduction="sum",
        label_smoothing=label_smoothing,
    )
