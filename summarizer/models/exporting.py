"""Parts of a summarizer as modules of tensors alone, for `torch.export`.

All sizes are dynamic. A caller in another language needs the tokenizer and a loop over the steps, and no more.

Shapes: B documents, N source tokens, P target tokens so far, L decoder layers, h heads, d = d_model, d_h = d / h,
V vocabulary.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram, export

from summarizer.models.copying import CopySource
from summarizer.models.decoder import CrossAttentionCache
from summarizer.models.sentences import choose_by_tokens, tokens_of
from summarizer.models.seq2seq import DocumentOutput, EncoderOutput

EXAMPLE_SIZES = (2, 40, 5)  # B, N, P of the inputs that are traced


class Part(NamedTuple):
    """A module to export, example inputs, the dynamic axes of each, and the names of the outputs."""

    module: nn.Module
    inputs: dict[str, Tensor]
    dynamic: dict[str, tuple[int, ...]]
    outputs: list[str]

    def export(self) -> ExportedProgram:
        """The module's graph by torch.export, for any batch size and lengths.

        Run it by `.module(check_guards=False)`: torch 2.13's own check of the inputs fails on the decoding step.
        """
        shapes = {name: dict.fromkeys(axes, Dim.DYNAMIC) for name, axes in self.dynamic.items()}
        with torch.no_grad():
            return export(self.module, (), self.inputs, dynamic_shapes=shapes)


class ScoreSentences(nn.Module):
    """Scores of the sentences of documents: all that an extract needs."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.encoder, self.scorer = model.get_encoder(), model.scorer

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """input_ids and attention_mask [B, N] → scores [B, N] of the lines; the lowest finite number from the last on.

        N are more than there are lines: their number would be a size that depends on the data.
        """
        document = self.encoder(input_ids, attention_mask)
        return self.scorer.score_document(self.encoder, document, num_sentences=input_ids.shape[1]).scores


class ReadDocument(nn.Module):
    """What the decoder needs of documents, once for all steps."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, ...]:
        """input_ids and attention_mask [B, N] → keys and values [L, B, h, N, d_h], mask [B, N], copy keys [B, N, d].

        The mask marks what the decoder reads: real tokens, of selected sentences if the model selects. Without the copy
        mechanism there are no copy keys.
        """
        model = self.model
        document: EncoderOutput = model.get_encoder()(input_ids, attention_mask)
        mask = attention_mask.bool()
        if model.scorer is not None:
            scored = model.score_sentences(document, num_sentences=input_ids.shape[1])
            chosen = choose_by_tokens(scored.scores, scored.sentence_ids, model.config.selected_tokens)
            mask = mask & tokens_of(chosen, scored.sentence_ids)
        read = model.model.decoder.stack.read(document.last_hidden_state)
        tensors = torch.stack([layer.keys for layer in read]), torch.stack([layer.values for layer in read]), mask
        if model.copying is None:
            return tensors
        return *tensors, model.copying.read(document.last_hidden_state, input_ids, mask).keys


class DecodingStep(nn.Module):
    """The next token of each summary, given the last one."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(
        self,
        token: Tensor,
        past_keys: Tensor,
        past_values: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor,
        copy_keys: Tensor | None = None,
        input_ids: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """token [B, 1] → logits [B, V], and past_keys and past_values [L, B, h, P + 1, d_h] for the next step.

        keys, values, mask and copy_keys are what `ReadDocument` returned; P is 0 in the first step. Logits are log
        probabilities where the model copies.
        """
        model = self.model
        source = None if input_ids is None or copy_keys is None else CopySource(copy_keys, input_ids, mask)
        read = [CrossAttentionCache(*each) for each in zip(keys.unbind(), values.unbind(), strict=True)]
        document = DocumentOutput(source_mask=mask, cross_attention=read, copy_source=source)
        cache: Any = _Past(list(past_keys.unbind()), list(past_values.unbind()))
        hidden_states = model.model.decoder(token, document, cache=cache)
        logits = model.logits(hidden_states, source)[:, -1]
        return logits, torch.stack(cache.keys), torch.stack(cache.values)


class _Past:
    """As much of transformers' cache as the decoder uses, over given tensors."""

    def __init__(self, keys: list[Tensor], values: list[Tensor]) -> None:
        self.keys, self.values, self.length = keys, values, keys[0].shape[2]

    def get_seq_length(self) -> Any:
        return self.length

    def update(self, keys: Tensor, values: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        self.keys[layer] = torch.cat([self.keys[layer], keys], dim=2)
        self.values[layer] = torch.cat([self.values[layer], values], dim=2)
        return self.keys[layer], self.values[layer]


def parts_to_export(model: Any) -> dict[str, Part]:
    """`score`, `read` and `step` of a model in float32, each if the model has it. It is switched to evaluation mode.

    Not for the mixers bigbird, longformer and poolingformer, whose blocks depend on the lengths.
    """
    model.eval()
    config = model.config
    documents, tokens, past = EXAMPLE_SIZES
    source = torch.full((documents, tokens), config.vocab_size - 1)
    batch = {"input_ids": source, "attention_mask": torch.ones_like(source)}
    of_batch: dict[str, tuple[int, ...]] = dict.fromkeys(batch, (0, 1))
    parts = {}
    if getattr(model, "scorer", None) is not None:
        parts["score"] = Part(ScoreSentences(model), batch, of_batch, ["scores"])
    if not hasattr(model, "lm_head"):
        return parts
    names = ["keys", "values", "mask"] + ["copy_keys"] * (model.copying is not None)
    reader = ReadDocument(model)
    parts["read"] = Part(reader, batch, of_batch, names)
    with torch.no_grad():
        read = dict(zip(names, reader(**batch), strict=True))
    layers, _, heads, _, head_size = read["keys"].shape
    empty = torch.zeros(layers, documents, heads, past, head_size)
    inputs = {"token": source[:, :1], "past_keys": empty, "past_values": empty.clone(), **read}
    dynamic = {
        "token": (0,), "past_keys": (1, 3), "past_values": (1, 3), "keys": (1, 3), "values": (1, 3), "mask": (0, 1),
        "copy_keys": (0, 1), "input_ids": (0, 1),
    }  # fmt: skip
    if model.copying is not None:
        inputs["input_ids"] = source
    outputs = ["logits", "next_keys", "next_values"]
    parts["step"] = Part(DecodingStep(model), inputs, {name: dynamic[name] for name in inputs}, outputs)
    return parts
