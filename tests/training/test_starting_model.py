from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSequenceClassification, BartConfig, BartForConditionalGeneration

from summarizer.config import RunConfig
from summarizer.data.source_tokens import SourceEncoder
from summarizer.errors import InputError
from summarizer.generation_options import GenerationOptions
from summarizer.models.published import source_prefix
from summarizer.rows import read_rows
from summarizer.training.loop import train
from summarizer.training.starting_model import (
    NAMES_WHEN_LOADED,
    OTHER_HEADS,
    check_lengths,
    load_tokenizer,
    make_generation_config,
    make_model,
)
from summarizer.training.summarization import Summarization
from tests.corpus import tiny_tokenizer
from tests.tiny import tiny_model


@pytest.fixture
def tokenizer():
    return tiny_tokenizer()


@pytest.fixture
def bart_folder(tmp_path):
    """A tiny BART with the tokenizer, as a model folder."""
    torch.manual_seed(0)
    config = BartConfig(
        vocab_size=500, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=64,
        pad_token_id=0, bos_token_id=2, eos_token_id=3, decoder_start_token_id=3, forced_eos_token_id=3,
        task_specific_params={"summarization": {"prefix": "summarize: "}},
    )  # fmt: skip
    BartForConditionalGeneration(config).save_pretrained(tmp_path / "bart")
    tiny_tokenizer().save_pretrained(tmp_path / "bart")
    return tmp_path / "bart"


def test_a_new_model_fits_the_tokenizer_and_follows_from_the_seed(configure, tokenizer):
    first, same, other = (make_model(configure(f"seed={seed}"), tokenizer)[0] for seed in (1, 1, 2))
    assert first.config.vocab_size == len(tokenizer)
    names = ("pad_token_id", "bos_token_id", "eos_token_id")
    assert [getattr(first.config, name) for name in names] == [getattr(tokenizer, name) for name in names]
    assert first.config.decoder_start_token_id == tokenizer.bos_token_id
    weights = [model.model.encoder.stack.layers[0].feed_forward.up.weight for model in (first, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


@pytest.mark.parametrize(
    ("override", "named"),
    [
        ("model.d_modell=8", r"model.d_modell: unknown key; did you mean d_model\?"),
        (
            "model={width: 8, layers: 2}",
            "model.layers: unknown key; .*; model.width: unknown key; choose from ",
        ),
        ("model.mixer=fastfomer", "unknown mixer 'fastfomer'; choose from .*fastformer, "),
        ("model.norm=middle", "norm"),
        ("model.d_model=wide", "d_model"),
        ("model.d_model=30", "d_model=30 is not a multiple of encoder_attention_heads=4"),
        ("model.mixer_options.nothing=1", "nothing"),
        ("model.d_model=0", "d_model=0 must be at least 1"),
        ("model.encoder_attention_heads=0", "encoder_attention_heads=0 must be at least 1"),
        ("model.encoder_ffn_dim=-1", "encoder_ffn_dim=-1 must be at least 0"),
        ("model.encoder_layers=-1", "encoder_layers=-1 must be at least 1"),
        ("model.dropout=1.5", "dropout=1.5 must be from 0 to below 1"),
        ("model.eos_token_id=100000", "eos_token_id=100000 is not in the vocabulary of"),
        ("model.vocab_size=20", "vocab_size=20 is less than the tokenizer's"),
    ],
)
def test_a_wrong_key_or_value_of_the_model_is_one_line_that_names_it(configure, tokenizer, override, named):
    with pytest.raises(InputError, match=f"^model: .*{named}") as caught:
        make_model(configure(override), tokenizer)
    assert "\n" not in str(caught.value)


def test_a_pretrained_model_starts_from_its_weights_in_training_mode(configure, tokenizer, bart_folder):
    config = configure(f"pretrained={bart_folder}", "data.tokenizer=null", name="pretrained")
    assert load_tokenizer(config).get_vocab() == tokenizer.get_vocab()
    model, _ = make_model(config, tokenizer)
    expected = BartForConditionalGeneration.from_pretrained(bart_folder)
    assert all(torch.equal(p, q) for p, q in zip(model.parameters(), expected.parameters(), strict=True))
    assert model.training
    assert all(module.training for module in model.modules())


@pytest.mark.parametrize(
    ("setting", "prefix"), [("null", "summarize: "), ("'tldr: '", "tldr: "), ("''", ""), ("none", "none")]
)
def test_the_prefix_of_a_pretrained_model_is_before_each_document_in_training_and_summarizing(
    configure, tokenizer, bart_folder, setting, prefix
):
    config = configure(f"pretrained={bart_folder}", f"data.source_prefix={setting}", name="pretrained")
    model, _ = make_model(config, tokenizer)
    assert source_prefix(model.config) == prefix
    trained = Summarization(config).prepare("train")
    assert trained is not None
    written = SourceEncoder(tokenizer, prompt=source_prefix(model.config).strip(), sentence_per_line=True)
    document = next(read_rows(Path(config.data.train[0]))).columns["document"]
    assert trained.rows[0]["input_ids"] == list(written.encode(document).ids)
    assert configure("data.source_prefix=null").data.source_prefix is None
    assert source_prefix(make_model(configure(), tokenizer)[0].config) == ""


def test_keys_and_options_of_the_model_are_checked_before_any_data_are_read(configure):
    for override, named in (
        ("model.d_modell=8", "did you mean d_model"),
        ("model.mixer_options.nothing=1", "nothing"),
        ("model.sentence_mixer=fastfomer", "unknown mixer 'fastfomer'"),
    ):
        with pytest.raises(InputError, match=named):
            train(configure(override, "data.train=[nowhere.jsonl]", "data.tokenizer=nowhere"))


def test_a_hub_that_is_away_is_named_with_the_key_that_named_it_and_data_are_asked_for_once(configure, monkeypatch):
    def away(self, name, timeout):
        assert timeout < 5
        raise ConnectionError

    monkeypatch.setattr("huggingface_hub.HfApi.model_info", away)
    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", away)
    for override, key in (
        ("pretrained=nobody/nothing", "pretrained 'nobody/nothing': tokenizer"),
        ("data.tokenizer=nobody/nothing", "data.tokenizer 'nobody/nothing': tokenizer"),
        ("data.train=[nobody/nothing]", "data.train: cannot load 'nobody/nothing'"),
    ):
        tokenizer = ["data.tokenizer=null"] if "pretrained" in override else []
        with pytest.raises(InputError, match=f"^{key}.*: .*the hub cannot be reached"):
            train(configure(override, *tokenizer, name="pretrained" if tokenizer else "base"))


def test_a_tokenizer_with_another_vocabulary_than_the_pretrained_model_is_refused(configure):
    with pytest.raises(InputError, match=r"has another vocabulary than pretrained 'default'; remove data\.tokenizer"):
        load_tokenizer(configure("pretrained=default", name="pretrained"))
    load_tokenizer(configure("pretrained=default", "data.tokenizer=default", name="pretrained"))


def test_what_cannot_be_loaded_is_named(configure, tokenizer, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"a folder without config\.json"):
        make_model(configure(f"pretrained={tmp_path}/empty", name="pretrained"), tokenizer)
    with pytest.raises(InputError, match="no such folder, and not a hub id"):
        make_model(configure(f"training.initial_embeddings={tmp_path}/none"), tokenizer)
    with pytest.raises(InputError, match=r"data\.tokenizer .*empty': tokenizer cannot be loaded") as caught:
        load_tokenizer(configure(f"data.tokenizer={tmp_path}/empty"))
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match=r"data\.tokenizer .*none': no such folder, and not a hub id"):
        load_tokenizer(configure(f"data.tokenizer={tmp_path}/none"))


def test_initial_embeddings_are_the_donors_scaled_to_the_models_own_spread(configure, tokenizer, bart_folder):
    plain = make_model(configure(), tokenizer)[0].get_input_embeddings().weight
    model, _ = make_model(configure(f"training.initial_embeddings={bart_folder}"), tokenizer)
    donor = BartForConditionalGeneration.from_pretrained(bart_folder).get_input_embeddings().weight
    taken = model.get_input_embeddings().weight
    torch.testing.assert_close(taken, donor * (plain.std() / donor.std()))
    assert taken.std().item() == pytest.approx(plain.std().item(), rel=1e-4)
    assert model.lm_head.weight is taken
    assert taken.requires_grad


def test_initial_embeddings_of_another_size_are_an_error_with_both_sizes(configure, tokenizer, bart_folder):
    with pytest.raises(InputError, match=r"has shape \(500, 32\), the model \(500, 64\)"):
        make_model(configure(f"training.initial_embeddings={bart_folder}", "model.d_model=64"), tokenizer)


def test_a_trunk_lends_all_but_the_token_mixing(configure, tokenizer, tmp_path):
    trunk, _ = make_model(configure("model.mixer=none", "seed=7"), tokenizer)
    trunk.save_pretrained(tmp_path / "trunk")
    new, _ = make_model(configure("model.mixer=none"), tokenizer)
    for mixer in ("none", "full"):
        model, _ = make_model(configure(f"model.mixer={mixer}", f"training.initial_trunk={tmp_path}/trunk"), tokenizer)
        for name, weight in model.state_dict().items():
            if ".mixer." not in name:
                torch.testing.assert_close(weight, trunk.state_dict()[name], rtol=0, atol=0)
            elif mixer == "none":  # the control starts with a new mixer, too
                torch.testing.assert_close(weight, new.state_dict()[name], rtol=0, atol=0)


def test_a_trunk_of_other_sizes_or_another_kind_is_an_error(configure, tokenizer, tmp_path, bart_folder):
    make_model(configure("model.encoder_ffn_dim=32"), tokenizer)[0].save_pretrained(tmp_path / "trunk")
    with pytest.raises(InputError, match=r"differ in more than the mixer: .*encoder\.stack\.layers\.0\.feed_forward"):
        make_model(configure("model.encoder_ffn_dim=48", f"training.initial_trunk={tmp_path}/trunk"), tokenizer)
    with pytest.raises(InputError, match="has model_type=bart, the model fastformer_summarizer"):
        make_model(configure(f"training.initial_trunk={bart_folder}"), tokenizer)


@pytest.mark.parametrize(
    ("trunk", "own"),
    [
        (["model.decoder_attention_heads=2"], "decoder_attention_heads=2, the model 4"),
        (["model.positions=none"], "positions=none, the model sinusoidal"),
    ],
)
def test_a_trunk_whose_weights_fit_but_mean_another_thing_is_an_error(configure, tokenizer, tmp_path, trunk, own):
    make_model(configure(*trunk), tokenizer)[0].save_pretrained(tmp_path / "trunk")
    with pytest.raises(InputError, match=f"has {own}"):
        make_model(configure(f"training.initial_trunk={tmp_path}/trunk"), tokenizer)


@pytest.mark.parametrize("use", ["pretrained", "training.initial_trunk", "training.initial_embeddings"])
def test_a_model_folder_that_was_half_written_is_an_error_that_names_it(configure, tokenizer, tmp_path, use):
    make_model(configure(), tokenizer)[0].save_pretrained(tmp_path / "half")
    weights = tmp_path / "half" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    with pytest.raises(InputError, match=f"{use.removeprefix('training.')} '.*half': weights cannot be loaded: "):
        make_model(configure(f"{use}={tmp_path}/half", name="pretrained" if use == "pretrained" else "base"), tokenizer)


def test_documents_longer_than_the_models_positions_are_an_error_with_both_numbers(tokenizer):
    model = tiny_model(positions="learned", max_source_positions=50)
    check_lengths(model, tokenizer, 50)
    with pytest.raises(InputError, match=r"has 51 tokens.* reads 50 at most; set data\.max_source_tokens=50"):
        check_lengths(model, tokenizer, 51)
    check_lengths(tiny_model(), tokenizer, 10**6)
    check_lengths(model, tokenizer, 0)


def test_generation_settings_go_with_the_model_and_greedy_has_no_beam_settings():
    model = tiny_model()
    beams = make_generation_config(model, GenerationOptions(num_beams=3, max_summary_tokens=9, length_penalty=0.5))
    assert (beams.num_beams, beams.max_new_tokens, beams.length_penalty) == (3, 9, 0.5)
    assert (beams.pad_token_id, beams.bos_token_id, beams.eos_token_id, beams.decoder_start_token_id) == (0, 2, 3, 2)
    greedy = make_generation_config(model, GenerationOptions(num_beams=1, min_summary_tokens=2))
    assert (greedy.min_new_tokens, greedy.length_penalty, greedy.early_stopping) == (2, None, None)
    for config in (beams, greedy):
        config.validate(strict=True)


def test_blocking_by_words_is_kept_in_the_model_folder(tmp_path):
    made = make_generation_config(tiny_model(), GenerationOptions(no_repeat_ngram_size=0, no_repeat_words=3))
    made.save_pretrained(tmp_path)
    assert type(made).from_pretrained(tmp_path).no_repeat_words == 3
    assert not hasattr(make_generation_config(tiny_model(), RunConfig().generation), "no_repeat_words")


def test_transformers_still_keeps_the_names_of_loaded_weights_under_the_private_name_that_is_deleted(tmp_path):
    tiny_model().save_pretrained(tmp_path)
    names = OTHER_HEADS[AutoModelForSequenceClassification]
    loaded = AutoModelForSequenceClassification.from_pretrained(tmp_path, key_mapping=names)
    assert NAMES_WHEN_LOADED in vars(loaded), "transformers has dropped the name; delete it from starting_model.py"
