"""Long-document summarization with a Fastformer encoder.

Importing this package registers its models with transformers' Auto classes, and imports neither torch nor transformers
until one of them is needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from summarizer.registration import register_with_transformers

if TYPE_CHECKING:
    from summarizer.config import RunConfig
    from summarizer.config_files import load_config
    from summarizer.errors import InputError
    from summarizer.evaluation.rouge import RougeSettings
    from summarizer.evaluation.texts import SummaryScores, evaluate_summaries
    from summarizer.generation.options import Summary, SummarySettings
    from summarizer.generation.summarizer import Summarizer
    from summarizer.models import (
        FastformerSummarizerForConditionalGeneration,
        FastformerSummarizerForSentenceSelection,
        FastformerSummarizerForSequenceClassification,
        FastformerSummarizerModel,
        SummarizerConfig,
    )
    from summarizer.training.extensions import TrainingEvent
    from summarizer.training.loop import train

__version__ = "0.1.0"
__all__ = [
    "FastformerSummarizerForConditionalGeneration",
    "FastformerSummarizerForSentenceSelection",
    "FastformerSummarizerForSequenceClassification",
    "FastformerSummarizerModel",
    "InputError",
    "RougeSettings",
    "RunConfig",
    "Summarizer",
    "SummarizerConfig",
    "Summary",
    "SummaryScores",
    "SummarySettings",
    "TrainingEvent",
    "evaluate_summaries",
    "load_config",
    "train",
]
_MODULES = {  # of the names that are not in summarizer.models; imported when they are needed
    "InputError": "errors",
    "RougeSettings": "evaluation.rouge",
    "RunConfig": "config",
    "Summarizer": "generation.summarizer",
    "Summary": "generation.options",
    "SummaryScores": "evaluation.texts",
    "SummarySettings": "generation.options",
    "TrainingEvent": "training.extensions",
    "evaluate_summaries": "evaluation.texts",
    "load_config": "config_files",
    "train": "training.loop",
}

register_with_transformers()


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'summarizer' has no attribute '{name}'")
    return getattr(import_module(f"summarizer.{_MODULES.get(name, 'models')}"), name)
