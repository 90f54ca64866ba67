import pytest
import torch

from summarizer.data.selection_labels import line_break_id
from summarizer.errors import InputError
from summarizer.generation.choosing import Budget
from summarizer.generation.extracting import load_selector, score_sentences
from summarizer.generation.options import SummarySettings
from summarizer.models import FastformerSummarizerForSentenceSelection
from summarizer.text import split_sentences
from tests.corpus import TEXTS, pair_rows, tiny_tokenizer
from tests.tiny import randomize, tiny_config, tiny_model

DOCUMENTS = [row["document"] for row in pair_rows(9)] + [TEXTS[0], " ".join(TEXTS[:3])]


@pytest.fixture(scope="module")
def model():
    tokenizer = tiny_tokenizer()
    torch.manual_seed(0)
    config = tiny_config(vocab_size=len(tokenizer), line_break_token_id=line_break_id(tokenizer))
    return randomize(FastformerSummarizerForSentenceSelection(config)).eval()


def test_each_sentence_of_each_document_has_a_score_whatever_the_batch(model):
    together = score_sentences(model, tiny_tokenizer(), DOCUMENTS)
    for document, scored in zip(DOCUMENTS, together, strict=True):
        assert scored.sentences == split_sentences(document)
        assert len(scored.scores) == len(scored.num_tokens) == len(scored.sentences)
        alone = score_sentences(model, tiny_tokenizer(), [document])[0]
        assert alone.scores == pytest.approx(scored.scores, abs=1e-5)
        assert alone.num_tokens == scored.num_tokens
        assert scored.source_tokens == sum(scored.num_tokens) + len(scored.sentences) - 1
        assert scored.dropped_tokens == 0
        best = max(range(len(scored.scores)), key=scored.scores.__getitem__)
        assert scored.extract(Budget(sentences=1)) == scored.sentences[best]
    small = score_sentences(model, tiny_tokenizer(), DOCUMENTS, SummarySettings(tokens_per_batch=1))
    assert [each.num_tokens for each in small] == [each.num_tokens for each in together]


def test_sentences_that_are_not_read_are_not_chosen(model):
    document = DOCUMENTS[-1]
    scored = score_sentences(model, tiny_tokenizer(), [document], SummarySettings(max_source_tokens=8))[0]
    assert scored.sentences == split_sentences(document)[:1]
    assert scored.source_tokens == 7
    assert scored.dropped_tokens > 0


def test_a_document_without_text_has_an_empty_extract(model):
    scored = score_sentences(model, tiny_tokenizer(), ["", DOCUMENTS[0]])
    assert scored[0].sentences == []
    assert scored[0].extract(Budget(words=5)) == ""
    assert scored[1].extract(Budget(words=500)) == DOCUMENTS[0]


def test_the_mode_of_the_model_is_given_back(model):
    model.train()
    score_sentences(model, tiny_tokenizer(), DOCUMENTS[:1])
    assert model.training
    model.eval()


def test_a_selector_is_loaded_with_its_tokenizer_and_another_model_is_refused(model, tmp_path):
    model.save_pretrained(tmp_path / "selector")
    tiny_tokenizer().save_pretrained(tmp_path / "selector")
    loaded, tokenizer = load_selector(str(tmp_path / "selector"), "cpu", "float32")
    scores = [score_sentences(each, tokenizer, DOCUMENTS[:1])[0].scores for each in (loaded, model)]
    assert scores[0] == pytest.approx(scores[1])
    tiny_model(vocab_size=len(tiny_tokenizer())).save_pretrained(tmp_path / "summarizer")
    tiny_tokenizer().save_pretrained(tmp_path / "summarizer")
    with pytest.raises(InputError, match="is not a sentence selector; train one with task=selection"):
        load_selector(str(tmp_path / "summarizer"), "cpu", "float32")
