"""Predictions and references → scores per example → means with intervals → scores.json."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

from summarizer.errors import InputError, UsageError
from summarizer.evaluation.baselines import fit_lead_k
from summarizer.evaluation.bertscore import PAIRS_AT_ONCE, BertScorer
from summarizer.evaluation.example_scores import MODEL, BaselineSettings, Result, score_example
from summarizer.evaluation.examples import Example, Examples, Policy, pair_examples
from summarizer.evaluation.files_of_texts import Columns, read_references, text_files
from summarizer.evaluation.parallel import open_map
from summarizer.evaluation.rouge import ROUGE_TYPES, RougeSettings
from summarizer.evaluation.score_table import Intervals, ScoreTable
from summarizer.evaluation.signature import Signature, rouge_parts, version_parts
from summarizer.files import hash_of_file, is_gzipped, write_whole
from summarizer.outputs import check_files, form
from summarizer.progress import WorkProgress
from summarizer.text import split_sentences

BERT_SCORE = "bertscore"
_SCORES = form("json", "num_examples", "signature", "scores", "counts")
_EXAMPLES = form("jsonl", "id", *ROUGE_TYPES)
_VALIDATION_PAIRS = 1000  # that k is fitted on, at most


@dataclass(frozen=True)
class EvaluationOptions:
    """How predictions are scored."""

    rouge: RougeSettings = field(default_factory=RougeSettings)
    columns: Columns = field(default_factory=Columns)
    policy: Policy = field(default_factory=Policy)
    baselines: bool = False  # Lead-k, random-k and the oracle-k too; needs the documents
    lexrank: bool = False  # LexRank as well
    lead_k: int | None = None  # None: as fitted, or else the mean number of sentences of the references, rounded
    validation: Path | None = None  # pairs that k is fitted on
    bert_score: str | None = None  # a model folder or a name that the package bert-score knows
    bert_score_layer: int | None = None
    store_texts: bool = False  # in the file of the examples
    bootstrap_samples: int = 1000
    confidence: float = 0.95
    seed: int = 1
    processes: int = 1
    overwrite: bool = False  # replace files that are not earlier scores

    def check(self) -> None:
        """Raises InputError for settings of the baselines without `baselines`, and for contradictory ones."""
        if not self.baselines and (self.lexrank or self.lead_k is not None or self.validation):
            raise InputError("--lead-k, --validation and --lexrank need --baselines")
        if self.lead_k is not None and (self.lead_k < 1 or self.validation):
            raise InputError("--lead-k must be at least 1 and cannot be combined with --validation")


@dataclass(frozen=True)
class Evaluation:
    """The scores of a file of predictions, as written to `output`."""

    num_examples: int  # failed and empty ones included
    signature: Signature
    scores: Intervals
    counts: dict[str, int]
    text_measures: dict[str, float]
    baselines: dict[str, Intervals]  # by name: lead-K, random-K, oracle-K; empty if not asked for
    baseline_measures: dict[str, dict[str, float]]
    notes: list[str]  # how unmatched, duplicate and empty rows were handled
    inputs: dict[str, Any] = field(repr=False)  # where the texts are, seen from the folder of `output`
    output: Path

    def to_json(self) -> dict[str, Any]:
        """The content of scores.json."""
        content = {name: value for name, value in asdict(self).items() if name != "output"}
        return {**content, "signature": str(self.signature), "signature_parts": self.signature.to_json()}


def evaluate(
    predictions_path: Path,
    references_path: Path,
    output: Path | None = None,
    options: EvaluationOptions = EvaluationOptions(),
    quiet: bool = True,
) -> Evaluation:
    """Score a file of predictions against a file of references and write `output` and the examples beside it.

    A failed or empty prediction scores 0. Predictions and scores are held in memory; references and documents are
    streamed. Unless `quiet`, a progress bar is shown on a terminal. Raises InputError for files that cannot be read or
    paired (see `pair_examples`) and for baselines without documents.
    """
    output = output or default_output(predictions_path)
    _check_output(output, (predictions_path, references_path), options.overwrite)
    options.check()
    scorer = BertScorer(options.bert_score, options.bert_score_layer) if options.bert_score else None
    paired = pair_examples(predictions_path, references_path, options.columns, options.policy, options.store_texts)
    baselines = _baseline_settings(paired, references_path, options)
    with ExitStack() as stack:
        map_jobs = stack.enter_context(open_map(options.processes))
        score = partial(score_example, settings=options.rouge, baselines=baselines)
        table = ScoreTable((*ROUGE_TYPES, BERT_SCORE) if scorer else ROUGE_TYPES)
        facts = _Facts()
        # Both files are written aside before either takes its name.
        scores_file = stack.enter_context(write_whole(output))
        examples_file = stack.enter_context(write_whole(examples_path(output)))
        progress = stack.enter_context(WorkProgress("scoring", "examples", len(paired), quiet, lines=False))
        for result in _with_bert_scores(map_jobs(score, paired), scorer):
            facts.add(result.example)
            table.add(result.scores, result.measures)
            line = _example_line(result, options.store_texts)
            examples_file.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")
            progress.advance()
        intervals = table.intervals(options.bootstrap_samples, options.seed, options.confidence)
        measures = table.mean_measures()
        evaluation = Evaluation(
            num_examples=len(paired),
            signature=_make_signature(options, len(paired), baselines, facts.several_references, scorer),
            scores=intervals.pop(MODEL),
            counts=facts.counts | paired.counts,
            text_measures=measures.pop(MODEL),
            baselines=intervals,
            baseline_measures=measures,
            notes=paired.notes,
            inputs=_describe_inputs(predictions_path, references_path, output, options, facts),
            output=output,
        )
        json.dump(evaluation.to_json(), scores_file, indent=2, ensure_ascii=False, allow_nan=False)
        scores_file.write("\n")
    return evaluation


def default_output(predictions_path: Path) -> Path:
    """`summaries.scores.json` for `summaries.jsonl`, beside it."""
    name = Path(predictions_path.stem) if is_gzipped(predictions_path) else predictions_path
    return predictions_path.with_name(f"{name.stem}.scores.json")


def examples_path(output: Path) -> Path:
    """The file of the scores of each example: `scores.examples.jsonl` beside `scores.json`."""
    return output.with_suffix(".examples.jsonl")


def hash_of_texts(path: Path) -> str:
    """SHA-256 of a file's content, or of the names and contents of the text files below a folder."""
    if not path.is_dir():
        return hash_of_file(path)
    lines = [f"{file.relative_to(path).as_posix()}\0{hash_of_file(file)}\n" for file in text_files(path)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _make_signature(
    options: EvaluationOptions,
    num_examples: int,
    baselines: BaselineSettings | None,
    several_references: bool,
    scorer: BertScorer | None,
) -> Signature:
    rouge, policy = options.rouge, options.policy
    parts = {
        **rouge_parts(rouge),
        **({"refs": rouge.references} if several_references else {}),
        **({"bertscore": scorer.description} if scorer else {}),
        "n": str(num_examples),
        **{name: value for name, value in asdict(policy).items() if value != getattr(Policy, name)},
        "bs": str(options.bootstrap_samples),
        "ci": f"{options.confidence:g}",
        "seed": str(options.seed),
        **({"lead-k": str(baselines.k)} if baselines else {}),
        **({"sumy": version("sumy")} if baselines and baselines.lexrank else {}),
        **version_parts(),
    }
    return Signature(ROUGE_TYPES, parts)


class _Facts:
    """Counts and a hash that are updated with each example."""

    def __init__(self) -> None:
        self.counts = {"empty": 0, "failed": 0, "empty_references": 0, "source_cut": 0}
        self.several_references = False
        self._hash = hashlib.sha256()

    def add(self, example: Example) -> None:
        self.counts["empty"] += not example.prediction.strip() and not example.failed
        self.counts["failed"] += example.failed
        self.counts["empty_references"] += not example.reference.strip()
        self.counts["source_cut"] += bool(example.source_cut)
        self.several_references |= bool(example.other_references)
        self._hash.update(json.dumps([example.id, *example.references]).encode())

    def hash_of_references(self) -> str:
        """SHA-256 of the ids and texts in order."""
        return self._hash.hexdigest()


def _baseline_settings(paired: Examples, references_path: Path, options: EvaluationOptions) -> BaselineSettings | None:
    if not options.baselines:
        return None
    references = []
    for example in paired:
        if example.document is None:
            raise InputError(
                f"{references_path}: baselines need the documents, and '{example.id}' has none; see --document-column"
            )
        if not options.lead_k and not options.validation:
            references.append(len(split_sentences(example.reference, options.rouge.split)))
    k = options.lead_k or (_fitted_k(options) if options.validation else max(1, round(fmean(references))))
    return BaselineSettings(k, options.seed, options.lexrank)


def _fitted_k(options: EvaluationOptions) -> int:
    path = options.validation
    if path is None:
        raise ValueError("no validation file to fit k on")
    pairs = []
    for row in islice(read_references(path, options.columns), _VALIDATION_PAIRS):
        if row.document is None:
            raise InputError(f"{row.location}: has no document to fit k on; see --document-column")
        pairs.append((row.document, row.text))
    if not pairs:
        raise InputError(f"{path}: holds no rows")
    return fit_lead_k(pairs, options.rouge.make_tokenizer(), options.rouge.split)


def _with_bert_scores(results: Iterable[Result], scorer: BertScorer | None) -> Iterator[Result]:
    """Add BERTScore to the scores of every system, some examples at a time."""
    if scorer is None:
        yield from results
        return
    remaining = iter(results)
    while batch := list(islice(remaining, PAIRS_AT_ONCE)):
        systems = [(result, name) for result in batch for name in result.texts]
        found = scorer.score(
            [result.texts[name] for result, name in systems], [result.example.references for result, _ in systems]
        )
        for (result, name), score in zip(systems, found, strict=True):
            result.scores[name][BERT_SCORE] = score
        yield from batch


def _example_line(result: Result, with_texts: bool) -> dict[str, Any]:
    systems = {
        name: {metric: score._asdict() for metric, score in scores.items()}
        | {"measures": asdict(result.measures[name])}
        for name, scores in result.scores.items()
    }
    line = {"id": result.example.id, **systems.pop(MODEL)}
    if systems:
        line["baselines"] = systems
    if with_texts:
        predictions = dict(result.texts)
        line["texts"] = {
            "document": result.example.document,
            "references": result.example.references,
            "prediction": predictions.pop(MODEL),
            "evidence": result.example.evidence,
            "baselines": predictions,
        }
    return line


def _describe_inputs(
    predictions_path: Path, references_path: Path, output: Path, options: EvaluationOptions, facts: _Facts
) -> dict[str, Any]:
    folder = output.resolve().parent
    return {
        "predictions": _relative(predictions_path, folder),
        "references": _relative(references_path, folder),
        "columns": asdict(options.columns),
        "references_sha256": facts.hash_of_references(),
        "files_sha256": {"predictions": hash_of_texts(predictions_path), "references": hash_of_texts(references_path)},
        **({"lead_k_fitted_on": _relative(options.validation, folder)} if options.validation else {}),
    }


def _relative(path: Path, folder: Path) -> str:
    """Seen from a folder, so that both can move together; as it is where no relative path leads there."""
    try:
        return Path(os.path.relpath(path.resolve(), folder)).as_posix()
    except ValueError:
        return str(path)


def _check_output(output: Path, inputs: Sequence[Path], overwrite: bool) -> None:
    if output.is_dir():
        raise UsageError(f"{output}: is a folder; name a file, such as {output / 'scores.json'}")
    for written in (output, examples_path(output)):
        if written.resolve() in [path.resolve() for path in inputs]:
            raise UsageError(f"{written}: is one of the inputs and would be overwritten; choose another -o")
    check_files({output: _SCORES, examples_path(output): _EXAMPLES}, overwrite)
