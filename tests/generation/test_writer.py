import copy
from dataclasses import replace

import pytest
import torch

from summarizer.data.scripts import ScriptCheck
from summarizer.errors import InputError
from summarizer.generation import summarizer as streaming
from summarizer.generation import writer
from summarizer.generation.limits import source_limit
from summarizer.generation.options import SummarySettings
from summarizer.generation.summarizer import Summarizer
from summarizer.generation.writer import TRUNCATED


@pytest.fixture(params=["bart", "t5"])
def model(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("num_beams", [1, 4])
def test_a_summary_in_float32_does_not_depend_on_the_batch(model, tokenizer, num_beams, documents):
    settings = SummarySettings(num_beams=num_beams)
    together = Summarizer(model, tokenizer).summarize(documents, settings)
    apart = [Summarizer(model, tokenizer).summarize([text], settings)[0] for text in documents]
    small = Summarizer(model, tokenizer).summarize(documents, replace(settings, tokens_per_batch=1))
    assert together == apart == small
    assert len({summary.text for summary in together}) > 3, "the tiny model should tell documents apart"


def test_sampling_depends_on_the_seed_and_the_document_alone(bart, tokenizer, documents):
    settings = SummarySettings(do_sample=True, num_beams=1, seed=5)
    before = torch.get_rng_state()
    together = Summarizer(bart, tokenizer).summarize(documents[:3], settings)
    assert torch.equal(torch.get_rng_state(), before)
    assert [Summarizer(bart, tokenizer).summarize([text], settings)[0] for text in documents[:3]] == together
    assert Summarizer(bart, tokenizer).summarize(documents[:3], replace(settings, seed=6)) != together


def test_order_comes_back_over_several_windows_that_stay_bounded(bart, tokenizer, monkeypatch, documents):
    monkeypatch.setattr(streaming, "WINDOW_DOCUMENTS", 3)
    taken = []

    def stream():
        for number, text in enumerate(documents):
            taken.append(number)
            yield text

    finished = []
    for batch in Summarizer(bart, tokenizer).batches(stream()):
        finished += batch
        assert len(taken) - len(finished) <= 3
    in_order = [summary for _, summary in sorted(finished, key=lambda pair: pair[0])]
    assert in_order == Summarizer(bart, tokenizer).summarize(documents)


def test_no_text_is_never_summarized(bart, tokenizer, monkeypatch):
    monkeypatch.setattr(bart, "generate", None, raising=False)
    for summary in Summarizer(bart, tokenizer).summarize(["", " \n\t "]):
        assert (summary.text, summary.status, summary.source_tokens) == ("", "empty", 0)


def test_a_summary_tells_what_the_model_cannot_read(bart, tokenizer, text_of, monkeypatch):
    monkeypatch.setattr(ScriptCheck, "_known", frozenset())
    documents = ["Кооператив гавани.", f"{text_of(9)} Кооператив.", text_of(9)]
    failed, part, plain = Summarizer(bart, tokenizer).summarize(documents)
    assert failed.status == "failed"
    assert failed.error == "in a script that the model does not know (Cyrillic); use a model for its language"
    assert ["Cyrillic" in note for note in part.notes if note != TRUNCATED] == [True]
    assert set(plain.notes) <= {TRUNCATED}


def test_a_summary_is_never_longer_than_its_document(bart, tokenizer, text_of):
    for num_words in (1, 2, 5, 9):
        text = text_of(num_words)
        (summary,) = Summarizer(bart, tokenizer).summarize([text], SummarySettings(min_summary_tokens=16))
        assert 0 < summary.summary_tokens <= summary.source_tokens == len(tokenizer(text).input_ids) - 1


def test_what_does_not_fit_is_counted_and_the_end_token_kept(bart, t5, tokenizer, monkeypatch, text_of):
    text = text_of(200)
    length = len(tokenizer(text).input_ids)
    seen = []
    generate = bart.generate
    monkeypatch.setattr(bart, "generate", lambda **k: seen.append(k["input_ids"]) or generate(**k), raising=False)
    (summary,) = Summarizer(bart, tokenizer).summarize([text])
    assert (summary.source_tokens, summary.dropped_tokens) == (127, length - 128)  # 128 positions, one for </s>
    assert seen[0].shape == (1, 128)
    assert seen[0][0, -1] == tokenizer.eos_token_id
    (summary,) = Summarizer(bart, tokenizer).summarize([text], SummarySettings(max_source_tokens=20))
    assert (summary.source_tokens, summary.dropped_tokens) == (19, length - 20)
    (summary,) = Summarizer(t5, tokenizer).summarize([text])  # relative positions have no limit
    assert (summary.source_tokens, summary.dropped_tokens) == (length - 1, 0)


def test_only_learned_positions_limit_our_own_models(tokenizer):
    class Model:
        class config:  # noqa: N801  (an attribute)
            positions = "sinusoidal"
            max_source_positions = 64

    assert source_limit(Model, tokenizer, SummarySettings()) is None
    Model.config.positions = "learned"
    assert source_limit(Model, tokenizer, SummarySettings()) == 64
    assert source_limit(Model, tokenizer, SummarySettings(max_source_tokens=10)) == 10


def test_the_models_own_settings_hold_unless_the_user_gives_others(bart, tokenizer, monkeypatch, documents):
    seen = []
    generate = bart.generate
    monkeypatch.setattr(
        bart, "generate", lambda **k: seen.append(k["generation_config"]) or generate(**k), raising=False
    )
    Summarizer(bart, tokenizer).summarize([documents[0]])
    assert (seen[0].num_beams, seen[0].max_new_tokens, seen[0].no_repeat_ngram_size) == (3, 16, 3)
    settings = SummarySettings(num_beams=2, max_summary_tokens=7, min_summary_tokens=4, length_penalty=0.5)
    (summary,) = Summarizer(bart, tokenizer).summarize([documents[0]], settings)
    assert (seen[1].num_beams, seen[1].max_new_tokens, seen[1].min_new_tokens) == (2, 7, 4)
    assert seen[1].length_penalty == 0.5
    assert 1 <= summary.summary_tokens <= 7
    assert bart.generation_config.num_beams == 3


def test_a_model_that_asks_for_more_than_the_ids_writes_the_same(bart, tokenizer, monkeypatch, documents):
    expected = Summarizer(bart, tokenizer).summarize(documents[:2])
    for name in ("return_dict_in_generate", "output_scores"):
        monkeypatch.setattr(bart.generation_config, name, True)
    assert Summarizer(bart, tokenizer).summarize(documents[:2]) == expected


def test_a_model_with_max_length_or_no_limit_at_all_gets_one(t5, tokenizer, documents):
    model = copy.deepcopy(t5)
    model.generation_config.max_new_tokens = None
    model.generation_config.max_length = 6
    (summary,) = Summarizer(model, tokenizer).summarize([documents[0]])
    assert summary.summary_tokens <= 5
    model.generation_config.max_length = None
    assert writer._generation_config(model, SummarySettings()).max_new_tokens == 512


def test_the_model_comes_back_in_its_mode_and_without_gradients(bart, tokenizer, documents):
    bart.train()
    first = Summarizer(bart, tokenizer).summarize(documents[:2])
    assert bart.training
    bart.eval()
    assert Summarizer(bart, tokenizer).summarize(documents[:2]) == first
    assert all(parameter.grad is None for parameter in bart.parameters())


def _poisoned(model, dtype, poison):
    """The model, in which a document with the id 5 gets NaN logits while `poison(dtype)` holds."""
    model = copy.deepcopy(model).to(dtype)
    original = type(model).forward

    def forward(self, *args, encoder_outputs=None, **kwargs):
        output = original(self, *args, encoder_outputs=encoder_outputs, **kwargs)
        if self.poisoned_rows is not None and poison(self.dtype):
            output.logits[self.poisoned_rows.repeat_interleave(len(output.logits) // len(self.poisoned_rows))] = (
                torch.nan
            )
        return output

    generate = type(model).generate

    def remember(self, input_ids, **kwargs):
        self.poisoned_rows = (input_ids == 5).any(dim=1)
        return generate(self, input_ids, **kwargs)

    model.__class__ = type("Poisoned", (type(model),), {"forward": forward, "generate": remember})
    return model


@pytest.mark.parametrize("num_beams", [1, 3])
def test_non_finite_scores_fail_that_document_alone(bart, tokenizer, num_beams):
    model = _poisoned(bart, torch.float32, lambda dtype: True)
    documents = [tokenizer.decode(ids) for ids in ([10, 11, 12, 13], [10, 5, 12, 13], [9, 8, 7, 6])]
    settings = SummarySettings(num_beams=num_beams)
    summaries = Summarizer(model, tokenizer).summarize(documents, settings)
    assert [summary.status for summary in summaries] == ["ok", "failed", "ok"]
    assert "not finite" in (summaries[1].error or "")
    assert summaries[1].text == ""
    assert summaries[::2] == Summarizer(bart, tokenizer).summarize(documents[::2], settings)


def test_non_finite_scores_in_half_precision_are_tried_again_in_float32(bart, tokenizer):
    model = _poisoned(bart, torch.bfloat16, lambda dtype: dtype == torch.bfloat16)
    (summary,) = Summarizer(model, tokenizer).summarize([tokenizer.decode([10, 5, 12, 13])])
    assert summary.status == "ok"
    assert model.dtype == torch.bfloat16


def test_a_batch_without_memory_is_tried_one_by_one(bart, tokenizer, monkeypatch, documents, text_of):
    expected = Summarizer(bart, tokenizer).summarize(documents)
    generate = bart.generate

    def small_machine(**kwargs):
        if len(kwargs["input_ids"]) > 1 or kwargs["input_ids"].shape[1] > 80:
            raise torch.OutOfMemoryError("out of memory")
        return generate(**kwargs)

    monkeypatch.setattr(bart, "generate", small_machine, raising=False)
    summaries = Summarizer(bart, tokenizer).summarize([*documents, text_of(200)])
    assert summaries[:-1] == expected
    assert summaries[-1].status == "failed"
    assert "out of memory" in (summaries[-1].error or "")


def test_an_empty_summary_of_a_text_is_a_failure(bart, tokenizer, monkeypatch, documents):
    monkeypatch.setattr(bart, "generate", lambda **k: torch.tensor([[3, 3, 0]]), raising=False)
    (summary,) = Summarizer(bart, tokenizer).summarize([documents[0]])
    assert summary.status == "failed"
    assert "empty" in (summary.error or "")


@pytest.mark.parametrize(
    "options",
    [
        {"num_beams": 0},
        {"max_summary_tokens": 0},
        {"min_summary_tokens": 9, "max_summary_tokens": 3},
        {"top_p": 1.5},
        {"temperature": 0.0},
        {"seed": -1},
    ],
)
def test_impossible_settings_are_named(options):
    with pytest.raises(InputError, match=next(iter(options))):
        SummarySettings(**options)


def test_sampling_options_without_sampling_are_refused(bart, tokenizer, documents):
    with pytest.raises(InputError, match="do_sample"):
        Summarizer(bart, tokenizer).summarize(documents, SummarySettings(temperature=0.5))
    with pytest.raises(InputError, match="max_source_tokens=1"):
        Summarizer(bart, tokenizer).summarize(documents, SummarySettings(max_source_tokens=1))


def test_candidates_are_the_best_beams_and_the_first_is_the_summary(bart, tokenizer, documents):
    settings = SummarySettings(num_beams=3)
    alone = Summarizer(bart, tokenizer).summarize(documents, settings)
    several = Summarizer(bart, tokenizer).summarize(documents, replace(settings, num_candidates=3))
    assert [replace(summary, candidates=(), candidate_scores=()) for summary in several] == alone
    assert all(not summary.candidates for summary in alone)
    assert all(summary.candidates[0] == summary.text for summary in several)
    assert max(len(summary.candidates) for summary in several) == 3
    with pytest.raises(InputError, match="num_candidates=3 needs num_beams=3"):
        Summarizer(bart, tokenizer).summarize(documents, SummarySettings(num_beams=2, num_candidates=3))
    drawn = SummarySettings(do_sample=True, num_candidates=4)  # without beams, though the model's own setting is three
    assert len(set(Summarizer(bart, tokenizer).summarize(documents[:1], drawn)[0].candidates)) > 1


def test_the_score_of_a_candidate_is_the_mean_log_probability_of_its_tokens(bart, tokenizer, documents, monkeypatch):
    rows, generate = [], bart.generate
    monkeypatch.setattr(bart, "generate", lambda **given: rows.append(generate(**given)) or rows[-1])
    (summary,) = Summarizer(bart, tokenizer).summarize(documents[:1], num_beams=3, num_candidates=3)
    inputs = tokenizer(documents[0], return_tensors="pt")
    expected = []
    for row in rows[0]:
        ids = [token for token in row.tolist() if token not in tokenizer.all_special_ids]
        with torch.no_grad():
            logits = bart(**inputs, decoder_input_ids=row[None, : len(ids) + 1]).logits[0]
        firsts = row.tolist().index(ids[0]) - 1  # the start, perhaps with a token that the model forces
        expected.append(logits[firsts : firsts + len(ids)].log_softmax(-1)[range(len(ids)), ids].mean().item())
    assert summary.candidate_scores == pytest.approx(expected[: len(summary.candidates)], abs=1e-4)


def test_progress_is_told_and_can_cancel(bart, tokenizer, documents):
    told = []

    def progress(count, summary):
        told.append((count, summary.text))
        return count == 2

    found = Summarizer(bart, tokenizer).summarize(documents[:3], num_beams=1, max_summary_tokens=4, progress=progress)
    assert told == list(enumerate([summary.text for summary in found], start=1))
    assert len(found) == 2


def test_lengths_are_limits_unless_exact_ones_are_named(bart, tokenizer, text_of):
    assert SummarySettings(length="short").token_limits == (16, 64)
    assert SummarySettings(length="long", max_summary_tokens=20).token_limits == (20, 20)
    assert SummarySettings(length="short", min_summary_tokens=80).token_limits == (80, 80)
    assert SummarySettings(max_summary_tokens=20).token_limits == (None, 20)
    with pytest.raises(InputError, match="unknown length 'huge'"):
        SummarySettings(length="huge")  # type: ignore[arg-type]  # the mistake
    (summary,) = Summarizer(bart, tokenizer).summarize([text_of(100)], SummarySettings(length="short", num_beams=1))
    assert 16 <= summary.summary_tokens <= 64
