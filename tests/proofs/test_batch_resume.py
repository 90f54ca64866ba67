"""The script that kills batches, at a small size."""

import json
import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts/proofs/batch_resume.py"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_batches_go_on_without_loss(forked, tmp_path):
    command = [forked.python, SCRIPT, "--kills", "2", "--documents", "20", "-o", tmp_path / "result.json"]
    done = subprocess.run(command, env=forked.environment(), capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads(done.stdout.splitlines()[-1])
    assert result == json.loads((tmp_path / "result.json").read_text())
    assert (result["kills"], result["lost"], result["twice"], result["unequal_outputs"]) == (2, 0, 0, 0)
    assert result["proved"]
