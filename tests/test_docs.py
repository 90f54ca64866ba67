"""Every command and every Python snippet of the documentation runs, and its tables are those of the result files."""

import json
import re
import shlex
import shutil
import subprocess
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from summarizer import __version__
from tests.fork_server import Forked

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "samples/README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
# These are what runs the tests, or what a test of its own runs.
ELSEWHERE = (
    *("bash scripts/quickstart.sh", "bash scripts/test.sh", "bash scripts/gpu_check.sh gpu_check"),
    *("python scripts/proofs/training_resume.py --kills 25", "python scripts/proofs/training_scaling.py"),
    "bash scripts/proofs/two_machines.sh",
    "summarizer serve",  # tests/serving/test_page.py
    "summarizer ray samples/documents samples/pairs.jsonl -o ray.parquet --dtype float32",  # tests/batch/test_ray.py
)
# Benchmarks are shown at their real size; here they are tiny. Of an option given twice, the last counts.
SMALL = "--d-model 32 --heads 2 --repeats 1"
SMALL_MODELS = f"{SMALL} --no-memory --layers 1 --ffn-dim 32 --lengths 64"
BENCHMARKS = {
    "encoders": SMALL_MODELS,
    "generation": f"{SMALL_MODELS} --batch-sizes 1 --new-tokens 2",
    "training": f"{SMALL_MODELS} --target-tokens 8",
    "rouge": "--examples 2 --words 20 --repeats 1 --processes 1",
    "mixer": f"{SMALL} --no-memory --length 128",
    "methods": "--max-documents 1 --repeats 1",
}
# Training commands of the pages are real ones; here they end after two steps of a tiny model.
SHORT = (
    "training.steps=2 training.validate_every=2 training.save_every=1 training.rouge_examples=1 "
    "training.tokens_per_batch=1024 data.max_source_tokens=128 data.max_target_tokens=16 "
    "generation.max_summary_tokens=4 "
    "data.max_train_examples=4 data.max_validation_examples=1 data.max_test_examples=2"
)
TINY = (
    "model.d_model=32 model.encoder_layers=1 model.decoder_layers=1 model.encoder_ffn_dim=32 model.decoder_ffn_dim=32"
)


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def commands(page: Path) -> list[str]:
    lines = [line for block in blocks(page, "bash") for line in block.splitlines() if line]
    return [line for line in dict.fromkeys(lines) if line not in ELSEWHERE]


@pytest.fixture
def workplace(tmp_path):
    """A folder that looks like the repository to a command, with a small corpus of one's own."""
    folder = tmp_path / "workplace"
    folder.mkdir()
    for name in ("configs", "scripts", "samples", "summarizer", "README.md"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "my_papers").symlink_to(ROOT / "samples/documents")
    corpus = folder / "my_corpus"
    corpus.mkdir()
    for split in ("train", "validation", "test"):
        shutil.copy(ROOT / "samples/pairs.jsonl", corpus / f"{split}.jsonl")
        words = "the cells were treated with a dose of the drug " * 12
        (folder / "my_labels").mkdir(exist_ok=True)
        rows = [{"text": f"{label} {words[:40]}", "label": label} for label in ("sport", "business") * 2]
        (folder / "my_labels" / f"{split}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        (folder / "my_articles").mkdir(exist_ok=True)
        article = {"document": f"BACKGROUND\n{words}\nRESULTS\n{words}", "summary": "A summary."}
        (folder / "my_articles" / f"{split}.jsonl").write_text(json.dumps(article), encoding="utf-8")
    return folder


def shortened(command: str) -> str:
    if benchmark := re.match(r"(?:env \w+=\S+ )?summarizer benchmark (\w+)", command):
        return f"{command} {BENCHMARKS[benchmark[1]]}"
    if "summarize" in command and "--model runs/" in command:  # by a model that has learned nothing: distinct pieces
        return f"{command} --min-summary-tokens 8 --max-summary-tokens 8 --no-repeat-ngram-size 1"
    if command.startswith("summarizer summarize"):
        return f"{command} --max-source-tokens 256 --max-summary-tokens 12"
    if not re.search(r"scripts/train\.py|summarizer train|compare_encoders\.py", command):
        return command
    command = command.replace("--steps 1000 --seeds 1,2", "--steps 2").replace(" configs/ablations/full.yaml", "")
    tiny = "" if "finetune" in command else f" {TINY}"
    more = SHORT.replace("steps=2", "steps=3") if "resume=true" in command else SHORT
    return f"{command} {more}{tiny}"


def run(arguments: list[str], folder: Path, forked: Forked) -> subprocess.CompletedProcess[str]:
    environment = forked.environment()
    arguments[0] = shutil.which(arguments[0], path=environment["PATH"]) or arguments[0]
    return subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True, timeout=240)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in PAGES if commands(page) and page.name != "tutorial.md"], ids=lambda page: page.name
)
def test_every_command_of_the_page_runs_one_after_the_other(page, workplace, forked):
    failed = []
    for command in commands(page):
        done = run(shlex.split(shortened(command)), workplace, forked)
        if done.returncode:
            failed.append(f"{command}\n{done.stdout[-1000:]}{done.stderr[-2000:]}")
    assert not failed, "\n\n".join(failed)


@pytest.mark.parametrize("number", range(2))
def test_the_python_of_the_readme_runs(number, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    exec(blocks(ROOT / "README.md", "python")[number], {})
    assert capsys.readouterr().out.strip()


def test_the_python_of_its_page_runs_one_block_after_the_other(workplace, monkeypatch, capsys):
    from accelerate.state import AcceleratorState

    monkeypatch.chdir(workplace)
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    AcceleratorState._reset_state(reset_partial_state=True)
    names: dict[str, object] = {}
    for block in blocks(ROOT / "docs/python.md", "python"):
        exec(block, names)
    AcceleratorState._reset_state(reset_partial_state=True)
    said = capsys.readouterr().out
    assert "2 of 3\n" in said
    assert "3 of 3" not in said
    assert "runs/from_python/best" in said
    assert "did you mean steps?" in said


def test_the_readme_installs_the_tested_version_of_torch():
    (version,) = re.findall(r"^torch==(\S+)", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert f"pip install torch=={version} --index-url" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_pages_name_files_that_exist():
    for page in PAGES:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_tables_are_those_of_the_result_files(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    scripts = import_module("update_results")
    for page in scripts.PAGES:
        text = page.read_text(encoding="utf-8")
        assert "<!-- table:" in text
        assert scripts.updated(text) == text


def test_the_page_of_the_configuration_is_that_of_the_data_classes(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    script = import_module("write_configuration_page")
    assert script.PAGE.read_text(encoding="utf-8") == script.page()
    assert "| `training.steps` | `int` | `10000` |" in script.page()


def test_the_sample_pairs_are_the_sample_documents_with_their_references():
    from summarizer.documents.read import read_document

    references, pairs = (
        [json.loads(line) for line in (ROOT / "samples" / name).read_text(encoding="utf-8").splitlines()]
        for name in ("references.jsonl", "pairs.jsonl")
    )
    assert [(pair["id"], pair["summary"]) for pair in pairs] == [(item["id"], item["summary"]) for item in references]
    for pair in pairs:
        assert pair["document"] == read_document(ROOT / "samples/documents" / pair["id"]).text


@pytest.mark.slow
def test_the_script_of_the_whole_day_runs_the_commands_of_the_tutorial_to_a_scored_model(tmp_path, forked):
    script = (ROOT / "scripts/whole_day.sh").read_text(encoding="utf-8").replace('"$configs/', "configs/")
    for command in commands(ROOT / "docs/tutorial.md"):
        assert command in script.replace('.yaml"', ".yaml")
    settings = ["training.steps=2", "training.validate_every=2", "training.rouge_examples=1"]
    small = ["data.max_source_tokens=128", "generation.max_summary_tokens=4", "training.trackers=[]"]
    done = run(["bash", str(ROOT / "scripts/whole_day.sh"), "day", *settings, *small], tmp_path, forked)
    assert done.returncode == 0, done.stderr[-2000:]
    for said in ("1 × broken JSON (first: raw/papers.jsonl:9)", "1 rows equal an earlier row", "validation: 1 pairs"):
        assert said in done.stderr
    folder = tmp_path / "day"
    scores = json.loads((folder / "runs/tutorial/test/scores.json").read_text(encoding="utf-8"))
    assert {"lead", "random"} <= {name.partition("-")[0] for name in scores["baselines"]}
    assert "- Test: " in (folder / "runs/tutorial/best/README.md").read_text(encoding="utf-8")
    assert (folder / "comparison/comparison.html").is_file()
    assert len((folder / "summaries.jsonl").read_text(encoding="utf-8").splitlines()) == 2


def test_the_citation_names_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (citation["version"], citation["cff-version"]) == (__version__, "1.2.0")
