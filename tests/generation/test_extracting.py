import pytest
import torch

from summarizer.data.selection_labels import line_break_id
from summarizer.errors import InputError
from summarizer.generation.choosing import expected_words
from summarizer.generation.summarizer import Summarizer
from summarizer.models import FastformerSummarizerForSentenceSelection
from summarizer.text import clean_text, split_sentences
from tests.corpus import TEXTS, pair_rows, tiny_tokenizer
from tests.tiny import randomize, tiny_config, tiny_model

DOCUMENTS = [row["document"] for row in pair_rows(9)] + [TEXTS[0], " ".join(TEXTS[:3])]


@pytest.fixture(scope="module")
def selector():
    """A summarizer with a model that selects and does not write."""
    tokenizer = tiny_tokenizer()
    torch.manual_seed(0)
    config = tiny_config(vocab_size=len(tokenizer), line_break_token_id=line_break_id(tokenizer))
    model = randomize(FastformerSummarizerForSentenceSelection(config)).eval()
    return Summarizer(model, tokenizer)


def joint_model(**options):
    """A summarizer with a model that selects and writes."""
    tokenizer = tiny_tokenizer()
    selection = {"sentence_selection": True, "line_break_token_id": line_break_id(tokenizer), "copy_mechanism": True}
    return Summarizer(tiny_model(vocab_size=len(tokenizer), **{**selection, **options}), tokenizer)


def test_an_extract_has_sentences_of_its_document_in_order_with_their_places_whatever_the_batch(selector):
    together = selector.summarize(DOCUMENTS, max_sentences=2)
    for document, summary in zip(DOCUMENTS, together, strict=True):
        text = clean_text(document)
        spans = [span for passages in summary.evidence for span in passages]
        assert [text[span["start"] : span["end"]] for span in spans] == summary.text.splitlines()
        assert [span["text"] for span in spans] == summary.text.splitlines()
        assert spans == sorted(spans, key=lambda span: span["start"])
        assert len(spans) == min(2, len(split_sentences(document)))
        assert selector.summarize([document], max_sentences=2) == [summary]
    assert selector.summarize(DOCUMENTS, max_sentences=2, tokens_per_batch=1) == together


def test_sentences_that_repeat_each_other_have_places_of_their_own(selector):
    text = "\n".join([TEXTS[0]] * 3)
    summary = selector.summarize([text], max_words=500)[0]
    starts = [passages[0]["start"] for passages in summary.evidence]
    assert starts == sorted(set(starts))


def test_sentences_that_are_not_read_are_not_chosen(selector):
    document = DOCUMENTS[-1]
    summary = selector.summarize([document], max_words=500, max_source_tokens=8)[0]
    assert summary.text == split_sentences(document)[0]
    assert summary.source_tokens == 7
    assert summary.dropped_tokens > 0


def test_lengths_count_words_sentences_or_tokens_and_default_to_the_expected_words(selector):
    document = DOCUMENTS[0]
    assert selector.summarize([document], max_words=500)[0].text == document
    default = selector.summarize([document])[0]
    assert default.status == "ok"
    assert selector.summarize([document], max_summary_tokens=default.summary_tokens)[0].summary_tokens > 0
    assert expected_words(["a b c", "d e"], [0.0, 100.0]) == round(3 / 2 + 2)
    assert expected_words(["a b c"], [-1000.0]) == 1


def test_a_document_without_text_is_empty(selector):
    assert [each.status for each in selector.summarize(["", DOCUMENTS[0]])] == ["empty", "ok"]


def test_the_mode_of_the_model_is_given_back(selector):
    selector.model.train()
    selector.summarize(DOCUMENTS[:1])
    assert selector.model.training
    selector.model.eval()


def test_a_selector_is_loaded_from_its_folder_and_cannot_write(selector, tmp_path):
    selector.model.save_pretrained(tmp_path)
    selector.tokenizer.save_pretrained(tmp_path)
    loaded = Summarizer.from_pretrained(str(tmp_path), "cpu", "float32")
    assert loaded.summarize(DOCUMENTS[:1])[0].text == selector.summarize(DOCUMENTS[:1])[0].text
    with pytest.raises(InputError, match="writes none, so method=write is not possible"):
        loaded.summarize(DOCUMENTS[:1], method="write")


def test_a_model_that_writes_alone_cannot_extract():
    plain = Summarizer(tiny_model(vocab_size=len(tiny_tokenizer())), tiny_tokenizer())
    with pytest.raises(InputError, match="use method=write"):
        plain.summarize(DOCUMENTS[:1], method="extract")


def test_options_of_writing_choose_writing_and_do_not_fit_an_extract(selector):
    both = joint_model()
    written = both.summarize(DOCUMENTS[:1], num_beams=2, max_summary_tokens=9)
    assert written == both.summarize(DOCUMENTS[:1], method="write", num_beams=2, max_summary_tokens=9)
    assert both.summarize(DOCUMENTS[:1], max_summary_tokens=9) == both.summarize(
        DOCUMENTS[:1], method="extract", max_summary_tokens=9
    )
    for summarizer, options in [(both, {"method": "extract"}), (selector, {})]:
        for name, value in [("num_beams", 2), ("num_candidates", 2), ("grounded", True), ("min_summary_tokens", 5)]:
            with pytest.raises(InputError, match=f"{name} is for summaries that are written, not for extracts"):
                summarizer.summarize(DOCUMENTS[:1], **options, **{name: value})


def test_a_joint_model_extracts_by_default_and_writes_on_request():
    both = joint_model()
    extract = both.summarize(DOCUMENTS[:2])
    assert extract == both.summarize(DOCUMENTS[:2], method="extract")
    for each, document in zip(extract, DOCUMENTS, strict=False):
        assert set(each.text.splitlines()) <= set(split_sentences(document))
    assert all(each.status in ("ok", "failed") for each in both.summarize(DOCUMENTS[:2], method="write"))
