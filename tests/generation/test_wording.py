import re

import pytest
import torch

from summarizer.data.selection_labels import line_break_id
from summarizer.errors import InputError
from summarizer.generation.summarizer import Summarizer
from summarizer.generation.writer import TRUNCATED
from summarizer.text import clean_text
from tests.corpus import TEXTS, tiny_tokenizer
from tests.tiny import tiny_model

DOCUMENTS = ["\n".join(TEXTS[:3]), TEXTS[0], " ".join(TEXTS)]


def writer(**options):
    """A summarizer with a random model that copies and so writes grounded summaries."""
    tokenizer = tiny_tokenizer()
    torch.manual_seed(0)
    return Summarizer(tiny_model(vocab_size=len(tokenizer), copy_mechanism=True, **options), tokenizer)


@pytest.mark.parametrize("selection", [False, True])
@pytest.mark.parametrize("options", [{}, {"num_beams": 3}, {"do_sample": True}], ids=str)
def test_each_line_is_made_of_words_of_the_sentence_that_is_its_evidence(selection, options):
    line_break = line_break_id(tiny_tokenizer())
    both = writer(sentence_selection=selection, line_break_token_id=line_break, selected_tokens=30)
    for document, summary in zip(DOCUMENTS, both.summarize(DOCUMENTS, method="write", **options), strict=True):
        text = clean_text(document)
        assert summary.status == "ok", summary.error
        assert len(summary.text.split("\n")) == len(summary.evidence)
        starts = []
        for line, [passage] in zip(summary.text.split("\n"), summary.evidence, strict=True):
            assert text[passage["start"] : passage["end"]] == passage["text"]
            words = iter(re.findall(r"\w+|[^\w\s]", passage["text"].lower()))
            assert all(word in words for word in re.findall(r"\w+|[^\w\s]", line.lower())), (line, passage)
            starts.append(passage["start"])
        assert starts == sorted(set(starts))


def test_grounded_summaries_end_with_whole_sentences_within_words_and_sentences():
    model = writer()
    whole = model.summarize(DOCUMENTS[2:])[0]
    assert model.summarize(DOCUMENTS[2:], max_sentences=1)[0].text == whole.text.split("\n")[0]
    assert model.summarize(DOCUMENTS[2:], max_words=1)[0].text == whole.text.split("\n")[0]


@pytest.mark.parametrize("selection", [False, True])
def test_headings_and_fragments_are_not_written(selection):
    model = writer(sentence_selection=selection, line_break_token_id=line_break_id(tiny_tokenizer()))
    (summary,) = model.summarize([f"Methods\n{TEXTS[0]}\nof the cells in all of them.\nFig. 1."], method="write")
    assert summary.text
    assert not set(summary.text.split("\n")) & {"Methods", "of the cells in all of them.", "Fig. 1."}


def test_free_writing_has_no_evidence_and_no_limit_in_words():
    model = writer()
    assert model.summarize(DOCUMENTS[:1], grounded=False)[0].evidence is None
    with pytest.raises(InputError, match="need method=extract or grounded writing"):
        model.summarize(DOCUMENTS[:1], grounded=False, max_words=9)


def test_a_free_summary_that_the_limit_cuts_says_so_and_lacks_broken_characters(monkeypatch):
    model = writer()
    monkeypatch.setattr(model.tokenizer, "decode", lambda *_, **__: "A whole one. It is c\ufffdut")
    cut = model.summarize(DOCUMENTS[:1], grounded=False, max_summary_tokens=4, min_summary_tokens=4)[0]
    assert cut.text == "A whole one. It is cut"
    assert cut.notes == (TRUNCATED,)
    monkeypatch.setattr(model.tokenizer, "decode", lambda *_, **__: 'It is "whole."')
    assert model.summarize(DOCUMENTS[:1], grounded=False, max_summary_tokens=4, min_summary_tokens=4)[0].notes == ()


def test_of_a_document_whose_first_sentence_is_not_read_whole_the_beginning_is_written():
    summary = writer().summarize(DOCUMENTS[1:2], max_source_tokens=8)[0]
    assert summary.status == "ok"
    assert DOCUMENTS[1].startswith(summary.text)
