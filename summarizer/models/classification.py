"""Document classification on the summarizer's encoder, as in the Fastformer paper: pool the tokens, then a linear map.

Shapes: B documents, N source tokens, d = d_model, C classes.
"""

from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn
from transformers.modeling_outputs import SequenceClassifierOutput

from summarizer.models.configuration import SummarizerConfig
from summarizer.models.encoder import AdditivePooling
from summarizer.models.seq2seq import SummarizerEncoder, SummarizerPreTrainedModel


class FastformerSummarizerForSequenceClassification(SummarizerPreTrainedModel):
    """A document in, class scores out. `config.num_labels` and `id2label` say how many classes and their names."""

    base_model_prefix = "encoder"
    accepts_loss_kwargs = True  # Trainer: forward divides by num_items_in_batch itself

    def __init__(self, config: SummarizerConfig) -> None:
        super().__init__(config)
        self.encoder = SummarizerEncoder(config)
        self.pooling = AdditivePooling(config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(config.d_model, config.num_labels or 2)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> SequenceClassifierOutput | tuple:
        """input_ids [B, N], labels [B] → the mean loss (or the sum over `num_items_in_batch`), logits [B, C]."""
        document = self.encoder(input_ids, attention_mask, inputs_embeds, output_hidden_states)
        logits = self.classifier(self.dropout(self.pooling(document.last_hidden_state, document.source_mask)))
        loss = None
        if labels is not None:
            total = F.cross_entropy(logits.float(), labels.view(-1), reduction="sum")
            loss = total / (labels.numel() if num_items_in_batch is None else num_items_in_batch)
        output = SequenceClassifierOutput(loss=loss, logits=logits, hidden_states=document.hidden_states)
        return output.to_tuple() if return_dict is False else output
