"""The script that makes pairs of documents alone takes the most central sentences out."""

import json
import subprocess
from pathlib import Path

import pytest
from make_gap_sentences import gap_sentences

SCRIPT = Path(__file__).parent.parent / "scripts/make_gap_sentences.py"
LINES = (
    "Introduction",
    "Nets of fine mesh catch small fish in the bay. Nobody knows why.",
    "The council met.",
    "Fine nets in the bay were banned.",
    "It rained on Monday.",
)
DOCUMENT = "\n".join(LINES)


def test_the_most_central_sentence_is_taken_out_and_nothing_is_lost():
    left, summary = gap_sentences(DOCUMENT, 0.2, 100)
    assert summary == "Nets of fine mesh catch small fish in the bay."
    assert left.split("\n") == ["Introduction", "Nobody knows why.", *LINES[2:]]


def test_the_summary_keeps_the_order_and_the_limit_of_words():
    left, summary = gap_sentences(DOCUMENT, 0.4, 100)
    assert summary.split("\n") == [
        "Nets of fine mesh catch small fish in the bay.",
        "Fine nets in the bay were banned.",
    ]
    assert sorted(f"{left} {summary}".split()) == sorted(DOCUMENT.split())
    _, shorter = gap_sentences(DOCUMENT, 0.4, 9)
    assert 0 < len(shorter.split()) <= 9
    assert gap_sentences(DOCUMENT, 0.4, 1) is None


@pytest.mark.parametrize(
    "document", ["", "One sentence.", "Only\nheadings\nstand\nhere\nand there", "One. Two. Three."]
)
def test_documents_of_too_few_sentences_give_no_pair(document):
    assert gap_sentences(document, 0.5, 100) is None


def test_only_whole_sentences_within_the_words_read_are_read():
    left, summary = gap_sentences(DOCUMENT, 0.2, 100, words_read=26)
    assert sorted(f"{left} {summary}".split()) == sorted("\n".join(LINES[:4]).split())


def test_other_scripts_are_read_too():
    document = "渔网很细。海湾里的细网捕到了很多小鱼。昨天下雨了。海湾禁止使用细网。市长没有来。"
    left, summary = gap_sentences(document, 0.2, 100)
    assert summary == "海湾里的细网捕到了很多小鱼。"
    assert left == document.replace(summary, "")
    assert gap_sentences(document, 0.2, 3) is None


@pytest.fixture
def run(forked):
    """A function that runs the script."""
    settings = {"env": forked.environment(), "capture_output": True, "text": True, "timeout": 120, "check": False}
    return lambda *arguments: subprocess.run([forked.python, SCRIPT, *arguments], **settings)


def test_files_become_pairs_and_a_broken_one_is_named(run, tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text(DOCUMENT, encoding="utf-8")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 no more")
    done = run(tmp_path, "-o", tmp_path / "pairs")
    assert done.returncode == 0, done.stderr
    assert "broken.pdf" in done.stderr
    assert "3 pairs, 1 of them for validation; 1 documents left out" in done.stdout
    rows = {
        split: [json.loads(line) for line in (tmp_path / f"pairs/{split}.jsonl").read_text("utf-8").splitlines()]
        for split in ("train", "validation")
    }
    assert [row["id"] for row in rows["validation"]] == ["0.txt"]
    assert [row["id"] for row in rows["train"]] == ["1.txt", "2.txt"]
    assert (rows["train"][0]["document"], rows["train"][0]["summary"]) == gap_sentences(DOCUMENT, 0.15, 200)


def test_documents_without_sentences_leave_no_files(run, tmp_path):
    (tmp_path / "one.txt").write_text("Too short.", encoding="utf-8")
    done = run(tmp_path, "-o", tmp_path / "pairs")
    assert done.returncode == 1
    assert "make_gap_sentences: at least two documents with 4 sentences are needed" in done.stderr
    assert not any((tmp_path / "pairs").iterdir())
