"""The summarizer's models; importing this registers them with transformers' Auto classes."""

from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedTokenizerFast,
)

from summarizer.models.classification import FastformerSummarizerForSequenceClassification
from summarizer.models.configuration import SummarizerConfig
from summarizer.models.selector import FastformerSummarizerForSentenceSelection
from summarizer.models.seq2seq import (
    FastformerSummarizerForConditionalGeneration,
    FastformerSummarizerModel,
)

AutoConfig.register(SummarizerConfig.model_type, SummarizerConfig)
AutoModel.register(SummarizerConfig, FastformerSummarizerModel)
AutoModelForSeq2SeqLM.register(SummarizerConfig, FastformerSummarizerForConditionalGeneration)
AutoModelForSequenceClassification.register(SummarizerConfig, FastformerSummarizerForSequenceClassification)
AutoTokenizer.register(SummarizerConfig, fast_tokenizer_class=PreTrainedTokenizerFast)

__all__ = [
    "FastformerSummarizerForConditionalGeneration",
    "FastformerSummarizerForSentenceSelection",
    "FastformerSummarizerForSequenceClassification",
    "FastformerSummarizerModel",
    "SummarizerConfig",
]
