from typing import Any

import pytest

from summarizer.reporting.comparison import (
    ComparedSystem,
    Comparison,
    DocumentLengths,
    LengthGroup,
    Score,
    ShownExample,
    SystemTest,
)

METRICS = ["rouge1", "rouge2"]


def build(content: dict[str, Any]) -> Comparison:
    """A comparison of plain values, which the tests change more easily; parts may be absent."""

    def scores(by_name: dict) -> dict:
        return {name: Score(**value) if "mean" in value else scores(value) for name, value in by_name.items()}

    def system(plain: dict) -> ComparedSystem:
        return ComparedSystem(**plain | {"metrics": scores(plain["metrics"])})

    of_examples = {"document": None, "reference": None, "predictions": {}, "scores": {}}
    made = {
        "systems": [system(plain) for plain in content["systems"]],
        "tests": [SystemTest(**test) for test in content.get("tests", ())],
        "by_length": [
            LengthGroup(**group | {"scores": scores(group["scores"])}) for group in content.get("by_length", ())
        ],
        "documents": [DocumentLengths(**document) for document in content.get("documents", ())],
        "examples": [ShownExample(**of_examples | example) for example in content.get("examples", ())],
    }
    return Comparison(**content | made)


@pytest.fixture
def comparison() -> dict[str, Any]:
    """The plain values of a comparison with every part: two models, two baselines and a published row; 12 documents."""

    def interval(mean: float) -> dict[str, float]:
        return {"mean": mean, "low": mean - 0.01, "high": mean + 0.01}

    def scores(mean: float) -> dict[str, Any]:
        return {metric: dict.fromkeys(("precision", "recall", "fmeasure"), interval(mean)) for metric in METRICS}

    document = "The harbour was closed on Monday because of strong winds from the north.\nFerries stayed in port."
    predictions = {"fast": "The harbour was closed on Monday. Boats stayed.", "full": "Ferries stayed in port."}
    return {
        "metrics": METRICS,
        "compared_with": "lead-2",
        "num_examples": 12,
        "signature": "rouge1+rouge2|tok:default|n:12",
        "systems": [
            {"name": "fast", "kind": "model", "metrics": scores(0.42), "measures": {"empty": 0.0, "copied_words": 0.8}},
            {"name": "full", "kind": "model", "metrics": scores(0.4), "measures": {"empty": 0.1}},
            {"name": "lead-2", "kind": "baseline", "metrics": scores(0.45)},
            {"name": "oracle", "kind": "baseline", "metrics": scores(0.7)},
            {
                "name": "A paper (2020)",
                "kind": "published",
                "source": "Authors 2020",
                "metrics": {"rouge1": {"fmeasure": {"mean": 0.9}}},
            },
        ],
        "tests": [
            {
                "system": system,
                "compared_with": "lead-2",
                "metric": metric,
                "difference": difference,
                "low": difference - 0.02,
                "high": difference + 0.02,
                "p_bootstrap": probability,
                "p_randomization": probability,
                "p_adjusted": probability,
                "wins": 7,
                "losses": 4,
                "ties": 1,
            }
            for system, difference, probability in (("fast", -0.03, 0.0004), ("full", -0.05, 0.2))
            for metric in METRICS
        ],
        "examples": [
            {
                "id": f"doc-{number}",
                "document": document,
                "reference": "Winds closed the harbour.",
                "predictions": dict(predictions),
                "scores": {name: dict.fromkeys(METRICS, 0.3 + 0.01 * number) for name in predictions},
            }
            for number in range(12)
        ],
        "documents": [
            {
                "id": f"doc-{number}",
                "source_words": 100 + 30 * number,
                "reference_words": 20 + number,
                "summary_words": {"fast": 8, "full": 4},
            }
            for number in range(12)
        ],
        "by_length": [
            {
                "shortest": 1,
                "longest": 9,
                "num_examples": 6,
                "median": words,
                "scores": {name: {m: interval(mean) for m in METRICS} for name in predictions},
            }
            for words, mean in ((175.0, 0.325), (355.0, 0.385))
        ],
        "training": {
            "fast": [{"step": 10, "loss": 5.0}, {"step": 20, "loss": 4.0}, {"step": 20, "validation_loss": 4.2}]
        },
        "benchmarks": [
            {
                "encoder": encoder,
                "length": length,
                "dtype": "float32",
                "forward_ms": length / speed,
                "forward_backward_ms": 3 * length / speed,
                "peak_mb": 100 + length / 10,
            }
            for encoder, speed in (("fastformer", 400), ("full", 100))
            for length in (512, 1024, 2048)
        ],
    }
