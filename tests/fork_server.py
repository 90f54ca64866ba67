"""Python programs without the seconds that importing torch takes: forked from a process that has imported it.

`Forked` puts commands `python`, `summarizer` and `accelerate` into a folder. Each hands its arguments, environment,
working folder and open files to the server, which forks: the child runs the program as a fresh interpreter would, and
the command ends as the child ends. What cannot be the same in a forked process (see `tests.fork_client`) runs in a
fresh one. Tests of start-up, of what is imported and of closed streams use `sys.executable` instead.
"""

import atexit
import contextlib
import ctypes
import fcntl
import gc
import marshal
import os
import pkgutil
import runpy
import select
import shlex
import signal
import socket
import subprocess
import sys
import threading
import traceback
import types
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from tests.fork_client import FORWARDED, variables_read_at_import

ROOT = Path(__file__).parents[1]
CLONE_NEWNET = 0x40000000
COMMANDS = ("python", "python3", "summarizer", "accelerate")
IMPORTED = (
    *(
        "torch",
        "torch.distributed.run",
        "torch.distributed.fsdp",
        "torch.utils.tensorboard",
        "transformers",
        "datasets",
    ),
    *("transformers.models.auto.modeling_auto", "transformers.models.bart.modeling_bart"),
    *("transformers.models.led.modeling_led", "transformers.models.pegasus_x.modeling_pegasus_x", "matplotlib.pyplot"),
    *("accelerate", "accelerate.commands.launch", "accelerate.commands.accelerate_cli", "safetensors.torch", "peft"),
    *("pypdf", "pypdfium2.raw", "trafilatura", "typer.testing", "rich.progress", "scipy.stats"),
)


class Forked:
    """A running server; `python` and the other commands lie in `folder`, and are first on `environment()`'s PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.python = folder, str(folder / "python")
        self._variables = {
            "PATH": os.pathsep.join((str(folder), str(Path(sys.executable).parent), os.environ["PATH"])),
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
            "HF_HUB_OFFLINE": "1",
            "HF_HOME": str(folder / "home"),
        }
        client = shlex.join([sys.executable, "-I", "-S", str(ROOT / "tests/fork_client.py"), str(folder)])
        for name in COMMANDS:
            path = folder / name
            path.write_text(f'#!/bin/sh\nexec {client} {name} "$@"\n', encoding="utf-8")
            path.chmod(0o755)
        command = [sys.executable, __file__, str(folder)]
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
        if self._process.stdout.readline() != b"ready\n":
            raise RuntimeError("the fork server did not start")

    def environment(self, **variables: str) -> dict[str, str]:
        """The variables of this process and the given ones, for a program that is to be forked."""
        return {**os.environ, **self._variables, **variables}

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()


def _import_everything() -> None:
    import summarizer

    packages = pkgutil.walk_packages(summarizer.__path__, "summarizer.")
    for name in (*IMPORTED, *(module.name for module in packages)):
        if not name.endswith("__main__"):
            import_module(name)
    threads = [(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()]
    others = [name for name in threads[1:] if name != "jemalloc_bg_thd"]  # pyarrow's, which survives a fork
    assert not others, f"a process with the threads {others} cannot be forked"


class _Server:
    def __init__(self, folder: Path) -> None:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(folder / "socket"))
        self._listener.listen(64)
        self._children: dict[int, tuple[socket.socket, bool]] = {}
        self._wake, wakes = socket.socketpair()
        self._wake.setblocking(False)
        wakes.setblocking(False)
        self._wakes = wakes
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakes.fileno())

    def next_child(self) -> dict:
        """Serves until the owner closes stdin; returns only in a forked child, with its request."""
        while True:
            connections = {connection: pid for pid, (connection, _) in self._children.items()}
            ready, _, _ = select.select([0, self._listener, self._wake, *connections], [], [])
            if 0 in ready:
                for pid in self._children:
                    os.kill(pid, signal.SIGKILL)
                sys.exit()
            if self._wake in ready:
                self._wake.recv(4096)
                self._answer_for_the_dead()
            for connection in ready:
                pid = connections.get(connection)
                if pid in self._children:
                    self._forward_signal(pid)
            if self._listener in ready and (request := self._accept()) is not None:
                return request

    def _answer_for_the_dead(self) -> None:
        for pid, (connection, _) in list(self._children.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del self._children[pid]
                with connection, contextlib.suppress(OSError):  # its command was killed
                    connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True))

    def _forward_signal(self, pid: int) -> None:
        connection, leads = self._children[pid]
        try:
            numbers = connection.recv(16)
        except ConnectionError:
            numbers = b""
        for number in numbers or [signal.SIGKILL]:  # a command that was killed cannot pass that on
            (os.killpg if leads else os.kill)(pid, number)

    def _accept(self) -> dict | None:
        connection, _ = self._listener.accept()
        head, files, _, _ = socket.recv_fds(connection, 8, 253)
        remaining, content = int.from_bytes(head, "big"), b""
        while remaining > len(content) and (part := connection.recv(remaining - len(content))):
            content += part
        if len(content) < remaining:
            return None
        request = marshal.loads(content)
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            others = [other for other, _ in self._children.values()]
            for held in (connection, self._listener, self._wake, self._wakes, *others):
                os.close(held.detach())
            return {**request, "received": files}
        for file in files:
            os.close(file)
        self._children[pid] = connection, request["leads"]
        return None


def _become(request: dict, folder: Path) -> None:
    """Give this forked process the surroundings of the command."""
    os.setsid() if request["leads"] else os.setpgrp()
    for number in FORWARDED:
        signal.signal(number, signal.SIG_IGN if number in request["ignored"] else signal.SIG_DFL)
    if signal.SIGINT not in request["ignored"]:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    network, *received = request["received"]
    if request["changes_network"] and ctypes.CDLL(None).setns(network, CLONE_NEWNET) != 0:
        raise OSError("cannot enter the network namespace of the command")
    lowest = max(*request["files"], *received, network, 64) + 1
    moved = [fcntl.fcntl(file, fcntl.F_DUPFD, lowest) for file in received]
    os.closerange(0, lowest)
    for file, number in zip(moved, request["files"], strict=True):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    os.umask(request["umask"])
    arguments = request["arguments"]
    unbuffered = arguments[0] == "-u"
    sys.argv = arguments[1:] if unbuffered else arguments
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 (as long as the process)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False, buffering=1 if os.isatty(1) else -1)  # noqa: SIM115 (as long as the process)
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1, errors="backslashreplace")  # noqa: SIM115 (as long as the process)
    if unbuffered:
        sys.stdout.reconfigure(write_through=True)
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    sys.executable = str(folder / "python")
    import multiprocessing

    multiprocessing.set_executable(sys.executable)
    sys.modules["__main__"] = types.ModuleType("__main__")
    vars(sys.modules["__main__"])["__builtins__"] = __builtins__


def _run() -> None:
    """Run the program that sys.argv names, as Python does."""
    first = sys.argv[0]
    if first == "-m":
        sys.path[0] = str(Path.cwd())
        del sys.argv[0]
        module = sys.argv[0]
        sys.argv[0] = "-m"
        runpy._run_module_as_main(module)
        return
    main = vars(sys.modules["__main__"])
    if first == "-c":
        sys.path[0] = ""
        code = compile(sys.argv.pop(1), "<string>", "exec")
    else:
        sys.path[0] = str(Path(first).resolve().parent)
        main |= {"__file__": first, "__cached__": None}
        code = compile(Path(first).read_bytes(), first, "exec", dont_inherit=True)
    exec(code, main)


def _outcome() -> int | str | None:
    """Run the program; returns what it gave sys.exit, or -SIGINT."""
    try:
        _run()
    except SystemExit as error:
        return error.code
    except KeyboardInterrupt:
        traceback.print_exc()
        return -signal.SIGINT
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _end(outcome: int | str | None) -> NoReturn:
    """End as Python does, but without taking down the imported modules, which takes 0.6 s."""
    threading._shutdown()
    atexit._run_exitfuncs()
    if isinstance(outcome, str):
        print(outcome, file=sys.stderr)
        outcome = 1
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
    if outcome == -signal.SIGINT:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit((outcome or 0) & 0xFF)


if __name__ == "__main__":
    folder, sys.path[0] = Path(sys.argv[1]), str(ROOT)
    _import_everything()
    gc.freeze()  # what a child never collects it never copies
    server = _Server(folder)
    about = {
        "python": sys.executable,
        "variables": variables_read_at_import(dict(os.environ)),
        "network": str(Path("/proc/self/ns/net").readlink()),
    }
    (folder / "server").write_bytes(marshal.dumps(about))
    print("ready", flush=True)
    request = server.next_child()
    _become(request, folder)
    _end(_outcome())
