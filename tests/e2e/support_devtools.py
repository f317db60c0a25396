"""A page in a real browser, asked through the browser's own debugging pipe."""

import itertools
import json
import os
import select
import subprocess
import time

import pytest

from support_browser import CHROMIUM, OPTIONS

SECONDS = 60


class Page:
    """Shows one address, and tells what it asked for and what went wrong there."""

    def __init__(self, place, address):
        if not os.access(CHROMIUM, os.X_OK):
            pytest.skip("there is no Chromium here")
        orders, self.orders = os.pipe()
        self.answers, answers = os.pipe()
        options = [one for one in OPTIONS if not one.startswith("--virtual-time")]
        # The browser reads orders from descriptor 3 and writes to 4.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{orders} 4>&{answers}', "bash", CHROMIUM, *options,
             "--remote-debugging-pipe", f"--user-data-dir={place / 'browser'}"],
            pass_fds=(orders, answers), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env={**os.environ, "HOME": str(place)})
        os.close(orders)
        os.close(answers)
        self.numbers, self.pending, self.events = itertools.count(1), b"", []
        target = self.order("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.order("Target.attachToTarget", targetId=target,
                                  flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.order(f"{domain}.enable")
        self.order("Page.navigate", url=address)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.session = None
        self.send("Browser.close", {})
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.orders)
        os.close(self.answers)

    def send(self, method, parameters):
        message = {"id": next(self.numbers), "method": method, "params": parameters}
        if getattr(self, "session", None):
            message["sessionId"] = self.session
        os.write(self.orders, json.dumps(message).encode() + b"\0")
        return message["id"]

    def order(self, method, **parameters):
        number = self.send(method, parameters)
        deadline = time.monotonic() + SECONDS
        while True:
            message = self.read(deadline)
            if message.get("id") == number:
                assert "error" not in message, (method, message)
                return message["result"]
            self.events.append(message)

    def read(self, deadline):
        while b"\0" not in self.pending:
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self.answers], [], [], left)[0], "no answer"
            chunk = os.read(self.answers, 1 << 16)
            assert chunk, "the browser has gone"
            self.pending += chunk
        text, self.pending = self.pending.split(b"\0", 1)
        return json.loads(text)

    def value(self, expression):
        found = self.order("Runtime.evaluate", expression=expression, awaitPromise=True,
                           returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def of(self, method):
        return [one["params"] for one in self.events if one.get("method") == method]

    @property
    def requests(self):
        return [one["request"]["url"] for one in self.of("Network.requestWillBeSent")]

    @property
    def complaints(self):
        """Errors and warnings of scripts, of the console and of the browser itself."""
        said = [one for one in self.of("Runtime.consoleAPICalled")
                if one["type"] in ("error", "warning", "assert")]
        logged = [one for one in self.of("Log.entryAdded")
                  if one["entry"]["level"] in ("error", "warning")]
        return said + logged + self.of("Runtime.exceptionThrown")
