"""The command's account of good, odd and broken files is what was written down beforehand."""

import json
import sys
from pathlib import Path

import pytest
from make_hostile_corpus import make_corpus

from summarizer.batch.inputs import find_inputs
from summarizer.cli.app import main

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="not all of these files can be made elsewhere")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    return folder, make_corpus(folder)


def test_it_holds_at_least_sixty_files_of_every_kind(corpus):
    folder, expected = corpus
    assert sum(not path.is_dir() for path in (folder / "documents").rglob("*")) >= 60
    assert {status for status, *_ in expected["documents"].values()} == {"ok", "empty", "failed"}
    assert json.loads((folder / "expected.json").read_text()) == expected


@pytest.mark.slow
def test_the_account_is_as_expected(corpus):
    folder, expected = corpus
    arguments = [*expected["options"], "--num-beams", "1", "--max-summary-tokens", "4", "--dtype", "float32", "--quiet"]
    with pytest.raises(SystemExit) as ending:
        main(["summarize", str(folder / "documents"), "-o", str(folder / "out"), *arguments])
    assert ending.value.code == 1
    lines = (folder / "out/summaries.jsonl").read_text(encoding="utf-8").splitlines()
    records = {record["id"]: record for record in map(json.loads, lines)}
    assert len(records) == len(lines)
    wrong = {
        name: (records.get(name, {}).get("status"), records.get(name, {}).get("error"), status, error)
        for name, (status, *error) in expected["documents"].items()
        if records.get(name, {}).get("status") != status or not all(part in records[name]["error"] for part in error)
    }
    assert not wrong
    assert not set(records) - set(expected["documents"])
    texts = list((folder / "out").rglob("*.txt"))
    assert len(texts) == sum(record["status"] != "failed" for record in records.values())
    assert "root:" not in "".join(path.read_text(encoding="utf-8") for path in texts)


def test_what_is_no_document_is_passed_over(corpus):
    folder, expected = corpus
    found = find_inputs([str(folder / "documents")], Path(folder / "out"))
    assert sorted(path.name for path in found.skipped) == expected["skipped"]
