"""A comparison of systems as data: what comparison.json holds, and all tables, figures and the page are made of."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from summarizer.evidence import Evidence

SIGNIFICANT = 0.05  # of the corrected p-value


@dataclass(frozen=True)
class Score:
    """A mean from 0 to 1 with the ends of its interval; a published number has none."""

    mean: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class ComparedSystem:
    """A model or a baseline that was run here, or published numbers."""

    name: str
    kind: Literal["model", "baseline", "published"]
    metrics: Mapping[str, Mapping[str, Score]]  # by metric, then precision, recall, fmeasure
    num_examples: int | None = None
    measures: Mapping[str, float] = field(default_factory=dict)  # of the texts, see evaluation.text_measures
    source: str | None = None  # of published numbers

    def fmeasure(self, metric: str) -> Score | None:
        """F, where the system has this metric."""
        return self.metrics.get(metric, {}).get("fmeasure")


@dataclass(frozen=True)
class SystemTest:
    """A paired test of a system against another: the difference of the mean F, and how sure its sign is."""

    system: str
    compared_with: str
    metric: str
    difference: float
    low: float
    high: float
    p_bootstrap: float
    p_randomization: float
    p_adjusted: float
    wins: int
    losses: int
    ties: int

    @property
    def verdict(self) -> str:
        """`better` or `worse` than the other where the corrected p-value is significant, else `not clear`."""
        if self.p_adjusted >= SIGNIFICANT:
            return "not clear"
        return "better" if self.difference > 0 else "worse"


@dataclass(frozen=True)
class LengthGroup:
    """Scores over documents of similar length, in words."""

    shortest: int
    longest: int
    median: float
    num_examples: int
    scores: Mapping[str, Mapping[str, Score]]  # F by system, then metric


@dataclass(frozen=True)
class DocumentLengths:
    """The words of an example's texts; `source_words`, those of the document, where it was given."""

    id: str
    source_words: int | None
    reference_words: int
    summary_words: Mapping[str, int]  # by system


@dataclass(frozen=True)
class ShownExample:
    """An example whose texts the page shows, as far as they are there."""

    id: str
    document: str | None
    reference: str | None
    predictions: Mapping[str, str]  # by system
    scores: Mapping[str, Mapping[str, float]]  # F by system, then metric
    evidence: Mapping[str, Evidence] = field(default_factory=dict)  # by system, of those whose records hold it


@dataclass(frozen=True)
class Comparison:
    """Several systems on the same examples. In the tests, all of them are compared with the first."""

    metrics: Sequence[str]
    systems: Sequence[ComparedSystem]
    compared_with: str = ""
    num_examples: int = 0
    signature: str = ""
    correction: str = "none"
    tests: Sequence[SystemTest] = ()
    limit_of_tests: str = ""  # why no test can be significant, if none can
    by_length: Sequence[LengthGroup] = ()
    documents: Sequence[DocumentLengths] = ()
    examples: Sequence[ShownExample] = ()
    training: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)  # by run: lines of metrics.jsonl
    benchmarks: Sequence[Mapping[str, Any]] = ()  # rows of `summarizer benchmark encoders`
    notes: Sequence[str] = ()  # such as files that changed after they were scored

    @property
    def run_here(self) -> list[ComparedSystem]:
        """The systems without published numbers."""
        return [system for system in self.systems if system.kind != "published"]

    @property
    def published(self) -> list[ComparedSystem]:
        """The published numbers."""
        return [system for system in self.systems if system.kind == "published"]

    def best(self, metric: str) -> list[ComparedSystem]:
        """The models with the highest F to two digits after the point, all of them where several have it.

        Baselines are not among them: they are what a model must beat, and the oracle has seen the references.
        """
        scored = {
            system.name: round(100 * score.mean, 2)
            for system in self.systems
            if system.kind == "model" and (score := system.fmeasure(metric))
        }
        highest = max(scored.values(), default=None)
        return [system for system in self.systems if system.name in scored and scored[system.name] == highest]

    def test_of(self, system: str, metric: str) -> SystemTest | None:
        """The test of a system against the first."""
        return next((test for test in self.tests if (test.system, test.metric) == (system, metric)), None)

    def to_json(self) -> dict[str, Any]:
        """The content of comparison.json; the ends of intervals and sources that there are not are left out."""

        def without_absent(items: list[tuple[str, Any]]) -> dict[str, Any]:
            return {name: value for name, value in items if value is not None or name not in ("low", "high", "source")}

        return asdict(self, dict_factory=without_absent)
