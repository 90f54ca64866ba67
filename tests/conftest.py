"""Fixtures for all tests; they import the heavy libraries only where a test asks for them."""

import gc
import os
import signal

import pytest

# Where CI=true, a test that is skipped for another reason than these fails.
REASONS_TO_SKIP_IN_CI = (
    "the corpora are not here",
    "needs the shared corpora",
    "no golden files",
    "with a GPU",
    "this processor or this torch has no fused bfloat16 product",
    "this machine does not permit network namespaces",
    "this machine's kernel has no virtual cables",
)

os.environ.setdefault("OMP_NUM_THREADS", "1")  # on tiny tensors more threads only wait for each other
gc.set_threshold(20_000, 50, 50)  # collecting all modules again and again takes 3 % of the time
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job, whose children would ignore it too
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _failed_if_skipped_in_ci(report):
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail"):
        reason = str(report.longrepr[2])
        if not any(allowed in reason for allowed in REASONS_TO_SKIP_IN_CI):
            report.outcome, report.longrepr = "failed", f"a skip in CI is a failure: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return _failed_if_skipped_in_ci((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return _failed_if_skipped_in_ci((yield))


@pytest.fixture(scope="session")
def forked(tmp_path_factory):
    """The server that programs are forked from, where a fresh process would only take longer."""
    from tests.fork_server import Forked

    server = Forked(tmp_path_factory.mktemp("forked"))
    yield server
    server.close()


@pytest.fixture
def forked_workers(forked, monkeypatch):
    """Lets the processes that multiprocessing spawns be forked, too."""
    import multiprocessing.spawn

    for name, value in forked.environment().items():
        monkeypatch.setenv(name, value)
    python = multiprocessing.spawn.get_executable()
    multiprocessing.set_executable(forked.python)
    yield
    multiprocessing.set_executable(python)


@pytest.fixture
def tiny_model():
    """A tiny summarizer with random parameters, in evaluation mode."""
    from tests.tiny import tiny_model

    return tiny_model(copy_mechanism=True, neighbor_kernel_size=3)
