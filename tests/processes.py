"""Several processes that train together, forked from one that has imported everything: quicker than a launcher."""

import subprocess

from tests.fork_server import Forked

FORK = """
import os, socket, sys, time
from pathlib import Path
import datasets
from summarizer.config_files import load_config
from summarizer.errors import InputError
from summarizer.training import distributed, loop, summarization

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1]), "WORLD_SIZE": "2"}
child = os.fork()
rank = 0 if child else 1
os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank)}
try:
    run(rank)
except InputError as error:
    print(f"ended: {error}", file=sys.stderr, flush=True)
if child:
    os.waitpid(child, 0)
os._exit(0)
"""


def said_by_two_processes(forked: Forked, code: str, *arguments: str, **variables: str) -> str:
    """What two processes that call `run(rank)` of `code` have written to stderr; an InputError as "ended: …"."""
    command = [forked.python, "-c", code + FORK, *arguments]
    set_up = forked.environment(ACCELERATE_USE_CPU="true", **variables)
    done = subprocess.run(command, env=set_up, capture_output=True, text=True, timeout=200, check=False)
    return done.stderr
