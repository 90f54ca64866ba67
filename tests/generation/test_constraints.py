"""Summaries have no numbers but their documents', and do not say the same words again."""

import re
import tracemalloc
from types import SimpleNamespace

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from summarizer.data.source_tokens import encode_text
from summarizer.data.tokenizer import train_tokenizer
from summarizer.errors import InputError
from summarizer.generation.constraints import NoRepeatedWords, NumbersOfDocuments, Pieces
from summarizer.generation.options import SummarySettings
from summarizer.generation.summarizer import Summarizer
from tests.corpus import TEXTS, sentence
from tests.tiny import tiny_model

DOCUMENTS = [
    "In 1987 we saw 12.5% of 1,234 Patients (p < 0.05). COVID-19 and p53 did not, by 88 of 3.\nAnd 2 of c57bl/6j more.",
    "We saw nobody; none came, and that was all of it.\nAnd more of them.",
]


@pytest.fixture(scope="module", params=[None, "<dig>"])
def tokenizer(request):
    numbered = [f"{sentence(12, seed)} p{seed} <dig> of {seed}.{seed % 7}, covid-19" for seed in range(300)]
    placeholder = {"lowercase": True, "number_placeholder": request.param}
    return train_tokenizer([*TEXTS, *numbered], 500, **(placeholder if request.param else {}))


@pytest.fixture(scope="module")
def model(tokenizer):
    """A random model that likes digits."""
    torch.manual_seed(1)
    model = tiny_model(vocab_size=len(tokenizer), max_source_positions=200)
    pieces = Pieces(tokenizer)
    with torch.no_grad():
        model.lm_head.weight.copy_(torch.randn_like(model.lm_head.weight))
        model.lm_head.weight[pieces.with_number] *= 3
    return model


def units_with_digits(text):
    units = re.findall(r"(?:(?![\u2e80-\u9fff])[^\W_])+(?:[.,]\d+)*", text.lower())  # Chinese has no words
    return {unit for unit in units if re.search(r"\d", unit)}


@pytest.mark.parametrize("settings", [{"num_beams": 1}, {"num_beams": 3, "num_candidates": 3}, {"do_sample": True}])
def test_every_number_is_one_of_the_document(model, tokenizer, settings):
    settings = SummarySettings(**settings, min_summary_tokens=20, max_summary_tokens=40, numbers_from_document=True)
    for document, summary in zip(DOCUMENTS, Summarizer(model, tokenizer).summarize(DOCUMENTS, settings), strict=True):
        assert summary.status == "ok"
        for text in (summary.text, *summary.candidates):
            unknown = units_with_digits(text) - units_with_digits(document)
            assert not unknown, text


def test_a_model_may_have_ids_without_pieces(tokenizer):
    """As T5 has: 32,128 ids for 32,100 pieces."""
    model = tiny_model(vocab_size=len(tokenizer) + 28, max_source_positions=200)
    settings = SummarySettings(do_sample=True, max_summary_tokens=20, no_repeat_words=2, numbers_from_document=True)
    for summary in Summarizer(model, tokenizer).summarize(DOCUMENTS, settings):
        assert summary.status == "ok", summary.error


def test_models_say_what_numbers_they_like_without_it(model, tokenizer):
    settings = SummarySettings(num_beams=1, min_summary_tokens=20, max_summary_tokens=40, numbers_from_document=False)
    texts = [summary.text for summary in Summarizer(model, tokenizer).summarize(DOCUMENTS, settings)]
    assert any(
        units_with_digits(text) - units_with_digits(document) for document, text in zip(DOCUMENTS, texts, strict=True)
    )


def test_a_number_goes_on_where_repetition_is_forbidden():
    """Else no piece would be left, which ends a sample in an error and a search in padding."""
    tokenizer = train_tokenizer([*TEXTS, *(f"p{n} {n}" for n in range(300))], 500)
    pieces = Pieces(tokenizer)
    constraint = NumbersOfDocuments(pieces, torch.tensor([tokenizer("we saw 125 of them").input_ids]))
    scores = torch.zeros(1, len(tokenizer))
    twos = [token_id for token_id, text in enumerate(pieces.texts) if text == "2"]  # a digit and a byte
    scores[0, twos] = -torch.inf  # as by no_repeat_ngram_size
    scores = constraint(torch.tensor([[2, *encode_text(tokenizer, "we saw 1")]]), scores)
    assert torch.isfinite(scores[0]).nonzero().flatten().tolist() == twos


def allowed(tokenizer, document, written):
    """The first characters of the pieces that may follow."""
    pieces = Pieces(tokenizer)
    constraint = NumbersOfDocuments(pieces, torch.tensor([tokenizer(document).input_ids]))
    scores = constraint(torch.tensor([[2, *encode_text(tokenizer, written)]]), torch.zeros(1, len(tokenizer)))
    return {text[:1] for text, score in zip(pieces.texts, scores[0].tolist(), strict=True) if score == 0}


def test_a_number_goes_on_and_ends_as_one_of_the_document_does():
    tokenizer = train_tokenizer([*TEXTS, *(f"p{n} {n} of c{n}x" for n in range(300))], 500)
    document = "we gave 125 of p53, 12.75 mg"
    digits = set("0123456789")
    assert allowed(tokenizer, document, "we gave 1") & digits == {"2"}
    assert allowed(tokenizer, document, "we gave 12") & digits == {"5"}
    assert " " not in allowed(tokenizer, document, "we gave 12")  # the document has no 12
    assert "." in allowed(tokenizer, document, "we gave 12")
    assert allowed(tokenizer, document, "we gave 12.7") & {*digits, " "} == {"5"}
    assert allowed(tokenizer, document, "we gave 125") & {*digits, " ", "."} == {" ", "."}
    assert not allowed(tokenizer, document, "we gave 125.") & digits
    assert allowed(tokenizer, document, "a p") & digits == {"5"}
    assert not allowed(tokenizer, document, "a c") & digits


def test_only_what_is_open_at_the_end_goes_on():
    """A line break ends a number; so does a sign, also where a vocabulary writes it in letters of its own."""
    document = "we gave 12\n“34”–56 of 345, 在1987年"
    digits = set("0123456789")
    own = train_tokenizer([*TEXTS, *(f"p{n} {n}\n of c{n}x" for n in range(300))], 500)
    assert allowed(own, document, "we gave 34\n") & digits == set("135")  # a new one, not 345
    for tokenizer in (own, byte_level_tokenizer()):
        assert " " in allowed(tokenizer, document, "we gave 12")
        assert " " in allowed(tokenizer, document, "we gave 1987")
        assert " " in allowed(tokenizer, document, "we gave 56")
        assert " " not in allowed(tokenizer, document, "we gave 198")


def byte_level_tokenizer():
    """As BART has: pieces are bytes, of which a line break is the letter Ċ and a dash three others."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<pad>", "</s>"], initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator(["– “ ” – “ ” 在 年"] * 9, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="<pad>", eos_token="</s>")


def test_what_a_tokenizer_does_not_know_parts_numbers():
    backend = Tokenizer(models.WordLevel({"<unk>": 0, "▁12": 1, "30": 2, "▁of": 3, "▁a": 4, "1": 5}, "<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>")
    constraint = NumbersOfDocuments(Pieces(tokenizer), torch.tensor([[1, 0, 2]]))  # 12:30, of which ":" is unknown
    scores = constraint(torch.tensor([[3]]), torch.zeros(1, 6))
    assert scores[0, 1] == 0
    assert torch.isneginf(constraint(torch.tensor([[1]]), torch.zeros(1, 6))[0, 2])  # 1230


def test_a_word_of_100_000_letters_takes_little_memory():
    tokenizer = train_tokenizer([*TEXTS, *(f"p{n} {n}" for n in range(300))], 500)
    document = "ab12" * 25_000
    pieces = Pieces(tokenizer)
    ids = torch.tensor([tokenizer(document).input_ids])
    pieces.decode([0])  # the vocabulary is not the document's
    tracemalloc.start()
    NumbersOfDocuments(pieces, ids)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 * 2**20  # its beginnings would be gigabytes


def words_of(text):
    return re.findall(r"[^\W_]+", text.lower())


# A vocabulary whose words can be cut in several ways.
TEXTS_OF_PIECES = ["", " a", "a", " ab", "b", " b", "-", ",", " B", "-b", " abb", " the", "s"]


def forbidden_after(texts, size):
    """The pieces that must not follow these pieces."""
    ids = [TEXTS_OF_PIECES.index(text) for text in texts]
    constraint = NoRepeatedWords(SimpleNamespace(texts=TEXTS_OF_PIECES), size)
    scores = constraint(torch.tensor([ids]), torch.zeros(1, len(TEXTS_OF_PIECES)))[0]
    return {text for text, score in zip(TEXTS_OF_PIECES, scores.tolist(), strict=True) if score != 0}


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_what_is_forbidden_is_what_a_plain_search_finds(size):
    """What repeats words in any pieces, and the pieces that began such words before."""
    generator = torch.Generator().manual_seed(size)
    found = 0
    for _ in range(200):
        pieces = [TEXTS_OF_PIECES[index] for index in torch.randint(len(TEXTS_OF_PIECES), (12,), generator=generator)]
        text = "".join(pieces)
        words = words_of(text)
        repeating = set()
        for piece in TEXTS_OF_PIECES:
            longer = words_of(text + piece)
            before = longer[:-1] if piece[:1].isalnum() and len(longer) == len(words) else words
            known = {tuple(before[start : start + size]) for start in range(len(before) - size + 1)}
            if longer and words_of(piece) and tuple(longer[-size:]) in known:
                repeating.add(piece)
        forbidden = forbidden_after(pieces, size)
        assert repeating <= forbidden
        assert forbidden - repeating <= set(pieces)
        found += len(repeating)
    assert found


@pytest.mark.parametrize(
    ("written", "forbidden"),
    [
        ([" a", "-b", " the", " a", " b"], {" the"}),
        ([" a", " B", ",", " the", " a", ",", " b"], {" the"}),
        ([" abb", " the", " abb"], {" the"}),
        ([" a", " b", " the"], set()),
    ],
)
def test_words_are_compared_without_case_and_signs(written, forbidden):
    assert forbidden_after(written, 2 if len(written) == 3 and forbidden else 3) == forbidden


def test_a_word_cut_another_way_is_the_same_word():
    assert "b" in forbidden_after([" the", " abb", " the", " ab"], 2)
    assert {" abb"} == forbidden_after([" the", " abb", " the"], 2)
    assert "s" not in forbidden_after([" the", " abb", " the", " ab"], 2)


def test_words_are_not_repeated_and_not_cut(tokenizer):
    """The setting reaches the search, whose summaries then have no three words twice."""
    torch.manual_seed(1)
    model = tiny_model(vocab_size=len(tokenizer), max_source_positions=200)
    few = [token_id for token_id, text in enumerate(Pieces(tokenizer).texts) if re.fullmatch(" [a-z]+", text)][:8]
    with torch.no_grad():  # a model of few words
        model.lm_head.weight[few] = 9 * torch.randn(len(few), model.config.d_model)
    repeated = []
    for size in (3, 0):
        settings = SummarySettings(num_beams=2, no_repeat_words=size, min_summary_tokens=40, max_summary_tokens=60)
        repeated.append(0)
        for summary in Summarizer(model, tokenizer).summarize(DOCUMENTS, settings):
            words = re.findall(r"[^\W_]+", summary.text.lower())
            triples = list(zip(words, words[1:], words[2:], strict=False))
            repeated[-1] += len(triples) - len(set(triples))
    assert repeated[0] == 0 < repeated[1]


def test_settings_that_cannot_be():
    with pytest.raises(InputError, match="no_repeat_words must be at least 0"):
        SummarySettings(no_repeat_words=-1)
