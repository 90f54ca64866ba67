"""LexRank, a classic extractive summarizer: sentences that are like many others, by sumy."""

from collections.abc import Sequence

from rouge_score.tokenizers import Tokenizer

from summarizer.optional import import_optional


class _Words:
    """sumy's interface to a tokenizer; its own would need nltk's data."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def to_words(self, sentence: str) -> tuple[str, ...]:
        return tuple(self._tokenizer.tokenize(sentence))


def lexrank(sentences: Sequence[str], k: int, tokenizer: Tokenizer) -> list[str]:
    """The k most central sentences in the order of the document, by LexRank with sumy's defaults.

    Its time grows with the square of the number of sentences: seconds for a long article. Raises InputError where
    sumy is not installed.
    """
    summarizers = import_optional("sumy.summarizers.lex_rank", "baselines", "the LexRank baseline")
    dom = import_optional("sumy.models.dom", "baselines", "the LexRank baseline")
    words = _Words(tokenizer)
    # Sentences without a word would divide by zero.
    elements = [dom.Sentence(sentence, words) for sentence in sentences if tokenizer.tokenize(sentence)]
    if not elements:
        return []
    document = dom.ObjectDocumentModel([dom.Paragraph(elements)])
    return [str(sentence) for sentence in summarizers.LexRankSummarizer()(document, k)]
