"""A tiny tokenizer and tiny seq2seq models of the ecosystem, made here: any of the hub must work."""

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

TEXT = (
    "the patients were treated for six weeks and the results showed an improvement of the symptoms in most of them "
    "while a second group of older people did not respond to the therapy because of other diseases"
)
WORDS = TEXT.split()


def _text_of(num_words: int, start: int = 0) -> str:
    return " ".join(WORDS[(start + 7 * i + i * i // 3) % len(WORDS)] for i in range(num_words))


@pytest.fixture(scope="session")
def text_of():
    """A function that gives a text of so many words, another one for each start."""
    return _text_of


@pytest.fixture(scope="session")
def documents() -> list[str]:
    return [_text_of(n, start=n) for n in (40, 3, 25, 60, 1, 40, 12, 33)]


@pytest.fixture(scope="session")
def tokenizer() -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<pad>", "<unk>", "<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator([" ".join(WORDS)] * 3, trainer)
    backend.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 3)])
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )


@pytest.fixture(scope="session")
def bart(tokenizer) -> BartForConditionalGeneration:
    torch.manual_seed(0)
    config = BartConfig(
        vocab_size=len(tokenizer), d_model=32, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=64, decoder_ffn_dim=64,
        max_position_embeddings=128, init_std=0.5,
        pad_token_id=0, bos_token_id=2, eos_token_id=3, decoder_start_token_id=3,
    )  # fmt: skip
    model = BartForConditionalGeneration(config).eval()
    model.generation_config.update(num_beams=3, max_new_tokens=16, no_repeat_ngram_size=3, forced_eos_token_id=None)
    return model


@pytest.fixture(scope="session")
def t5(tokenizer) -> T5ForConditionalGeneration:
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=len(tokenizer), d_model=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2,
        initializer_factor=3.0, pad_token_id=0, eos_token_id=3, decoder_start_token_id=0,
    )  # fmt: skip
    model = T5ForConditionalGeneration(config).eval()
    model.generation_config.update(max_new_tokens=12)
    return model


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory, bart, tokenizer) -> str:
    folder = tmp_path_factory.mktemp("model")
    bart.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)
