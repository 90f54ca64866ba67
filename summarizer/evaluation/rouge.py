"""ROUGE-1, -2, -L and -Lsum of text pairs, equal to rouge-score's to the last digit."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Literal, NamedTuple, get_args

from rouge_score.scoring import Score, fmeasure
from rouge_score.tokenizers import Tokenizer

from summarizer.evaluation.lcs import lcs_length, union_lcs_hits
from summarizer.evaluation.parallel import open_map
from summarizer.evaluation.rouge_tokens import TokenizerName, make_tokenizer
from summarizer.text import Split, split_sentences

ROUGE_TYPES = ("rouge1", "rouge2", "rougeL", "rougeLsum")
MEASURES = ("precision", "recall", "fmeasure")  # the fields of a Score, in order

# Of several references: the one of the highest recall (ROUGE-1.5.5 -f B), the one of the highest F (rouge-score's
# score_multi), or the counts of all of them together (ROUGE-1.5.5 -f A).
SeveralReferences = Literal["best", "best-f", "mean"]
Scores = dict[str, Score]  # by ROUGE type


class Matches(NamedTuple):
    """What a Score is made of, in n-grams: those shared, those of the prediction, those of the reference."""

    hits: int
    predicted: int
    expected: int

    def score(self) -> Score:
        """Precision, recall and fmeasure; 0 where there is nothing."""
        return make_score(*self)


@dataclass(frozen=True)
class RougeSettings:
    """How texts become tokens and sentences before they are compared; the same for both sides."""

    tokenizer: TokenizerName = "default"
    stemmer: bool = True
    split: Split = "auto"
    references: SeveralReferences = "best"

    def make_tokenizer(self) -> Tokenizer:
        """The tokenizer that these settings name."""
        return make_tokenizer(self.tokenizer, self.stemmer)


def score_pair(prediction: str, reference: str, settings: RougeSettings = RougeSettings()) -> Scores:
    """Score one prediction against its reference: precision, recall and fmeasure (0..1) by ROUGE type."""
    return score_references(split_sentences(prediction, settings.split), [reference], settings)


def score_references(prediction: Sequence[str], references: Sequence[str], settings: RougeSettings) -> Scores:
    """Score one prediction, split into sentences already, against one reference or several.

    Each ROUGE type chooses its reference by itself. Raises ValueError for an unknown `settings.references`.
    """
    tokenizer = settings.make_tokenizer()
    split = [split_sentences(reference, settings.split) for reference in references]
    matches = [match_sentences(prediction, reference, tokenizer) for reference in split]
    return {name: _over_references([match[name] for match in matches], settings.references) for name in ROUGE_TYPES}


def _over_references(matches: Sequence[Matches], references: SeveralReferences) -> Score:
    """The first of equally good references is used, as in ROUGE-1.5.5 and rouge-score."""
    if references == "best":
        return max((match.score() for match in matches), key=lambda score: score.recall)
    if references == "best-f":
        return max((match.score() for match in matches), key=lambda score: score.fmeasure)
    if references == "mean":
        return Matches(*(sum(counts) for counts in zip(*matches, strict=True))).score()
    raise ValueError(
        f"unknown treatment of several references '{references}'; choose from {', '.join(get_args(SeveralReferences))}"
    )


def match_sentences(prediction: Sequence[str], reference: Sequence[str], tokenizer: Tokenizer) -> dict[str, Matches]:
    """Count what two texts share, by ROUGE type."""
    predicted_sentences = [tokenizer.tokenize(sentence) for sentence in prediction]
    reference_sentences = [tokenizer.tokenize(sentence) for sentence in reference]
    predicted = [token for sentence in predicted_sentences for token in sentence]
    expected = [token for sentence in reference_sentences for token in sentence]
    matches = {}
    for name, order in (("rouge1", 1), ("rouge2", 2)):
        ours, theirs = count_ngrams(predicted, order), count_ngrams(expected, order)
        matches[name] = Matches(overlap(ours, theirs), ours.total(), theirs.total())
    matches["rougeL"] = Matches(lcs_length(expected, predicted), len(predicted), len(expected))
    hits = union_lcs_hits(reference_sentences, predicted_sentences)
    matches["rougeLsum"] = Matches(hits, len(predicted), len(expected))
    return matches


def score_texts(
    predictions: Sequence[str],
    references: Sequence[str],
    settings: RougeSettings = RougeSettings(),
    processes: int = 1,
) -> dict[str, float]:
    """The mean fmeasure (0..1) of each ROUGE type, equal to what `evaluate` gives on the same texts.

    Raises ValueError when there are no texts, or not as many predictions as references.
    """
    if len(predictions) != len(references):
        raise ValueError(f"{len(predictions)} predictions for {len(references)} references")
    if not predictions:
        raise ValueError("no predictions to score")
    pairs = list(zip(predictions, references, strict=True))
    with open_map(processes) as map_jobs:
        scores = list(map_jobs(partial(_score_pair_of, settings=settings), pairs))
    return {name: fmean([score[name].fmeasure for score in scores]) for name in ROUGE_TYPES}


def _score_pair_of(pair: tuple[str, str], settings: RougeSettings) -> Scores:
    return score_pair(*pair, settings)


def count_ngrams(tokens: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    """How often each n-gram of that order occurs in `tokens`."""
    return Counter(zip(*(tokens[start:] for start in range(order)), strict=False))


def overlap(ours: Counter, theirs: Counter) -> int:
    """How many n-grams two counts share, each as often as it occurs in both."""
    if len(ours) > len(theirs):
        ours, theirs = theirs, ours
    return sum(min(count, theirs[ngram]) for ngram, count in ours.items() if ngram in theirs)


def make_score(hits: int, predicted: int, expected: int) -> Score:
    """Precision, recall and fmeasure of `hits` among `predicted` and `expected`; 0 where there is nothing."""
    precision, recall = hits / max(predicted, 1), hits / max(expected, 1)
    return Score(precision, recall, fmeasure(precision, recall))
