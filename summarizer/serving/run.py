"""Starts the service."""

import logging
import os
import socket

import uvicorn

from summarizer.errors import UsageError
from summarizer.generation.summarizer import Summarizer
from summarizer.serving.app import make_app
from summarizer.serving.options import KEY_VARIABLE, LOOPBACK, ServingOptions
from summarizer.serving.worker import SummaryWorker

_SECONDS_TO_STOP = 30


def serve(options: ServingOptions) -> None:
    """Serve until SIGINT or SIGTERM. Raises UsageError if the address is not allowed or not free."""
    key = os.environ.get(KEY_VARIABLE) or None
    if options.host not in LOOPBACK and key is None:
        raise UsageError(f"--host {options.host} can be reached from other machines; set an API key in {KEY_VARIABLE}")
    try:
        family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
        listening = socket.create_server((options.host, options.port), family=family)
    except OSError as error:
        raise UsageError(f"cannot listen at {options.host}:{options.port}: {error.strerror or error}") from error
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    worker = SummaryWorker(
        Summarizer.from_pretrained(options.model, options.device, options.dtype), options.max_waiting
    )
    app = make_app(worker, options, key)
    host = f"[{options.host}]" if ":" in options.host else options.host
    print(f"Serving at http://{host}:{listening.getsockname()[1]}/", flush=True)
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, timeout_graceful_shutdown=_SECONDS_TO_STOP
    )
    uvicorn.Server(config).run(sockets=[listening])
