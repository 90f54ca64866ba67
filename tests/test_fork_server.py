"""A forked program sees and does what it would in a fresh interpreter, and ends as it would."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ABOUT = """
import json, os, sys
from pathlib import Path
mask = os.umask(0)
print(json.dumps([sys.argv, sys.path[0], os.getcwd(), os.environ["GIVEN"], mask, __name__, sys.stdin.read()]))
sys.stderr.write("to stderr")
sys.exit(int(sys.argv[-1]))
"""
ENDINGS = {
    "a failure": "raise ValueError('no')",
    "an interrupt": "raise KeyboardInterrupt",
    "a message": "import sys; sys.exit('said at the end')",
    "a crash": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "what runs at the end": "import atexit; atexit.register(print, 'last'); print('first')",
}


@pytest.fixture
def run(forked, tmp_path):
    """A function that runs a program forked and fresh, and gives what both wrote, and their statuses."""

    def run(*arguments):
        environment = forked.environment(GIVEN="a value")
        return [
            subprocess.run(
                [python, *arguments], cwd=tmp_path, env=environment, umask=0o027, input="some input", text=True,
                capture_output=True, timeout=60, check=False,
            )
            for python in (forked.python, sys.executable)
        ]  # fmt: skip

    return run


@pytest.mark.parametrize("how", [["script.py"], ["-m", "script"], ["-c", ABOUT], ["-u", "script.py"]])
def test_it_has_the_arguments_and_surroundings_of_a_fresh_one(run, tmp_path, how):
    (tmp_path / "script.py").write_text(ABOUT)
    forked, fresh = run(*how, "two words", "3")
    assert (forked.stdout, forked.stderr, forked.returncode) == (fresh.stdout, "to stderr", 3)
    assert "some input" in forked.stdout


@pytest.mark.parametrize("ending", ENDINGS)
def test_it_ends_as_a_fresh_one(run, ending):
    forked, fresh = run("-c", ENDINGS[ending])
    assert (forked.stdout, forked.returncode) == (fresh.stdout, fresh.returncode)
    assert forked.stderr.splitlines()[-1:] == fresh.stderr.splitlines()[-1:]


def test_variables_that_are_read_at_import_start_a_fresh_one(forked):
    code = "import sys; print(sys.flags.utf8_mode, 'torch' in sys.modules)"
    said = [
        subprocess.check_output([forked.python, "-c", code], env=forked.environment(**variables), text=True)
        for variables in ({}, {"PYTHONUTF8": "1"})
    ]
    assert said == ["0 True\n", "1 False\n"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_signals_reach_it(forked, number):
    command = [forked.python, "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(60)"]
    with subprocess.Popen(
        command, env=forked.environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        child = int(process.stdout.readline())
        process.send_signal(number)
        assert process.wait(timeout=30) == -number
    until = time.monotonic() + 30
    while Path(f"/proc/{child}").exists():
        assert time.monotonic() < until
        time.sleep(0.01)
