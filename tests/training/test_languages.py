"""Multilingual models: documents and summaries carry the tokens of their languages, in training and in generation."""

import pytest
import torch
from transformers import MBart50Tokenizer, MBartConfig, MBartForConditionalGeneration, MBartTokenizer, NllbTokenizer

from summarizer.data.preparation import prepare
from summarizer.errors import InputError
from summarizer.generation.summarizer import Summarizer
from summarizer.training.loop import train
from summarizer.training.starting_model import load_tokenizer
from tests.corpus import WORDS

PIECES = ["<s>", "<pad>", "</s>", "<unk>", *sorted({f"▁{word}" for word in WORDS}), *map(chr, range(97, 123)), "▁"]
TOKENIZERS = {
    "mbart50": lambda: MBart50Tokenizer(vocab=[(piece, -1.0) for piece in PIECES], src_lang="en_XX"),
    "mbart": lambda: MBartTokenizer(vocab=[(piece, -1.0) for piece in PIECES], src_lang="en_XX"),
    "nllb": lambda: NllbTokenizer(
        vocab={piece: number for number, piece in enumerate(PIECES)}, merges=[], src_lang="eng_Latn"
    ),
}


@pytest.fixture
def folder(request, tmp_path):
    torch.manual_seed(0)
    tokenizer = TOKENIZERS[request.param]()
    config = MBartConfig(
        vocab_size=len(tokenizer), d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, max_position_embeddings=512,
        pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2,
    )  # fmt: skip
    MBartForConditionalGeneration(config).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize(
    ("folder", "source", "target", "first"),
    [("mbart50", "de_DE", "fr_XX", True), ("mbart", "de_DE", "fr_XX", False), ("nllb", "deu_Latn", "fra_Latn", True)],
    indirect=["folder"],
)
def test_summaries_are_trained_and_written_in_their_language(folder, configure, source, target, first):
    languages = (f"data.source_language={source}", f"data.target_language={target}", "data.max_target_tokens=6")
    settings = ("training.steps=1", "training.validate_every=1", "training.rouge_examples=1", "data.tokenizer=null")
    config = configure(f"pretrained={folder}", *languages, *settings, name="pretrained")
    tokenizer = load_tokenizer(config)
    code, other = tokenizer.convert_tokens_to_ids([target, source])
    rows = prepare(config.data.train, "train", config.data, tokenizer, None).rows
    for row in rows:
        assert row["labels"][0 if first else -1] == code
        assert other in (row["input_ids"][0], row["input_ids"][-1])
        assert (tokenizer.eos_token_id in row["labels"]) == (not row["dropped_target"])
    assert any(row["dropped_target"] for row in rows)
    run = train(config)
    summarizer = Summarizer.from_pretrained(str(run / "last"), "cpu", "float32")
    own = summarizer.model.generation_config
    assert (own.forced_bos_token_id if first else own.decoder_start_token_id) == code
    assert (summarizer.tokenizer.src_lang, summarizer.tokenizer.tgt_lang) == (source, target)
    assert summarizer.summarize(["patients study"])[0].status in ("ok", "failed")  # random weights may write nothing


@pytest.mark.parametrize("folder", ["mbart50"], indirect=True)
def test_the_languages_of_the_files_are_the_default_and_wrong_ones_are_named(folder, configure, capsys):
    settings = ("training.steps=1", "data.validation=[]", "data.tokenizer=null", f"pretrained={folder}")
    train(configure(*settings, name="pretrained"))
    assert "summaries are in en_XX; data.target_language sets another language" in capsys.readouterr().err
    with pytest.raises(InputError, match=r"data\.target_language: 'french' is not a language code of the tokenizer"):
        load_tokenizer(configure(*settings, "data.target_language=french", name="pretrained"))
    with pytest.raises(InputError, match=r"data\.source_language: the tokenizer '.*tokenizer' has no languages"):
        load_tokenizer(configure("data.source_language=en_XX"))
