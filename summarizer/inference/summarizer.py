"""The import path of the first README; `from summarizer import Summarizer` is the same class."""

from summarizer.generation.summarizer import Summarizer as Summarizer
