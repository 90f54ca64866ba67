import json

import pytest

from summarizer.cli.app import main

MARKDOWN = "Before. It rains.\n\n# First\n\nDr. Smith came. He\nleft.\n\n# Second\n\nThe end.\n"


@pytest.fixture
def run(tmp_path, monkeypatch, capfdbinary):
    """A function that runs `summarizer text` in a folder with a page, a legacy text and a broken PDF."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.md").write_text(MARKDOWN)
    (tmp_path / "b.txt").write_bytes("Siehe gem. Abs. 4 die Übersicht. Das genügt für heute.".encode("cp1252"))
    (tmp_path / "c.pdf").write_bytes(b"no PDF")
    (tmp_path / "d.txt").write_bytes(b" ")

    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            main(["text", *arguments])
        out, err = capfdbinary.readouterr()
        return end.value.code, out.decode(), err.decode()

    return run


def test_a_document_is_printed_with_its_sections_one_sentence_a_line(run):
    status, out, err = run("a.md")
    assert (status, err) == (0, "")
    expected = (
        "reader: markdown\nlanguage: en\n\nBefore.\nIt rains.\n\n## First\nDr. Smith came.\nHe left.\n\n## Second\n"
    )
    assert out == expected + "The end.\n\n"


def test_several_documents_are_printed_below_their_ids_and_failed_ones_are_listed(run):
    status, out, err = run("b.txt", "c.pdf", "d.txt")
    assert status == 1
    assert err.startswith("failed: c.pdf: broken PDF")
    page = (
        "== b.txt ==\nreader: plain\nlanguage: de\nnote: The encoding was guessed: cp1252. If letters are wrong, set "
    )
    assert out.startswith(
        page + "--encoding.\n\nSiehe gem. Abs. 4 die Übersicht.\nDas genügt für heute.\n\n== d.txt =="
    )
    assert out.endswith("(no text)\n\n")


def test_json_holds_text_sentences_sections_and_notes(run):
    status, out, _ = run("--json", "--language", "en", "--encoding", "cp1252", "a.md", "b.txt", "c.pdf")
    markdown, legacy, broken = map(json.loads, out.splitlines())
    assert status == 1
    assert [section["title"] for section in markdown["sections"]] == ["First", "Second"]
    assert markdown["text"][markdown["sections"][1]["start"] :] == "Second\nThe end."
    assert "\n".join(markdown["sentences"]).split() == markdown["text"].split()
    assert (legacy["notes"], legacy["language"], len(legacy["sentences"])) == ([], "en", 4)
    assert (broken["status"], broken["text"], broken["reader"]) == ("failed", "", None)


def test_wrong_usage_ends_with_2(run):
    assert run("no-such-file")[0] == 2
    assert run("--language", "xx", "a.md")[0] == 2
