"""Scores and measures as people read them: their names and their numbers, the same in every table."""

_METRIC_LABELS = {
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "rougeL": "ROUGE-L",
    "rougeLsum": "ROUGE-Lsum",
    "bertscore": "BERTScore",
}
SUPPORT = ("supported_sentences", "sentence_coverage")  # the measures that stand beside the scores
_NO_SHARES = ("summary_words", "reference_words", "source_words", "compression", "density", "longest_copy")


def metric_label(metric: str) -> str:
    """`ROUGE-1` for `rouge1`; other metrics under their own name."""
    return _METRIC_LABELS.get(metric, metric)


def measure_label(measure: str) -> str:
    """`novel bigrams` for `novel_bigrams`."""
    return measure.replace("_", " ")


def percent(share: float) -> str:
    """A score from 0 to 1 as a number from 0 to 100."""
    return f"{100 * share:.2f}"


def signed(share: float) -> str:
    """A difference of scores as a number from −100 to +100."""
    return f"{100 * share:+.2f}".replace("-", "−")


def interval(low: float, high: float) -> str:
    """The ends of an interval of scores from 0 to 1."""
    return f"{percent(low)} – {percent(high)}"


def with_interval(mean: float, low: float | None, high: float | None) -> str:
    """A score from 0 to 1 as a number from 0 to 100, with its interval if it has one."""
    return percent(mean) + ("" if low is None or high is None else f" ({interval(low, high)})")


def measure_text(measure: str, value: float | None) -> str:
    """The mean of a measure of texts: shares in percent; – where it is not known."""
    if value is None:
        return "–"
    return f"{value:,.1f}" if measure in _NO_SHARES else f"{100 * value:.1f} %"
