"""Fixtures for all tests; they import the heavy libraries only where a test asks for them."""

import os

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # on tiny tensors more threads only wait for each other


@pytest.fixture(scope="session")
def forked(tmp_path_factory):
    """The server that programs are forked from, where a fresh process would only take longer."""
    from tests.fork_server import Forked

    server = Forked(tmp_path_factory.mktemp("forked"))
    yield server
    server.close()


@pytest.fixture
def tiny_model():
    """A tiny summarizer with random parameters, in evaluation mode."""
    from tests.tiny import tiny_model

    return tiny_model(copy_mechanism=True, neighbor_kernel_size=3)
