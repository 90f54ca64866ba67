"""What the training loop needs of a task; the loop itself knows neither summaries nor classes."""

from typing import Any, Protocol

from accelerate import Accelerator
from torch import Tensor

from summarizer.config import Split
from summarizer.data.preparation import PreparedData


class Task(Protocol):
    """A kind of model and data. A micro-batch holds input_ids and attention_mask [B, N], labels [B, T] (−100: none)."""

    tokenizer: Any
    notes: list[str]  # for people, about the model that was made

    def prepare(self, split: Split) -> PreparedData | None:
        """The split as token ids; None where no data of that split are configured."""
        ...

    def make_model(self) -> Any:
        """The model to train, a new or a pretrained one, in training mode. After `prepare`."""
        ...

    def summed_loss(self, model: Any, batch: dict[str, Tensor], label_smoothing: float) -> Tensor:
        """The loss summed over the micro-batch's labels, float32."""
        ...

    def metrics(self, model: Any, data: PreparedData, accelerator: Accelerator) -> tuple[dict[str, float], list[str]]:
        """What a validation measures beside the loss, higher is better, and lines about what went wrong."""
        ...

    def signature(self, data: PreparedData) -> str:
        """What the metrics on these data depend on, in one line; empty where that goes without saying."""
        ...
