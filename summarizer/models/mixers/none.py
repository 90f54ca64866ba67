"""No token mixing: the control of every comparison. An encoder that does not beat it has brought nothing."""

from torch import Tensor, nn

from summarizer.models.fused_linear import project


class NoMixing(nn.Module):
    """A linear map of each token by itself, with no word of the others."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.output = nn.Linear(d_model, d_model)

    def forward(self, hidden_states: Tensor, mask: Tensor) -> Tensor:
        """hidden_states [B, N, d], mask [B, N] bool → [B, N, d]."""
        return project(self.output, hidden_states)
