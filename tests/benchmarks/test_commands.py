"""Every benchmark command for real, at tiny sizes: the file that it writes, its table, and what it refuses."""

import json

import pytest
import torch

from summarizer.benchmarks.compared_models import make_encoder, make_inputs
from summarizer.benchmarks.settings import Sizes
from summarizer.cli.app import main
from summarizer.models.mixers import MIXERS
from summarizer.reporting.benchmark_tables import TABLES, benchmark_table

SIZES = ["--d-model", 32, "--layers", 1, "--heads", 2, "--ffn-dim", 64, "--device", "cpu", "--repeats", 2]
SIZES_WITHOUT_MEMORY = [*SIZES, "--no-memory"]


@pytest.fixture
def measure(tmp_path, capsys):
    """A function that runs a benchmark: the content of its file, what it printed, and the file."""

    def measure(name, *options):
        path = tmp_path / "out" / f"{name}.json"
        main_ends(["benchmark", name, "-o", path, *options], 0)
        return json.loads(path.read_text(encoding="utf-8")), capsys.readouterr().out, path

    return measure


def main_ends(arguments, status):
    try:
        main(list(map(str, arguments)))
        ended = 0
    except SystemExit as end:
        ended = end.code or 0
    assert ended == status


def cells(rows, *columns):
    return [tuple(row[column] for column in columns) for row in rows]


def test_encoders_has_a_row_a_cell_and_ratios_growth_floor_crossover_and_a_plot(measure):
    encoders = "fastformer,full,led,bigbird_pegasus,pegasus_x"
    options = ["--encoders", encoders, "--lengths", "128,64", "--dtype", "float32,bfloat16", "--backward"]
    result, out, path = measure("encoders", *options, *SIZES_WITHOUT_MEMORY)
    assert path.with_suffix(".png").read_bytes()[:4] == b"\x89PNG"
    expected = [(name, length, dtype) for dtype in ("float32", "bfloat16") for length in (64, 128)
                for name in encoders.split(",")]  # fmt: skip
    assert cells(result["rows"], "encoder", "length", "dtype") == expected
    rows = {(row["encoder"], row["length"], row["dtype"]): row for row in result["rows"]}
    for row in result["rows"]:
        assert row["forward_ms"] > 0
        assert row["forward_backward_ms"] > 0
        assert row["parameters"] > 12_000 * 32
        assert row["peak_mb"] is None
        assert (row["batch_size"], row["repeats"]) == (1, 2)
    for ratio in result["ratios"]:
        if ratio["encoder"] != "floor":
            own = rows["fastformer", ratio["length"], ratio["dtype"]]
            row = rows[ratio["encoder"], ratio["length"], ratio["dtype"]]
            assert ratio["forward_ms"] == pytest.approx(row["forward_ms"] / own["forward_ms"])
    flops = 2 * 64 * (32 * 32 + 2 * 32 * 64)
    floor = result["floor"][0]
    assert floor["gflop"] == pytest.approx(flops / 1e9)
    assert floor["gflop_per_second"] == pytest.approx(flops / 1e6 / floor["forward_ms"])
    assert cells(result["growth"], "encoder", "dtype") == [
        (name, dtype) for dtype in ("float32", "bfloat16") for name in encoders.split(",")
    ]
    assert set(result["crossover"]) == {"float32", "bfloat16"}
    assert result["settings"]["sizes"]["d_model"] == 32
    assert {"processor", "torch", "device"} <= set(result["machine"])
    assert out.count("| fastformer |") == 4
    assert benchmark_table("encoders", path) == out.rstrip("\n")


def test_every_mixer_is_an_encoder_to_compare_and_batches_hold_constant_tokens(measure):
    options = ["--encoders", ",".join(MIXERS), "--lengths", "64,32", "--batch-tokens", "128"]
    result, _, _ = measure("encoders", *options, *SIZES_WITHOUT_MEMORY)
    assert cells(result["rows"], "length", "batch_size", "forward_backward_ms") == [
        (length, 128 // length, None) for length in (32, 64) for _ in MIXERS
    ]


def test_every_mixer_reads_documents_of_the_greatest_length_that_is_measured():
    length = 4200  # more than Linformer reads by default
    for name in MIXERS:
        encoder = make_encoder(name, Sizes(d_model=16, layers=1, heads=2, ffn_dim=16, vocab_size=50), length)
        with torch.no_grad():
            assert encoder(**make_inputs(name, 1, length, 50, torch.device("cpu")))[0].shape == (1, length, 16)


def test_generation_compares_systems_that_write_the_same_number_of_tokens(measure):
    options = ["--lengths", "64", "--num-beams", "1,2", "--batch-sizes", "1,2", "--new-tokens", "5"]
    result, out, _ = measure("generation", *options, *SIZES_WITHOUT_MEMORY)
    expected = [
        (name, beams, batch) for beams in (1, 2) for batch in (1, 2) for name in ("fastformer", "expanded", "led")
    ]
    assert cells(result["rows"], "system", "num_beams", "batch_size") == expected
    rows = {(row["system"], row["num_beams"], row["batch_size"]): row for row in result["rows"]}
    for (name, beams, batch), row in rows.items():
        assert 0 < row["beam_ms"] < row["step_ms"]
        assert row["documents_per_second"] > 0
        assert (row["blocking_ms"] is not None) == (name == "fastformer")
        tensors = 1 + 2 + (name != "led")  # hidden states, keys and values of one layer, and ours' copy keys
        copies = 1 if name == "fastformer" else beams
        assert row["document_mb"] == pytest.approx(copies * batch * tensors * 64 * 32 * 4 / 1e6)
    assert cells(result["ratios"], "system") == [("expanded",), ("led",)] * 4
    assert "| expanded |" in out


def test_the_expanded_twin_writes_what_the_shared_document_gives():
    from summarizer.benchmarks.generation import generation_work
    from summarizer.benchmarks.settings import GenerationSettings, Sizes

    settings = GenerationSettings([48], [3], [2], new_tokens=6, sizes=Sizes(32, 1, 2, 64, 300))
    shared, expanded = (generation_work(name, settings, 48, 3, 2, "cpu")() for name in ("fastformer", "expanded"))
    assert shared.shape == (2, 7)
    assert shared.tolist() == expanded.tolist()


def test_training_measures_whole_steps_and_the_floor(measure):
    options = ["--lengths", "64", "--target-tokens", "8", "--batch-tokens", "128", "--dtype", "bfloat16"]
    result, out, _ = measure("training", *options, *SIZES_WITHOUT_MEMORY)
    assert cells(result["rows"], "system", "batch_size") == [("fastformer", 2), ("led", 2), ("bigbird_pegasus", 2)]
    for row in result["rows"]:
        assert row["source_tokens_per_second"] == pytest.approx(128 / (row["step_ms"] / 1000))
    (floor,) = result["floor"]
    assert floor["step_ms"] == pytest.approx(1000 * floor["gflop"] / floor["gflop_per_second"])
    assert cells(result["ratios"], "system") == [("led",), ("bigbird_pegasus",), ("floor",)]
    assert "| floor |" in out


def test_rouge_finds_equal_scores_over_processes(measure):
    options = ["--processes", "2,1", "--examples", "6", "--words", "60", "--repeats", "1"]
    result, out, _ = measure("rouge", *options)
    assert result["equal"] is True
    assert cells(result["rows"], "system", "processes") == [("rouge-score", 1), ("summarizer", 1), ("summarizer", 2)]
    assert result["rows"][0]["speed"] == 1
    assert "equal to the last digit" in out


def test_methods_compares_the_time_of_each_method_with_that_of_extracting(measure, tmp_path):
    documents = tmp_path / "documents.jsonl"
    rows = [{"document": "We treated mice. All of them ran away. We wrote a paper."}] * 2
    documents.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    options = ["--documents", documents, "--max-documents", "1", "--repeats", "1", "--other-model", "default"]
    result, out, _ = measure("methods", *options)
    seconds = {row["method"]: row["seconds_per_document"] for row in result["rows"]}
    assert list(seconds) == ["sumy's LexRank", "extract", "write", "write freely", "other model, write freely"]
    for row in result["rows"]:
        assert row["times_extract"] == pytest.approx(row["seconds_per_document"] / seconds["extract"])
    assert (result["documents"], result["words_per_document"]) == (1, 12)
    assert "Documents: 1, with 12 words on average." in out


@pytest.mark.usefixtures("forked_workers")
def test_mixer_compares_forms_with_equal_outputs_and_their_peak_memory(measure):
    options = ["--length", "2048", "--d-model", "64", "--heads", "4", "--repeats", "2", "--device", "cpu"]
    result, out, _ = measure("mixer", *options)
    folded, literal = result["rows"]
    assert (folded["form"], literal["form"]) == ("folded", "literal")
    assert result["difference"] < 1e-4
    for name, ratio in result["ratios"].items():
        assert ratio == pytest.approx(literal[name] / folded[name])
    assert literal["forward_backward_peak_mb"] > 4 * 2048 * 64 * 4 / 1e6  # several N × d tensors
    assert "literal ÷ folded" in out


@pytest.mark.parametrize("name", [*TABLES, "profile"])
def test_an_unwritable_output_is_found_before_anything_is_measured(name, tmp_path, capsys, monkeypatch):
    (tmp_path / "file").write_text("", encoding="utf-8")
    for output in (tmp_path, tmp_path / "file" / "x.json"):
        main_ends(["benchmark", name, "-o", output], 2)
        err = capsys.readouterr().err
        assert err.startswith("summarizer: error: ")
        assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "status", "named"),
    [
        (["encoders", "--encoders", "fastfomer"], 1, "unknown name 'fastfomer'; choose from bigbird, fastformer, full"),
        (["encoders", "--lengths", "12,x"], 2, "--lengths"),
        (["encoders", "--dtype", "float23"], 2, "--dtype"),
        (["generation", "--systems", "t5"], 1, "choose from fastformer, expanded, led"),
        (["training", "--systems", "t5"], 1, "unknown name 't5'"),
        (["methods", "--documents", "missing.txt"], 1, "missing.txt: no such file"),
    ],
)
def test_what_cannot_be_measured_is_named(arguments, status, named, tmp_path, capsys):
    main_ends(["benchmark", *arguments, "-o", tmp_path / "x.json"], status)
    assert named in capsys.readouterr().err
