import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from summarizer.data.source_tokens import SourceEncoder, encode_text
from summarizer.errors import InputError

TEXT = "the cat </s> sat</s>on <pad> the <mask> mat"


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def tokenizer(request):
    special = ["<pad>", "<unk>", "<s>", "</s>", "<mask>"]
    corpus = ["the cat sat on the mat and looked at the dog < / s > a pad p a d m a s k"] * 5
    if request.param == "bpe":
        backend = Tokenizer(models.BPE())
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        backend.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
        )
    else:
        backend = Tokenizer(models.Unigram())
        backend.pre_tokenizer = pre_tokenizers.Metaspace()
        backend.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=60, special_tokens=special, unk_token="<unk>", show_progress=False)
    backend.train_from_iterator(corpus, trainer)
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 2), ("</s>", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="<pad>",
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        mask_token="<mask>",
        clean_up_tokenization_spaces=False,
    )


def test_special_tokens_written_in_a_text_stay_text(tokenizer):
    ids = encode_text(tokenizer, TEXT)
    assert not {0, 2, 3, 4}.intersection(ids)
    assert tokenizer.decode(ids).replace(" ", "") == TEXT.replace(" ", "")


def test_both_ends_stay_when_the_tail_is_dropped(tokenizer):
    whole = SourceEncoder(tokenizer).encode(TEXT)
    assert (whole.ids[0], whole.ids[-1], whole.dropped_tokens) == (2, 3, 0)
    assert whole.num_text_tokens == len(whole.ids) - 2
    cut = SourceEncoder(tokenizer, max_tokens=7).encode(TEXT)
    assert cut.ids == (*whole.ids[:6], 3)
    assert (cut.num_text_tokens, cut.dropped_tokens) == (5, whole.num_text_tokens - 5)


def test_a_prompt_is_not_counted_as_text(tokenizer):
    encoder = SourceEncoder(tokenizer, prompt="the cat")
    source = encoder.encode("sat on")
    assert source.num_text_tokens == len(encode_text(tokenizer, "sat on"))
    assert encoder.encode(" \n").num_text_tokens == 0


def test_a_limit_below_the_special_tokens_is_an_error(tokenizer):
    with pytest.raises(InputError, match="max_source_tokens=2"):
        SourceEncoder(tokenizer, max_tokens=2)
