"""What a request must fulfil before it is read: a known host, a key where one is needed, a size and a time."""

import asyncio
import hmac
import json
import logging
from typing import Any

from summarizer.serving.options import LOOPBACK

_log = logging.getLogger("summarizer.serving")
_OPEN = ("/", "/page.css", "/page.js", "/healthz")  # without a key: nothing in them is secret
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
        b"form-action 'none'; frame-ancestors 'none'",
    ),
]


class _RefusedError(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Limits:
    """ASGI middleware. Answers in JSON; no answer and no line of the log holds anything of a document."""

    def __init__(self, app: Any, *, key: str | None, local_only: bool, max_bytes: int, body_seconds: float) -> None:
        self._app, self._key, self._local_only = app, key, local_only
        self._max_bytes, self._body_seconds = max_bytes, body_seconds

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_started = False

        async def send_with_headers(message: Any) -> None:
            nonlocal has_started
            if message["type"] == "http.response.start":
                has_started = True
                message = {**message, "headers": [*message.get("headers", []), *_HEADERS]}
            await send(message)

        try:
            body = await self._checked_body(scope, receive)
            await self._app(scope, _replay(body, receive), send_with_headers)
        except _RefusedError as refused:
            await _answer(send_with_headers, refused.status, str(refused))
        except Exception as error:  # its message may quote a document
            _log.error("internal error: %s", type(error).__name__)
            if not has_started:
                await _answer(send_with_headers, 500, "internal error")

    async def _checked_body(self, scope: Any, receive: Any) -> bytes:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "")
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        if self._local_only and name not in LOOPBACK:  # else a page of another site could reach it by a name of its own
            raise _RefusedError(421, "unknown host")
        given = headers.get("authorization", "").removeprefix("Bearer ").encode()
        if self._key and scope["path"] not in _OPEN and not hmac.compare_digest(given, self._key.encode()):
            raise _RefusedError(401, "give the API key: Authorization: Bearer KEY")
        announced = headers.get("content-length", "0")
        if not announced.isdecimal():
            raise _RefusedError(400, "wrong content-length")
        too_large = _RefusedError(413, f"the request is larger than {self._max_bytes:,} bytes")
        if int(announced) > self._max_bytes:
            raise too_large

        async def read() -> bytes:
            body = bytearray()
            while True:
                message = await receive()
                body += message.get("body", b"")
                if len(body) > self._max_bytes:
                    raise too_large
                if not message.get("more_body", False):
                    return bytes(body)

        try:
            return await asyncio.wait_for(read(), self._body_seconds)
        except asyncio.TimeoutError:
            raise _RefusedError(408, "the request was sent too slowly") from None


def _replay(body: bytes, receive: Any) -> Any:
    """A `receive` that gives the body in one message, and then what comes: that the client has gone."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Any:
        return messages.pop() if messages else await receive()

    return replay


async def _answer(send: Any, status: int, message: str) -> None:
    body = json.dumps({"error": message}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
