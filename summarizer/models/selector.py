"""Sentence selection on the summarizer's encoder: which sentences of a document say what its summary says.

A sentence is known by the mean of its tokens' states, by layers over the sentences, and by how close it is to what the
whole document is about. All of it is linear in the document.

Shapes: B documents, N source tokens, S sentences, d = d_model, V vocabulary, F features of the comparison.
"""

import copy
import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import initialization as init
from transformers.utils.generic import ModelOutput

from summarizer.models.configuration import SummarizerConfig
from summarizer.models.encoder import EncoderLayer
from summarizer.models.layers import at_least_float32, in_compute_dtype
from summarizer.models.seq2seq import SummarizerEncoder, SummarizerPreTrainedModel
from summarizer.padding import IGNORED

SMALLEST_IDF = 0.01  # of tokens that are in every document


@dataclass
class SentenceSelectionOutput(ModelOutput):
    """loss; logits [B, S], the lowest finite number outside the mask; sentence_mask [B, S]."""

    loss: Tensor | None = None
    logits: Tensor | None = None
    sentence_mask: Tensor | None = None
    hidden_states: tuple[Tensor, ...] | None = None


class DocumentComparison(nn.Module):
    """How close each sentence is to what the whole document is about.

    p_j = Σ exp(b[x_i]) E[x_i] over the tokens i of sentence j, and g = Σ_j p_j: additive attention, up to the length of
    the result, whose scores b are a learned number for each token of the vocabulary. The features of sentence j are
    √d · p̂_j ∗ ĝ with vectors of length 1, which is Fastformer's product of global vector and token, normalized; and the
    cosines of p_j to g and to p_0, standardized over the document's sentences.
    """

    def __init__(self, config: SummarizerConfig) -> None:
        super().__init__()
        self.product, self.cosines = config.document_product, config.document_cosines
        self.num_features = config.d_model * self.product + 2 * self.cosines
        self.token_weights = nn.Parameter(torch.zeros(config.vocab_size))  # b

    def reset_parameters(self) -> None:
        """Start with equal weights; `start_token_weights` of the model starts them at log idf."""
        init.zeros_(self.token_weights)

    def forward(self, input_ids: Tensor, embeddings: Tensor, sentence_ids: Tensor, sentence_mask: Tensor) -> Tensor:
        """input_ids and sentence_ids [B, N], embeddings E[x] [B, N, d], sentence_mask [B, S] → features [B, S, F]."""
        scores = at_least_float32(self.token_weights[input_ids])
        outside = sentence_ids < 0
        # The length of p and g does not matter: subtracting the document's largest score only avoids an overflow.
        largest = scores.masked_fill(outside, -math.inf).amax(dim=1, keepdim=True).nan_to_num(neginf=0.0).detach()
        weights = (scores - largest).masked_fill(outside, -math.inf).exp()
        pooled = sum_by_sentence(weights[..., None] * embeddings, sentence_ids, sentence_mask.shape[1])
        sentences = F.normalize(pooled, dim=-1)  # p̂ [B, S, d]
        document = F.normalize(pooled.sum(dim=1, keepdim=True), dim=-1)  # ĝ [B, 1, d]
        product = sentences * document
        features = []
        if self.product:
            features.append(math.sqrt(product.shape[-1]) * product)
        if self.cosines:
            to_first = (sentences * sentences[:, :1]).sum(dim=-1)
            cosines = torch.stack([product.sum(dim=-1), to_first], dim=-1)
            features.append(standardize(cosines, sentence_mask))
        return torch.cat(features, dim=-1)


class SentenceScorer(nn.Module):
    """Token states to a score of each sentence. It needs an encoder and no more, so that a writer can share that."""

    def __init__(self, config: SummarizerConfig) -> None:
        super().__init__()
        d_model = config.d_model
        self.layers = nn.ModuleList()
        layer_config = _of_sentence_layers(config)
        for _ in range(config.sentence_layers):
            self.layers.append(EncoderLayer(layer_config, below=[layer.mixer for layer in self.layers]))  # pyright: ignore
        has_norm = config.sentence_layers > 0 and config.norm == "pre"
        self.norm = nn.LayerNorm(d_model, eps=config.layer_norm_eps) if has_norm else nn.Identity()
        compares = config.document_product or config.document_cosines
        self.comparison = DocumentComparison(config) if compares else None
        num_features = d_model + (self.comparison.num_features if self.comparison is not None else 0)
        self.hidden = nn.Linear(num_features, d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.score = nn.Linear(d_model, 1)

    def forward(
        self, hidden_states: Tensor, input_ids: Tensor, embeddings: Tensor, sentence_ids: Tensor, num_sentences: int
    ) -> tuple[Tensor, Tensor]:
        """States and embeddings [B, N, d], input_ids and sentence_ids [B, N] (−1: none) → scores and mask [B, S]."""
        ones = torch.ones_like(sentence_ids, dtype=torch.float32)[..., None]
        counts = sum_by_sentence(ones, sentence_ids, num_sentences)  # [B, S, 1]
        mask = counts.squeeze(-1) > 0
        sentences = sum_by_sentence(hidden_states, sentence_ids, num_sentences) / counts.clamp(min=1)
        sentences = in_compute_dtype(sentences.to(hidden_states.dtype))
        for layer in self.layers:
            sentences = layer(sentences, mask)
        sentences = self.norm(sentences)
        if self.comparison is not None:
            features = self.comparison(input_ids, embeddings, sentence_ids, mask)
            sentences = torch.cat([sentences, features.to(sentences.dtype)], dim=-1)
        scores = at_least_float32(self.score(self.dropout(F.gelu(self.hidden(sentences)))).squeeze(-1))
        return scores.masked_fill(~mask, torch.finfo(scores.dtype).min), mask


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

    @torch.no_grad()
    def start_token_weights(self, idf: Tensor) -> None:
        """Start the weights of tokens in the comparison at log idf [V] of the training documents."""
        if self.scorer.comparison is not None:
            self.scorer.comparison.token_weights.copy_(idf.clamp(min=SMALLEST_IDF).log())

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
        if sentence_ids is None:
            sentence_ids = self.sentence_ids(input_ids, document.source_mask)
        sentence_ids = sentence_ids.masked_fill(~document.source_mask, -1)
        num_sentences = labels.shape[1] if labels is not None else max(1, int(sentence_ids.max()) + 1)
        embeddings = self.encoder.get_input_embeddings()(input_ids)
        logits, mask = self.scorer(document.last_hidden_state, input_ids, embeddings, sentence_ids, num_sentences)
        loss = None
        if labels is not None:
            total, count = summed_loss(logits, labels, label_smoothing)
            loss = total / (count if num_items_in_batch is None else num_items_in_batch)
        output = SentenceSelectionOutput(loss, logits, mask, document.hidden_states)
        return output.to_tuple() if return_dict is False else output

    def sentence_ids(self, input_ids: Tensor, mask: Tensor) -> Tensor:
        """input_ids, mask [B, N] → the line that each token is on [B, N]; −1 for line breaks and special tokens."""
        config = self.config
        if config.line_break_token_id is None:
            raise ValueError("config.line_break_token_id is not set; give sentence_ids")
        breaks = (input_ids == config.line_break_token_id) & mask
        ends = config.eos_token_id if isinstance(config.eos_token_id, list) else [config.eos_token_id]
        special = [each for each in (config.pad_token_id, config.bos_token_id, *ends) if each is not None]
        outside = breaks | ~mask | torch.isin(input_ids, torch.tensor(special, device=input_ids.device))
        return breaks.cumsum(dim=1).masked_fill(outside, -1)


def sum_by_sentence(values: Tensor, sentence_ids: Tensor, num_sentences: int) -> Tensor:
    """values [B, N, d], sentence_ids [B, N] (−1: none) → the sums over each sentence's tokens [B, S, d], float32."""
    batch_size, _, size = values.shape
    rows = torch.arange(batch_size, device=values.device)[:, None] * num_sentences + sentence_ids
    rows = rows.masked_fill((sentence_ids < 0) | (sentence_ids >= num_sentences), batch_size * num_sentences)
    values = at_least_float32(values).flatten(0, 1)
    sums = values.new_zeros(batch_size * num_sentences + 1, size).index_add(0, rows.flatten(), values)
    return sums[:-1].view(batch_size, num_sentences, size)


def standardize(values: Tensor, mask: Tensor) -> Tensor:
    """values [B, S, F], mask [B, S] → mean 0 and deviation 1 over each document's sentences; 0 outside the mask."""
    real = mask[..., None].to(values.dtype)
    count = real.sum(dim=1, keepdim=True).clamp(min=1)
    centered = (values - (values * real).sum(dim=1, keepdim=True) / count) * real
    variance = centered.square().sum(dim=1, keepdim=True) / count
    return centered * torch.rsqrt(variance + 1e-6)


def summed_loss(logits: Tensor, labels: Tensor, label_smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
    """logits and labels [B, S] (−100: ignored) → the sum of the binary cross-entropies, float32, and their number."""
    real = labels != IGNORED
    expected = labels[real].to(logits.dtype) * (1 - label_smoothing) + label_smoothing / 2
    total = F.binary_cross_entropy_with_logits(logits[real], expected, reduction="sum")
    return total, real.sum().clamp(min=1)  # a batch without labels: 0, not NaN


def _of_sentence_layers(config: SummarizerConfig) -> SummarizerConfig:
    """What an encoder layer reads, for the layers over sentences."""
    own = copy.copy(config)
    own.mixer, own.mixer_options = config.sentence_mixer, config.sentence_mixer_options
    own.neighbor_kernel_size, own.encoder_ffn_dim = config.sentence_kernel_size, config.sentence_ffn_dim
    return own
