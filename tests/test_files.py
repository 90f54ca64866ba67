import csv
import errno
import gzip
import json
import os
import stat
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from summarizer import rows
from summarizer.errors import InputError
from summarizer.files import check_writable, hash_of_file, lock_file, remove_asides, write_json, write_whole
from summarizer.rows import read_rows, row_format
from summarizer.text import decode_text, guess_note

ROWS = [
    {"id": "a", "text": "One line,\nand “another”."},
    {"id": "b", "text": 'with "quotes", commas'},
    {"id": "c", "text": "本\u2028文"},
]


def write_rows(path):
    opened = gzip.open if path.suffix == ".gz" else open
    if ".parquet" in path.name:
        pq.write_table(pa.Table.from_pylist(ROWS), path)
        return
    with opened(path, "wt", encoding="utf-8", newline="") as file:
        if ".jsonl" in path.name:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)
        else:
            writer = csv.DictWriter(file, ["id", "text"])
            writer.writeheader()
            writer.writerows(ROWS)


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz", "rows.csv", "rows.csv.gz", "rows.parquet", "R.JSONL"])
def test_the_same_rows_come_from_every_format(tmp_path, name):
    path = tmp_path / name
    if name == "R.JSONL":
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    else:
        write_rows(path)
    records = list(read_rows(path))
    assert [record.columns for record in records] == ROWS
    assert all(record.error is None for record in records)
    assert len({record.location for record in records}) == 3
    assert records[0].location.startswith(f"{path}:")


def test_a_broken_line_of_json_is_a_record_that_names_file_and_line(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n\n{"a": \n[1]\n{"a": 2}', encoding="utf-8")
    good, broken, other, last = read_rows(path)
    assert (good.columns, last.columns) == ({"a": 1}, {"a": 2})
    assert broken.location == f"{path}:3"
    assert broken.error is not None
    assert broken.error.startswith("broken JSON (")
    assert (other.location, other.error) == (f"{path}:4", "expected a JSON object, found list")


def test_a_csv_row_of_another_length_is_a_record_with_an_error(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n1\n1,2,3\n", encoding="utf-8")
    records = list(read_rows(path))
    assert [record.error for record in records] == [None, *["expected 2 fields, as in the header"] * 2]
    assert records[2].location == f"{path}:4"


def test_a_quote_in_csv_that_is_never_closed_is_an_error_and_not_one_long_cell(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('id,text\n1,"a, b"\n2,"c\n3,d\n4,e\n')
    first, second = read_rows(path)
    assert first.columns == {"id": "1", "text": "a, b"}
    assert second.error.startswith("a quote is never closed")
    path.write_text('id,text\n1,"a\nb"')
    assert [record.columns["text"] for record in read_rows(path)] == ["a\nb"]
    path.write_text('"id,text\n1,a\n2,b\n')
    with pytest.raises(InputError, match=r"rows\.csv: a quote in the header is never closed"):
        list(read_rows(path))


def test_blank_lines_before_a_csv_header_are_passed_over(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("\n\nid,text\n1,a\n")
    assert [record.columns for record in read_rows(path)] == [{"id": "1", "text": "a"}]
    path.write_text("\n\n")
    assert list(read_rows(path)) == []


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv"])
def test_marks_of_files_that_were_joined_are_dropped(tmp_path, name):
    mark, header = ("\ufeff", "") if name.endswith("jsonl") else ("\ufeff\ufeff", "text\n")
    row = '{"text": "Grüße"}' if name.endswith("jsonl") else "Grüße"
    (tmp_path / name).write_text(f"{mark}{header}{row}\n{mark}{row}\n", encoding="utf-8")
    assert [record.columns for record in read_rows(tmp_path / name)] == [{"text": "Grüße"}] * 2


def test_a_cell_longer_than_the_csv_modules_limit_is_read(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a\n" + "x" * 200_000 + "\n", encoding="utf-8")
    assert len(next(read_rows(path)).columns["a"]) == 200_000


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv"])
def test_a_byte_order_mark_is_dropped(tmp_path, name):
    write_rows(tmp_path / name)
    path = tmp_path / name
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert next(read_rows(path)).columns == ROWS[0]


@pytest.mark.parametrize("damage", ["cut", "garbled", "not gzip"])
def test_a_damaged_file_is_an_error_that_names_it(tmp_path, damage):
    path = tmp_path / "rows.jsonl.gz"
    content = gzip.compress(os.urandom(2000).hex().encode())
    path.write_bytes(
        {"cut": content[:500], "garbled": content[:20] + b"\xff" * 40 + content[60:], "not gzip": b"{}"}[damage]
    )
    with pytest.raises(InputError, match=r"rows.jsonl.gz: cannot be read"):
        list(read_rows(path))


def test_files_that_are_no_records_are_an_error_that_names_them(tmp_path):
    for name, content in (("a.parquet", b"PAR1"), ("a.csv", b"\xff\xfea")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=f"{name}: cannot be read"):
            list(read_rows(tmp_path / name))
    with pytest.raises(InputError, match=r"a.txt: not a file of rows; expected one of .jsonl, .csv, .tsv, .parquet"):
        list(read_rows(tmp_path / "a.txt"))
    with pytest.raises(InputError, match=r"none.jsonl: cannot be read"):
        list(read_rows(tmp_path / "none.jsonl"))


def test_the_format_is_that_of_the_name_before_gz(tmp_path):
    names = ["a.jsonl", "a.CSV", "a.b.parquet", "a.jsonl.gz", "a.txt", "a.gz", "jsonl"]
    expected = [".jsonl", ".csv", ".parquet", ".jsonl", None, None, None]
    assert [row_format(tmp_path / name) for name in names] == expected


def test_a_file_takes_its_name_only_when_the_block_ends(tmp_path):
    path = tmp_path / "new" / "out.txt"
    with write_whole(path) as file:
        file.write("whole ✓")
        assert not path.exists()
    assert path.read_text(encoding="utf-8") == "whole ✓"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_the_old_file_stays_and_no_litter_when_the_block_raises(tmp_path, error):
    path = tmp_path / "out.bin"
    path.write_bytes(b"old")

    def fail() -> None:
        with write_whole(path, "wb") as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_process_killed_while_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old", encoding="utf-8")
    code = (
        "import os, sys; from pathlib import Path; from summarizer.files import write_whole\n"
        "with write_whole(Path(sys.argv[1])) as file:\n"
        "    file.write('half'); file.flush(); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=False, timeout=60)
    assert path.read_text(encoding="utf-8") == "old"


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX's")
def test_files_are_as_public_as_the_umask_says(tmp_path):
    previous = os.umask(0o027)
    try:
        write_json(tmp_path / "a.json", {})
    finally:
        os.umask(previous)
    assert stat.S_IMODE((tmp_path / "a.json").stat().st_mode) == 0o640


def test_json_refuses_nan_and_keeps_the_old_file(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"ü": [1]})
    assert path.read_text(encoding="utf-8") == '{\n  "ü": [\n    1\n  ]\n}\n'
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, float("nan"))
    assert json.loads(path.read_text(encoding="utf-8")) == {"ü": [1]}


def test_the_hash_is_sha256(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    assert hash_of_file(tmp_path / "a") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


ENCODED = {
    "cp1252": "Der Fluß stieg über die Brücke – „nie zuvor“ gesehen, sagte die Bürgermeisterin {}.",
    "shift_jis": "港の会議は春に開かれ、新しい計画に{}回投票した。漁師たちは網を直す時間を求めた。",
    "iso2022_jp": "港の会議は春に開かれ、新しい計画に{}回投票した。漁師たちは網を直す時間を求めた。",
    "euc_jp": "港の会議は春に開かれ、新しい計画に{}回投票した。漁師たちは網を直す時間を求めた。",
    "cp1251": "Совет собрался весной и проголосовал {} раз за новый план гавани. Рыбаки просили времени.",
    "gb18030": "理事会在春天开会，对港口的新计划进行了{}次投票。渔民要求更多时间修补渔网。",
    "utf-16": "Café {} 港",
    "utf-32": "Café {} 港",
}


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv", "rows.jsonl.gz", "rows.csv.gz"])
@pytest.mark.parametrize("encoding", ENCODED)
def test_rows_are_read_in_the_encoding_that_text_files_are_read_in(tmp_path, encoding, name):
    plain = [f"Line {number} is in ASCII." for number in range(40)]
    texts = [*plain, *(ENCODED[encoding].format(number) for number in range(8))]
    lines = [json.dumps({"text": text}, ensure_ascii=False) for text in texts]
    content = "\n".join(lines if "jsonl" in name else ["text", *(f'"{text}"' for text in texts)]).encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert [record.columns["text"] for record in read_rows(tmp_path / name)] == texts
    assert decode_text(content).endswith(content.decode(encoding)[-40:])


def test_a_broken_row_does_not_change_how_the_others_are_read(tmp_path):
    good, bad = "Grüße {}".encode(), b"Gr\xfc\xdfe"
    (tmp_path / "a.csv").write_bytes(b"text\n" + good + b"\n" + bad + b"\n" + good)
    (tmp_path / "b.jsonl").write_bytes(b'{"text": "%s"}\n{"text": "%s"}\n{"text": "%s"}' % (good, bad, good))
    for name in ("a.csv", "b.jsonl"):
        records = list(read_rows(tmp_path / name))
        assert [record.columns.get("text") for record in records] == ["Grüße {}", None, "Grüße {}"]
        assert records[1].error == "not UTF-8 text"
    japanese = ENCODED["shift_jis"].encode("shift_jis")
    (tmp_path / "c.csv").write_bytes(b"text\n" + (japanese + b"\n") * 999 + b"\x81 \n" + japanese)
    records = list(read_rows(tmp_path / "c.csv"))
    assert [record.error for record in records] == [*[None] * 999, "not cp932 text", None]


def test_rows_that_are_no_text_are_told_so(tmp_path):
    (tmp_path / "a.csv").write_bytes("text\nGrüße\n".encode("utf-16-le"))
    with pytest.raises(InputError, match=r"a.csv: cannot be read: zero bytes.*UTF-16 without a byte-order mark"):
        list(read_rows(tmp_path / "a.csv"))


def test_a_line_that_cannot_be_read_spoils_only_itself(tmp_path):
    nested = b"[" * 100_000 + b"]" * 100_000
    digits = b"9" * 5000
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": "\xc3\xa9"}\n{"a": "\xff"}\n{"a": ' + nested + b'}\n{"a": ' + digits + b'}\n{"a": 2}\n')
    records = list(read_rows(path))
    assert [record.columns for record in records] == [{"a": "é"}, {}, {}, {}, {"a": 2}]
    assert [record.error is None for record in records] == [True, False, False, False, True]
    assert records[1].error == "not UTF-8 text"


def test_what_cannot_be_written_is_known_beforehand_and_what_can_is_left_alone(tmp_path):
    (tmp_path / "old.json").write_text("old", encoding="utf-8")
    check_writable(tmp_path / "old.json")
    check_writable(tmp_path / "new" / "folder" / "new.json")
    assert (tmp_path / "old.json").read_text(encoding="utf-8") == "old"
    assert not (tmp_path / "new").exists()
    with pytest.raises(InputError, match="is a folder"):
        check_writable(tmp_path)
    with pytest.raises(InputError, match=r"x\.json: cannot be written"):
        check_writable(tmp_path / "old.json" / "x.json")


def test_a_parquet_row_that_cannot_be_read_spoils_only_itself(tmp_path):
    beyond = pa.array([0, 2**59, 5], pa.timestamp("us"))  # a date that Python has not
    pq.write_table(pa.table({"text": ["a", "b", "c"], "date": beyond}), tmp_path / "a.parquet")
    records = list(read_rows(tmp_path / "a.parquet"))
    assert [record.columns.get("text") for record in records] == ["a", None, "c"]
    assert [record.error for record in records] == [None, "cannot be read (date value out of range)", None]


def test_records_in_utf16_with_its_mark_and_packed_parquet_are_read(tmp_path):
    (tmp_path / "a.csv").write_text("id,text\n1,Grüße\n", encoding="utf-16")
    (tmp_path / "b.jsonl").write_text('{"text": "Grüße"}\n', encoding="utf-16")
    assert [record.columns["text"] for name in ("a.csv", "b.jsonl") for record in read_rows(tmp_path / name)] == [
        "Grüße", "Grüße",
    ]  # fmt: skip
    write_rows(tmp_path / "c.parquet")
    (tmp_path / "c.parquet.gz").write_bytes(gzip.compress((tmp_path / "c.parquet").read_bytes()))
    assert [record.columns for record in read_rows(tmp_path / "c.parquet.gz")] == ROWS


def test_rows_and_packed_files_beyond_the_limits_are_errors(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "MAX_LINE", 30)
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\n{"text": "%s"}\n{"text": "y"}' % ("long" * 30))
    assert [record.error is None for record in read_rows(tmp_path / "a.jsonl")] == [True, False, True]
    (tmp_path / "a.csv").write_text("text\n" + "long" * 30 + "\n")
    with pytest.raises(InputError, match="field larger than field limit"):
        list(read_rows(tmp_path / "a.csv"))
    monkeypatch.setattr(rows, "MAX_UNPACKED_PARQUET", 100)
    (tmp_path / "a.parquet.gz").write_bytes(gzip.compress(bytes(200)))
    with pytest.raises(InputError, match="unpacks to more"):
        list(read_rows(tmp_path / "a.parquet.gz"))


def test_asides_of_killed_processes_are_removed_and_nothing_else(tmp_path):
    (tmp_path / "sub").mkdir()
    for name in (".a.txt.abcd_123.part", "sub/.b.txt.abcd0123.part", ".c.part", "a.txt.abcd0123.part"):
        (tmp_path / name).touch()
    remove_asides(tmp_path / "b.txt")
    assert len(list(tmp_path.rglob("*.part"))) == 4
    remove_asides(tmp_path / "a.txt")
    assert len(list(tmp_path.rglob("*.part"))) == 3
    remove_asides(tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*.part")) == [".c.part", "a.txt.abcd0123.part"]


def test_a_file_is_locked_by_one_process_until_it_is_closed(tmp_path):
    path = tmp_path / "a"
    with path.open("w") as first, path.open("r") as second:
        lock_file(first, path)
        with pytest.raises(InputError, match="a: another run is writing it"):
            lock_file(second, path)
        first.close()
        lock_file(second, path)


def test_a_file_that_cannot_be_written_is_an_error_that_names_it_and_other_files_keep_their_errors(tmp_path):
    def write_to_a_full_disk(path):
        with write_whole(path):
            raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    for path, write, reason in (
        (tmp_path / "out.txt", write_to_a_full_disk, "No space left on device"),
        (tmp_path / "file/out.txt", lambda path: write_json(path, {}), "(File exists|Not a directory)"),
    ):
        with pytest.raises(InputError, match=f"^{path}: cannot be written: {reason}$"):
            write(path)
    with pytest.raises(FileNotFoundError), write_whole(tmp_path / "out.txt"):
        (tmp_path / "gone.txt").open()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_of_a_table_is_found_or_given(tmp_path, delimiter):
    rows = [["id", "text", "place"], ["1", "One; two, three | four\tfive", "a"], ["2", "Six, seven; eight", "b"]]
    for name, first in (("a.csv", ""), ("b.csv", "\n"), ("c.csv", f"sep={delimiter}\n"), ("d.tsv", "")):
        with (tmp_path / name).open("w", newline="") as file:
            file.write(first)
            csv.writer(file, delimiter=delimiter).writerows(rows)
        for given in (None, delimiter):
            read = list(read_rows(tmp_path / name, delimiter=given))
            assert [list(row.columns.values()) for row in read] == rows[1:]
    assert read[0].location == f"{tmp_path / 'd.tsv'}:2"
    (row, _) = read_rows(tmp_path / "a.csv", delimiter="#")
    assert list(row.columns) == [delimiter.join(rows[0])]


def test_rows_in_a_guessed_encoding_have_a_note(tmp_path):
    text = "Příští schůze družstva se koná v září. Každý člen může mít u nábřeží jeden člun."
    (tmp_path / "a.csv").write_bytes(f"id;text\n1;{text}\n".encode("cp1250"))
    (row,) = read_rows(tmp_path / "a.csv")
    assert (row.columns["text"], row.notes) == (text, (guess_note("cp1250"),))
    (row,) = read_rows(tmp_path / "a.csv", encoding="cp1250")
    assert (row.columns["text"], row.notes) == (text, ())


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("id;text, whole;summary, short\n1;a, b;c\n2;d;e\n", {"id": "1", "text, whole": "a, b", "summary, short": "c"}),
        ("text\na, b; c\n", {"text": "a, b; c"}),
        ("id ; text\n1;a;\n2;b;\n", {"id": "1", "text": "a"}),
    ],
    ids=["commas in the header", "one column", "a delimiter at the end"],
)
def test_the_rows_tell_the_delimiter_where_the_header_does_not(tmp_path, content, columns):
    (tmp_path / "a.csv").write_text(content)
    rows = list(read_rows(tmp_path / "a.csv"))
    assert rows[0].columns == columns
    assert [row.error for row in rows] == [None] * len(rows)
