"""Trainer, gradient checkpointing, peft, half precision: what others do with a model works on ours."""

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments

from summarizer.models import FastformerSummarizerForConditionalGeneration
from summarizer.models.mixers import MIXERS
from tests.tiny import padded_batch, padded_labels, tiny_config, tiny_model

OPTIONS = {"copy_mechanism": True, "neighbor_kernel_size": 3}
LENGTHS = [40, 7, 20]


@pytest.fixture
def batch():
    return {**padded_batch(LENGTHS), "labels": padded_labels([6, 3, 1])}


def gradients(model, batch):
    model.zero_grad()
    loss = model(**batch).loss
    loss.backward()
    return loss.detach(), {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("reentrant", [None, False, True])
@pytest.mark.parametrize("share_encoder_layers", [False, True])
@pytest.mark.parametrize("mixer", sorted(MIXERS))
def test_gradient_checkpointing_changes_neither_loss_nor_gradients(batch, mixer, share_encoder_layers, reentrant):
    model = tiny_model(mixer=mixer, share_encoder_layers=share_encoder_layers, **OPTIONS).double().train()
    expected = gradients(model, batch)
    model.activation_checkpointing_enable(None if reentrant is None else {"use_reentrant": reentrant})
    assert model.is_activation_checkpointing
    actual = gradients(model, batch)
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-12)


def test_gradient_checkpointing_repeats_the_dropout_of_its_forward_pass(batch):
    model = tiny_model(dropout=0.5, **OPTIONS).double().train()
    torch.manual_seed(0)
    expected = gradients(model, batch)
    model.activation_checkpointing_enable()
    torch.manual_seed(0)
    torch.testing.assert_close(gradients(model, batch), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("mixer", sorted(MIXERS))
def test_every_parameter_gets_a_gradient(batch, mixer):
    model = tiny_model(mixer=mixer, **OPTIONS).train()
    _, grads = gradients(model, batch)
    zero = {name for name, parameter in model.named_parameters() if name not in grads or not grads[name].any()}
    assert zero == set()


@pytest.mark.parametrize("mixer", sorted(MIXERS))
def test_autocast_is_finite_and_near_float32(batch, mixer):
    model = tiny_model(mixer=mixer, **OPTIONS).train()
    loss, grads = gradients(model, batch)
    with torch.autocast("cpu", torch.bfloat16):
        half_loss, half_grads = gradients(model, batch)
        half_logits = model.eval()(**batch).logits
    assert half_loss.dtype == torch.float32
    torch.testing.assert_close(half_loss, loss, rtol=0.02, atol=0.02)
    torch.testing.assert_close(half_logits.float(), model(**batch).logits, rtol=0.1, atol=0.3)
    for name, gradient in half_grads.items():
        assert gradient.isfinite().all(), name
    flat, half_flat = (torch.cat([g.flatten() for g in found.values()]) for found in (grads, half_grads))
    assert torch.cosine_similarity(flat, half_flat, dim=0) > 0.99


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("mixer", sorted(MIXERS))
def test_a_model_in_half_precision_trains_and_generates(batch, mixer, dtype):
    model = tiny_model(mixer=mixer, **OPTIONS)
    loss, _ = gradients(model, batch)
    half_loss, grads = gradients(model.to(dtype), batch)
    torch.testing.assert_close(half_loss.float(), loss, rtol=0.05, atol=0.05)
    assert all(gradient.isfinite().all() for gradient in grads.values())
    documents = {name: batch[name] for name in ("input_ids", "attention_mask")}
    for num_beams in (1, 3):
        assert model.generate(**documents, num_beams=num_beams, max_new_tokens=5).shape[0] == len(LENGTHS)


class Pairs(torch.utils.data.Dataset):
    """Rows of a padded batch."""

    def __init__(self, batch):
        self.batch = batch

    def __len__(self):
        return len(self.batch["labels"])

    def __getitem__(self, index):
        return {name: values[index] for name, values in self.batch.items()}


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
def test_seq2seq_trainer_trains_evaluates_and_generates(tmp_path, batch, label_smoothing):
    torch.manual_seed(0)
    model = FastformerSummarizerForConditionalGeneration(tiny_config(**OPTIONS))
    # As DataCollatorForSeq2Seq does; the Trainer's own label smoothing takes the labels away from the model.
    batch["decoder_input_ids"] = model.prepare_decoder_input_ids_from_labels(batch["labels"])
    seen = []
    arguments = Seq2SeqTrainingArguments(
        output_dir=str(tmp_path), max_steps=3, per_device_train_batch_size=1, gradient_accumulation_steps=2,
        activation_checkpointing=True, learning_rate=1e-3, predict_with_generate=True, generation_max_length=8,
        eval_strategy="steps", eval_steps=3, save_steps=3, logging_steps=1, report_to=[], use_cpu=True,
        disable_tqdm=True, label_smoothing_factor=label_smoothing, dataloader_pin_memory=False,
    )  # fmt: skip
    trainer = Seq2SeqTrainer(
        model,
        arguments,
        train_dataset=Pairs(batch),
        eval_dataset=Pairs(batch),
        compute_metrics=lambda results: seen.append(results.predictions.shape) or {"num": len(results.predictions)},
    )
    before = model.model.shared.weight.clone()
    trainer.train()
    assert not torch.equal(before, model.model.shared.weight)
    evaluation = next(entry for entry in trainer.state.log_history if "eval_loss" in entry)
    assert 0 < evaluation["eval_loss"] < 20
    assert evaluation["eval_num"] == len(LENGTHS)
    assert seen[0][0] == len(LENGTHS)
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert len(losses) == 3
    assert all(0 < loss < 20 for loss in losses)
    loaded = FastformerSummarizerForConditionalGeneration.from_pretrained(tmp_path / "checkpoint-3")
    assert torch.equal(loaded.model.shared.weight, model.model.shared.weight)


@pytest.mark.parametrize("targets", [["query", "key_value", "query_key_value"], "all-linear"])
@pytest.mark.parametrize("mixer", sorted(MIXERS))
def test_a_lora_is_trained_saved_and_loaded_by_peft(tmp_path, batch, mixer, targets):
    torch.manual_seed(0)
    base = tiny_model(mixer=mixer, **OPTIONS)
    model = get_peft_model(base, LoraConfig(task_type="SEQ_2_SEQ_LM", r=2, target_modules=targets)).train()
    before = model(**batch).loss
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.01)
    before.backward()
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            assert parameter.grad is not None, name
            assert parameter.grad.any(), name
    optimizer.step()
    after = model(**batch).loss
    assert after < before
    model.save_pretrained(tmp_path)
    model.eval()
    logits = model(**batch).logits
    loaded = PeftModel.from_pretrained(tiny_model(mixer=mixer, **OPTIONS), tmp_path).eval()
    torch.testing.assert_close(loaded(**batch).logits, logits, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(loaded.merge_and_unload()(**batch).logits, logits, rtol=1e-4, atol=1e-4)
    documents = {name: batch[name] for name in ("input_ids", "attention_mask")}
    assert model.generate(**documents, num_beams=2, max_new_tokens=5).shape[0] == len(LENGTHS)
