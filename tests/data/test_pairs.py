import gzip
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from summarizer.config import DataConfig
from summarizer.data.pairs import DataSplit, Pair, ReadReport, find_pairs, read_pairs
from summarizer.errors import InputError
from tests.corpus import write_jsonl

ROWS = [{"id": "a", "document": "One.\nTwo.", "summary": "1."}, {"id": "b", "document": "Three.", "summary": "3."}]
PAIRS = [Pair(row["id"], row["document"], row["summary"]) for row in ROWS]
SAMPLE = Path(__file__).parents[2].parent / "shared" / "data" / "pubmed_original_sample"
CARD = """---
configs:
- {config_name: document, data_files: [{split: train, path: document/train-*}, {split: test, path: document/test-*}]}
- {config_name: section, default: true,
   data_files: [{split: train, path: section/train-*}, {split: test, path: section/test-*}]}
---
"""


def read(entries, split="train", report=None, **settings):
    source = find_pairs([str(entry) for entry in entries], split)
    return list(read_pairs(source, DataConfig(**settings), report or ReadReport()))


def write_parquet(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def test_the_same_pairs_come_from_every_format(tmp_path):
    jsonl = write_jsonl(tmp_path / "a.jsonl", ROWS)
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(jsonl.read_bytes()))
    table = tmp_path / "a.csv"
    table.write_text('id,document,summary\na,"One.\nTwo.",1.\nb,Three.,3.\n', encoding="utf-8")
    for path in (jsonl, packed, table, write_parquet(tmp_path / "a.parquet", ROWS)):
        assert read([path]) == PAIRS


def test_folders_give_a_splits_files_and_globs_and_lists_add_up_in_order(tmp_path):
    folder = tmp_path / "pairs"
    folder.mkdir()
    names = ("train-1", "train-0", "validation", "val_b", "dev", "test", "other")
    for number, name in enumerate(names):
        write_jsonl(folder / f"{name}.jsonl", [{"id": name, "document": f"{number}", "summary": "x"}])
    (folder / "train.md").write_text("no records", encoding="utf-8")

    def ids(entries, split):
        return [pair.id for pair in read(entries, split)]

    assert ids([folder], "train") == ["train-0", "train-1"]
    assert ids([folder], "validation") == ["dev", "val_b", "validation"]
    assert ids([folder], "test") == ["test"]
    assert ids([folder / "t*.jsonl"], "train") == ["test", "train-0", "train-1"]
    assert ids([tmp_path / "**" / "dev.jsonl"], "train") == ["dev"]
    assert ids([folder / "test.jsonl", folder], "train") == ["test", "train-0", "train-1"]


@pytest.mark.parametrize(
    ("document", "summary"),
    [
        ("document", "summary"),
        ("article", "abstract"),
        ("article", "highlights"),
        ("text", "summary"),
        ("article_text", "abstract_text"),
    ],
)
def test_the_usual_column_pairs_are_found(tmp_path, document, summary):
    path = write_jsonl(tmp_path / "a.jsonl", [{summary: "S.", "extra": 1, document: "D."}])
    assert read([path]) == [Pair(f"{path}:1", "D.", "S.")]


def test_columns_can_be_named(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [{"article_id": 7, "body_text": "D.", "tldr": "S.", "summary": "other"}])
    assert read([path], document_column="body_text", summary_column="tldr") == [Pair("7", "D.", "S.")]


def test_a_missing_column_is_an_error_that_lists_those_there_are(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [{"document": "D.", "tldr": "S."}])
    with pytest.raises(InputError, match=r"a\.jsonl:1: no column .*set data\.summary_column.*: document, tldr"):
        read([path])
    with pytest.raises(InputError, match=r"no column paper \(set data\.document_column\); there are: document, tldr"):
        read([path], document_column="paper")


def test_lists_of_sentences_are_joined_and_sentence_markers_removed(tmp_path):
    rows = [{"article_text": ["one .", "two ."], "abstract_text": ["<S> a . </S>", "<S> b . </S>"]}]
    rows.append({"article_text": "<S> one . </S> <S> two . </S>", "abstract_text": "<S>a .</S>"})
    for path in (write_jsonl(tmp_path / "a.jsonl", rows), write_parquet(tmp_path / "a.parquet", rows[:1])):
        pairs = read([path])
        assert (pairs[0].document, pairs[0].target) == ("one .\ntwo .", "a .\nb .")
    pairs = read([tmp_path / "a.jsonl"])
    assert (pairs[1].document, pairs[1].target) == ("one . two .", "a .")


def test_text_is_clean(tmp_path):
    rows = [{"document": "\ufeffOne\u00a0 line\r\n\r\n\t two\x00 \u2028three ", "summary": " \ufeffS.\n"}]
    pair = read([write_jsonl(tmp_path / "a.jsonl", rows)])[0]
    assert (pair.document, pair.target) == ("One line\ntwo\nthree", "S.")


def test_what_is_not_taken_is_counted_with_the_place_of_the_first(tmp_path):
    path = tmp_path / "a.jsonl"
    lines = [
        '{"document": "D.", "summary": "S."}',
        '{"document": " \\n", "summary": "S."}',
        '{"document": [], "summary": "S."}',
        '{"document": "D.", "summary": null}',
        '{"document": "D."}',
        '{"document": 3, "summary": "S."}',
        '{"document": ["D.", 3], "summary": "S."}',
        '{"document": "D", ',
        "[]",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    report = ReadReport()
    assert len(read([path], report=report)) == 1
    assert report.lines() == [
        f"2 × empty document (first: {path}:2, {path}:3)",
        f"2 × empty summary (first: {path}:4, {path}:5)",
        f"1 × a cell that holds int, not text or a list of sentences (first: {path}:6)",
        f"1 × a cell that holds list, not text or a list of sentences (first: {path}:7)",
        f"1 × broken JSON (first: {path}:8)",
        f"1 × expected a JSON object, found list (first: {path}:9)",
    ]


def test_an_entry_that_leads_to_nothing_is_an_error_that_names_it(tmp_path):
    write_jsonl(tmp_path / "train.jsonl", ROWS)
    for entry, named in (
        (tmp_path / "none.jsonl", r"data\.test: .*none\.jsonl.* matches no file"),
        (tmp_path / "*.csv", r"\*\.csv.* matches no file"),
        (tmp_path, r"data\.test: the folder .* holds no file test\* \(\.jsonl, \.csv, \.tsv, \.parquet\)"),
    ):
        with pytest.raises(InputError, match=named):
            find_pairs([str(entry)], "test")
    with pytest.raises(InputError, match="'owner/none' matches no file"):
        find_pairs([str(tmp_path / "train.jsonl"), "owner/none"], "train")


def test_a_relative_folder_without_the_split_is_no_hub_id(tmp_path, monkeypatch):
    (tmp_path / "data" / "pubmed").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"the folder 'data/pubmed' holds no file validation\* or val\* or dev\*"):
        find_pairs(["data/pubmed"], "validation")


def test_the_fingerprint_follows_the_content_and_not_the_name(tmp_path):
    first, second = (write_jsonl(tmp_path / name, ROWS) for name in ("a.jsonl", "b.jsonl"))
    other = write_jsonl(tmp_path / "c.jsonl", ROWS[:1])
    prints = [find_pairs([str(path)], "train").fingerprint() for path in (first, second, other)]
    assert prints[0] == prints[1] != prints[2]


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A working folder in which load_dataset finds data sets of the hub's form under their ids; no network."""
    import datasets.config
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    datasets.disable_progress_bars()
    pubmed = tmp_path / "ccdv" / "pubmed-summarization"
    for name in ("section", "document"):
        for split in ("train", "test"):
            rows = [{"article": f"{name} {split} {number}.", "abstract": "A.\nB."} for number in range(3)]
            write_parquet(pubmed / name / f"{split}-00000-of-00001.parquet", rows)
    (pubmed / "README.md").write_text(CARD, encoding="utf-8")
    news = [{"article": "News.", "highlights": "N .\nM .", "id": "0001d1afc246a7964130f43ae940af6bc6c57f01"}]
    write_parquet(tmp_path / "abisee" / "cnn_dailymail" / "train.parquet", news)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    datasets.enable_progress_bars()


def test_a_hub_id_is_a_source_without_asking_the_network():
    source = find_pairs(["ccdv/pubmed-summarization"], "validation", "section")
    assert source == DataSplit("validation", hub_id="ccdv/pubmed-summarization", hub_name="section")


@pytest.mark.parametrize(("name", "expected"), [(None, "section"), ("document", "document")])
def test_the_pubmed_data_set_of_the_hub_is_read(hub, name, expected):
    source = DataSplit("test", hub_id="ccdv/pubmed-summarization", hub_name=name)
    pairs = list(read_pairs(source, DataConfig(), ReadReport()))
    assert [pair.document for pair in pairs] == [f"{expected} test {number}." for number in range(3)]
    assert pairs[2].id == "ccdv/pubmed-summarization:test:3"
    assert pairs[0].target == "A.\nB."


def test_the_cnn_dailymail_data_set_of_the_hub_is_read(hub):
    source = DataSplit("train", hub_id="abisee/cnn_dailymail")
    (pair,) = read_pairs(source, DataConfig(), ReadReport())
    assert pair == Pair("0001d1afc246a7964130f43ae940af6bc6c57f01", "News.", "N .\nM .")


def test_the_fingerprint_of_a_hub_data_set_names_its_configuration_and_split(hub):
    sources = [DataSplit(split, (), "ccdv/pubmed-summarization", name)
               for split in ("train", "test") for name in (None, "document")]  # fmt: skip
    prints = [source.fingerprint() for source in sources]
    assert len({tuple(each) for each in prints}) == 4
    assert len({each[-1] for each in prints}) == 4  # the hashes of the contents differ as well
    assert prints == [source.fingerprint() for source in sources]


@pytest.mark.parametrize(
    ("source", "named"),
    [
        (DataSplit("train", hub_id="nobody/nothing"), "cannot load 'nobody/nothing'"),
        (DataSplit("train", hub_id="ccdv/pubmed-summarization", hub_name="other"), "'other' not found"),
        (DataSplit("dev", hub_id="ccdv/pubmed-summarization"), 'data.dev: .*Unknown split "dev"'),
    ],
)
def test_a_hub_data_set_that_cannot_be_loaded_is_one_clear_line(hub, source, named):
    with pytest.raises(InputError, match=named) as caught:
        list(read_pairs(source, DataConfig(), ReadReport()))
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not SAMPLE.is_dir(), reason="needs the shared corpora beside the repository")
def test_the_sample_of_the_original_pubmed_release_is_read(tmp_path):
    counts = {split: len(read([SAMPLE], split)) for split in ("train", "validation", "test")}
    assert counts == {"train": 77, "validation": 10, "test": 10}
    for path in (SAMPLE / "original_jsonl").glob("*.txt"):
        shutil.copy(path, tmp_path / f"{path.stem}.jsonl")
    report = ReadReport()
    pairs = [pair for split in ("train", "validation", "test") for pair in read([tmp_path], split, report)]
    assert len(pairs) == 97
    assert sum(report.counts.values()) == 3
    assert set(report.counts) == {"empty document"}
    assert not any("<S>" in pair.target or "</S>" in pair.target for pair in pairs)
    with (tmp_path / "val.jsonl").open(encoding="utf-8") as file:
        first = json.loads(file.readline())
    pair = read([tmp_path], "validation")[0]
    assert pair.id == first["article_id"]
    assert pair.document.count("\n") + 1 == len([line for line in first["article_text"] if line.strip()])
