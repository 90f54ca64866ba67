"""A real browser for tests, spoken to over the pipe of Chromium's developer tools."""

import json
import os
import select
import subprocess
import time
from typing import Any

OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-zygote", "--single-process", "--remote-debugging-pipe")
SECONDS = 30


class Browser:
    """One page in a Chromium without a window; close it by `with`."""

    def __init__(self, executable: str, url: str) -> None:
        reads, to_browser = os.pipe()
        from_browser, writes = os.pipe()
        command = ["bash", "-c", f'exec "$@" 3<&{reads} 4>&{writes}', "browser", executable, *OPTIONS]
        self._process = subprocess.Popen(command, pass_fds=(reads, writes), stderr=subprocess.DEVNULL)
        os.close(reads)
        os.close(writes)
        self._to, self._from, self._received, self._id, self._session = to_browser, from_browser, b"", 0, {}
        target = self.call("Target.createTarget", url=url)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._session = {"sessionId": session}
        while self.evaluate("document.readyState + location.protocol") != "completefile:":
            time.sleep(0.05)

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of a command of the developer tools protocol."""
        self._id += 1
        message = {"id": self._id, "method": method, "params": parameters, **self._session}
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            *messages, self._received = self._received.split(b"\0")
            for answer in map(json.loads, messages):
                if answer.get("id") == self._id:
                    return answer["result"]
            assert select.select([self._from], [], [], SECONDS)[0], f"no answer to {method}"
            received = os.read(self._from, 1 << 16)
            assert received, "the browser ended"
            self._received += received
