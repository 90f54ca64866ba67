"""The configuration of a summarizer model: sizes, the encoder's token mixing, the decoder's options."""

from dataclasses import fields
from typing import Any, Literal

from huggingface_hub.dataclasses import strict, validated_field
from huggingface_hub.errors import StrictDataclassError
from transformers import PreTrainedConfig

from summarizer.settings import setting, unknown_key


def _check_tied(value: bool) -> None:
    """Also when it is set later: the folder of such a model could not be loaded."""
    if not value:
        raise ValueError("tie_word_embeddings=False: encoder, decoder and output share one embedding")


@strict
class SummarizerConfig(PreTrainedConfig):
    """Sizes and options of an encoder-decoder summarizer.

    The encoder layer is the same for every mixer: an optional convolution over neighbours, the token mixing, and an
    optional feed-forward block, each with its residual and LayerNorm. Defaults follow transformers' names.

    Raises ValueError for values that do not fit together.
    """

    model_type = "fastformer_summarizer"
    attribute_map = {  # noqa: RUF012 (transformers' own form)
        "hidden_size": "d_model",
        "num_attention_heads": "encoder_attention_heads",
        "num_hidden_layers": "encoder_layers",
    }

    vocab_size: int = 12_000
    d_model: int = setting(256, "Width of the model.")
    encoder_layers: int = setting(3, "Number of encoder layers.")
    encoder_attention_heads: int = setting(16, "Heads of each encoder layer.")
    encoder_ffn_dim: int = setting(1024, "Width of the encoder's feed-forward blocks. 0 removes them.")
    decoder_layers: int = setting(3, "Number of decoder layers.")
    decoder_attention_heads: int = setting(4, "Heads of each decoder layer.")
    decoder_ffn_dim: int = setting(1024, "Width of the decoder's feed-forward blocks.")
    activation_function: str = setting("gelu", "Activation of the feed-forward blocks, by its name in transformers.")
    dropout: float = setting(0.1, "Dropout probability.")

    mixer: str = setting(
        "fastformer",
        "Token mixing of the encoder layers: `fastformer`, `full`, `longformer`, `bigbird`, `linformer`, `linear`, "
        "`poolingformer` or `none`.",
    )
    mixer_options: dict[str, Any] | None = setting(None, 'Options of the mixer, such as {"num_stages": 3}.')
    share_encoder_layers: bool = setting(False, "All encoder layers share one set of parameters, as in the paper.")
    norm: Literal["pre", "post"] = setting("pre", "LayerNorm before or after each sublayer.")
    positions: Literal["sinusoidal", "learned", "none"] = setting(
        "sinusoidal", "Position embeddings of the encoder. Only learned positions limit the document length."
    )
    max_source_positions: int = setting(4096, "Number of learned positions. Ignored unless `positions` is `learned`.")
    neighbor_kernel_size: int = setting(
        0, "Kernel size (odd) of the convolution over neighbouring tokens. 0: no convolution, as in the paper."
    )
    normalize_embeddings: bool = setting(
        False, "Apply LayerNorm to the sum of token and position embeddings, as in the authors' code."
    )
    scale_embedding: bool = setting(True, "Scale token embeddings by √d_model.")
    copy_mechanism: bool = setting(False, "The decoder can copy tokens of the document.")
    sentence_selection: bool = setting(
        False, "The model scores the sentences of a document, and its decoder reads only the best ones."
    )
    selected_tokens: int = setting(
        1024, "Maximum number of source tokens that the decoder reads, with `sentence_selection`."
    )
    sentence_layers: int = setting(2, "Number of layers over the sentences of a document, in a sentence selector.")
    sentence_mixer: str = setting("none", "Mixing of the layers over sentences: the name of a mixer.")
    sentence_mixer_options: dict[str, Any] | None = setting(None, "Options of `sentence_mixer`.")
    sentence_kernel_size: int = setting(
        3, "Kernel size of the convolution over neighbouring sentences, an odd number. 0: no convolution."
    )
    sentence_ffn_dim: int = setting(512, "Width of the feed-forward blocks of the sentence layers. 0 removes them.")
    document_product: bool = setting(
        True, "Score a sentence also by the normalized product of its vector and that of the document."
    )
    document_cosines: bool = setting(
        True, "Score a sentence also by its cosine similarity to the document and to the first sentence."
    )
    token_weights_start: Literal["idf", "zero"] = setting(
        "idf", "Initial log weights of the tokens in these vectors: log idf of the training data, or zero."
    )
    layer_norm_eps: float = setting(1e-5, "Epsilon of LayerNorm.")
    sentence_per_line: bool = True  # data.sentence_per_line of the run that trained it

    is_encoder_decoder: bool = True
    tie_word_embeddings: bool = validated_field(_check_tied, default=True)
    use_cache: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = 2
    eos_token_id: int | list[int] | None = 3
    decoder_start_token_id: int | None = 2
    line_break_token_id: int | None = None  # separates sentences, where they are selected

    def __post_init__(self, **kwargs: Any) -> None:
        super().__post_init__(**kwargs)
        self._check_sizes()
        for name in (field.name for field in fields(self) if field.name.endswith("_token_id")):
            for token_id in _as_list(getattr(self, name)):
                if not 0 <= token_id < self.vocab_size:
                    raise ValueError(f"{name}={token_id} is not in the vocabulary of {self.vocab_size}")

    def _check_sizes(self) -> None:
        sizes = ("vocab_size", "d_model", "max_source_positions", "decoder_ffn_dim", "selected_tokens")
        sizes += ("encoder_layers", "decoder_layers", "encoder_attention_heads", "decoder_attention_heads")
        least = {**dict.fromkeys(sizes, 1), "encoder_ffn_dim": 0, "neighbor_kernel_size": 0}
        least |= {"sentence_layers": 0, "sentence_ffn_dim": 0, "sentence_kernel_size": 0}
        for name, value in least.items():
            if getattr(self, name) < value:
                raise ValueError(f"{name}={getattr(self, name)} must be at least {value}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout={self.dropout} must be from 0 to below 1")
        for heads in ("encoder_attention_heads", "decoder_attention_heads"):
            if self.d_model % getattr(self, heads):
                raise ValueError(f"d_model={self.d_model} is not a multiple of {heads}={getattr(self, heads)}")
        if self.d_model % 2:
            raise ValueError(f"d_model={self.d_model} must be even")
        for name in ("neighbor_kernel_size", "sentence_kernel_size"):
            if (size := getattr(self, name)) and size % 2 == 0:
                raise ValueError(f"{name}={size} must be odd, or 0 for none")

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> "SummarizerConfig":
        """Build a configuration from a user's `model:` keys.

        Raises ValueError that names the key: unknown (all of them), of a wrong type, or not among its choices.
        """
        own = {field.name for field in fields(cls) if field.name in cls.__annotations__} - {"sentence_per_line"}
        if unknown := [f"model.{name}: {unknown_key(name, own)}" for name in sorted(set(options) - own)]:
            raise ValueError("; ".join(unknown))
        whole = {
            name: float(value)
            for name, value in options.items()
            if cls.__annotations__[name] is float and type(value) is int
        }
        try:
            return cls(**{**options, **whole})
        except StrictDataclassError as error:
            raise ValueError(str(error.__cause__ or error)) from error


def _as_list(ids: int | list[int] | None) -> list[int]:
    return ids if isinstance(ids, list) else [] if ids is None else [ids]
