"""The encoder: token and position embeddings, then layers that differ in their token mixing only.

Shapes: B documents, N source tokens, d = d_model.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from transformers import initialization as init
from transformers.modeling_layers import GradientCheckpointingLayer

from summarizer.models.configuration import SummarizerConfig
from summarizer.models.fused_linear import NarrowLinear
from summarizer.models.layers import FeedForward, Residual, at_least_float32, in_compute_dtype, layer_norm, sinusoids
from summarizer.models.mixers import make_mixer


class NeighborConvolution(nn.Module):
    """A depthwise convolution over each token's neighbours: what stands next to it, which Fastformer never sees."""

    def __init__(self, d_model: int, kernel_size: int) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.weight = nn.Parameter(torch.empty(kernel_size, d_model))
        self.bias = nn.Parameter(torch.empty(d_model))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start as a small random mixture of the neighbours."""
        init.normal_(self.weight, std=self.kernel_size**-0.5)
        init.zeros_(self.bias)

    def forward(self, hidden_states: Tensor, mask: Tensor) -> Tensor:
        """hidden_states [B, N, d], mask [B, N] → [B, N, d]; padding counts as zeros, like what lies outside."""
        hidden_states = hidden_states * mask[..., None]
        convolve = convolve_as_image if hidden_states.device.type == "cpu" else convolve_by_products
        return convolve(hidden_states, self.weight.to(hidden_states.dtype), self.bias.to(hidden_states.dtype))


def convolve_as_image(hidden_states: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """[B, N, d], weight [K, d], bias [d] → the depthwise convolution [B, N, d].

    Tokens are the pixels of an image with the channels innermost: oneDNN is fast in that layout, and copies nothing.
    """
    kernel_size, d_model = weight.shape
    image, kernels = hidden_states.transpose(1, 2)[..., None], weight.T[:, None, :, None]
    mixed = nn.functional.conv2d(image, kernels, bias, padding=(kernel_size // 2, 0), groups=d_model)
    return mixed.squeeze(-1).transpose(1, 2)[:, : hidden_states.shape[1]]


def convolve_by_products(hidden_states: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The same by shifted products, which beat a grouped conv1d."""
    length, reach = hidden_states.shape[1], len(weight) // 2
    padded = nn.functional.pad(hidden_states, (0, 0, reach, reach))
    mixed = torch.addcmul(bias, padded[:, :length], weight[0])
    for offset in range(1, len(weight)):
        mixed = torch.addcmul(mixed, padded[:, offset : offset + length], weight[offset])
    return mixed


class EncoderLayer(GradientCheckpointingLayer):
    """Convolution over neighbours (optional), token mixing, feed-forward (optional), each with residual and norm."""

    def __init__(self, config: SummarizerConfig, below: Sequence[nn.Module] = ()) -> None:
        super().__init__()
        d_model = config.d_model
        self.residual = Residual(config.dropout, config.norm == "pre")
        self.convolution = self.feed_forward = None
        if config.neighbor_kernel_size:
            self.convolution = NeighborConvolution(d_model, config.neighbor_kernel_size)
            self.convolution_norm = layer_norm(config)
        self.mixer = make_mixer(config.mixer, d_model, config.encoder_attention_heads, config.mixer_options, below)
        self.mixer_norm = layer_norm(config)
        if config.encoder_ffn_dim:
            self.feed_forward = FeedForward(d_model, config.encoder_ffn_dim, config.activation_function)
            self.feed_forward_norm = layer_norm(config)

    def forward(self, hidden_states: Tensor, mask: Tensor) -> Tensor:
        """hidden_states [B, N, d], mask [B, N] bool → [B, N, d]."""
        if self.convolution is not None:
            hidden_states = self.residual(hidden_states, self.convolution, self.convolution_norm, mask)
        hidden_states = self.residual(hidden_states, self.mixer, self.mixer_norm, mask)
        if self.feed_forward is not None:
            hidden_states = self.residual(hidden_states, self.feed_forward, self.feed_forward_norm)
        return hidden_states


class EncoderStack(nn.Module):
    """Positions and layers over embedded tokens; the part of the encoder that knows no vocabulary."""

    def __init__(self, config: SummarizerConfig) -> None:
        super().__init__()
        self.positions, self.d_model = config.positions, config.d_model
        self.position_embeddings = None
        if config.positions == "learned":
            self.position_embeddings = nn.Embedding(config.max_source_positions, config.d_model)
        self.embedding_norm = layer_norm(config) if config.normalize_embeddings else nn.Identity()
        self.dropout = nn.Dropout(config.dropout)
        num_distinct = 1 if config.share_encoder_layers else config.encoder_layers
        layers: list[EncoderLayer] = []
        for _ in range(num_distinct):
            layers.append(EncoderLayer(config, below=[layer.mixer for layer in layers]))
        self.layers = nn.ModuleList(layers)
        self.num_layers = config.encoder_layers
        self.final_norm = layer_norm(config) if config.norm == "pre" else nn.Identity()

    def forward(self, embeddings: Tensor, mask: Tensor, all_hidden_states: list[Tensor] | None = None) -> Tensor:
        """embeddings [B, N, d], mask [B, N] bool → hidden states [B, N, d]; appends each layer's input to the list."""
        hidden_states = self.embedding_norm(in_compute_dtype(self._add_positions(embeddings)))
        hidden_states = self.dropout(hidden_states)
        for index in range(self.num_layers):
            if all_hidden_states is not None:
                all_hidden_states.append(hidden_states)
            hidden_states = self.layers[index % len(self.layers)](hidden_states, mask)
        return self.final_norm(hidden_states)

    def _add_positions(self, embeddings: Tensor) -> Tensor:
        length = embeddings.shape[1]
        positions = torch.arange(length, device=embeddings.device)
        if self.positions == "sinusoidal":
            return embeddings + sinusoids(positions, self.d_model).to(embeddings.dtype)
        if self.position_embeddings is None:
            return embeddings
        limit = self.position_embeddings.num_embeddings
        if length > limit:
            raise ValueError(f"{length} source tokens are more than the {limit} learned positions of this model")
        return embeddings + self.position_embeddings(positions)


class AdditivePooling(nn.Module):
    """Pool tokens to one vector with additive attention, weights softmax(w · tanh(W x + b)) over the real tokens."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(d_model, d_model)
        self.score = NarrowLinear(d_model, 1)

    def forward(self, hidden_states: Tensor, mask: Tensor) -> Tensor:
        """hidden_states [B, N, d], mask [B, N] bool → [B, d]."""
        scores = at_least_float32(self.score(torch.tanh(self.hidden(hidden_states))).squeeze(-1))
        weights = scores.masked_fill(~mask, torch.finfo(torch.float32).min).softmax(dim=-1)
        return torch.bmm(weights[:, None].to(hidden_states.dtype), hidden_states).squeeze(1)
