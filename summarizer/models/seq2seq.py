"""The summarizer as transformers' model classes: encode a document once, write its summary token by token.

Shapes: B documents, R = B × beams target rows, N source tokens, T target tokens, d = d_model, V vocabulary.
"""

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from transformers import GenerationMixin, PreTrainedModel
from transformers import initialization as init
from transformers.cache_utils import Cache, DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput, Seq2SeqModelOutput
from transformers.utils.deprecation import deprecate_kwarg
from transformers.utils.generic import can_return_tuple

from summarizer.models.configuration import SummarizerConfig
from summarizer.models.copying import NEVER, CopyMechanism, CopySource
from summarizer.models.decoder import CrossAttentionCache, DecoderStack, LayerOutputs
from summarizer.models.encoder import EncoderStack
from summarizer.models.layers import ScaledEmbedding, at_least_float32
from summarizer.models.sentences import (
    ScoredSentences,
    SentenceScorer,
    choose_by_tokens,
    gather_tokens,
    summed_selection_loss,
    tokens_of,
)
from summarizer.models.vocabulary import label_log_probabilities
from summarizer.padding import IGNORED


@dataclass
class EncoderOutput(BaseModelOutput):
    """What the encoder returns: hidden states [B, N, d], and the ids (where they were given) and mask [B, N].

    sentence_ids [B, N]: the sentence of each token, once sentences are selected; N are the tokens of those.
    """

    source_ids: Tensor | None = None
    source_mask: Tensor | None = None
    sentence_ids: Tensor | None = None


@dataclass
class DocumentOutput(EncoderOutput):
    """All that the decoder needs of a document, computed once and shared by its beams and samples.

    Beside the encoder's output these are keys and values for the cross-attention of each decoder layer, and what to
    copy from, where the model copies. `read_document` makes it; it is never changed afterwards.
    """

    cross_attention: list[CrossAttentionCache] | None = None  # ModelOutput wants None for a default
    copy_source: CopySource | None = None

    def select(self, documents: Tensor) -> "DocumentOutput":
        """Some of the documents, by their places in the batch, with all that the decoder needs of them."""
        read, source, ids, mask = self.cross_attention, self.copy_source, self.source_ids, self.source_mask
        return DocumentOutput(
            last_hidden_state=None if self.last_hidden_state is None else self.last_hidden_state[documents],
            source_ids=None if ids is None else ids[documents],
            source_mask=None if mask is None else mask[documents],
            cross_attention=None if read is None else [layer.select(documents) for layer in read],
            copy_source=None if source is None else source.select(documents),
        )


class SummarizerPreTrainedModel(PreTrainedModel):
    """Initialisation and what transformers needs to know of these models."""

    config: SummarizerConfig
    config_class = SummarizerConfig
    base_model_prefix = "model"
    main_input_name = "input_ids"
    supports_gradient_checkpointing = True
    _supports_sdpa = True
    _no_split_modules = ["EncoderLayer", "DecoderLayer"]  # noqa: RUF012 (transformers' own form)
    separate_modules = ("cross_attention.key_value",)  # parts of those layers that are used before the layers are run

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            # transformers' initialisers leave tensors that were loaded from a checkpoint alone
            init.xavier_uniform_(module.weight)
            if module.bias is not None:
                init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            init.normal_(module.weight, std=self.config.d_model**-0.5)
            if module.padding_idx is not None:
                init.zeros_(module.weight[module.padding_idx])
        elif isinstance(module, nn.LayerNorm):
            init.ones_(module.weight)
            init.zeros_(module.bias)
        elif callable(reset := getattr(module, "reset_parameters", None)):  # ours, with tensors of their own
            reset()


class _WithEmbedding(SummarizerPreTrainedModel):
    """What encoder and decoder have in common: the embedding of tokens, which the whole model ties together."""

    def __init__(self, config: SummarizerConfig) -> None:
        super().__init__(config)
        self.embed_tokens: Any = ScaledEmbedding(config)  # or what `set_input_embeddings` is given


class SummarizerEncoder(_WithEmbedding):
    """Source tokens to hidden states."""

    def __init__(self, config: SummarizerConfig) -> None:
        super().__init__(config)
        self.stack = EncoderStack(config)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        output_hidden_states: bool | None = None,
        output_attentions: bool | None = None,
        **kwargs: Any,
    ) -> EncoderOutput:
        """input_ids [B, N] or inputs_embeds [B, N, d], attention_mask [B, N] → hidden states and ids.

        Where both are given, the embeddings are read, and the ids are what the decoder may copy.
        """
        if output_attentions:
            raise ValueError("the encoder has no attention weights to return; leave out output_attentions")
        if inputs_embeds is None:
            if input_ids is None:
                raise ValueError("give input_ids or inputs_embeds")
            inputs_embeds = self.embed_tokens(input_ids)
        embeddings: Any = inputs_embeds
        if attention_mask is None:
            attention_mask = torch.ones(embeddings.shape[:2], dtype=torch.bool, device=embeddings.device)
        mask = attention_mask.bool()
        if output_hidden_states is None:
            output_hidden_states = self.config.output_hidden_states
        collected: list[Tensor] | None = [] if output_hidden_states else None
        hidden_states = self.stack(embeddings, mask, collected)
        return EncoderOutput(
            last_hidden_state=hidden_states,
            hidden_states=None if collected is None else (*collected, hidden_states),
            source_ids=input_ids,
            source_mask=mask,
        )


class SummarizerDecoder(_WithEmbedding):
    """Target tokens so far, and a document, to hidden states."""

    def __init__(self, config: SummarizerConfig) -> None:
        super().__init__(config)
        self.stack = DecoderStack(config)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None,
        document: DocumentOutput,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        cache: Cache | None = None,
        kept: LayerOutputs | None = None,
    ) -> Tensor:
        """input_ids [R, T], a read document, attention_mask [R, past + T] or None → [R, T, d]; adds to `kept`."""
        if inputs_embeds is None:
            if input_ids is None:
                raise ValueError("give decoder_input_ids, decoder_inputs_embeds or labels")
            inputs_embeds = self.embed_tokens(input_ids)
        if document.cross_attention is None or document.source_mask is None:
            raise ValueError("the document has not been read: call read_document first")
        return self.stack(inputs_embeds, document.cross_attention, document.source_mask, attention_mask, cache, kept)


class FastformerSummarizerModel(SummarizerPreTrainedModel):
    """Encoder and decoder without a vocabulary projection."""

    _input_embed_layer = "shared"
    _tied_weights_keys = {  # noqa: RUF012 (transformers' own form)
        "encoder.embed_tokens.weight": "shared.weight",
        "decoder.embed_tokens.weight": "shared.weight",
    }

    def __init__(self, config: SummarizerConfig) -> None:
        super().__init__(config)
        self.shared = ScaledEmbedding(config)
        self.encoder = SummarizerEncoder(config)
        self.decoder = SummarizerDecoder(config)
        self.post_init()

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the embedding that encoder and decoder share."""
        self.shared = self.encoder.embed_tokens = self.decoder.embed_tokens = value

    def read_document(
        self, encoder_outputs: Any, attention_mask: Tensor | None = None, input_ids: Tensor | None = None
    ) -> DocumentOutput:
        """Add each decoder layer's keys and values to the encoder's output: ours, any BaseModelOutput, or a tuple.

        attention_mask and input_ids [B, N] are used where that output does not hold them. A DocumentOutput is returned
        as it is.
        """
        if isinstance(encoder_outputs, DocumentOutput):
            return encoder_outputs
        hidden_states = encoder_outputs[0]
        ids, mask = (getattr(encoder_outputs, name, None) for name in ("source_ids", "source_mask"))
        if mask is None:
            mask = hidden_states.new_ones(hidden_states.shape[:2]) if attention_mask is None else attention_mask
        return DocumentOutput(
            last_hidden_state=hidden_states,
            hidden_states=getattr(encoder_outputs, "hidden_states", None),
            source_ids=input_ids if ids is None else ids,
            source_mask=mask.bool(),
            cross_attention=self.decoder.stack.read(hidden_states),
        )

    def cache_to_use(self, cache: EncoderDecoderCache | None, use_cache: bool | None) -> EncoderDecoderCache | None:
        """The given cache, or a new one, where `use_cache` (by default the configuration's, in evaluation) asks so."""
        if use_cache is None:
            use_cache = self.config.use_cache and not self.training
        return EncoderDecoderCache(DynamicCache(), DynamicCache()) if use_cache and cache is None else cache

    def layer_outputs(self, hidden_states: bool | None, attentions: bool | None) -> LayerOutputs:
        """What to keep of the decoder's layers: as asked for, by default as the configuration says."""
        hidden_states = self.config.output_hidden_states if hidden_states is None else hidden_states
        attentions = self.config.output_attentions if attentions is None else attentions
        return LayerOutputs.asked(bool(hidden_states), bool(attentions))

    @can_return_tuple
    @deprecate_kwarg("past_key_values", "6.0.0", new_name="cache")
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: Any = None,
        cache: EncoderDecoderCache | None = None,
        inputs_embeds: Tensor | None = None,
        decoder_inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        output_hidden_states: bool | None = None,
        output_attentions: bool | None = None,
        **kwargs: Any,
    ) -> Seq2SeqModelOutput:
        """Hidden states [R, T, d] of the decoder, as transformers' encoder-decoder models return them."""
        if encoder_outputs is None:
            encoder_outputs = self.encoder(input_ids, attention_mask, inputs_embeds, output_hidden_states)
        document = self.read_document(encoder_outputs, attention_mask, input_ids)
        cache = self.cache_to_use(cache, use_cache)
        kept = self.layer_outputs(output_hidden_states, output_attentions)
        hidden_states = self.decoder(
            decoder_input_ids, document, decoder_attention_mask, decoder_inputs_embeds, cache, kept
        )
        return Seq2SeqModelOutput(
            last_hidden_state=hidden_states,
            cache=cache,
            encoder_last_hidden_state=document.last_hidden_state,
            encoder_hidden_states=document.hidden_states,
            **kept.as_outputs(),
        )


class FastformerSummarizerForConditionalGeneration(SummarizerPreTrainedModel, GenerationMixin):
    """The summarizer: a document in, a summary out, by `generate`.

    With labels in training mode the loss is computed without keeping logits, which are then None. `logits` are log
    probabilities where the model copies: a log-softmax leaves them as they are.
    """

    _tied_weights_keys = {"lm_head.weight": "model.shared.weight"}  # noqa: RUF012 (transformers' own form)
    accepts_loss_kwargs = True  # Trainer: forward divides by num_items_in_batch itself
    accepts_label_smoothing = True

    def __init__(self, config: SummarizerConfig) -> None:
        super().__init__(config)
        self.model = FastformerSummarizerModel(config)
        self.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.copying = CopyMechanism(config.d_model) if config.copy_mechanism else None
        self.scorer = SentenceScorer(config) if config.sentence_selection else None
        self.post_init()

    def prepare_decoder_input_ids_from_labels(self, labels: Tensor) -> Tensor:
        """Labels [B, T] shifted right behind the start token, padding in place of ignored labels."""
        shifted = labels.roll(1, dims=-1)
        shifted[:, 0] = int(self.config.decoder_start_token_id or 0)
        return shifted.masked_fill(shifted == IGNORED, int(self.config.pad_token_id or 0))

    @can_return_tuple
    @deprecate_kwarg("past_key_values", "6.0.0", new_name="cache")
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: Any = None,
        cache: EncoderDecoderCache | None = None,
        inputs_embeds: Tensor | None = None,
        decoder_inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        output_hidden_states: bool | None = None,
        output_attentions: bool | None = None,
        num_items_in_batch: Tensor | int | None = None,
        label_smoothing: float = 0.0,
        return_logits: bool | None = None,
        sentence_labels: Tensor | None = None,
        sentence_loss_weight: float = 1.0,
        **kwargs: Any,
    ) -> Seq2SeqLMOutput:
        """input_ids [B, N], decoder_input_ids [R, T] or labels [B, T] (−100 = ignored) → loss and logits [R, T, V].

        The loss is the sum over target tokens divided by `num_items_in_batch`, by default their number. Logits are
        returned where there are no labels or in evaluation mode, unless `return_logits` says otherwise.

        sentence_labels [B, S] (1: selected, 0: not, −100: ignored), for a model that selects sentences: the decoder
        reads the labelled ones first, and each target token adds `sentence_loss_weight` × the mean binary
        cross-entropy of the sentences to the loss.
        """
        if labels is not None:
            use_cache = False
            if decoder_input_ids is None and decoder_inputs_embeds is None:
                decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels)
        if encoder_outputs is None:
            encoder_outputs = self.model.encoder(input_ids, attention_mask, inputs_embeds, output_hidden_states)
        sentence_loss = None
        if sentence_labels is not None:
            encoder_outputs, sentence_loss = self._select_labelled(encoder_outputs, sentence_labels)
        document = self.read_document(encoder_outputs, attention_mask, input_ids)
        cache = self.model.cache_to_use(cache, use_cache)
        kept = self.model.layer_outputs(output_hidden_states, output_attentions)
        hidden_states = self.model.decoder(
            decoder_input_ids, document, decoder_attention_mask, decoder_inputs_embeds, cache, kept
        )
        loss = logits = None
        if labels is not None:
            loss = self._loss_sum(hidden_states, document.copy_source, labels, label_smoothing)
            if sentence_loss is not None:
                loss = loss + sentence_loss_weight * (labels != IGNORED).sum() * sentence_loss
            if num_items_in_batch is None:
                num_items_in_batch = (labels != IGNORED).sum().clamp(min=1)  # a batch without targets: 0, not NaN
            loss = loss / num_items_in_batch
        if return_logits is None:
            return_logits = labels is None or not self.training
        if return_logits:
            logits = self.logits(hidden_states, document.copy_source)
        return Seq2SeqLMOutput(
            loss=loss,
            logits=logits,
            cache=cache,
            encoder_last_hidden_state=document.last_hidden_state,
            encoder_hidden_states=document.hidden_states,
            **kept.as_outputs(),
        )

    def copy_scores(self, input_ids: Tensor, decoder_input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Where the copy mechanism points: scores [B, T, N] of each source token for each position of the target.

        Tokens of sentences that are not selected have the lowest score. input_ids and attention_mask [B, N],
        decoder_input_ids [B, T]. Raises ValueError for a model without copying.
        """
        encoded, places = self.model.encoder(input_ids, attention_mask), None
        if self.scorer is not None:
            scored = self.score_sentences(encoded)
            chosen = choose_by_tokens(scored.scores, scored.sentence_ids, self.config.selected_tokens)
            places = tokens_of(chosen, scored.sentence_ids) & encoded.source_mask
            encoded = self.select(encoded, scored, chosen)
        document = self.read_document(encoded)
        if self.copying is None or document.copy_source is None:
            raise ValueError("this model has no copy mechanism")
        scores = self.copying.scores(self.model.decoder(decoder_input_ids, document), document.copy_source)
        if places is None:
            return scores
        of_all = scores.new_full((*scores.shape[:2], places.shape[1]), NEVER)
        for row, kept in enumerate(places):
            of_all[row, :, kept] = scores[row, :, : int(kept.sum())]
        return of_all

    def score_sentences(self, document: EncoderOutput, num_sentences: int | None = None) -> ScoredSentences:
        """The scores of a document's sentences, from what the encoder returned. ValueError where it selects none."""
        if self.scorer is None:
            raise ValueError("this model selects no sentences (config.sentence_selection)")
        return self.scorer.score_document(self.model.encoder, document, num_sentences=num_sentences)

    def select(self, document: EncoderOutput, scored: ScoredSentences, chosen: Tensor | None = None) -> EncoderOutput:
        """What the encoder returned, cut to the tokens of the `chosen` sentences [B, S].

        By default those are the best ones, up to `config.selected_tokens` tokens.
        """
        if chosen is None:
            chosen = choose_by_tokens(scored.scores, scored.sentence_ids, self.config.selected_tokens)
        if document.last_hidden_state is None or document.source_ids is None or document.source_mask is None:
            raise ValueError("selecting needs the source's input_ids; hidden states alone are not enough")
        mask, states, ids, sentence_ids = gather_tokens(
            tokens_of(chosen, scored.sentence_ids) & document.source_mask,
            document.last_hidden_state, document.source_ids, scored.sentence_ids,
        )  # fmt: skip
        return EncoderOutput(states, document.hidden_states, None, ids, mask, sentence_ids)

    def _select_labelled(self, document: EncoderOutput, labels: Tensor) -> tuple[EncoderOutput, Tensor]:
        """The labelled sentences and, as far as there is room, the best others; the mean loss of the scores."""
        scored = self.score_sentences(document, labels.shape[1])
        total, count = summed_selection_loss(scored.scores, labels)
        first = scored.scores.detach().masked_fill(labels == 1, torch.inf)
        return self.select(document, scored._replace(scores=first)), total / count

    def read_document(
        self, encoder_outputs: Any, attention_mask: Tensor | None = None, input_ids: Tensor | None = None
    ) -> DocumentOutput:
        """The same as the inner model's `read_document`, with what to copy from where this model copies.

        A model that selects sentences reads the best ones, unless they were selected before.
        """
        if (
            self.scorer is not None
            and isinstance(encoder_outputs, EncoderOutput)
            and not isinstance(encoder_outputs, DocumentOutput)
            and encoder_outputs.sentence_ids is None
        ):
            encoder_outputs = self.select(encoder_outputs, self.score_sentences(encoder_outputs))
        document = self.model.read_document(encoder_outputs, attention_mask, input_ids)
        if self.copying is None or document.copy_source is not None:
            return document
        hidden_states, ids, mask = document.last_hidden_state, document.source_ids, document.source_mask
        if hidden_states is None or ids is None or mask is None:
            raise ValueError("the copy mechanism needs input_ids; give them beside inputs_embeds or encoder_outputs")
        return replace(document, copy_source=self.copying.read(hidden_states, ids, mask))

    def logits(self, hidden_states: Tensor, source: CopySource | None) -> Tensor:
        """Of the next token [R, T, V], from what the decoder returned [R, T, d]; log probabilities with copying."""
        logits = self.lm_head(hidden_states)
        if self.copying is None or source is None:
            return logits
        return self.copying.all_log_probabilities(hidden_states, source, at_least_float32(logits).log_softmax(dim=-1))

    def _loss_sum(
        self, hidden_states: Tensor, source: CopySource | None, labels: Tensor, label_smoothing: float
    ) -> Tensor:
        """Σ over real targets of −(1 − ε) log p(label) − ε mean_w log p_generate(w), at least float32.

        Only real targets go through the vocabulary projection. Smoothing with copying spreads ε over what is
        generated: a copied distribution has no support off the source.
        """
        real = labels != IGNORED
        flat_hidden, flat_labels = hidden_states[real], labels[real]
        label_term, uniform_term = label_log_probabilities(flat_hidden, self.lm_head, flat_labels)
        if self.copying is not None and source is not None:
            generated = label_term.new_zeros(labels.shape).masked_scatter(real, label_term)
            label_term = self.copying.target_log_probabilities(hidden_states, source, labels, generated)[real]
        return -((1 - label_smoothing) * label_term + label_smoothing * uniform_term).sum()

    def _prepare_model_inputs(  # pyright: ignore  (GenerationMixin types its `self` as a protocol)
        self, inputs: Tensor | None, bos_token_id: Tensor | None, model_kwargs: dict[str, Any]
    ) -> tuple[Any, str | None, dict[str, Any]]:
        """As in GenerationMixin, and `inputs_embeds` may be given beside the ids, to copy from those."""
        has_ids = inputs is not None or model_kwargs.get("input_ids") is not None
        embeddings = model_kwargs.pop("inputs_embeds", None) if has_ids else None
        inputs, name, model_kwargs = super()._prepare_model_inputs(  # pyright: ignore  (its `self` as above)
            inputs, bos_token_id, model_kwargs
        )
        return inputs, name, model_kwargs if embeddings is None else {**model_kwargs, "inputs_embeds": embeddings}

    def _prepare_text_encoder_decoder_kwargs_for_generation(  # pyright: ignore  (its `self` as above)
        self, *, generation_config: Any, **inputs: Any
    ) -> dict[str, Any]:
        """As in GenerationMixin, and the decoder alone is asked for attentions."""
        generation_config = copy(generation_config)
        generation_config.output_attentions = None
        return super()._prepare_text_encoder_decoder_kwargs_for_generation(  # pyright: ignore  (its `self` as above)
            generation_config=generation_config, **inputs
        )

    def _expand_inputs_for_generation(  # pyright: ignore  (GenerationMixin types its `self` as a protocol)
        self,
        expand_size: int = 1,
        is_encoder_decoder: bool = False,
        input_ids: Tensor | None = None,
        **model_kwargs: Any,
    ) -> tuple[Tensor | None, dict[str, Any]]:
        """Repeat the target rows for beams or samples, never the document: they all read the one copy of it."""
        encoder_outputs = model_kwargs.pop("encoder_outputs")
        attention_mask = model_kwargs.pop("attention_mask", None)
        model_kwargs.pop("inputs_embeds", None)
        document = self.read_document(encoder_outputs, attention_mask)
        input_ids, model_kwargs = super()._expand_inputs_for_generation(  # pyright: ignore (its ids may be None)
            expand_size=expand_size, is_encoder_decoder=False, input_ids=input_ids, **model_kwargs
        )
        return input_ids, {**model_kwargs, "encoder_outputs": document}
