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
from summarizer.batch.output import FolderSink, Output, open_sink
from summarizer.batch.output_files import TextNames
from summarizer.batch.processes import Processes
from summarizer.batch.records import SummaryRecord, bare_summary, markdown_page, titled_summary
from summarizer.batch.resume import RecordSink
from summarizer.errors import InputError


def record(name, status="ok"):
    summary = None if status == "failed" else f"Summary of {name}"
    return SummaryRecord(name, name, None, status, summary, None, 9, 0, 3, 0.5)


DOCUMENTS = [InputDocument(name, name, f"Text of {name}", text_file=f"{name}.txt") for name in "abcd"]


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


def test_a_text_file_that_cannot_be_written_is_that_documents_failure(tmp_path):
    (tmp_path / "a.txt").mkdir()
    sink = FolderSink(tmp_path, RecordSink(tmp_path / "summaries.jsonl", {}))
    written = [sink.write(position, DOCUMENTS[position], record("ab"[position])) for position in (0, 1)]
    sink.finish()
    sink.clear()
    assert [(each.status, each.summary) for each in written] == [("failed", None), ("ok", "Summary of b")]
    assert "a.txt" in str(written[0].error)
    assert (tmp_path / "b.txt").read_text() == "Summary of b\n"


def test_a_text_file_that_cannot_be_written_when_a_run_continues_is_that_documents_failure(tmp_path):
    first = RecordSink(tmp_path / "summaries.jsonl", {})
    first.write(0, DOCUMENTS[0], record("a"))
    first.close()
    (tmp_path / "a.txt").mkdir()
    sink = FolderSink(tmp_path, RecordSink(tmp_path / "summaries.jsonl", {}))
    failed = sink.earlier(0, DOCUMENTS[0])
    sink.finish()
    sink.close()
    assert failed.status == "failed"
    assert (tmp_path / "summaries.jsonl").read_text() == failed.to_json() + "\n"


def test_a_folder_of_markdown_mirrors_the_input(tmp_path):
    sink = FolderSink(tmp_path, RecordSink(tmp_path / "summaries.jsonl", {}), markdown_page)
    document = InputDocument("sub/a.pdf", "in/sub/a.pdf", "Text", title="A title", text_file="sub/a.pdf.md")
    sink.write(0, document, replace(record("sub/a.pdf"), path="in/sub/a.pdf", title="A title"))
    page = (tmp_path / "sub/a.pdf.md").read_text()
    assert page == "# A title\n\nSummary of sub/a.pdf\n\nSource: `in/sub/a.pdf`\n"
    sink.close()


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
    folder = Output.named(str(tmp_path / "out"), "md", with_evidence=True)
    sink = open_sink(folder, {}, False, Processes(0, 1), print)
    sink.write(0, DOCUMENTS[0], SHOWN)
    sink.close()
    assert (tmp_path / "out/a.txt").read_text() == markdown_page(SHOWN, with_evidence=True) + "\n"


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
    assert said[1:] == [f"{path} is complete; summarizing all documents again"]


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
