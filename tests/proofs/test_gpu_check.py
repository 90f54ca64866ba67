import json
import subprocess
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="with a GPU it is no tiny run")
def test_the_gpu_check_says_that_there_is_no_gpu_and_runs_tiny_on_the_cpu(forked, tmp_path):
    done = subprocess.run(
        ["bash", ROOT / "scripts/gpu_check.sh", tmp_path / "out"],
        cwd=ROOT, env=forked.environment(), capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith("no GPU: ")
    result = json.loads((tmp_path / "out/gpu_check.json").read_text(encoding="utf-8"))
    assert result["card"] is None
    assert result["correctness"]["float32"]["same_summaries"]
    assert result["correctness"]["float32"]["gradients"] < 1e-3
    assert {row["encoder"] for row in result["encoders"]["rows"]} == {"fastformer", "full", "led", "pegasus_x"}
    assert {row["system"] for row in result["generation"]["rows"]} == {"fastformer", "expanded", "led"}
    assert result["training"][-1]["step"] == 2
