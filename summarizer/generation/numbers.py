"""The numbers of a summary whose model reads and writes a placeholder for each: all of them are the document's own.

Where the model wrote a placeholder its copy mechanism pointed into the document, and the number there is the one meant.
"""

from collections.abc import Sequence
from typing import Any

import torch

from summarizer.data.tokenizer import find_numbers, number_ids
from summarizer.models.copying import NEVER


class Numbers:
    """Writes documents' numbers into summaries, for one model and its tokenizer."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self._model = model
        self._placeholder: str = tokenizer.init_kwargs.get("number_placeholder") or ""
        self.ids = torch.tensor(number_ids(tokenizer), dtype=torch.long, device=model.device)

    def restore(self, text: str, summary_ids: Sequence[int], document: str, source_ids: Sequence[int]) -> str:
        """`text`, decoded from summary_ids, with numbers of `document`, encoded as source_ids, for the placeholders.

        It stays as it is where the model has no copy mechanism.
        """
        parts = text.split(self._placeholder) if self._placeholder else [text]
        if len(parts) == 1 or getattr(self._model, "copying", None) is None:
            return text
        numbers = find_numbers(document, self._placeholder)
        chosen = self._pointed_at(list(source_ids), list(summary_ids))
        if len(chosen) != len(parts) - 1 or max(chosen) >= len(numbers):
            return text
        return parts[0] + "".join(numbers[index] + part for index, part in zip(chosen, parts[1:], strict=True))

    @torch.no_grad()
    def _pointed_at(self, source_ids: list[int], summary_ids: list[int]) -> list[int]:
        """For each placeholder of the summary, the index among the document's that has the best copying score."""
        source = torch.tensor([source_ids], device=self._model.device)
        summary = torch.tensor([summary_ids], device=self._model.device)
        places = torch.isin(source[0], self.ids)  # [N]
        scores = self._model.copy_scores(
            source, self._model.prepare_decoder_input_ids_from_labels(summary)
        )  # [1, T, N]
        written = scores[0, torch.isin(summary[0], self.ids)]
        best = written.masked_fill(~places, NEVER).argmax(dim=-1)
        return (places.cumsum(dim=0)[best] - 1).tolist()
