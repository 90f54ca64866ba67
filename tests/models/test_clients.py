"""Offloading, prefix tuning and export: what is in the table of docs/model.md and not in test_ecosystem."""

import pytest
import torch
from accelerate import disk_offload
from peft import PrefixTuningConfig, get_peft_model
from torch.export import Dim, export
from transformers.exporters.configs import DynamoConfig
from transformers.exporters.exporter_dynamo import DynamoExporter

from summarizer.models.mixers import MIXERS
from tests.tiny import MIXER_OPTIONS, VOCAB_SIZE, padded_batch, padded_labels, tiny_model

ignoring_warnings = pytest.mark.filterwarnings("ignore")  # of the exporters about themselves
ANY = {0: Dim.AUTO, 1: Dim.AUTO}


@pytest.mark.parametrize("mixer", [*sorted(MIXERS), "linformer that shares"])
def test_a_model_whose_weights_are_on_disk_computes_the_same(tmp_path, mixer):
    """Each weight is there only while the module that owns it runs."""
    options = {"mixer": mixer}
    if mixer not in MIXERS:
        options = {"mixer": "linformer", "mixer_options": {**MIXER_OPTIONS["linformer"], "sharing": "layers"}}
    plain, model = (tiny_model(copy_mechanism=True, neighbor_kernel_size=3, **options) for _ in range(2))
    disk_offload(model, tmp_path, torch.device("cpu"))
    assert all(parameter.is_meta for parameter in model.parameters())
    batch, labels = padded_batch([40, 17]), padded_labels([5, 3])
    with torch.no_grad():
        expected, output = (each(**batch, labels=labels) for each in (plain, model))
    torch.testing.assert_close(output.loss, expected.loss, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(output.logits, expected.logits, rtol=1e-5, atol=1e-5)
    options = {"max_new_tokens": 3, "num_beams": 2}
    assert model.generate(**batch, **options).equal(plain.generate(**batch, **options))


@pytest.mark.filterwarnings("ignore:`past_key_values` is deprecated:FutureWarning")  # as peft calls the cache
def test_prefix_tuning_trains_by_the_decoders_sizes():
    model = tiny_model(copy_mechanism=True)
    config = model.config
    prefix = PrefixTuningConfig(
        task_type="SEQ_2_SEQ_LM", num_virtual_tokens=3, token_dim=config.d_model,
        num_layers=config.decoder_layers, num_attention_heads=config.decoder_attention_heads,
    )  # fmt: skip
    model = get_peft_model(model, prefix).train()
    batch = {**padded_batch([9, 4]), "labels": padded_labels([5, 3])}
    model(**batch).loss.backward()
    assert all(parameter.grad.any() for parameter in model.parameters() if parameter.requires_grad)


@ignoring_warnings
def test_an_exported_encoder_reads_documents_of_any_length_and_number():
    encoder = tiny_model(neighbor_kernel_size=3, encoder_layers=1).model.encoder
    shapes = {"input_ids": ANY, "attention_mask": ANY}
    program = export(encoder, (), padded_batch([40, 17]), dynamic_shapes=shapes).module()
    for lengths in ([90, 77, 5], [12]):  # more and fewer than 2 d tokens
        batch = padded_batch(lengths)
        expected = encoder(**batch).last_hidden_state
        torch.testing.assert_close(program(**batch).last_hidden_state, expected, rtol=1e-5, atol=1e-5)


@ignoring_warnings
def test_an_exported_model_takes_summaries_of_any_length():
    model = tiny_model(copy_mechanism=True, encoder_layers=1, decoder_layers=1)

    def inputs(lengths, target_length):
        ids = torch.randint(4, VOCAB_SIZE, (len(lengths), target_length), generator=torch.Generator().manual_seed(0))
        return {**padded_batch(lengths), "decoder_input_ids": ids, "use_cache": False}

    shapes = {"input_ids": ANY, "attention_mask": ANY, "decoder_input_ids": ANY, "use_cache": None}
    program = export(model, (), inputs([40, 17], 7), dynamic_shapes=shapes).module()
    given = inputs([90, 77, 5], 12)
    torch.testing.assert_close(program(**given).logits, model(**given).logits, rtol=1e-5, atol=1e-5)


@ignoring_warnings
def test_transformers_exports_the_steps_of_generation():
    model = tiny_model(copy_mechanism=True, encoder_layers=1, decoder_layers=1)
    exported = DynamoExporter().export_for_generation(model, padded_batch([20, 17]), DynamoConfig())
    assert {"prefill", "decode"} <= set(exported.components)
