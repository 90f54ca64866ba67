"""Long-document abstractive summarization with a Fastformer encoder."""

__version__ = "0.1.0"
