from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from summarizer.inference.output import JsonlSink, SummaryRecord, TextNames
from summarizer.inference.sources import InputDocument


def record(name, status="ok"):
    return SummaryRecord(name, name, status, None if status == "failed" else f"Summary of {name}", None, 9, 0, 3)


DOCUMENTS = [InputDocument(name, name, f"Text of {name}") for name in "abcd"]


@given(st.lists(st.text(st.sampled_from("aA./\\ ~:\x00é#2txt"), max_size=12), max_size=12))
def test_text_files_stay_below_the_folder_and_apart(ids):
    names = TextNames()
    paths = [PurePosixPath(names.of(name)) for name in ids]
    folded = [str(path).casefold() for path in paths]
    assert len(set(folded)) == len(paths)
    for path in paths:
        assert not path.is_absolute()
        assert not {"..", "."} & set(path.parts)
        assert path.suffix == ".txt"
        assert not {str(parent).casefold() for parent in path.parents} & set(folded), "a file where a folder must be"


def test_text_files_mirror_the_names_of_their_documents():
    ids = ["a.txt", "sub/a.pdf", "sub/a.docx", "../../etc/passwd", "/abs", "A.TXT", "a.txt/b", "", "x" * 400]
    names = TextNames()
    expected = [
        "a.txt", "sub/a.pdf.txt", "sub/a.docx.txt", "etc/passwd.txt", "abs.txt", "A#2.txt", "a.txt_b.txt",
        "document.txt", f"{'x' * 180}.txt",
    ]  # fmt: skip
    assert [names.of(name) for name in ids] == expected


def test_records_come_out_in_the_order_of_the_input_and_no_part_is_left(tmp_path):
    sink = JsonlSink(tmp_path / "new" / "out.jsonl", {"a": 1})
    for position in (2, 0, 3, 1):
        sink.write(position, DOCUMENTS[position], record("abcd"[position]))
        sink.flush()
    assert len((tmp_path / "new/out.jsonl.part").read_text().splitlines()) == 4
    assert not (tmp_path / "new/out.jsonl").exists()
    sink.finish()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["out.jsonl"]
    lines = (tmp_path / "new/out.jsonl").read_text().splitlines()
    assert lines == [record(name).to_json() for name in "abcd"]


@pytest.mark.parametrize("tail", ["", '{"key": "half a li', "\n", "null\n"])
def test_an_interrupted_file_goes_on_with_its_whole_lines(tmp_path, tail):
    sink = JsonlSink(tmp_path / "out.jsonl", {"a": 1})
    sink.write(1, DOCUMENTS[1], record("b"))
    sink.write(0, DOCUMENTS[0], record("a", "failed"))
    sink.close()
    with sink.part.open("a") as part:
        part.write(tail)
    again = JsonlSink(tmp_path / "out.jsonl", {"a": 1})
    earlier = [again.earlier(position, document) for position, document in enumerate(DOCUMENTS)]
    assert earlier == [None, record("b"), None, None]  # what failed is tried again
    for position in (3, 2, 0):
        again.write(position, DOCUMENTS[position], record("abcd"[position]))
    again.finish()
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert lines == [record(name).to_json() for name in "abcd"]


def test_nothing_is_taken_over_under_other_settings_or_for_another_text(tmp_path):
    def interrupted():
        sink = JsonlSink(tmp_path / "out.jsonl", {"a": 1})
        sink.write(0, DOCUMENTS[0], record("a"))
        sink.close()

    interrupted()
    again = JsonlSink(tmp_path / "out.jsonl", {"a": 1})
    assert again.earlier(0, InputDocument("a", "a", "Changed")) is None
    again.close()
    other = JsonlSink(tmp_path / "out.jsonl", {"a": 2})
    assert other.earlier(0, DOCUMENTS[0]) is None
    other.close()
    interrupted()
    (tmp_path / "out.jsonl.part.json").unlink()
    headless = JsonlSink(tmp_path / "out.jsonl", {"a": 1})
    assert headless.earlier(0, DOCUMENTS[0]) is None
    headless.close()
