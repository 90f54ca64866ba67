"""The settings and versions that scores depend on, as text and as data."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version

from summarizer.evaluation.rouge import ROUGE_TYPES, RougeSettings

# Parts that the score of a single example does not depend on; compared systems may differ in them.
_NOT_OF_A_SCORE = (
    *("n", "mismatch", "duplicates", "empty", "pair_by", "bs", "ci", "seed", "tests", "correction"),
    *("lead-k", "sumy", "fastformer-summarizer"),
)


@dataclass(frozen=True)
class Signature:
    """The metrics and, in order, everything else that the scores depend on."""

    metrics: tuple[str, ...]
    parts: Mapping[str, str]

    def __str__(self) -> str:
        return "|".join(["+".join(self.metrics), *(f"{name}:{value}" for name, value in self.parts.items())])

    def with_part(self, name: str, value: str, before: str) -> "Signature":
        """The same signature with one more part, before another."""
        parts: dict[str, str] = {}
        for each, own in self.parts.items():
            parts |= {name: value, each: own} if each == before else {each: own}
        return Signature(self.metrics, parts)

    @property
    def of_a_score(self) -> dict[str, str]:
        """The parts that a single score depends on; they must be equal where scores are compared."""
        return {name: value for name, value in self.parts.items() if name not in _NOT_OF_A_SCORE}

    def to_json(self) -> dict[str, object]:
        """The signature as data, for `Signature.from_json`."""
        return {"metrics": list(self.metrics), "parts": dict(self.parts)}

    @classmethod
    def from_json(cls, content: Mapping[str, object]) -> "Signature":
        """Raises KeyError or TypeError for what `to_json` did not write."""
        metrics, parts = content["metrics"], content["parts"]
        if not isinstance(metrics, list) or not isinstance(parts, dict):
            raise TypeError("a signature has a list of metrics and named parts")
        return cls(tuple(metrics), parts)


def rouge_parts(settings: RougeSettings) -> dict[str, str]:
    """What ROUGE depends on, apart from the versions of the libraries."""
    return {
        "tok": settings.tokenizer,
        "stem": "porter" if settings.stemmer else "no",
        "split": settings.split,
    }


def version_parts() -> dict[str, str]:
    """The versions of what computes the scores."""
    return {name: version(name) for name in ("rouge-score", "sentencex", "fastformer-summarizer")}


def signature_of_texts(num_examples: int) -> Signature:
    """The signature of what `score_texts` computes with its default settings."""
    return Signature(ROUGE_TYPES, {**rouge_parts(RougeSettings()), "n": str(num_examples), **version_parts()})
