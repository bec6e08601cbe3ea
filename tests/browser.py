"""A real browser for tests: Chromium, driven by chromedriver over WebDriver's HTTP."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

CHROMIUM: Final = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
DRIVER: Final = shutil.which("chromedriver")
MISSING: Final = "needs chromium and chromedriver"
FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--disable-dev-shm-usage",
)
START: Final = 60.0  # seconds
ENTER: Final = "\ue007"
ESCAPE: Final = "\ue00c"
DOWN: Final = "\ue015"


class BrowserError(Exception):
    """The driver or a script in the page reports an error."""


class Browser:
    """A window; `folder`: an empty one for its profile."""

    def __init__(self, folder: Path, width: int = 1400, height: int = 900) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        log = (folder / "driver.log").open("wb")
        assert DRIVER is not None
        self.driver = subprocess.Popen([DRIVER, f"--port={self.port}"], stdout=log, stderr=log)
        log.close()
        self.session = ""
        try:
            self._open(folder, width, height)
        except BaseException:
            self.close()
            raise

    def _open(self, folder: Path, width: int, height: int) -> None:
        end = time.monotonic() + START
        while True:
            try:
                self._call("GET", "/status")
                break
            except OSError:
                if time.monotonic() > end or self.driver.poll() is not None:
                    raise
                time.sleep(0.1)
        arguments = [*FLAGS, f"--user-data-dir={folder / 'profile'}", f"--window-size={width},{height}"]
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": CHROMIUM, "args": arguments},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        made = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = f"/session/{made['sessionId']}"
        self._command("POST", "/timeouts", {"script": 120_000, "pageLoad": 120_000})

    def close(self) -> None:
        """End the browser and its driver."""
        try:
            if self.session:
                self._call("DELETE", self.session)
        except (OSError, BrowserError):
            pass
        self.driver.terminate()
        self.driver.wait(30)

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=150) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            found = json.load(error)["value"]
            raise BrowserError(f"{found['error']}: {found['message']}") from None

    def _command(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        return self._call(method, self.session + path, body)

    def open(self, page: Path, hash: str = "") -> None:
        """Show a page, and wait until it is usable."""
        self._command("POST", "/url", {"url": "about:blank"})
        self._command("POST", "/url", {"url": page.resolve().as_uri() + hash})
        self.wait("document.documentElement.dataset.ready || document.querySelector('.failed')")

    def go(self, hash: str) -> None:
        """Show another part of the page."""
        self.run("location.hash = arguments[0]", hash)
        self.settle()

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self._command(
            "POST",
            "/execute/async",
            {
                "script": "const done = arguments[0];"
                "setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => done())), 30)",
                "args": [],
            },
        )

    def run(self, script: str, *arguments: Any) -> Any:
        """What a script in the page returns."""
        return self._command("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, condition: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + START
        while not self.run(f"return Boolean({condition})"):
            if time.monotonic() > end:
                raise BrowserError(f"never true: {condition}")
            time.sleep(0.02)

    def press(self, *keys: str) -> None:
        """Press and release keys."""
        moves = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._command("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": moves}]})
        self.settle()

    def resize(self, width: int, height: int) -> None:
        """Give the window another size."""
        self._command("POST", "/window/rect", {"width": width, "height": height})
        self.settle()

    def picture(self) -> bytes:
        """What the window shows, as PNG."""
        return base64.b64decode(self._command("GET", "/screenshot"))

    def log(self, kind: str = "browser") -> list[dict[str, Any]]:
        """What the console or the network reported since the last call."""
        entries: list[dict[str, Any]] = self._command("POST", "/se/log", {"type": kind})
        return entries
