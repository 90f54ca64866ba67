"""Models that others published go through the same training and summarizing as our own; here tiny and random."""

import pytest
import torch
import transformers

from summarizer.generation.summarizer import Summarizer
from summarizer.models.published import prepare_inputs
from summarizer.training.loop import train
from tests.corpus import sentence, tiny_tokenizer

SPECIAL = {"vocab_size": 500, "pad_token_id": 0, "eos_token_id": 3, "decoder_start_token_id": 2}
BART_LIKE = {
    **SPECIAL, "bos_token_id": 2, "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 32,
    "encoder_attention_heads": 2, "decoder_attention_heads": 2, "decoder_ffn_dim": 32,
}  # fmt: skip
T5_LIKE = {**SPECIAL, "d_model": 32, "d_kv": 16, "d_ff": 32, "num_layers": 1, "num_heads": 2}
MODELS = {
    "LED": {**BART_LIKE, "attention_window": 8, "max_encoder_position_embeddings": 512},
    "BigBirdPegasus": {**BART_LIKE, "block_size": 4, "num_random_blocks": 1, "attention_type": "block_sparse"},
    "PegasusX": {**BART_LIKE, "block_size": 8, "num_global_tokens": 4},
    "LongT5": {**T5_LIKE, "local_radius": 4, "encoder_attention_type": "transient-global", "global_block_size": 4},
    "T5": T5_LIKE,
    "Bart": {**BART_LIKE, "max_position_embeddings": 512, "forced_eos_token_id": 3},
}


def make(name):
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(**MODELS[name])
    return getattr(transformers, f"{name}ForConditionalGeneration")(config).eval()


@pytest.fixture
def folder(request, tmp_path):
    make(request.param).save_pretrained(tmp_path / request.param)
    tiny_tokenizer().save_pretrained(tmp_path / request.param)
    return tmp_path / request.param


@pytest.mark.parametrize("folder", sorted(MODELS), indirect=True)
def test_it_trains_validates_and_summarizes_documents_of_any_length(folder, configure):
    settings = ["training.steps=2", "training.validate_every=2", "training.rouge_examples=2", "data.tokenizer=null"]
    run = train(configure(f"pretrained={folder}", *settings, name="pretrained"))
    summarizer = Summarizer.from_pretrained(str(run / "last"), dtype="float32")
    assert type(summarizer.model).__name__ == f"{folder.name}ForConditionalGeneration"
    long, short = " ".join(sentence(9, seed) for seed in range(6)), sentence(4, seed=9)
    options = {"max_summary_tokens": 8, "min_summary_tokens": 8, "no_repeat_ngram_size": 1}  # not one byte all along
    together = summarizer.summarize([short, long, short], **options)
    assert [summary.status for summary in together] == ["ok"] * 3
    assert together[0].text == together[2].text
    assert [summarizer.summarize([text], **options)[0].text for text in (short, long)] == [
        summary.text for summary in together[:2]
    ]


def test_led_gets_its_global_token():
    ids = torch.tensor([[5, 6, 7], [5, 6, 0]])
    inputs = prepare_inputs(make("LED"), {"input_ids": ids, "attention_mask": (ids > 0).long()})
    assert inputs["global_attention_mask"].tolist() == [[1, 0, 0], [1, 0, 0]]


def test_bigbird_goes_back_to_sparse_attention_after_a_short_batch():
    model = make("BigBirdPegasus")
    for length, attention in ((28, "original_full"), (29, "block_sparse"), (3, "original_full"), (90, "block_sparse")):
        ids = torch.full((1, length), 5)
        inputs = prepare_inputs(model, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})
        model.get_encoder()(**inputs)
        assert model.get_encoder().attention_type == attention
