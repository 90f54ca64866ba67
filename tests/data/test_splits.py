"""Validation pairs that are held out from the training pairs, and training rows that occur twice."""

import pytest

from summarizer.config import DataConfig
from summarizer.data.preparation import prepare
from summarizer.errors import InputError
from tests.corpus import pair_rows, tiny_tokenizer, write_jsonl

ROWS = pair_rows(20)


@pytest.fixture
def folder(tmp_path):
    """A folder of one file, in which every document occurs twice, and one whole row."""
    again = [{**row, "id": f"again-{row['id']}", "summary": f"{row['summary']} More."} for row in ROWS]
    path = tmp_path / "mine"
    path.mkdir()
    write_jsonl(path / "everything.jsonl", [*ROWS, *again, {**ROWS[3], "id": "same"}, {"document": "", "summary": "x"}])
    return path


@pytest.fixture
def ids_of(folder, tmp_path):
    """A function that gives the ids of a split, and the report."""

    def ids_of(split, **settings):
        settings = {"cache_dir": str(tmp_path / "cache"), "validation_fraction": 0.25, **settings}
        config = DataConfig(train=[str(folder)], **settings)
        prepared = prepare(*config.entries(split)[:1], split, config, tiny_tokenizer(), None)
        return list(prepared.rows["id"]), prepared.lines()

    return ids_of


def test_a_folder_with_one_file_is_split_by_seed_with_equal_documents_on_one_side(ids_of):
    sides = {split: ids_of(split)[0] for split in ("train", "validation")}
    rest, held_out = (
        {id_.removeprefix("again-").replace("same", ROWS[3]["id"]) for id_ in sides[split]} for split in sides
    )
    assert len(sides["train"]) + len(sides["validation"]) == 41
    assert rest | held_out == {row["id"] for row in ROWS}
    assert not rest & held_out
    assert len(held_out) == 5
    assert ids_of("validation")[0] == sides["validation"]
    assert ids_of("validation", split_seed=2)[0] != sides["validation"]


def test_a_small_fraction_holds_out_one_document_and_never_all(ids_of):
    assert (
        len({id_.removeprefix("again-") for id_ in ids_of("validation", validation_fraction=0.001)[0]} - {"same"}) == 1
    )
    with pytest.raises(InputError, match=r"data\.validation_fraction leaves none of 20 distinct documents"):
        ids_of("train", validation_fraction=0.99)


def test_rows_that_occur_twice_are_counted_and_can_be_dropped(ids_of):
    ids, lines = ids_of("train", validation_fraction=None)
    assert len(ids) == 41
    assert "1 rows equal an earlier row in document and target: data.drop_duplicates=true drops them" in lines
    ids, lines = ids_of("train", validation_fraction=None, drop_duplicates=True)
    assert len(ids) == 40
    assert "same" not in ids
    assert "1 rows equal an earlier row in document and target: dropped" in lines


def test_unusable_rows_of_split_data_are_reported_once(ids_of):
    assert any("1 × empty document" in line for line in ids_of("train")[1])
    assert ids_of("validation")[1] == [f"validation: {len(ids_of('validation')[0])} pairs"]


def test_a_folder_without_validation_files_says_what_to_do(folder):
    config = DataConfig(train=[str(folder)], validation=[str(folder)])
    with pytest.raises(InputError, match=r"holds no file validation\* .*; data\.validation_fraction=0\.1 holds out"):
        prepare(config.validation, "validation", config, tiny_tokenizer(), None)
