"""The authors' own code, by files of its weights, inputs and outputs: ours must give the same numbers."""

from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from summarizer.models.encoder import AdditivePooling, EncoderStack
from tests.tiny import tiny_config

FOLDER = Path(__file__).parents[3] / "shared" / "golden"
FILES = sorted(FOLDER.glob("*.safetensors"))
LAYER_NAMES = {
    "mixer.query": "attention.self.query",
    "mixer.keys.0": "attention.self.key",
    "mixer.transform": "attention.self.transform",
    "mixer.output": "attention.output.dense",
    "mixer_norm": "attention.output.LayerNorm",
    "feed_forward.up": "intermediate.dense",
    "feed_forward.down": "output.dense",
    "feed_forward_norm": "output.LayerNorm",
}
SCORE_NAMES = {
    "mixer.score_vectors.0": "attention.self.query_att.weight",
    "mixer.score_vectors.1": "attention.self.key_att.weight",
}

pytestmark = pytest.mark.skipif(not FILES, reason=f"no golden files in {FOLDER}")


class Golden:
    """One file: the authors' tensors, and our encoder and pooling with their weights."""

    def __init__(self, path: Path) -> None:
        with safe_open(path, "pt") as file:
            self.tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
            self.settings = file.metadata()
        self.hidden_states = self.tensors["input.hidden_states"]
        self.mask = self.tensors["input.attention_mask"].bool()  # 1 = real token
        self.encoder = self._encoder()
        self.pooling = AdditivePooling(self.encoder.d_model).eval()
        self.pooling.load_state_dict(
            {**self._linear("hidden", "poolers.0.att_fc1"), **self._linear("score", "poolers.0.att_fc2")}
        )

    def output(self, name: str) -> torch.Tensor:
        return self.tensors[f"output.{name}"]

    def _encoder(self) -> EncoderStack:
        settings = self.settings
        encoder = EncoderStack(
            tiny_config(
                d_model=int(settings["hidden_size"]),
                encoder_layers=int(settings["num_hidden_layers"]),
                encoder_attention_heads=int(settings["num_attention_heads"]),
                encoder_ffn_dim=int(settings["intermediate_size"]),
                activation_function=settings["activation"],
                layer_norm_eps=float(settings["layer_norm_eps"]),
                mixer_options={"scores": "all", "output_projection": True},
                norm="post",
                positions="learned",
                max_source_positions=self.hidden_states.shape[1],
                normalize_embeddings=True,
            )
        ).eval()
        state = {"position_embeddings.weight": self.tensors["weights.position_embeddings.weight"]}
        state |= self._linear("embedding_norm", "LayerNorm")
        for index in range(encoder.num_layers):
            for ours, theirs in LAYER_NAMES.items():
                state |= self._linear(f"layers.{index}.{ours}", f"encoders.{index}.{theirs}")
            for ours, theirs in SCORE_NAMES.items():
                state[f"layers.{index}.{ours}"] = self.tensors[f"weights.encoders.{index}.{theirs}"]
        encoder.load_state_dict(state)
        return encoder

    def _linear(self, ours: str, theirs: str) -> dict[str, torch.Tensor]:
        return {f"{ours}.{part}": self.tensors[f"weights.{theirs}.{part}"] for part in ("weight", "bias")}


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def golden(request):
    return Golden(request.param)


def assert_close(ours, theirs):
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_the_attention_equals_the_authors_before_their_output_projection(golden):
    mixer = golden.encoder.layers[0].mixer
    mixer.output = None
    assert_close(mixer(golden.hidden_states, golden.mask), golden.output("first_layer_attention"))


@torch.no_grad()
def test_the_layer_equals_the_authors(golden):
    layer = golden.encoder.layers[0]
    assert_close(layer(golden.hidden_states, golden.mask), golden.output("first_layer"))


@torch.no_grad()
def test_encoder_and_pooling_equal_the_authors(golden):
    hidden_states = golden.encoder(golden.hidden_states, golden.mask)
    assert_close(hidden_states, golden.output("encoder_last_hidden_state"))
    assert_close(golden.pooling(hidden_states, golden.mask), golden.output("encoder_pooled"))
