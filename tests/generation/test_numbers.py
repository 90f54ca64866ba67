"""Numbers that a model reads and writes as a placeholder: those of the document come back."""

import re

import pytest
import torch

from summarizer.data.source_tokens import encode_text
from summarizer.data.tokenizer import number_ids, train_tokenizer
from summarizer.generation.options import SummarySettings
from summarizer.generation.restoring import Numbers
from summarizer.generation.summarizer import Summarizer
from tests.corpus import TEXTS, sentence
from tests.tiny import tiny_model

NUMBERED = "In 1987 we saw 12.5% of 1,234 Patients (p < 0.05). Then 7 came; COVID-19 did not, by 88 of 3.\nAnd 2 more."
NUMBERS = ["1987", "12.5", "1,234", "0.05", "7", "88", "3", "2"]
NUMBERLESS = "We saw Patients. None came, and COVID-19 did not.\nAnd more of them."


@pytest.fixture(scope="module")
def tokenizer():
    texts = [*TEXTS, *(f"{sentence(12, seed)} <dig> of <dig>" for seed in range(300))]
    return train_tokenizer(texts, 500, lowercase=True, number_placeholder="<dig>")


@pytest.fixture(scope="module")
def model(tokenizer):
    """A random model that copies much, placeholders above all."""
    model = tiny_model(vocab_size=len(tokenizer), copy_mechanism=True, max_source_positions=200)
    with torch.no_grad():
        model.copying.gate.bias.fill_(-1.0)
        for index in number_ids(tokenizer):
            model.lm_head.weight[index] = model.lm_head.weight.mean(dim=0) * 3
    return model


@pytest.mark.parametrize(
    "settings",
    [
        SummarySettings(num_beams=1, min_summary_tokens=20, max_summary_tokens=30),
        SummarySettings(num_beams=3, num_candidates=3, min_summary_tokens=20, max_summary_tokens=30),
        SummarySettings(num_beams=1, do_sample=True, num_candidates=4, min_summary_tokens=20, max_summary_tokens=30),
    ],
)
def test_every_number_is_the_documents_and_no_placeholder_is_left(model, tokenizer, settings):
    numbered, without = Summarizer(model, tokenizer).summarize([NUMBERED, NUMBERLESS], settings)
    found = [
        number for text in (numbered.text, *numbered.candidates) for number in re.findall(r"\d+(?:[.,]\d+)*", text)
    ]
    for text in (numbered.text, *numbered.candidates, without.text, *without.candidates):
        assert "<dig>" not in text
    assert numbered.status == without.status == "ok"
    if not settings.do_sample:
        assert set(found) & set(NUMBERS), numbered.text


def test_each_number_is_where_the_copy_mechanism_points(model, tokenizer):
    source, text = tokenizer(NUMBERED).input_ids, "we saw <dig> of <dig>, <dig> <dig>% of patients"
    written = encode_text(tokenizer, text)
    places = [index for index, token in enumerate(source) if token in number_ids(tokenizer)]
    expected = text
    with torch.no_grad():
        hidden = model.model(torch.tensor([source]), decoder_input_ids=torch.tensor([[2, *written[:-1]]]))
        keys = model.copying.key(hidden.encoder_last_hidden_state)[0]
        for position, token in enumerate(written):
            if token in number_ids(tokenizer):
                scores = keys @ model.copying.query(hidden.last_hidden_state[0, position])
                best = max(range(len(places)), key=lambda index: scores[places[index]].item())
                expected = expected.replace("<dig>", NUMBERS[best], 1)
    assert model.config.decoder_start_token_id == 2
    assert Numbers(model, tokenizer).restore(text, written, NUMBERED, source) == expected
    assert len(set(re.findall(r"[0-9.,]*[0-9]", expected))) > 1, "the tiny model should tell numbers apart"


def test_a_corpus_with_placeholders_keeps_them(model, tokenizer):
    settings = SummarySettings(num_beams=1, min_summary_tokens=20, max_summary_tokens=30)
    text = re.sub(r"\d+(?:[.,]\d+)*", "<dig>", NUMBERED).lower()
    summary = Summarizer(model, tokenizer).summarize([text], settings)[0].text
    assert "<dig>" in summary
    assert not re.search(r"\d", summary)
