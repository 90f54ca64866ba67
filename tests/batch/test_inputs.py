import io
import json
import os
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from summarizer.batch import input_documents as reading
from summarizer.batch.input_documents import count_documents
from summarizer.batch.inputs import find_inputs, read_list
from summarizer.batch.reader_process import read_inputs
from summarizer.documents.document import ReadingOptions
from summarizer.documents.read import read_document
from summarizer.errors import InputError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """papers/{b.txt, a.md, .hidden.txt, image.png, .git/x.txt, sub/{b.txt, rows.jsonl}}, seen from its parent."""
    monkeypatch.chdir(tmp_path)
    for name in ("papers/b.txt", "papers/a.md", "papers/.hidden.txt", "papers/.git/x.txt", "papers/sub/b.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"Text of {name}")
    (tmp_path / "papers/image.png").write_bytes(b"\x89PNG\x00")
    rows = [{"article": "One"}, {"article_id": "../x", "article_text": ["<S> Two. </S>", "<S> Three. </S>"]}]
    (tmp_path / "papers/sub/rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "papers"


def ids(*inputs, output=None):
    return [document.id for document in read_inputs(find_inputs([str(path) for path in inputs], output))]


def test_a_folder_is_read_recursively_in_order_without_what_is_hidden_or_unknown(folder):
    found = find_inputs(["papers"], None)
    assert [file.id for file in found.files] == ["a.md", "b.txt", "sub/b.txt", "sub/rows.jsonl"]
    assert [path.name for path in found.skipped] == ["image.png"]
    assert not found.is_one_document
    assert count_documents(found) == 5
    documents = list(read_inputs(found))
    assert [document.id for document in documents] == ["a.md", "b.txt", "sub/b.txt", "sub/rows.jsonl:1", "../x"]
    assert [document.text for document in documents[3:]] == ["One", "Two.\nThree."]
    assert documents[2].path == "papers/sub/b.txt"


def test_a_link_that_leads_back_up_ends_and_other_links_are_followed(folder, tmp_path):
    (folder / "sub" / "up").symlink_to(folder)
    (folder / "sub" / "other").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "z.txt").write_text("z")
    (folder / "sub" / "dangling.txt").symlink_to(tmp_path / "nothing")
    assert ids("papers") == ["a.md", "b.txt", "sub/b.txt", "sub/other/z.txt", "sub/rows.jsonl:1", "../x"]


def test_two_files_of_the_same_name_both_get_an_id(folder):
    assert ids("papers/b.txt", "papers/sub/b.txt") == ["b.txt", "b.txt#2"]
    assert ids("papers/b.txt", "./papers/b.txt") == ["b.txt"]


def test_globs_match_files_and_are_called_by_what_the_wildcard_stood_for(folder):
    assert ids("papers/*.txt") == ["b.txt"]
    assert ids("papers/**/*.txt") == ["b.txt", "sub/b.txt"]
    assert ids("pap*") == ["papers/a.md", "papers/b.txt", "papers/sub/b.txt", "papers/sub/rows.jsonl:1", "../x"]
    assert ids(folder / "s*" / "b.*") == ["sub/b.txt"]


def test_what_is_not_there_or_holds_no_document_is_an_error(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    for given in ("nope.txt", "papers/*.docx", "empty"):
        with pytest.raises(InputError, match=given.replace("*", r"\*")):
            find_inputs([given], None)


def test_the_output_is_never_read(folder):
    (folder / "out").mkdir()
    (folder / "out" / "old.txt").write_text("old")
    assert "out/old.txt" not in ids("papers", output=folder / "out")
    for name in ("s.jsonl", "s.jsonl.part", "s.jsonl.part.json", "s.jsonl.part-1", "s.run.json"):
        (folder / name).write_text("{}")
    assert ids("papers", output=folder / "s.jsonl")[2:] == ["out/old.txt", "sub/b.txt", "sub/rows.jsonl:1", "../x"]
    for given, output in (("papers", folder), ("papers/out/old.txt", folder / "out"), ("papers/b.txt", folder)):
        with pytest.raises(InputError, match="output"):
            find_inputs([given], output)


def test_no_input_at_all_says_what_to_name():
    with pytest.raises(InputError, match="name files or folders, or - for standard input"):
        find_inputs([], None)


def test_an_unknown_kind_named_by_the_user_is_tried(folder, tmp_path):
    (tmp_path / "notes").write_text("Notes")
    text, image = read_inputs(find_inputs(["notes", "papers/image.png"], None))
    assert (text.id, text.text, text.error) == ("notes", "Notes", None)
    assert "not text" in image.error


def test_stdin_is_one_document(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO("Grüße  aus Köln".encode())))
    found = find_inputs(["-"], None)
    assert found.is_one_document
    (document,) = read_inputs(found)
    assert (document.id, document.path, document.text) == ("stdin", "-", "Grüße aus Köln")
    page = b"<html><head><title>T</title></head><p>Hello <b>there</b>, all of you.</p></html>"
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(page)))
    (document,) = read_inputs(find_inputs(["-"], None))
    assert (document.title, document.text, document.reader) == ("T", "Hello there, all of you.", "html")


@pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/fd")
@pytest.mark.parametrize("is_pipe", [False, True])
def test_a_web_page_without_a_suffix_is_parsed_in_another_process(tmp_path, monkeypatch, is_pipe):
    def parse_here(*_):
        raise AssertionError("parsed in the main process")

    monkeypatch.setitem(read_document.__globals__, "read_html", parse_here)
    page = b"<html><head><title>T</title></head><p>Hello <b>there</b>, all of you.</p></html>"
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(page)))
    (tmp_path / "page").write_bytes(page)
    if is_pipe:
        receiver, sender = os.pipe()
        os.write(sender, page)
        os.close(sender)
    else:
        receiver = os.open(tmp_path / "page", os.O_RDONLY)
    given = [f"/dev/fd/{receiver}", "-", str(tmp_path / "page")]
    documents = list(read_inputs(find_inputs(given, None)))
    os.close(receiver)
    assert [(each.path, each.text, each.reader) for each in documents] == [
        (name, "Hello there, all of you.", "html") for name in given
    ]
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"x" * ((1 << 20) + 1))))
    (document,) = read_inputs(find_inputs(["-"], None), ReadingOptions(max_document_mb=1))
    assert document.error == "larger than --max-document-mb allows (1 MiB)"


def test_rows_that_cannot_be_used_are_documents_with_an_error(tmp_path):
    lines = [
        '{"id": "a", "text": "A"}',
        "{broken",
        '{"id": "c"}',
        '{"id": "d", "text": 5}',
        '{"id": "e", "text": null}',
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join([*lines, '{"id": "a", "text": "again \\ud800"}']))
    documents = list(read_inputs(find_inputs([str(path)], None)))
    assert [document.id for document in documents] == ["a", "rows.jsonl:2", "c", "d", "e", "a#2"]
    assert [bool(document.error) for document in documents] == [False, True, True, True, False, False]
    assert (documents[4].text, documents[5].text) == ("", "again")
    assert documents[2].error.startswith("no column")  # its place is told by id and path
    assert "--document-column" in documents[2].error


def test_a_document_column_can_be_named(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('name,content\nx,"A\n\ntext"\ny,B\n')
    found = find_inputs([str(path)], None)
    documents = read_inputs(found, ReadingOptions("content"))
    assert [(d.id, d.text) for d in documents] == [("rows.csv:1", "A\ntext"), ("rows.csv:2", "B")]
    (document,) = read_inputs(found)  # one for the file: all its rows have the same columns
    assert document.id == "rows.csv"
    assert document.error.endswith("there are: name, content")
    assert count_documents(found) is None


def test_a_file_of_rows_that_breaks_off_fails_after_its_good_rows(tmp_path):
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"no parquet")
    (document,) = read_inputs(find_inputs([str(path)], None))
    assert document.id == "rows.parquet"
    assert document.error


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_file_name_that_is_no_text_is_read(tmp_path):
    path = os.path.join(os.fsencode(tmp_path), b"caf\xe9.txt")  # noqa: PTH118 (bytes)
    with open(path, "w") as file:  # noqa: PTH123  (bytes)
        file.write("Text")
    (document,) = read_inputs(find_inputs([str(tmp_path)], None))
    assert (document.id, document.text) == ("caf?.txt", "Text")


def test_whatever_reading_a_file_raises_concerns_that_file_only(folder, monkeypatch):
    def fail(path, limits):
        raise RecursionError("too deep")

    monkeypatch.setattr(reading, "read_document", fail)
    documents = list(read_inputs(find_inputs(["papers/b.txt", "papers/sub/rows.jsonl"], None)))
    assert [document.error for document in documents] == ["RecursionError: too deep", None, None]


def test_a_text_in_the_place_of_a_file_name_is_an_input_error():
    with pytest.raises(InputError, match="too long"):
        find_inputs(["word " * 1000], None)


def test_many_rows_of_the_same_id_are_told_apart_in_no_time(tmp_path):
    (tmp_path / "rows.csv").write_text("id,text\n" + "x,t\n" * 20_000)
    found = ids(tmp_path / "rows.csv")
    assert found[:3] == ["x", "x#2", "x#3"]
    assert len(set(found)) == 20_000


def test_sections_follow_their_document_when_asked_for(folder):
    (folder / "a.md").write_text("# One\nText of one.\n# Two\nText of two.")
    found = find_inputs(["papers/a.md", "papers/b.txt"], None)
    by_section = ReadingOptions(by_section=True)
    assert [(each.id, each.title) for each in read_inputs(found, by_section)] == [
        ("a.md", None), ("a.md/1", "One"), ("a.md/2", "Two"), ("b.txt", None),
    ]  # fmt: skip
    assert [each.id for each in read_inputs(found)] == ["a.md", "b.txt"]
    assert count_documents(found, by_section) is None


def test_a_list_names_inputs_a_line_each(tmp_path):
    (tmp_path / "list.txt").write_text("papers/a b.txt\r\n\nnächste.txt\n")
    assert read_list(tmp_path / "list.txt") == ["papers/a b.txt", "nächste.txt"]
    with pytest.raises(InputError, match="No such file"):
        read_list(tmp_path / "none.txt")


@pytest.mark.skipif(sys.platform == "win32", reason="has no such files")
def test_pipes_and_links_that_lead_nowhere_are_passed_over(folder, tmp_path):
    os.mkfifo(folder / "pipe.txt")
    (folder / "loop.txt").symlink_to("loop.txt")
    for given in ("papers", "papers/*.txt"):
        found = find_inputs([given], None)
        assert {"pipe.txt", "loop.txt"} <= {path.name for path in found.skipped}
        assert not {"pipe.txt", "loop.txt"} & {file.id for file in found.files}


def test_titles_come_with_their_documents(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"text": "T", "title": "A\\n title"}\n{"text": "T", "title": 5}')
    (tmp_path / "a.html").write_text("<title>Page</title><p>Text of the page.</p>")
    found = read_inputs(find_inputs([str(tmp_path)], None))
    assert [document.title for document in found] == ["Page", "A title", None]


def test_a_document_tells_its_reader_and_what_its_reader_noted(folder, monkeypatch):
    def read(path, options):
        return replace(read_document(path, options), notes=("A chapter is missing: \udcff.",))

    monkeypatch.setattr(reading, "read_document", read)
    (folder / "page.html").write_text("<p>Text of a page, which a process of its own reads.</p>")
    read = {document.id: document for document in read_inputs(find_inputs(["papers"], None))}
    readers = {name: document.reader for name, document in read.items()}
    assert readers | {"a.md": "markdown", "b.txt": "plain", "page.html": "html", "sub/rows.jsonl:1": "jsonl"} == readers
    assert read["b.txt"].notes == ("A chapter is missing: ?.",)
    assert read["page.html"].notes == ()


def test_the_options_decide_the_id_column_the_delimiter_and_the_encoding(folder):
    (folder / "rows.tsv").write_bytes("name#text\nx#Kůň\n".encode("iso8859-2"))
    options = ReadingOptions(id_column="name", delimiter="#", encoding="iso8859-2")
    (document,) = read_inputs(find_inputs(["papers/rows.tsv"], None), options)
    assert (document.id, document.text, document.reader) == ("x", "Kůň", "tsv")
    (document,) = read_inputs(find_inputs(["papers/rows.tsv"], None), ReadingOptions(id_column="key", delimiter="#"))
    assert document.error == "no column key (set --id-column); there are: name, text"
    for wrong in ({"delimiter": "ab"}, {"encoding": "base64"}):
        with pytest.raises(InputError, match=r"the delimiter must be one character|unknown encoding"):
            ReadingOptions(**wrong)
