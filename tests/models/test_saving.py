"""Model folders: what is saved comes back bit for bit, through every door of transformers."""

import json
import subprocess
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM

from summarizer.models import (
    FastformerSummarizerForConditionalGeneration,
    FastformerSummarizerModel,
    SummarizerConfig,
)
from summarizer.models.mixers import MIXERS
from tests.tiny import MIXER_OPTIONS, VOCAB_SIZE, padded_batch, padded_labels, tiny_config, tiny_model

EVERYTHING = {
    "copy_mechanism": True,
    "neighbor_kernel_size": 3,
    "positions": "learned",
    "normalize_embeddings": True,
    "encoder_layers": 3,
    "mixer_options": {"num_stages": 3, "share_query_value": False, "interaction": "concat", "output_projection": True},
}


def assert_same_weights(model, other):
    assert model.state_dict().keys() == other.state_dict().keys()
    for name, values in model.state_dict().items():
        assert values.dtype == other.state_dict()[name].dtype, name
        assert torch.equal(values, other.state_dict()[name]), name


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("share_encoder_layers", [True, False])
def test_a_saved_model_comes_back_bit_for_bit(tmp_path, share_encoder_layers, dtype):
    model = tiny_model(share_encoder_layers=share_encoder_layers, **EVERYTHING).to(dtype)
    assert model.get_input_embeddings().weight[model.config.pad_token_id].any()  # padding's row is saved too
    model.save_pretrained(tmp_path)
    loaded, report = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(report.values()), report
    assert type(loaded) is FastformerSummarizerForConditionalGeneration
    assert loaded.dtype == dtype
    assert not loaded.training
    assert_same_weights(model, loaded)
    assert {**loaded.config.to_dict(), "_name_or_path": ""} == model.config.to_dict()
    batch, labels = padded_batch([9, 4]), padded_labels([3, 2])
    # The kernels round differently for memory that a file's header has shifted: the weights are equal, these nearly.
    torch.testing.assert_close(loaded(**batch, labels=labels).logits, model(**batch, labels=labels).logits)
    assert model.generate(**batch, max_new_tokens=4).equal(loaded.generate(**batch, max_new_tokens=4))


@pytest.mark.parametrize("share_encoder_layers", [True, False])
@pytest.mark.parametrize("mixer", sorted(MIXERS))
def test_a_model_of_every_mixer_comes_back_bit_for_bit(tmp_path, mixer, share_encoder_layers):
    model = tiny_model(mixer=mixer, share_encoder_layers=share_encoder_layers, encoder_layers=3)
    model.save_pretrained(tmp_path)
    loaded, report = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(report.values()), report
    assert_same_weights(model, loaded)
    assert loaded.config.mixer_options == MIXER_OPTIONS.get(mixer)


def hidden_states(folder):
    """What the encoder of a saved model makes of fixed documents, in float64."""
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).double()
    batch = padded_batch([70, 30])
    return model.model.encoder(**batch).last_hidden_state.detach()[batch["attention_mask"].bool()]


def test_every_mixer_gives_the_same_again_after_loading_and_in_another_process(forked, tmp_path):
    before = {}
    for mixer in sorted(MIXERS):
        model = tiny_model(mixer=mixer)
        model.save_pretrained(tmp_path / mixer)
        before[mixer] = hidden_states(tmp_path / mixer)
        model(**padded_batch([90]), labels=padded_labels([2]))  # another length in between
        torch.testing.assert_close(hidden_states(tmp_path / mixer), before[mixer], rtol=1e-12, atol=1e-12)
    program = (
        "import sys; from pathlib import Path; from safetensors.torch import save_file;"
        "from tests.models.test_saving import hidden_states; folder = Path(sys.argv[1]);"
        "save_file({path.name: hidden_states(path) for path in folder.iterdir()}, folder / 'after.safetensors')"
    )
    root = Path(__file__).parents[2]
    subprocess.run([forked.python, "-c", program, tmp_path], cwd=root, env=forked.environment(), check=True)
    after = load_file(tmp_path / "after.safetensors")
    torch.testing.assert_close(after, before, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("mixer", sorted(MIXERS))
def test_parameters_of_a_mixer_that_are_absent_from_a_folder_are_initialised(tmp_path, mixer):
    tiny_model(mixer="full" if mixer == "fastformer" else "fastformer").save_pretrained(tmp_path)
    options = {"mixer": mixer, "mixer_options": MIXER_OPTIONS.get(mixer)}
    torch.manual_seed(0)
    model = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, **options)
    for name, parameter in model.model.encoder.stack.layers[0].mixer.named_parameters():
        assert parameter.isfinite().all(), name
        assert parameter.abs().max() < 5, name
        assert parameter.std() > 0.01 or name.endswith("bias"), name


def test_shared_and_tied_weights_are_saved_once_and_still_tied_after_loading(tmp_path):
    tiny_model(share_encoder_layers=True, **EVERYTHING).save_pretrained(tmp_path)
    names = load_file(tmp_path / "model.safetensors").keys()
    assert [name for name in names if "shared" in name or "embed_tokens" in name or "lm_head" in name] == [
        "model.shared.weight"
    ]
    assert not any("encoder.stack.layers.1" in name for name in names if "model.encoder" in name)
    loaded = AutoModelForSeq2SeqLM.from_pretrained(tmp_path)
    shared = loaded.model.shared.weight
    for tied in (loaded.lm_head, loaded.model.encoder.embed_tokens, loaded.model.decoder.embed_tokens):
        assert tied.weight is shared


def test_a_model_of_half_precision_may_be_loaded_in_full_and_the_other_way_round(tmp_path):
    model = tiny_model(**EVERYTHING).to(torch.bfloat16)
    model.save_pretrained(tmp_path)
    assert_same_weights(model.float(), AutoModelForSeq2SeqLM.from_pretrained(tmp_path, dtype=torch.float32))
    model.save_pretrained(tmp_path)
    assert_same_weights(model.to(torch.bfloat16), AutoModelForSeq2SeqLM.from_pretrained(tmp_path, dtype=torch.bfloat16))


def test_configuration_and_bare_model_load_by_their_auto_classes(tmp_path):
    model = tiny_model(**EVERYTHING)
    model.save_pretrained(tmp_path)
    config = AutoConfig.from_pretrained(tmp_path)
    assert type(config) is SummarizerConfig
    assert config.mixer_options == EVERYTHING["mixer_options"]
    bare = AutoModel.from_pretrained(tmp_path)
    assert type(bare) is FastformerSummarizerModel
    assert_same_weights(model.model, bare)
    bare.save_pretrained(tmp_path / "bare")
    assert_same_weights(bare, AutoModel.from_pretrained(tmp_path / "bare"))
    assert type(AutoModelForSeq2SeqLM.from_config(config)) is FastformerSummarizerForConditionalGeneration


def test_the_vocabulary_can_grow(tmp_path):
    model = tiny_model(**EVERYTHING)
    batch = padded_batch([9, 4])
    before = model(**batch, labels=padded_labels([3, 2])).logits
    model.resize_token_embeddings(VOCAB_SIZE + 7, mean_resizing=False)
    assert model.config.vocab_size == VOCAB_SIZE + 7
    embeddings = {model.model.shared, model.model.encoder.embed_tokens, model.model.decoder.embed_tokens}
    assert {module.weight for module in (*embeddings, model.lm_head)} == {model.model.shared.weight}
    after = model(**batch, labels=padded_labels([3, 2])).logits
    assert after.shape[-1] == VOCAB_SIZE + 7
    torch.testing.assert_close(after[..., :VOCAB_SIZE].log_softmax(-1), before, rtol=1, atol=5)
    model.save_pretrained(tmp_path)
    loaded = AutoModelForSeq2SeqLM.from_pretrained(tmp_path)
    assert_same_weights(model, loaded)
    batch["input_ids"][0, 0] = VOCAB_SIZE + 6
    assert loaded(**batch, labels=batch["input_ids"]).loss.isfinite()


def test_initialisation_is_the_same_with_the_same_seed_and_leaves_nothing_unset():
    def fresh(seed):
        torch.manual_seed(seed)
        return FastformerSummarizerForConditionalGeneration(tiny_config(**EVERYTHING))

    model = fresh(0)
    assert_same_weights(model, fresh(0))
    assert not torch.equal(model.model.shared.weight, fresh(1).model.shared.weight)
    for name, parameter in model.named_parameters():
        assert parameter.isfinite().all(), name
        assert parameter.abs().max() < 5, name
        if name.endswith("weight") and "norm" not in name:
            assert parameter.std() > 0.01, name


def test_weights_absent_from_a_folder_are_initialised_and_reported(tmp_path):
    tiny_model().save_pretrained(tmp_path)
    options = {"copy_mechanism": True, "neighbor_kernel_size": 3}
    model, report = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, output_loading_info=True, **options)
    assert {name.split(".")[0] for name in report["missing_keys"]} == {"copying", "model"}
    assert all("copying" in name or "convolution" in name for name in report["missing_keys"])
    for name in report["missing_keys"]:
        parameter = model.get_parameter(name)
        assert parameter.isfinite().all(), name
        assert parameter.abs().max() < 5, name


def test_from_options_names_an_unknown_key_and_the_nearest_one():
    with pytest.raises(ValueError, match=r"model\.mixxer: unknown key; did you mean mixer"):
        SummarizerConfig.from_options({"mixxer": "full"})
    assert SummarizerConfig.from_options({"mixer": "full", "d_model": 64}).d_model == 64
    assert SummarizerConfig.from_options({"dropout": 0}).dropout == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"d_model": 30}, "d_model=30 is not a multiple of encoder_attention_heads=16"),
        ({"d_model": 15, "encoder_attention_heads": 5, "decoder_attention_heads": 5}, "d_model=15 must be even"),
        ({"neighbor_kernel_size": 4}, "neighbor_kernel_size=4 must be odd"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings=False"),
        ({"norm": "middle"}, r"'norm' expected one of \('pre', 'post'\), got middle"),
        ({"positions": "rotary"}, "'positions' expected one of"),
        ({"d_model": "256"}, "'d_model' expected int, got str"),
        ({"copy_mechanism": 1.5}, "'copy_mechanism' expected bool"),
    ],
)
def test_values_that_do_not_fit_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        SummarizerConfig.from_options(options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mixer": "fastfomer"}, "unknown mixer 'fastfomer'; choose from bigbird, fastformer, full"),
        ({"mixer_options": {"stages": 3}}, "mixer_options of 'fastformer'.*stages"),
        ({"activation_function": "gelo"}, "unknown activation_function 'gelo'; choose from .*gelu"),
    ],
)
def test_an_unknown_part_is_named_when_the_model_is_made(options, message):
    config = SummarizerConfig.from_options(options)
    with pytest.raises(ValueError, match=message):
        FastformerSummarizerForConditionalGeneration(config)


def test_embeddings_stay_tied_whenever_the_configuration_is_changed():
    config = tiny_config()
    with pytest.raises(Exception, match="tie_word_embeddings=False: encoder, decoder and output share one embedding"):
        config.tie_word_embeddings = False
    assert config.tie_word_embeddings


def test_the_saved_configuration_holds_only_plain_values(tmp_path):
    tiny_config(**EVERYTHING).save_pretrained(tmp_path)
    saved = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert saved["model_type"] == "fastformer_summarizer"
    assert saved["mixer_options"] == EVERYTHING["mixer_options"]
