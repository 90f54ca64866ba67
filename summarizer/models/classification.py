"""Document classification on the summarizer's encoder, as in the Fastformer paper: pool the tokens, then a linear map.

Shapes: B documents, N source tokens, d = d_model, C classes.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers.modeling_outputs import SequenceClassifierOutput
from transformers.utils.generic import can_return_tuple

from summarizer.models.configuration import SummarizerConfig
from summarizer.models.encoder import AdditivePooling
from summarizer.models.seq2seq import SummarizerEncoder, SummarizerPreTrainedModel

# How summarizers name the encoder's weights; of tied embeddings, the first name is saved.
_OF_SUMMARIZERS = {r"^(model\.)?shared\.": "encoder.embed_tokens.", r"^model\.encoder\.": "encoder."}


class FastformerSummarizerForSequenceClassification(SummarizerPreTrainedModel):
    """A document in, class scores out. `config.num_labels` and `id2label` say how many classes and their names.

    `config.problem_type` says what is learned, as in transformers: by default a regression where there is one label,
    one class of several where labels are integers, and any number of classes where they are not.
    """

    base_model_prefix = "encoder"
    accepts_loss_kwargs = True  # Trainer: forward divides by num_items_in_batch itself

    def __init__(self, config: SummarizerConfig) -> None:
        super().__init__(config)
        self.encoder = SummarizerEncoder(config)
        self.pooling = AdditivePooling(config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(config.d_model, config.num_labels or 2)
        self.post_init()

    @classmethod
    def from_pretrained(cls, *arguments: Any, key_mapping: dict[str, str] | None = None, **options: Any) -> Any:
        """As in transformers; the folder of a summarizer, with or without its vocabulary, lends its encoder."""
        loaded = super().from_pretrained(*arguments, key_mapping=key_mapping or _OF_SUMMARIZERS, **options)
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        if key_mapping is None:  # by these, transformers would save the weights under the summarizer's names
            vars(model).pop("_weight_conversions", None)
        return loaded

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        output_hidden_states: bool | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> SequenceClassifierOutput:
        """input_ids [B, N], labels [B] or [B, C] → the mean loss (or the sum over `num_items_in_batch`), logits [B, C].

        Raises ValueError for an unknown `config.problem_type`.
        """
        document = self.encoder(input_ids, attention_mask, inputs_embeds, output_hidden_states)
        logits = self.classifier(self.dropout(self.pooling(document.last_hidden_state, document.source_mask)))
        loss = None
        if labels is not None:
            total = self._summed_loss(logits.float(), labels)
            loss = total / (labels.numel() if num_items_in_batch is None else num_items_in_batch)
        return SequenceClassifierOutput(loss=loss, logits=logits, hidden_states=document.hidden_states)

    def _summed_loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        kind = self.config.problem_type
        if kind is None:
            whole = labels.dtype in (torch.long, torch.int)
            kind = "single_label_classification" if whole else "multi_label_classification"
            kind = "regression" if logits.shape[-1] == 1 else kind
        if kind == "regression":
            return F.mse_loss(logits.view_as(labels), labels.float(), reduction="sum")
        if kind == "multi_label_classification":
            return F.binary_cross_entropy_with_logits(logits, labels.float(), reduction="sum")
        if kind == "single_label_classification":
            return F.cross_entropy(logits, labels.view(-1), reduction="sum")
        raise ValueError(f"unknown problem_type '{kind}'")
