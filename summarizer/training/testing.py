"""Test scores of a finished run: its best model on the test data of its configuration, into the run folder."""

import json
import re
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import Any

from summarizer.config import RunConfig, of_trained_model
from summarizer.config_files import COMPLETE_CONFIG, load_config
from summarizer.data.pairs import Pair, ReadReport
from summarizer.data.splits import find_split, read_split
from summarizer.errors import UsageError
from summarizer.evaluation.evaluate import Evaluation, EvaluationOptions, evaluate
from summarizer.files import write_json, write_whole
from summarizer.generation.options import Summary, SummarySettings
from summarizer.generation.summarizer import Summarizer
from summarizer.outputs import check_folder, form
from summarizer.progress import WorkProgress
from summarizer.training.launch import make_accelerator
from summarizer.training.loop import TASKS

MODELS = ("averaged", "best", "last")  # the first that a run has is tested
FORMS = {
    "summaries.jsonl": form("jsonl", "id", "status", "summary"),
    "references.jsonl": form("jsonl", "id", "document", "summary"),
    "scores.json": form("json", "num_examples"),
}
_OF_TEST = re.compile(r"^- Test: .*\n", re.MULTILINE)
_VALIDATION = re.compile(r"^- Validation: .*\n(- Signature of the scores: .*\n)?", re.MULTILINE)


def score_test_data(
    folder: Path, overrides: list[str] | None = None, model: str | None = None, overwrite: bool = False
) -> tuple[Path, Evaluation | dict[str, float]]:
    """Score a run's model on data.test. Returns the model folder and the scores: of ROUGE, or of a task without text.

    The model is averaged/ if the run wrote it, else best/, else last/; `model` names another one. Summaries are written
    as `summarize` writes them. The folder test/ of the run gets scores.json and, for summarization, the summaries, the
    references and the scores of each one. The model's card names the scores. Raises InputError if there is no such run
    or model, or no test data.
    """
    if not (folder / "config.yaml").is_file() or not COMPLETE_CONFIG.fits(folder / "config.yaml"):
        raise UsageError(f"{folder}: is not the folder of a run; name one, such as runs/NAME")
    config = load_config(folder / "config.yaml", overrides)
    if not config.data.test:
        raise UsageError(f"{folder}: the run has no test data; name them: summarizer test {folder} 'data.test=[FILE]'")
    names = (model,) if model else MODELS
    tested = next((folder / name for name in names if (folder / name / "config.json").is_file()), None)
    if tested is None:
        raise UsageError(f"{folder}: has no model {' or '.join(names)}; finish the run first")
    output = folder / "test"
    check_folder(output, FORMS, ("scores.json", "summaries.jsonl"), overwrite)
    if config.task == "summarization":
        scores: Any = _score_summaries(config, tested, output)
        shown = {name: round(100 * by_name["fmeasure"].mean, 4) for name, by_name in scores.scores.items()}
        line = f"{json.dumps(shown)} (ROUGE on {scores.num_examples:,} documents). Signature: `{scores.signature}`"
    else:
        scores, count = _score_predictions(config, tested)
        write_json(output / "scores.json", {"num_examples": count, "scores": scores})
        line = f"{json.dumps({name: round(value, 4) for name, value in scores.items()})} ({count:,} documents)"
    _write_into_card(tested / "README.md", f"- Test: {line}\n")
    return tested, scores


def _score_summaries(config: RunConfig, model: Path, output: Path) -> Evaluation:
    """Write summaries and references, and score them beside the baselines."""
    entries, limit = config.data.entries("test")
    pairs = islice(read_split(find_split(entries, "test", config.data), "test", config.data, ReadReport()), limit)
    settings = SummarySettings(max_source_tokens=config.data.max_source_tokens)
    summarizer = Summarizer.from_pretrained(str(model))
    summaries, references = output / "summaries.jsonl", output / "references.jsonl"
    ids: deque[str] = deque()
    with (
        write_whole(references) as references_file,
        write_whole(summaries) as summaries_file,
        WorkProgress("testing", "documents", limit) as progress,
    ):
        rows = _references(pairs)

        def documents() -> Iterator[str]:
            for row in rows:
                references_file.write(json.dumps(row, ensure_ascii=False) + "\n")
                ids.append(row["id"])
                yield row["document"]

        for summary in summarizer.stream(documents(), settings):
            summaries_file.write(json.dumps(_record(ids.popleft(), summary), ensure_ascii=False) + "\n")
            progress.advance(tokens=summary.source_tokens)
    return evaluate(summaries, references, output / "scores.json", EvaluationOptions(baselines=True), quiet=False)


def _references(pairs: Iterator[Pair]) -> Iterator[dict[str, str]]:
    """Rows with an id of their own: files may repeat an id."""
    seen: Counter[str] = Counter()
    for pair in pairs:
        seen[pair.id] += 1
        row_id = pair.id if seen[pair.id] == 1 else f"{pair.id}#{seen[pair.id]}"
        yield {"id": row_id, "document": pair.document, "summary": pair.target}


def _record(row_id: str, summary: Summary) -> dict[str, Any]:
    fields = asdict(summary)
    del fields["candidates"], fields["candidate_scores"]
    return {"id": row_id, "status": fields.pop("status"), "summary": fields.pop("text"), **fields}


def _score_predictions(config: RunConfig, model: Path) -> tuple[dict[str, float], int]:
    """The metrics of a task without generated text, and the number of documents."""
    start = of_trained_model(config, str(model))
    start = replace(start, data=replace(start.data, tokenizer=None), training=replace(start.training, trackers=[]))
    accelerator = make_accelerator(start.training, model.parent)
    task = TASKS[config.task](start)
    task.prepare("train")  # the classes follow from the training data
    data = task.prepare("test")
    metrics, _ = task.metrics(task.make_model().to(accelerator.device), data, accelerator)
    return metrics, len(data)


def _write_into_card(card: Path, line: str) -> None:
    """Put the line below that of the validation, in the place of an earlier one."""
    if not card.is_file():
        return
    text = _OF_TEST.sub("", card.read_text(encoding="utf-8"))
    text = _VALIDATION.sub(lambda found: found[0] + line, text, count=1)
    with write_whole(card) as file:
        file.write(text)
