"""Long-document abstractive summarization with a Fastformer encoder.

Importing this package registers its models with transformers' Auto classes, and imports neither torch nor transformers
until one of them is needed.
"""

from typing import TYPE_CHECKING, Any

from summarizer.registration import register_with_transformers

if TYPE_CHECKING:
    from summarizer.generation.summarizer import Summarizer
    from summarizer.models import (
        FastformerSummarizerForConditionalGeneration,
        FastformerSummarizerForSentenceSelection,
        FastformerSummarizerForSequenceClassification,
        FastformerSummarizerModel,
        SummarizerConfig,
    )

__version__ = "0.1.0"
__all__ = [
    "FastformerSummarizerForConditionalGeneration",
    "FastformerSummarizerForSentenceSelection",
    "FastformerSummarizerForSequenceClassification",
    "FastformerSummarizerModel",
    "Summarizer",
    "SummarizerConfig",
]

register_with_transformers()


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'summarizer' has no attribute '{name}'")
    if name == "Summarizer":
        from summarizer.generation.summarizer import Summarizer

        return Summarizer
    from summarizer import models

    return getattr(models, name)
