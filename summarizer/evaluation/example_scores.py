"""Score and measure one example and its baselines; the work of one process."""

from collections.abc import Mapping
from dataclasses import dataclass

from summarizer.evaluation.baselines import document_sentences, lead, lexrank, oracle, random_sentences
from summarizer.evaluation.examples import Example
from summarizer.evaluation.rouge import RougeSettings, Scores, score_references
from summarizer.evaluation.text_measures import IndexedDocument, TextMeasures, measure_text
from summarizer.text import split_sentences

MODEL = ""  # among the systems of an example, the predictions


@dataclass(frozen=True)
class BaselineSettings:
    """Which baselines are scored beside the predictions."""

    k: int  # sentences of each; the oracle may take fewer
    seed: int = 1
    lexrank: bool = False

    @property
    def names(self) -> list[str]:
        """Their names in the results."""
        return [f"{name}-{self.k}" for name in ("lead", "random", *(["lexrank"] if self.lexrank else []), "oracle")]


@dataclass(frozen=True)
class Result:
    """What is computed for one example, by system."""

    example: Example
    scores: Mapping[str, Scores]
    measures: Mapping[str, TextMeasures]
    texts: Mapping[str, str]


def score_example(example: Example, settings: RougeSettings, baselines: BaselineSettings | None) -> Result:
    """Score and measure the prediction of an example, and the baselines on the same document."""
    summaries = {MODEL: split_sentences(example.prediction, settings.split)}
    texts = {MODEL: example.prediction}
    if baselines:
        chosen = choose_sentences(example, settings, baselines)
        summaries |= chosen
        texts |= {name: "\n".join(sentences) for name, sentences in chosen.items()}
    document = None if example.document is None else IndexedDocument(example.document)
    return Result(
        example,
        {name: score_references(summary, example.references, settings) for name, summary in summaries.items()},
        {name: measure_text(text, example.reference, document) for name, text in texts.items()},
        texts,
    )


def choose_sentences(example: Example, settings: RougeSettings, baselines: BaselineSettings) -> dict[str, list[str]]:
    """The summaries of the baselines, by name. With several references the oracle uses the first."""
    tokenizer = settings.make_tokenizer()
    sentences = document_sentences(example.document or "", settings.split)
    chosen = [
        lead(sentences, baselines.k),
        random_sentences(sentences, baselines.k, baselines.seed, example.id),
        *([lexrank(sentences, baselines.k, tokenizer)] if baselines.lexrank else []),
        oracle(sentences, split_sentences(example.reference, settings.split), baselines.k, tokenizer),
    ]
    return dict(zip(baselines.names, chosen, strict=True))
