"""Predictions and references → scores per example → means with intervals → scores.json."""

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

from summarizer.errors import InputError
from summarizer.evaluation.baselines import fit_lead_k
from summarizer.evaluation.bertscore import BertScorer
from summarizer.evaluation.example_scores import MODEL, BaselineSettings, Result, score_example
from summarizer.evaluation.examples import Example, Examples, Policy, pair_examples
from summarizer.evaluation.files_of_texts import Columns, read_references
from summarizer.evaluation.parallel import open_map
from summarizer.evaluation.rouge import ROUGE_TYPES, RougeSettings
from summarizer.evaluation.rouge_tokens import TokenizerName, is_mostly_not_counted
from summarizer.evaluation.score_files import check_output, default_output, examples_path, hash_of_texts, relative
from summarizer.evaluation.score_table import Intervals, ScoreTable
from summarizer.evaluation.signature import Signature, rouge_parts, version_parts
from summarizer.files import json_text, write_whole
from summarizer.progress import WorkProgress
from summarizer.text import split_sentences

BERT_SCORE = "bertscore"
_NOT_COUNTED = (
    "most letters of {} are not counted: ROUGE counts only a-z and 0-9, so these scores mean little; "
    "--tokenizer unicode counts the letters of every script"
)
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
    show_rouge: Callable[[Evaluation], None] = lambda _: None,
) -> Evaluation:
    """Score a file of predictions against a file of references and write `output` and the examples beside it.

    A failed or empty prediction scores 0. Predictions and scores are held in memory; references and documents are
    streamed. Unless `quiet`, a progress bar is shown on a terminal. If BERTScore is asked for, `show_rouge` is called
    before it, when the ROUGE scores are on disk. Raises InputError for files that cannot be read or paired (see
    `pair_examples`) and for baselines without documents.
    """
    output = output or default_output(predictions_path)
    check_output(output, (predictions_path, references_path), options.overwrite)
    options.check()
    scorer = BertScorer(options.bert_score, options.bert_score_layer) if options.bert_score else None
    paired = pair_examples(predictions_path, references_path, options.columns, options.policy, options.store_texts)
    baselines = _baseline_settings(paired, references_path, options)
    facts = _Facts(options.rouge.tokenizer)
    with tempfile.TemporaryFile("w+") as texts:  # for BERTScore, which comes last
        table = ScoreTable(ROUGE_TYPES)
        with ExitStack() as stack:
            map_jobs = stack.enter_context(open_map(options.processes))
            score = partial(score_example, settings=options.rouge, baselines=baselines)
            # Both files are written aside before either takes its name.
            scores_file = stack.enter_context(write_whole(output))
            examples_file = stack.enter_context(write_whole(examples_path(output)))
            progress = stack.enter_context(WorkProgress("scoring", "examples", len(paired), quiet, lines=False))
            for result in map_jobs(score, paired):
                facts.add(result.example)
                table.add(result.scores, result.measures)
                line = _example_line(result, options.store_texts)
                examples_file.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")
                if scorer is not None:
                    texts.write(json.dumps([result.texts, result.example.references]) + "\n")
                progress.advance()
            intervals = table.intervals(options.bootstrap_samples, options.seed, options.confidence)
            measures = table.mean_measures()
            evaluation = Evaluation(
                num_examples=len(paired),
                signature=_make_signature(options, len(paired), baselines, facts.several_references),
                scores=intervals.pop(MODEL),
                counts=facts.counts | paired.counts,
                text_measures=measures.pop(MODEL),
                baselines=intervals,
                baseline_measures=measures,
                notes=paired.notes + facts.notes(),
                inputs=_describe_inputs(predictions_path, references_path, output, options, facts),
                output=output,
            )
            scores_file.write(json_text(evaluation.to_json()))
        if scorer is not None:
            show_rouge(evaluation)
            texts.seek(0)
            evaluation = _add_bert_scores(evaluation, scorer, texts, options)
    return evaluation


def _add_bert_scores(
    evaluation: Evaluation, scorer: BertScorer, texts: Iterable[str], options: EvaluationOptions
) -> Evaluation:
    """Score the `texts`, lines of [texts by system, references] as JSON, and write both files again with the scores.

    Raises InputError if it fails; then the files stay as they are.
    """
    table, found = ScoreTable((BERT_SCORE,)), []
    try:
        for scores in scorer.score_systems(map(json.loads, texts)):
            found.append({name: {BERT_SCORE: score} for name, score in scores.items()})
            table.add(found[-1])
    except Exception as error:  # of the model, the hub, or memory
        reason = " ".join(str(error).split()) or type(error).__name__
        name = options.bert_score
        raise InputError(
            f"--bert-score {name} failed, but {evaluation.output} holds the ROUGE scores: {reason}"
        ) from error
    intervals = table.intervals(options.bootstrap_samples, options.seed, options.confidence)
    evaluation = replace(
        evaluation,
        scores=evaluation.scores | intervals[MODEL],
        baselines={name: scores | intervals[name] for name, scores in evaluation.baselines.items()},
        signature=evaluation.signature.with_part("bertscore", scorer.description, before="n"),
    )
    examples = examples_path(evaluation.output)
    with write_whole(evaluation.output) as scores_file, write_whole(examples) as new, examples.open("rb") as lines:
        for line, scores in zip(map(json.loads, lines), found, strict=True):
            for name, system in {MODEL: line, **line.get("baselines", {})}.items():
                system[BERT_SCORE] = scores[name][BERT_SCORE]._asdict()
            new.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")
        scores_file.write(json_text(evaluation.to_json()))
    return evaluation


def _make_signature(
    options: EvaluationOptions,
    num_examples: int,
    baselines: BaselineSettings | None,
    several_references: bool,
) -> Signature:
    rouge, policy = options.rouge, options.policy
    parts = {
        **rouge_parts(rouge),
        **({"refs": rouge.references} if several_references else {}),
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

    def __init__(self, tokenizer: TokenizerName) -> None:
        self._tokenizer = tokenizer
        self._not_counted = {"references": 0, "predictions": 0}  # in letters that the tokenizer does not count
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
        if self._tokenizer == "default":
            self._not_counted["references"] += all(map(is_mostly_not_counted, example.references))
            self._not_counted["predictions"] += is_mostly_not_counted(example.prediction)

    def notes(self) -> list[str]:
        """What may make the scores mislead."""
        found = [f"{count} {kind}" for kind, count in self._not_counted.items() if count]
        return [_NOT_COUNTED.format(" and ".join(found))] if found else []

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
        "predictions": relative(predictions_path, folder),
        "references": relative(references_path, folder),
        "columns": asdict(options.columns),
        "references_sha256": facts.hash_of_references(),
        "files_sha256": {"predictions": hash_of_texts(predictions_path), "references": hash_of_texts(references_path)},
        **({"lead_k_fitted_on": relative(options.validation, folder)} if options.validation else {}),
    }
