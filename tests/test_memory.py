import os
import subprocess
import sys

import pytest

CODE = """
import sys
from summarizer.memory import keep_freed_memory
kept = keep_freed_memory()
for _ in range(3):
    blocks = [bytearray(size) for size in (1, 100_000, 50_000_000)]
    assert all(block.count(0) == len(block) for block in blocks)
    del blocks
import numpy
assert float(numpy.ones(3_000_000).sum()) == 3_000_000
print(kept)
"""


def run(**variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    done = subprocess.run(
        [sys.executable, "-c", CODE], env={**environment, **variables}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_memory_can_be_taken_and_freed_after_asking_to_keep_it():
    assert run() in ("True", "False")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's setting")
def test_the_users_own_settings_of_malloc_stay():
    assert run(MALLOC_TRIM_THRESHOLD_="1000") == "False"
