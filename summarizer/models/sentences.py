"""Sentences of a document in the model: their scores, and the choice of those that the decoder reads.

A sentence is known by the mean of its tokens' states, by layers over the sentences, and by how close it is to what the
whole document is about. All of it is linear in the document.

Shapes: B documents, N source tokens, S sentences, M selected tokens, d = d_model, V vocabulary, F features of the
comparison.
"""

import copy
import math
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import initialization as init

from summarizer.models.configuration import SummarizerConfig
from summarizer.models.encoder import EncoderLayer
from summarizer.models.fused_linear import NarrowLinear
from summarizer.models.layers import at_least_float32, in_compute_dtype
from summarizer.padding import IGNORED

SMALLEST_IDF = 0.01  # of tokens that are in every document


class ScoredSentences(NamedTuple):
    """scores [B, S], the lowest finite number outside the mask [B, S]; the sentence of each token [B, N], −1: none."""

    scores: Tensor
    mask: Tensor
    sentence_ids: Tensor


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
        self.document_vector = nn.Identity()  # ĝ passes through it: a place for forward hooks, as in Fastformer

    def reset_parameters(self) -> None:
        """Start with equal weights; training starts them at log idf by `start_token_weights`."""
        init.zeros_(self.token_weights)

    @torch.no_grad()
    def start_token_weights(self, idf: Tensor) -> None:
        """Start the weights of the tokens at log idf [V] of the training documents."""
        self.token_weights.copy_(idf.clamp(min=SMALLEST_IDF).log())

    def forward(self, input_ids: Tensor, embeddings: Tensor, sentence_ids: Tensor, sentence_mask: Tensor) -> Tensor:
        """input_ids and sentence_ids [B, N], embeddings E[x] [B, N, d], sentence_mask [B, S] → features [B, S, F]."""
        scores = at_least_float32(self.token_weights[input_ids])
        outside = sentence_ids < 0
        # The length of p and g does not matter: subtracting the document's largest score only avoids an overflow.
        largest = scores.masked_fill(outside, -math.inf).amax(dim=1, keepdim=True).nan_to_num(neginf=0.0).detach()
        weights = (scores - largest).masked_fill(outside, -math.inf).exp()
        pooled = sum_by_sentence(weights[..., None] * embeddings, sentence_ids, sentence_mask.shape[1])
        sentences = F.normalize(pooled, dim=-1)  # p̂ [B, S, d]
        document = self.document_vector(F.normalize(pooled.sum(dim=1, keepdim=True), dim=-1))  # ĝ [B, 1, d]
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
        layers: list[EncoderLayer] = []
        layer_config = _of_sentence_layers(config)
        for _ in range(config.sentence_layers):
            layers.append(EncoderLayer(layer_config, below=[layer.mixer for layer in layers]))
        self.layers = nn.ModuleList(layers)
        has_norm = config.sentence_layers > 0 and config.norm == "pre"
        self.norm = nn.LayerNorm(d_model, eps=config.layer_norm_eps) if has_norm else nn.Identity()
        compares = config.document_product or config.document_cosines
        self.comparison = DocumentComparison(config) if compares else None
        num_features = d_model + (self.comparison.num_features if self.comparison is not None else 0)
        self.hidden = nn.Linear(num_features, d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.score = NarrowLinear(d_model, 1)

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

    def score_document(
        self, encoder: Any, document: Any, sentence_ids: Tensor | None = None, num_sentences: int | None = None
    ) -> ScoredSentences:
        """Score the sentences of what `encoder` returned: its lines, unless `sentence_ids` [B, N] says otherwise."""
        input_ids, mask = document.source_ids, document.source_mask
        if sentence_ids is None:
            sentence_ids = sentence_ids_of(encoder.config, input_ids, mask)
        sentence_ids = sentence_ids.masked_fill(~mask, -1)
        if num_sentences is None:
            num_sentences = max(1, int(sentence_ids.max()) + 1)
        embeddings = encoder.get_input_embeddings()(input_ids)
        scores, of_sentences = self(document.last_hidden_state, input_ids, embeddings, sentence_ids, num_sentences)
        return ScoredSentences(scores, of_sentences, sentence_ids)


def sentence_ids_of(config: SummarizerConfig, input_ids: Tensor, mask: Tensor) -> Tensor:
    """input_ids, mask [B, N] → the line that each token is on [B, N]; −1 for line breaks and special tokens."""
    if config.line_break_token_id is None:
        raise ValueError("config.line_break_token_id is not set; give sentence_ids")
    breaks = (input_ids == config.line_break_token_id) & mask
    ends = config.eos_token_id if isinstance(config.eos_token_id, list) else [config.eos_token_id]
    special = [each for each in (config.pad_token_id, config.bos_token_id, *ends) if each is not None]
    outside = breaks | ~mask | torch.isin(input_ids, torch.tensor(special, device=input_ids.device))
    return breaks.cumsum(dim=1).masked_fill(outside, -1)


def choose_by_tokens(scores: Tensor, sentence_ids: Tensor, most: int) -> Tensor:
    """scores [B, S], sentence_ids [B, N] → [B, S]: the best sentences, as many as have `most` tokens together.

    The best one is always chosen.
    """
    ones = torch.ones_like(sentence_ids, dtype=torch.float32)[..., None]
    counts = sum_by_sentence(ones, sentence_ids, scores.shape[1]).squeeze(-1)  # [B, S]
    order = scores.argsort(dim=1, descending=True, stable=True)
    fits = counts.gather(1, order).cumsum(dim=1) <= most
    fits[:, 0] = True
    return torch.zeros_like(fits).scatter(1, order, fits) & (counts > 0)


def tokens_of(chosen: Tensor, sentence_ids: Tensor) -> Tensor:
    """chosen [B, S], sentence_ids [B, N] → [B, N]: the tokens of chosen sentences, and the line break after each."""
    inside = sentence_ids >= 0
    kept = chosen.gather(1, sentence_ids.clamp(min=0)) & inside
    follows = F.pad(kept[:, :-1], (1, 0))
    return kept | (follows & ~inside)


def gather_tokens(kept: Tensor, *tensors: Tensor) -> list[Tensor]:
    """kept [B, N] → the mask [B, M] of the kept tokens, moved together, and each of `tensors` [B, N, …] cut to them."""
    most = max(1, int(kept.sum(dim=1).max()))
    order = (~kept).to(torch.int8).argsort(dim=1, stable=True)[:, :most]  # kept ones first, in their order
    moved = [
        each.gather(1, order.view(*order.shape, *[1] * (each.dim() - 2)).expand(-1, -1, *each.shape[2:]))
        for each in tensors
    ]
    return [kept.gather(1, order), *moved]


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


def summed_selection_loss(logits: Tensor, labels: Tensor, label_smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
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
