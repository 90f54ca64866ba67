"""A sentence selector: the summarizer's encoder with a score for each sentence, and no decoder.

Shapes: B documents, N source tokens, S sentences, V vocabulary.
"""

from dataclasses import dataclass
from typing import Any

from torch import Tensor
from transformers.utils.generic import ModelOutput

from summarizer.models.configuration import SummarizerConfig
from summarizer.models.sentences import SentenceScorer, summed_selection_loss
from summarizer.models.seq2seq import SummarizerEncoder, SummarizerPreTrainedModel


@dataclass
class SentenceSelectionOutput(ModelOutput):
    """loss; logits [B, S], the lowest finite number outside the mask; sentence_mask [B, S]."""

    loss: Tensor | None = None
    logits: Tensor | None = None
    sentence_mask: Tensor | None = None
    hidden_states: tuple[Tensor, ...] | None = None


class FastformerSummarizerForSentenceSelection(SummarizerPreTrainedModel):
    """A document in, a score for each of its sentences out; there is no decoder.

    Sentences are the lines of the document: `config.line_break_token_id` separates them, unless `sentence_ids` says
    which sentence each token belongs to.
    """

    base_model_prefix = "encoder"
    accepts_loss_kwargs = True  # Trainer: forward divides by num_items_in_batch itself

    def __init__(self, config: SummarizerConfig) -> None:
        super().__init__(config)
        self.encoder = SummarizerEncoder(config)
        self.scorer = SentenceScorer(config)
        self.post_init()

    @classmethod
    def from_config(cls, config: SummarizerConfig) -> "FastformerSummarizerForSentenceSelection":
        """A new model, as the Auto classes make theirs."""
        return cls(config)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        sentence_ids: Tensor | None = None,
        labels: Tensor | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        num_items_in_batch: Tensor | int | None = None,
        label_smoothing: float = 0.0,
        **kwargs: Any,
    ) -> SentenceSelectionOutput | tuple:
        """input_ids [B, N], labels [B, S] (1: selected, 0: not, −100: ignored) → loss, scores [B, S], their mask.

        The loss is the mean binary cross-entropy over the sentences, or the sum divided by `num_items_in_batch`.
        sentence_ids [B, N]: the sentence of each token, from 0 on, and −1 for tokens of no sentence.
        """
        document = self.encoder(input_ids, attention_mask, output_hidden_states=output_hidden_states)
        num_sentences = None if labels is None else labels.shape[1]
        scored = self.scorer.score_document(self.encoder, document, sentence_ids, num_sentences)
        logits, mask = scored.scores, scored.mask
        loss = None
        if labels is not None:
            total, count = summed_selection_loss(logits, labels, label_smoothing)
            loss = total / (count if num_items_in_batch is None else num_items_in_batch)
        output = SentenceSelectionOutput(loss, logits, mask, document.hidden_states)
        return output.to_tuple() if return_dict is False else output
