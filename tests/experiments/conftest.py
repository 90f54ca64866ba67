import pytest

from tests.corpus import pair_rows, tiny_tokenizer, write_jsonl

BASE = """
data: {{train: [{folder}], validation: [{folder}], test: [{folder}], tokenizer: {folder}/tokenizer,
       cache_dir: {folder}/cache, max_target_tokens: 20, max_test_examples: 5}}
model: {{d_model: 32, encoder_layers: 1, decoder_layers: 1, encoder_attention_heads: 4, decoder_attention_heads: 4,
        encoder_ffn_dim: 32, decoder_ffn_dim: 32}}
training: {{steps: 4, tokens_per_batch: 300, warmup_steps: 1, log_every: 2, validate_every: 2, save_every: 2,
           rouge_examples: 0, trackers: []}}
generation: {{num_beams: 1, max_summary_tokens: 6}}
"""
VARIANTS = {"fastformer": "{}", "no_mixing": "{mixer: none}"}


@pytest.fixture
def configs(tmp_path):
    for seed, split in enumerate(("train", "validation", "test")):
        rows = [{**row, "label": str(number % 2)} for number, row in enumerate(pair_rows(12, seed=seed))]
        write_jsonl(tmp_path / f"{split}.jsonl", rows)
    tiny_tokenizer().save_pretrained(tmp_path / "tokenizer")
    (tmp_path / "base.yaml").write_text(BASE.format(folder=tmp_path), encoding="utf-8")
    for name, model in VARIANTS.items():
        (tmp_path / f"{name}.yaml").write_text(f"base: base.yaml\nmodel: {model}\n", encoding="utf-8")
    return [tmp_path / f"{name}.yaml" for name in VARIANTS]
