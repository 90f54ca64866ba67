"""The exported parts, by torch.export, compute what the model computes eagerly."""

import pytest
import torch

from summarizer.models.exporting import parts_to_export
from tests.tiny import padded_batch, tiny_model

BREAK = 7
SELECTING = {"sentence_selection": True, "line_break_token_id": BREAK, "selected_tokens": 9}
OPTIONS = {"copy_mechanism": True, "neighbor_kernel_size": 3, "encoder_layers": 1, **SELECTING}

pytestmark = pytest.mark.filterwarnings("ignore")  # of the exporters about themselves


def follow(run, batch, num_tokens=3):
    """The logits of the first steps, each after the likeliest token, as another program would compute them."""
    names = ["keys", "values", "mask", "copy_keys"]
    read = dict(zip(names, run("read", batch), strict=True))
    layers, documents, heads, _, size = read["keys"].shape
    past = [torch.zeros(layers, documents, heads, 0, size) for _ in range(2)]
    token, logits = torch.full((documents, 1), 2), []
    for _ in range(num_tokens):
        inputs = {"token": token, "past_keys": past[0], "past_values": past[1], **read, "input_ids": batch["input_ids"]}
        step, *past = run("step", inputs)
        logits.append(step)
        token = step.argmax(dim=-1, keepdim=True)
    return torch.stack(logits, dim=1)


@torch.no_grad()
def test_exported_parts_score_sentences_and_write_as_the_model_does():
    model = tiny_model(**OPTIONS)
    parts = parts_to_export(model)
    programs = {name: part.export().module(check_guards=False) for name, part in parts.items()}

    def run(name, inputs):
        return programs[name](**inputs)

    for lengths in ([90, 77, 5], [12]):  # more and fewer than 2 d tokens; one document, and several
        batch = padded_batch(lengths)
        scored = model.score_sentences(model.get_encoder()(**batch))
        scores = run("score", batch)
        torch.testing.assert_close(scores[:, : scored.scores.shape[1]], scored.scores, rtol=1e-5, atol=1e-5)
        logits = follow(run, batch)
        tokens = torch.cat([torch.full((len(lengths), 1), 2), logits.argmax(dim=-1)[:, :-1]], dim=1)
        expected = model(**batch, decoder_input_ids=tokens).logits
        torch.testing.assert_close(logits, expected, rtol=1e-5, atol=1e-5)
