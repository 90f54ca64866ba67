"""The public names: lists of texts are scored as files are, and options are typed."""

import json
from typing import get_type_hints

import pytest

from summarizer import RougeSettings, SummarySettings, evaluate_summaries
from summarizer.errors import InputError
from summarizer.evaluation.evaluate import EvaluationOptions, evaluate
from summarizer.generation.keyword_options import SummaryOptions
from tests.corpus import pair_rows, sentence, write_jsonl


def test_lists_of_texts_are_scored_as_files_are(tmp_path):
    rows = [{**row, "id": str(number)} for number, row in enumerate(pair_rows(6), start=1)]
    summaries = [sentence(6, seed) for seed in range(6)]
    references = [[row["summary"], sentence(8, seed + 50)] for seed, row in enumerate(rows)]
    written = [{"id": row["id"], "summary": summary} for row, summary in zip(rows, summaries, strict=True)]
    given = [
        {"id": row["id"], "document": row["document"], "references": both}
        for row, both in zip(rows, references, strict=True)
    ]
    files = write_jsonl(tmp_path / "summaries.jsonl", written), write_jsonl(tmp_path / "references.jsonl", given)
    expected = evaluate(*files, tmp_path / "scores.json", EvaluationOptions(baselines=True, bootstrap_samples=50))
    found = evaluate_summaries(
        summaries, references, [row["document"] for row in rows], baselines=True, bootstrap_samples=50
    )
    assert found.scores == expected.scores
    assert found.baselines == expected.baselines
    assert found.text_measures == expected.text_measures
    assert found.signature == str(expected.signature)
    assert found["rouge1"] == expected.scores["rouge1"]["fmeasure"].mean
    lines = [json.loads(line) for line in (tmp_path / "scores.examples.jsonl").read_text("utf-8").splitlines()]
    assert [example["rouge2"].fmeasure for example in found.examples] == [line["rouge2"]["fmeasure"] for line in lines]
    other = evaluate_summaries(summaries, references, rouge=RougeSettings(stemmer=False), bootstrap_samples=2)
    assert "stem:no" in other.signature
    assert other.baselines == {}


def test_lists_that_do_not_fit_are_one_line():
    for arguments, named in (
        ((["a"], ["a", "b"]), "1 summaries, but 2 references"),
        ((["a"], ["a"], ["a", "b"]), "1 summaries, but 2 documents"),
        (([], []), "no summaries to score"),
    ):
        with pytest.raises(InputError, match=named):
            evaluate_summaries(*arguments)
    with pytest.raises(InputError, match="baselines need the documents"):
        evaluate_summaries(["a"], ["a"], baselines=True)
    with pytest.raises(TypeError, match="summaries must be a list of texts"):
        evaluate_summaries("a", ["a"])


def test_the_keyword_arguments_have_the_names_and_types_of_the_settings():
    assert get_type_hints(SummaryOptions) == get_type_hints(SummarySettings)
