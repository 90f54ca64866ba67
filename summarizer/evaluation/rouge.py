"""ROUGE-1, -2, -L and -Lsum of text pairs, equal to rouge-score's to the last digit."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import TypeVar

from rouge_score.scoring import Score, fmeasure
from rouge_score.tokenizers import Tokenizer

from summarizer.evaluation.lcs import lcs_length, union_lcs_hits
from summarizer.evaluation.statistics import mean
from summarizer.evaluation.tokenizers import TokenizerName, make_tokenizer
from summarizer.sentences import Split, split_sentences

ROUGE_TYPES = ("rouge1", "rouge2", "rougeL", "rougeLsum")
MEASURES = ("precision", "recall", "fmeasure")  # the fields of a Score, in order

Scores = dict[str, Score]  # by ROUGE type
Job = TypeVar("Job")
Result = TypeVar("Result")


@dataclass(frozen=True)
class RougeSettings:
    """How texts become tokens and sentences before they are compared; the same for both sides."""

    tokenizer: TokenizerName = "default"
    stemmer: bool = True
    split: Split = "auto"

    def make_tokenizer(self) -> Tokenizer:
        """The tokenizer that these settings name."""
        return make_tokenizer(self.tokenizer, self.stemmer)


def score_pair(prediction: str, reference: str, settings: RougeSettings = RougeSettings()) -> Scores:
    """Score one prediction against its reference: a Score of precision, recall and fmeasure (0..1) a ROUGE type."""
    return score_sentences(
        split_sentences(prediction, settings.split),
        split_sentences(reference, settings.split),
        settings.make_tokenizer(),
    )


def score_sentences(prediction: Sequence[str], reference: Sequence[str], tokenizer: Tokenizer) -> Scores:
    """Score texts that are split into sentences already."""
    predicted_sentences = [tokenizer.tokenize(sentence) for sentence in prediction]
    reference_sentences = [tokenizer.tokenize(sentence) for sentence in reference]
    predicted = [token for sentence in predicted_sentences for token in sentence]
    expected = [token for sentence in reference_sentences for token in sentence]
    scores = {}
    for name, order in (("rouge1", 1), ("rouge2", 2)):
        ours, theirs = count_ngrams(predicted, order), count_ngrams(expected, order)
        scores[name] = make_score(overlap(ours, theirs), ours.total(), theirs.total())
    scores["rougeL"] = make_score(lcs_length(expected, predicted), len(predicted), len(expected))
    hits = union_lcs_hits(reference_sentences, predicted_sentences)
    scores["rougeLsum"] = make_score(hits, len(predicted), len(expected))
    return scores


def score_texts(
    predictions: Sequence[str],
    references: Sequence[str],
    settings: RougeSettings = RougeSettings(),
    processes: int = 1,
) -> dict[str, float]:
    """The mean fmeasure (0..1) a ROUGE type, equal to what `evaluate` gives on the same texts.

    Raises ValueError when there are no texts, or not as many predictions as references.
    """
    if len(predictions) != len(references):
        raise ValueError(f"{len(predictions)} predictions for {len(references)} references")
    if not predictions:
        raise ValueError("no predictions to score")
    pairs = list(zip(predictions, references, strict=True))
    with open_map(processes) as map_jobs:
        scores = list(map_jobs(partial(_score_pair_of, settings=settings), pairs))
    return {name: mean([score[name].fmeasure for score in scores]) for name in ROUGE_TYPES}


def _score_pair_of(pair: tuple[str, str], settings: RougeSettings) -> Scores:
    return score_pair(*pair, settings)


def count_ngrams(tokens: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    """How often each n-gram of that order stands in `tokens`."""
    return Counter(zip(*(tokens[start:] for start in range(order)), strict=False))


def overlap(ours: Counter, theirs: Counter) -> int:
    """How many n-grams two counts share, each as often as it stands in both."""
    if len(ours) > len(theirs):
        ours, theirs = theirs, ours
    return sum(min(count, theirs[ngram]) for ngram, count in ours.items() if ngram in theirs)


def make_score(hits: int, predicted: int, expected: int) -> Score:
    """Precision, recall and fmeasure of `hits` among `predicted` and `expected`; 0 where there is nothing."""
    precision, recall = hits / max(predicted, 1), hits / max(expected, 1)
    return Score(precision, recall, fmeasure(precision, recall))


@contextmanager
def open_map(processes: int) -> Iterator[Callable[[Callable[[Job], Result], Sequence[Job]], Iterable[Result]]]:
    """A `map` over that many processes, results in order; with one process, the built-in map in this one.

    Processes are spawned, so the function and the jobs must pickle. Raises ValueError for fewer than one.
    """
    if processes < 1:
        raise ValueError(f"processes must be at least 1, not {processes}")
    if processes == 1:
        yield map
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield lambda function, jobs: pool.map(function, jobs, chunksize=max(1, min(16, len(jobs) // (4 * processes))))
