import json
import re
from dataclasses import replace
from html import unescape
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from summarizer.batch.input_documents import InputDocument
from summarizer.batch.output import Output, open_sink
from summarizer.batch.output_files import TextNames
from summarizer.batch.processes import Processes
from summarizer.batch.records import SummaryRecord, bare_summary, markdown_page, titled_summary
from summarizer.batch.resume import RecordSink
from summarizer.errors import InputError, UsageError


def record(name, status="ok"):
    summary = None if status == "failed" else f"Summary of {name}"
    return SummaryRecord(name, name, None, status, summary, None, 9, 0, 3, 0.5)


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


def test_markdown_files_are_called_by_their_format():
    names = TextNames("md")
    assert [names.of(name) for name in ("a.txt", "a.md", "sub/a.pdf", "a.md/1")] == [
        "a.txt.md", "a.md", "sub/a.pdf.md", "a.md_1.md",
    ]  # fmt: skip


def test_records_come_out_in_the_order_of_the_input_and_no_part_is_left(tmp_path):
    sink = RecordSink(tmp_path / "new" / "out.jsonl", {"a": 1})
    for position in (2, 0, 3, 1):
        sink.write(position, DOCUMENTS[position], record("abcd"[position]))
        sink.flush()
    assert len((tmp_path / "new/out.jsonl.part").read_text().splitlines()) == 4
    assert not (tmp_path / "new/out.jsonl").exists()
    sink.finish()
    sink.clear()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["out.jsonl"]
    lines = (tmp_path / "new/out.jsonl").read_text().splitlines()
    assert lines == [record(name).to_json() for name in "abcd"]


@pytest.mark.parametrize("tail", ["", '{"key": "half a li', "\n", "null\n"])
def test_an_interrupted_file_goes_on_with_its_whole_lines(tmp_path, tail):
    sink = RecordSink(tmp_path / "out.jsonl", {"a": 1})
    sink.write(1, DOCUMENTS[1], record("b"))
    sink.write(0, DOCUMENTS[0], record("a", "failed"))
    sink.close()
    with (tmp_path / "out.jsonl.part").open("a") as part:
        part.write(tail)
    again = RecordSink(tmp_path / "out.jsonl", {"a": 1})
    assert [again.has(document) for document in DOCUMENTS] == [False, True, False, False]  # what failed is tried again
    assert again.earlier(1, DOCUMENTS[1]) == record("b")
    for position in (3, 2, 0):
        again.write(position, DOCUMENTS[position], record("abcd"[position]))
    again.finish()
    again.clear()
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert lines == [record(name).to_json() for name in "abcd"]


def test_nothing_is_taken_over_under_other_settings_or_for_another_text(tmp_path):
    def interrupted():
        sink = RecordSink(tmp_path / "out.jsonl", {"a": 1})
        sink.write(0, DOCUMENTS[0], record("a"))
        sink.close()

    interrupted()
    again = RecordSink(tmp_path / "out.jsonl", {"a": 1})
    assert again.has(DOCUMENTS[0])
    assert not again.has(InputDocument("a", "a", "Changed"))
    again.close()
    other = RecordSink(tmp_path / "out.jsonl", {"a": 2})
    assert not other.has(DOCUMENTS[0])
    other.close()
    interrupted()
    (tmp_path / "out.jsonl.part.json").unlink()
    headless = RecordSink(tmp_path / "out.jsonl", {"a": 1})
    assert not headless.has(DOCUMENTS[0])
    headless.close()


def test_a_run_continues_if_only_options_that_were_not_given_differ(tmp_path):
    path = tmp_path / "out.jsonl"
    interrupted = RecordSink(path, {"model": "m", "settings": {"num_beams": 4, "seed": None}})
    interrupted.write(0, DOCUMENTS[0], record("a"))
    interrupted.close()
    newer = RecordSink(path, {"model": "m", "settings": {"num_beams": 4, "top_k": None}})
    assert newer.has(DOCUMENTS[0])
    newer.close()
    before = (tmp_path / "out.jsonl.part").read_bytes()
    with pytest.raises(InputError, match=r"out\.jsonl\.part was left by another version of summarizer; delete it"):
        RecordSink(path, {"model": "m", "settings": {"beams": 4}})
    assert (tmp_path / "out.jsonl.part").read_bytes() == before


def test_text_files_stay_apart_from_what_stands_beside_them_and_from_devices():
    ids = [
        "summaries.jsonl.part/y",
        "SUMMARIES.jsonl/x",
        "summaries.run.json/x",
        "con",
        "a/NUL.md",
        "\u00e9",
        "e\u0301",
    ]
    names = TextNames()
    assert [names.of(name) for name in ids] == [
        "summaries.jsonl.part_y.txt", "SUMMARIES.jsonl_x.txt", "summaries.run.json_x.txt", "_con.txt", "a/_NUL.md.txt",
        "\u00e9.txt", "e\u0301#2.txt",
    ]  # fmt: skip


def finished(folder, records, text_format="txt", overwrite=False, with_evidence=False):
    """Write an output folder as a run does, after it has checked what is there."""
    output = Output.named(str(folder), text_format, with_evidence)
    texts = output.check([each.id for each in records], overwrite)
    sink = open_sink(output, {"version": "1", "model": "m", "settings": {}}, False, Processes(0, 1), print, texts)
    for position, each in enumerate(records):
        sink.write(position, InputDocument(each.id, each.path, "Text"), each)
    try:
        sink.finish()
        sink.clear()
    finally:
        sink.close()


def test_the_text_files_of_an_earlier_run_stay_until_all_records_are_there(tmp_path):
    finished(tmp_path, [record("a"), record("b")])
    output = Output.named(str(tmp_path))
    sink = open_sink(output, {}, False, Processes(0, 1), print, output.check([], False))
    sink.write(0, DOCUMENTS[0], replace(record("a"), summary="New."))
    sink.flush()
    assert (tmp_path / "a.txt").read_text() == "Summary of a\n"
    sink.write(1, DOCUMENTS[1], record("b", "failed"))
    sink.finish()
    sink.close()
    assert (tmp_path / "a.txt").read_text() == "New.\n"
    assert not (tmp_path / "b.txt").exists()


@pytest.mark.parametrize("formats", [("txt", "txt"), ("md", "md"), ("txt", "md")])
def test_text_files_of_an_earlier_run_are_replaced_with_or_without_evidence(tmp_path, formats):
    for text_format, evidence in zip(formats, (False, True), strict=True):
        finished(tmp_path, [SHOWN], text_format, with_evidence=evidence and text_format == "md")
    assert (tmp_path / f"{SHOWN.id}.{formats[1]}").exists()


def test_a_text_file_that_someone_changed_or_made_is_never_touched(tmp_path):
    finished(tmp_path, [record("a")])
    for name in "ac":
        (tmp_path / f"{name}.txt").write_text("corrected by hand\n")
        for records in ([record("a"), record("c")], [record("a"), record("c", "failed")]):
            before = {path: path.read_bytes() for path in tmp_path.iterdir() if ".part" not in path.name}
            if records[1].status == "ok" or name == "a":
                with pytest.raises(UsageError, match=rf"{name}\.txt: is not as an earlier run wrote it; .*--overwrite"):
                    finished(tmp_path, records)
            assert {path: path.read_bytes() for path in before} == before
        finished(tmp_path, [record("a"), record("c")], overwrite=True)
        assert (tmp_path / f"{name}.txt").read_text() == f"Summary of {name}\n"
    (tmp_path / "d.txt").mkdir()
    with pytest.raises(UsageError, match=r"d\.txt: is a folder"):
        finished(tmp_path, [record("d")], overwrite=True)


def test_an_end_that_was_interrupted_goes_on(tmp_path, monkeypatch):
    finished(tmp_path, [record("a"), record("b")])
    new = [replace(record(name), summary=f"New {name}.") for name in "ab"]
    with monkeypatch.context() as patch:
        patch.setattr("summarizer.batch.resume.write_records", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            finished(tmp_path, new)
    assert (tmp_path / "b.txt").read_text() == "New b.\n"
    finished(tmp_path, [replace(each, summary="Newer.") for each in new])
    assert (tmp_path / "b.txt").read_text() == "Newer.\n"


def test_a_folder_of_markdown_mirrors_the_input(tmp_path):
    finished(tmp_path, [replace(record("sub/a.pdf"), path="in/sub/a.pdf", title="A title")], "md")
    page = (tmp_path / "sub/a.pdf.md").read_text()
    assert page == "# A title\n\nSummary of sub/a.pdf\n\nSource: `in/sub/a.pdf`\n"


def test_a_page_says_what_the_record_says_whatever_markdown_makes_of_signs():
    starts = "12.5 12-fold\n+ 7) 3. six\n2)\n---"
    text = "1. *One* [two](x) <b>three</b> `four` C# & &amp; $5\n- five_six_\n# seven\neight ~~nine~~ a|b \\ end"
    page = markdown_page(
        replace(record("x"), summary=f"{text}\n{starts}", title="# A *title* _of_ <i>signs</i> #", path="a`b.txt")
    )
    html = MarkdownIt("commonmark").render(page)
    seen = [unescape(line) for line in re.findall(r"(?s)<(?:p|h1)>(.*?)</(?:p|h1)>", html)]
    assert seen == ["# A *title* _of_ <i>signs</i> #", *f"{text}\n{starts}".split("\n"), "Source: <code>a`b.txt</code>"]
    assert markdown_page(record("a.txt", "failed")) == "# a.txt\n\nSource: `a.txt`"


EVIDENCE = [
    [{"start": 4, "end": 20, "text": "It *rained* a lot."}],
    [{"start": 30, "end": 42, "text": "Boats stayed"}, {"start": 42, "end": 52, "text": " in port.\n"}],
    [],
]
SHOWN = replace(record("a"), summary="It *rained* a lot.\nBoats stayed in port.\nNobody knows.", evidence=EVIDENCE)


def test_people_see_the_evidence_under_each_line():
    below = "It *rained* a lot.\n    > 4–20 (the same sentence)\nBoats stayed in port.\n    > 30–42: Boats stayed\n"
    assert bare_summary(SHOWN, with_evidence=True) == f"{below}    > 42–52: in port.\nNobody knows."
    assert titled_summary(SHOWN, with_evidence=True).startswith(f"== a ==\n{below}")
    assert bare_summary(SHOWN) == SHOWN.summary
    unknown = replace(SHOWN, summary="Rain.", evidence=None)
    assert bare_summary(unknown, with_evidence=True) == "Rain.\n    (This model does not record evidence.)"
    assert bare_summary(record("a", "failed"), with_evidence=True) == ""


def test_a_page_quotes_the_evidence_under_each_line():
    parts = markdown_page(SHOWN, with_evidence=True).split("\n\n")
    assert parts == [
        *("# a", "It \\*rained\\* a lot.", "> 4–20 (the same sentence)"),
        *("Boats stayed in port.", "> 30–42: Boats stayed\n>\n> 42–52: in port."),
        *("Nobody knows.", "Source: `a`"),
    ]
    html = MarkdownIt("commonmark").render(markdown_page(SHOWN, with_evidence=True))
    assert html.count("<blockquote>") == 2
    assert "blockquote" not in MarkdownIt("commonmark").render(markdown_page(SHOWN))
    assert "> (This model" in markdown_page(replace(SHOWN, evidence=None), with_evidence=True)


def test_evidence_is_shown_in_markdown_and_on_the_terminal_alone(tmp_path, capfdbinary):
    with pytest.raises(InputError, match="--show-evidence is for the terminal and for --format md"):
        Output.named(str(tmp_path / "out.csv"), with_evidence=True)
    for output, is_one in ((Output.named(None, with_evidence=True), False), (Output.named(None), True)):
        sink = open_sink(output, {}, is_one, Processes(0, 1), print)
        sink.write(0, DOCUMENTS[0], SHOWN)
        sink.close()
    with_titles, alone = capfdbinary.readouterr().out.decode().split("\n\n")
    assert with_titles == titled_summary(SHOWN, with_evidence=True).strip()
    assert alone == f"{SHOWN.summary}\n"
    finished(tmp_path / "out", [SHOWN], "md", with_evidence=True)
    assert (tmp_path / f"out/{SHOWN.id}.md").read_text() == markdown_page(SHOWN, with_evidence=True) + "\n"


def test_a_run_that_does_not_continue_says_so(tmp_path):
    said = []
    path = tmp_path / "out.jsonl"
    sink = RecordSink(path, {"a": 1}, said.append)
    sink.write(0, DOCUMENTS[0], record("a"))
    sink.close()
    RecordSink(path, {"a": 1}, said.append).close()
    assert not said
    other = RecordSink(path, {"a": 2}, said.append)
    other.finish()
    other.clear()
    assert "other settings; summarizing all documents again" in said[0]
    RecordSink(path, {"a": 2}, said.append).close()
    assert said[1:] == [f"{path} is complete; it is replaced when all documents are summarized again"]


def test_a_second_run_on_the_same_output_is_refused_until_the_first_ends(tmp_path):
    first = RecordSink(tmp_path / "out.jsonl", {"a": 1})
    first.write(0, DOCUMENTS[0], record("a"))
    for settings in ({"a": 1}, {"a": 2}):
        with pytest.raises(InputError, match="another run is writing it"):
            RecordSink(tmp_path / "out.jsonl", settings)
    first.finish()
    first.clear()
    RecordSink(tmp_path / "out.jsonl", {"a": 1}).close()
    assert (tmp_path / "out.jsonl").read_text() == record("a").to_json() + "\n"


def test_a_lone_surrogate_in_a_record_is_written_as_json_writes_it(tmp_path):
    sink = RecordSink(tmp_path / "out.jsonl", {})
    sink.write(0, DOCUMENTS[0], record("a\ud800"))
    sink.finish()
    sink.clear()
    assert json.loads((tmp_path / "out.jsonl").read_text())["id"] == "a\ud800"


def test_people_see_titles_without_control_characters():
    assert titled_summary(record("a\x1b[2J")) == "== a[2J ==\nSummary of a\x1b[2J\n"
    assert titled_summary(record("a", "failed")) == "== a ==\n(failed)\n"
