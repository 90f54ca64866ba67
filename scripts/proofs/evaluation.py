"""Check the evaluation. Each command writes one file to results/evaluation/.

agreement CORPORA   compares scores and speed with those of rouge-score on 2,000 pairs
coverage            measures how often 95 % intervals contain the true mean, and the false positives of the tests
memory              measures the peak memory of evaluating 1,000 to 50,000 pairs
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow.parquet as pq
from rouge_score.rouge_scorer import RougeScorer

from summarizer.evaluation.baselines import document_sentences, lead
from summarizer.evaluation.evaluate import evaluate
from summarizer.evaluation.rouge import ROUGE_TYPES, RougeSettings, score_pair
from summarizer.evaluation.significance import paired_tests
from summarizer.evaluation.statistics import bootstrap_intervals
from summarizer.files import write_json
from summarizer.text import split_sentences

RESULTS = Path(__file__).parents[2] / "results/evaluation"
PAIRS = {"cnn_dailymail": 1100, "scitldr_a": 500, "ectsum": 200, "pubmed": 100, "scisummnet": 100}
LEAD = {"cnn_dailymail": 3, "scitldr_a": 2}  # sentences of the predictions; of the others 10
PAIRS_AT_ONCE = 50  # by one scorer, then by the other


def main(arguments: list[str]) -> None:
    """Run one part."""
    if arguments[:1] == ["agreement"] and len(arguments) == 2:
        write_json(RESULTS / "agreement.json", measure_agreement(list(real_pairs(Path(arguments[1])))))
    elif arguments == ["coverage"]:
        write_json(RESULTS / "coverage.json", simulate_coverage())
    elif arguments == ["memory"]:
        write_json(RESULTS / "memory.json", measure_memory())
    elif arguments[:1] == ["peak"]:
        print(peak_megabytes(int(arguments[1])))
    else:
        sys.exit(__doc__)


def real_pairs(corpora: Path, pairs: dict[str, int] = PAIRS) -> Iterator[tuple[str, str]]:
    """(prediction, reference), a sentence a line: the first sentences of test documents against their summaries."""
    for corpus, count in pairs.items():
        rows = pq.read_table(corpora / corpus / "test.parquet", columns=["document", "summary"]).slice(0, count)
        for row in rows.to_pylist():
            prediction = lead(document_sentences(row["document"]), LEAD.get(corpus, 10))
            yield "\n".join(prediction), "\n".join(split_sentences(row["summary"]))


def measure_agreement(pairs: list[tuple[str, str]]) -> dict:
    """Score all pairs with rouge-score and with ours, by turns; times are seconds of this process on one core."""
    scorer = RougeScorer(list(ROUGE_TYPES), use_stemmer=True)
    settings = RougeSettings(split="newline")  # the only split that rouge-score knows
    systems: dict[str, Callable] = {
        "rouge-score": lambda prediction, reference: scorer.score(reference, prediction),
        "summarizer": lambda prediction, reference: score_pair(prediction, reference, settings),
    }
    times: dict[str, list[float]] = {name: [] for name in systems}
    num_equal = 0
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        found = {}
        for name, score in systems.items():
            started = time.process_time()
            found[name] = [score(*pair) for pair in pairs[start : start + PAIRS_AT_ONCE]]
            times[name].append(time.process_time() - started)
        num_equal += sum(ours == theirs for ours, theirs in zip(*found.values(), strict=True))
    ratios = [plain / ours for plain, ours in zip(times["rouge-score"], times["summarizer"], strict=True)]
    return {
        "pairs": len(pairs),
        "equal_to_the_last_digit": num_equal,
        "speed_ratio": {"total": sum(times["rouge-score"]) / sum(times["summarizer"]), "median": median(ratios)},
        "pairs_per_second": {name: len(pairs) / sum(seconds) for name, seconds in times.items()},
    }


def simulate_coverage(repeats: int = 600, samples: int = 600, seed: int = 1) -> dict:
    """Draw test sets from populations whose mean is known, shaped like F of ROUGE-1 and of ROUGE-2 of news."""
    generator = np.random.default_rng(seed)
    populations = {"rouge1": (5.0, 8.0), "rouge2": (1.2, 6.0)}  # of beta distributions; ROUGE-2 is skewed
    coverage, false_findings = [], []
    for size in (50, 200):
        for name, (a, b) in populations.items():
            held = 0
            for repeat in range(repeats):
                (interval,) = bootstrap_intervals(generator.beta(a, b, size=(size, 1)), samples, seed=repeat)
                held += interval.low <= a / (a + b) <= interval.high
            coverage.append({"population": name, "examples": size, "coverage": held / repeats})
        found = np.zeros(2)
        for repeat in range(repeats):
            (test,) = paired_tests(generator.normal(0, 0.1, size=(size, 1)), samples, seed=repeat)
            found += [test.p_bootstrap < 0.05, test.p_randomization < 0.05]
        rates = dict(zip(("bootstrap", "randomization"), (found / repeats).tolist(), strict=True))
        false_findings.append({"examples": size, **rates})
    settings = {"repeats": repeats, "samples": samples, "confidence": 0.95, "seed": seed}
    return {"settings": settings, "coverage": coverage, "false_findings": false_findings}


def measure_memory() -> dict:
    """Evaluate made-up pairs with documents in processes of their own."""
    rows = []
    for count in (1_000, 10_000, 50_000):
        command = [sys.executable, __file__, "peak", str(count)]
        peak = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        rows.append({"pairs": count, "peak_megabytes": peak})
    return {"words_of_a_document": 60, "words_of_a_summary": 15, "rows": rows}


def peak_megabytes(count: int) -> float:
    """The peak resident memory of this process after it has evaluated `count` pairs."""
    generator = np.random.default_rng(1)
    vocabulary = np.array([f"word{number}" for number in range(2000)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pairs.jsonl")
        with path.open("w", encoding="utf-8") as file:
            for number in range(count):
                words = generator.choice(vocabulary, 60)
                row = {"id": number, "document": " ".join(words[:60]) + ".", "summary": " ".join(words[40:55]) + "."}
                file.write(json.dumps(row) + "\n")
        evaluate(path, path, Path(folder, "scores.json"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main(sys.argv[1:])
