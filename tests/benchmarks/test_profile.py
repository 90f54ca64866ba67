import json
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from summarizer.benchmarks.profile import measure, summary_lines
from summarizer.benchmarks.settings import ProfileSettings
from summarizer.data.tokenizer import train_tokenizer
from summarizer.reporting.result_tables import profile_table
from tests.tiny import tiny_model

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("model"))
    tokenizer = train_tokenizer((ROOT / "README.md").read_text(encoding="utf-8").splitlines(), 500)
    tokenizer.save_pretrained(folder)
    tiny_model(vocab_size=len(tokenizer), bos_token_id=2, eos_token_id=3, copy_mechanism=True).save_pretrained(folder)
    return folder


def test_a_profile_has_consistent_figures(model_folder, tmp_path):
    settings = ProfileSettings(model_folder, 2, 64, 6, num_beams=2, dtype="float32", device="cpu", repeats=2)
    result = measure(settings)
    training, summarizing = result["training"], result["summarizing"]
    assert training["source_tokens_per_second"] == pytest.approx(2 * 64 / training["seconds_per_step"])
    floor = training["flops_per_step"] / training["product_flops_per_second"]
    assert training["floor_seconds_per_step"] == pytest.approx(floor)
    assert training["times_the_floor"] > 1
    assert summarizing["documents_per_second"] == pytest.approx(2 / summarizing["seconds_per_batch"])
    for measured in (training, summarizing):
        shares = [operation["share"] for operation in measured["operations"]]
        assert shares == sorted(shares, reverse=True)
        assert 0 < sum(shares) <= 1
    assert len(summary_lines(result)) == 4
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(result))
    assert f"{training['documents_per_second']:.1f}" in profile_table(path)


def test_attention_on_the_cpu_counts_as_two_products_forward_and_five_backward():
    query, key, value = (torch.randn(2, 3, length, 8, requires_grad=True) for length in (5, 7, 7))
    one_product = 2 * 2 * 3 * 5 * 7 * 8
    with FlopCounterMode(display=False) as counter:
        attended = torch.nn.functional.scaled_dot_product_attention(query, key, value)
        forward = counter.get_total_flops()
        attended.sum().backward()
    assert forward == 2 * one_product
    assert counter.get_total_flops() == 7 * one_product
