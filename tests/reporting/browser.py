"""A real browser, headless, by the DevTools protocol."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WAIT = 60.0


def find():
    """The path of a Chromium, or None."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """One tab: commands go out, events are kept."""

    def __init__(self, socket):
        self.socket = socket
        self.count = 0
        self.events = []

    def call(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        self.socket.send(json.dumps(message))
        while True:
            answer = json.loads(self.socket.recv(timeout=WAIT))
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def run(self, expression):
        """The value of a JavaScript expression, awaited if it is a promise."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def wait(self, expression):
        end = time.monotonic() + WAIT
        while not self.run(expression):
            if time.monotonic() > end:
                raise TimeoutError(expression)
            time.sleep(0.02)

    def open(self, path):
        self.events.clear()
        self.call("Page.navigate", url=Path(path).resolve().as_uri())
        self.wait("document.documentElement?.dataset.ready === 'yes'")

    def frames(self, n=3):
        """Let the page draw."""
        for _ in range(n):
            self.run("new Promise((done) => requestAnimationFrame(() => done(1)))")

    def size(self, width, height, *, mobile=False, scale=1):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=mobile,
        )

    def dark(self, on=True):
        feature = {"name": "prefers-color-scheme", "value": "dark" if on else "light"}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def key(self, name):
        for kind in ("keyDown", "keyUp"):
            code = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}.get(name, 0)
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code
            )

    def screenshot(self, path, *, whole=False):
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(answer["data"]))

    def pdf(self):
        answer = self.call("Page.printToPDF", printBackground=True)
        return base64.b64decode(answer["data"])

    def complaints(self):
        """Errors and warnings in the console, exceptions, and violations of the policy."""
        found = []
        for event in self.events:
            method, details = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                found.append(details["exceptionDetails"]["text"])
            if method == "Runtime.consoleAPICalled" and details["type"] in ("error", "warning"):
                found.append(json.dumps(details["args"]))
            if method == "Log.entryAdded" and details["entry"]["level"] in ("error", "warning"):
                found.append(details["entry"]["text"])
        return found

    def requests(self):
        """What was asked for, other than the page itself and what is inside it."""
        asked = [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in asked if not url.startswith(("data:", "blob:"))]


@contextmanager
def opened(folder):
    """A page of a browser that keeps its profile in ``folder``."""
    from websockets.sync.client import connect

    command = [
        find(),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--hide-scrollbars",
        "--remote-debugging-port=0",
        f"--user-data-dir={folder}",
        "about:blank",
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with connect(_address(Path(folder)), max_size=None, compression=None) as socket:
            page = Page(socket)
            for domain in ("Page", "Runtime", "Log", "Network"):
                page.call(f"{domain}.enable")
            yield page
    finally:
        process.terminate()
        process.wait(timeout=WAIT)


def _address(folder):
    """The socket of the first tab, once the browser has said on which port it listens."""
    from urllib.request import ProxyHandler, build_opener

    end = time.monotonic() + WAIT
    said = folder / "DevToolsActivePort"
    while time.monotonic() < end:
        if said.exists() and len(lines := said.read_text().split()) == 2:
            straight = build_opener(ProxyHandler({}))
            with straight.open(f"http://127.0.0.1:{lines[0]}/json/list", timeout=WAIT) as answer:
                tabs = [tab for tab in json.load(answer) if tab["type"] == "page"]
            if tabs:
                return tabs[0]["webSocketDebuggerUrl"]
        time.sleep(0.05)
    raise TimeoutError("the browser did not start")
