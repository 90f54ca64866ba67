import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.skipif(os.name != "posix", reason="a shell's script")
def test_the_environment_is_installed_once_and_dev_holds_the_documents_extra(tmp_path):
    for name in ("scripts/environment.sh", "pyproject.toml", "constraints.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    programs = tmp_path / ".venv/bin"
    programs.mkdir(parents=True)
    (programs / "activate").write_text('PATH="$PWD/.venv/bin:$PATH"')
    (programs / "pip").write_text("#!/bin/sh\necho installed >> pip.log")  # the network has no place in a test
    (programs / "pip").chmod(0o755)
    (programs / "python").symlink_to(sys.executable)
    for extra in ("documents", "documents", "dev", "documents", "dev"):
        command = f"set -euo pipefail; . scripts/environment.sh {extra}"
        subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    assert (tmp_path / "pip.log").read_text() == "installed\n" * 2
