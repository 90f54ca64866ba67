"""What the commands of `tests.fork_server.Forked` run: fork_client.py FOLDER PROGRAM ARGUMENTS…

Asks the server of the folder to run the program, passes signals on, and ends as the program ends. It runs as
`python -I -S`, and imports only what is built in: it starts in some 10 ms.
"""

# What these rules want takes longer to import than all of this.
# ruff: noqa: PTH109, PTH115, PTH120, PTH123, PTH208, SIM105
import _socket
import marshal
import os
import sys

FORWARDED = (1, 2, 3, 10, 12, 15)  # SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM
# Read when Python or a library is imported or started, where a forked process has the values of its server.
READ_AT_IMPORT = ("PYTHON", "HF_", "HUGGINGFACE_", "TRANSFORMERS_", "OMP_", "MKL_", "LD_", "CUDA_", "MPL")


def variables_read_at_import(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(READ_AT_IMPORT)}


def main() -> int:
    import _signal

    folder, program, *arguments = sys.argv[1:]
    with open(f"{folder}/server", "rb") as file:
        server = marshal.load(file)
    if program in ("python", "python3"):
        command = [server["python"], *arguments]
    else:
        command = [server["python"], f"{os.path.dirname(server['python'])}/{program}", *arguments]
    forkable = len(command) > 1 and (not command[1].startswith("-") or command[1] in ("-c", "-m", "-u"))
    same = variables_read_at_import(dict(os.environ)) == server["variables"]
    if not (forkable and same):
        os.execv(command[0], command)
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    mine = connection.fileno()
    files = [number for number in map(int, os.listdir("/proc/self/fd")) if number != mine and _is_open(number)]
    request = {
        "arguments": command[1:],
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "umask": _umask(),
        "leads": os.getsid(0) == os.getpid(),
        "files": files,
        "changes_network": os.readlink("/proc/self/ns/net") != server["network"],
        "ignored": [number for number in FORWARDED if _signal.getsignal(number) == _signal.SIG_IGN],
    }
    content = marshal.dumps(request)
    connection.connect(f"{folder}/socket")
    network = os.open("/proc/self/ns/net", os.O_RDONLY)
    descriptors = b"".join(number.to_bytes(4, sys.byteorder) for number in (network, *files))
    connection.sendmsg([len(content).to_bytes(8, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)])
    connection.sendall(content)

    def forward(number, _):
        try:
            connection.send(bytes([number]))
        except OSError:
            pass  # it has ended

    for number in FORWARDED:
        if number not in request["ignored"]:
            _signal.signal(number, forward)
    answer = connection.recv(4)
    if len(answer) < 4:
        return 70  # the server is gone
    status = int.from_bytes(answer, "big", signed=True)
    if status < 0:
        _signal.signal(-status, _signal.SIG_DFL) if -status not in (9, 19) else None
        os.kill(os.getpid(), -status)
    return status


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


if __name__ == "__main__":
    os._exit(main())
