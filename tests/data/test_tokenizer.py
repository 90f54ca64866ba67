import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from summarizer.config import DataConfig
from summarizer.data import tokenizer as module
from summarizer.data.source_tokens import encode_text, encode_texts, special_ids
from summarizer.data.tokenizer import find_numbers, lowercases, number_ids, train_from_pairs, train_tokenizer
from summarizer.errors import InputError
from summarizer.text import clean_text
from tests.corpus import TEXTS, UNSEEN, pair_rows, sentence, tiny_tokenizer, write_jsonl

LITERALS = ["</s>", "<pad>", "<unk>", "<mask>", "<s>", "<0x41>", "<0x0A>", "<0xFF>", "▁", "\n", "<", "0x41>", " ", "1"]
CORPUS = Path(__file__).parents[2].parent / "shared" / "data" / "pmc_oa_cased" / "validation.parquet"


@pytest.fixture(scope="module")
def tokenizer():
    return tiny_tokenizer()


def decode(tokenizer, ids):
    return tokenizer.decode(ids, skip_special_tokens=True)


@pytest.mark.parametrize("text", [*TEXTS, *UNSEEN])
def test_text_of_any_script_comes_back_without_unknown_tokens(tokenizer, text):
    text = clean_text(text)
    ids = encode_text(tokenizer, text)
    assert tokenizer.unk_token_id not in ids
    assert not special_ids(tokenizer).intersection(ids)
    assert decode(tokenizer, ids) == text


@settings(max_examples=300, deadline=None)
@given(st.text() | st.lists(st.sampled_from(LITERALS) | st.text(max_size=3)).map("".join))
def test_any_clean_text_comes_back_exactly(text):
    tokenizer, text = tiny_tokenizer(), clean_text(text)
    ids = encode_text(tokenizer, text)
    assert not set(tokenizer.all_special_ids).intersection(ids)
    assert decode(tokenizer, ids) == text


def test_texts_encoded_together_are_those_encoded_alone(tokenizer):
    texts = [clean_text(text) for text in (*TEXTS, *UNSEEN)]
    assert encode_texts(tokenizer, texts) == [encode_text(tokenizer, text) for text in texts]


def test_the_words_of_a_line_have_the_same_ids_wherever_the_line_stands(tokenizer):
    first, second = "The patients improved.", "We measured the pressure."
    lines = [encode_text(tokenizer, line) for line in (first, second)]
    newline = tokenizer.convert_tokens_to_ids("\n")
    assert encode_text(tokenizer, f"{first}\n{second}") == [*lines[0], newline, *lines[1]]


def test_numbers_are_spelled_in_digits(tokenizer):
    vocabulary = tokenizer.get_vocab()
    number = "".join(digit for digit in "9876543210" if digit in vocabulary) * 3
    tokens = tokenizer.convert_ids_to_tokens(encode_text(tokenizer, number))
    assert len(number) > 6
    assert [token.strip("▁") for token in tokens if token != "▁"] == list(number)
    assert not [token for token in vocabulary if re.search(r"\d.*\d", token) and not token.startswith("<0x")]


def test_every_sequence_ends_in_the_end_token_and_nothing_limits_its_length(tokenizer):
    text = " ".join(sentence(50, seed) for seed in range(20))
    ids = tokenizer(text).input_ids
    assert ids == [*encode_text(tokenizer, text), tokenizer.eos_token_id]
    assert (tokenizer.pad_token_id, tokenizer.unk_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id) == (
        0,
        1,
        2,
        3,
    )


def test_a_saved_folder_loads_with_autotokenizer_and_gives_the_same_ids(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert loaded.is_fast
    assert loaded.special_tokens_map == tokenizer.special_tokens_map
    assert len(loaded) == len(tokenizer) == 500
    for text in map(clean_text, (*TEXTS, *UNSEEN)):
        ids = encode_text(loaded, text)
        assert ids == encode_text(tokenizer, text)
        assert decode(loaded, ids) == text


def trained_with_sentencepiece(texts, vocab_size, monkeypatch):
    """A trained tokenizer and the sentencepiece model that it was made from."""
    models, convert = [], module.from_sentencepiece
    monkeypatch.setattr(module, "from_sentencepiece", lambda model, *_: models.append(model) or convert(model))
    return train_tokenizer(texts, vocab_size, num_threads=1), models[0]


def test_a_line_has_the_ids_that_sentencepiece_gives(monkeypatch):
    tokenizer, model = trained_with_sentencepiece([*TEXTS, *map(str.upper, TEXTS)], 520, monkeypatch)
    lines = [line for text in (*TEXTS, *UNSEEN) for line in clean_text(text).splitlines()]
    lines = [line for line in lines if "▁" not in line and not re.search("<.+>", line)]
    assert len(lines) > 12
    for line in lines:
        assert encode_text(tokenizer, line) == model.encode(line), line


@pytest.mark.skipif(not CORPUS.exists(), reason="needs the shared corpora beside the repository")
def test_lines_of_real_articles_have_the_ids_that_sentencepiece_gives(monkeypatch):
    import pyarrow.parquet as pq

    documents = [clean_text(text) for text in pq.read_table(CORPUS)["document"].to_pylist()[:12]]
    tokenizer, model = trained_with_sentencepiece(documents[:6], 2000, monkeypatch)
    lines = [line for document in documents for line in document.splitlines() if "▁" not in line]
    ids, expected = encode_texts(tokenizer, lines), model.encode(lines)
    assert [line for line, ours, theirs in zip(lines, ids, expected, strict=True) if ours != theirs] == []
    assert [decode(tokenizer, encode_text(tokenizer, document)) for document in documents] == documents


def test_the_same_texts_give_the_same_tokenizer():
    texts = [sentence(12, seed) for seed in range(200)]
    first, second = (train_tokenizer(texts, 330) for _ in range(2))
    assert first.backend_tokenizer.to_str() == second.backend_tokenizer.to_str()


def test_training_on_pairs_writes_a_folder_and_says_what_was_read(tmp_path):
    rows = [*pair_rows(60), {"id": "e", "document": "", "summary": "x"}]
    data = write_jsonl(tmp_path / "train.jsonl", rows)
    lines = train_from_pairs([str(data)], tmp_path / "out", 330, 50, DataConfig())
    assert lines == [f"{tmp_path / 'out'}: 330 pieces, trained on 50 pairs of {data}"]
    lines = train_from_pairs([str(tmp_path)], tmp_path / "all", 330, 100, DataConfig())
    assert lines[0] == f"1 × empty document (first: {data}:61)"
    assert len(AutoTokenizer.from_pretrained(tmp_path / "all")) == 330


@pytest.mark.parametrize("name", ["test.jsonl", "validation-0.jsonl", "val.jsonl", "dev.jsonl"])
def test_files_of_other_splits_are_refused(tmp_path, name):
    data = write_jsonl(tmp_path / name, pair_rows(60))
    with pytest.raises(
        InputError, match=f"{name}: is validation or test data; train the tokenizer on training data only"
    ):
        train_from_pairs([str(data)], tmp_path / "out", 330, 100, DataConfig())
    assert not (tmp_path / "out").exists()


def test_too_few_texts_are_one_clear_line(tmp_path):
    data = write_jsonl(tmp_path / "train.jsonl", pair_rows(3))
    with pytest.raises(InputError, match="at most 323 pieces, fewer than --vocab-size 5000") as caught:
        train_from_pairs([str(data)], tmp_path / "out", 5000, 100, DataConfig())
    assert "\n" not in str(caught.value)
    empty = write_jsonl(tmp_path / "train-empty.jsonl", [{"document": "", "summary": ""}])
    with pytest.raises(InputError, match="training the tokenizer failed"):
        train_from_pairs([str(empty)], tmp_path / "out", 330, 100, DataConfig())
    assert not (tmp_path / "out").exists()


def test_a_file_in_the_place_of_the_folder_is_refused_before_training(tmp_path):
    data = write_jsonl(tmp_path / "train.jsonl", pair_rows(40))
    (tmp_path / "out").write_text("mine")
    with pytest.raises(InputError, match="is a file"):
        train_from_pairs([str(data)], tmp_path / "out", 330, 100, DataConfig())


def test_a_tokenizer_that_lowercases_reads_capitals_as_small_letters_and_says_so_when_loaded(tmp_path):
    tokenizer = train_tokenizer([*TEXTS, *(sentence(12, seed) for seed in range(300))], 500, lowercase=True)
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert lowercases(loaded)
    assert not lowercases(tiny_tokenizer())
    for text in TEXTS:
        assert encode_text(loaded, text) == encode_text(loaded, text.lower())
    assert not any(re.search("[A-Z]", piece) for piece in loaded.get_vocab() if not piece.startswith("<"))


@pytest.fixture(scope="module")
def numberless():
    texts = [*TEXTS, *(f"{sentence(12, seed)} {seed} of {seed}.5 <dig>" for seed in range(300))]
    return train_tokenizer(texts, 500, lowercase=True, number_placeholder="<dig>")


def test_numbers_that_stand_alone_are_one_piece_each(numberless, tmp_path):
    numberless.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    text = "12.5% (p < 0.05) of 1,234 in [3,4] <DIG>, $5; COVID-19, p53, 2.5-fold, v1.0.2b, 3. 4"
    assert find_numbers(text, "<dig>") == ["12.5", "0.05", "1,234", "3,4", "<DIG>", "5", "3", "4"]
    ids = encode_text(loaded, text)
    assert sum(token in number_ids(loaded) for token in ids) == 8
    assert decode(loaded, ids).startswith("<dig>% (p < <dig>) of <dig> in [<dig>] <dig>, $<dig>; covid-19, p53,")
    assert number_ids(tiny_tokenizer()) == []


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from([*"0159.,-–<>()$% \n", "12", "<dig>", "<DIG>", "a", "٤", "²", "é", "</s>"])).map("".join)
)
def test_the_numbers_found_are_those_that_are_read(numberless, text):
    text = clean_text(text)
    read = sum(token in number_ids(numberless) for token in encode_text(numberless, text))
    assert read == len(find_numbers(text, "<dig>"))


def test_a_missing_column_is_named_with_the_option_of_the_command(tmp_path):
    data = write_jsonl(tmp_path / "train.jsonl", [{"body_text": "A text.", "tldr": "Text."}])
    with pytest.raises(InputError, match=r"no column .* \(set --document-column\); there are: body_text, tldr$"):
        train_from_pairs([str(data)], tmp_path / "out", 330, 100, DataConfig())
