"""The report in a real browser: it draws without an error, fits a phone, and its legend works. Skipped where none is installed."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from driftpace.report import backtest_report, write_page
from tests.reference.backtests import broken, made_up

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe"),
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


class Browser:
    """A page of a browser, driven over its two debugging pipes."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = os.fdopen(write, "wb", buffering=0), os.fdopen(read, "rb", buffering=0)
        self._pending, self._last, self._session = b"", 0, ""
        self.complaints: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Network", "Page"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._last += 1
        session = {"sessionId": self._session} if self._session else {}
        message = {"id": self._last, "method": method, "params": parameters, **session}
        self._write.write(json.dumps(message).encode() + b"\0")
        while True:
            got = self._next()
            if got.get("id") == self._last:
                assert "error" not in got, got
                result: dict[str, Any] = got["result"]
                return result
            self._notice(got)

    def look(self, expression: str) -> Any:
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def wait(self, condition: str, within: float = 60.0) -> None:
        """Wait until a condition of the page is true."""
        until = time.monotonic() + within
        while not self.look(condition):
            assert time.monotonic() < until, f"{condition} did not become true: {self.complaints}"
            time.sleep(0.05)

    def close(self) -> None:
        self._write.close()
        self._read.close()

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._pending:
            got = os.read(self._read.fileno(), 1 << 16)
            assert got, "the browser went away"
            self._pending += got
        message, _, self._pending = self._pending.partition(b"\0")
        result: dict[str, Any] = json.loads(message)
        return result

    def _notice(self, event: dict[str, Any]) -> None:
        method, given = event.get("method", ""), event.get("params", {})
        wrong = {
            "Runtime.exceptionThrown": True,
            "Runtime.consoleAPICalled": given.get("type") in {"error", "warning"},
            "Log.entryAdded": given.get("entry", {}).get("level") == "error",
            "Network.requestWillBeSent": not given.get("request", {})
            .get("url", "file:")
            .startswith(("file:", "data:")),
            "Page.javascriptDialogOpening": True,
        }
        if wrong.get(method):
            self.complaints.append(json.dumps(event)[:400])


@contextmanager
def browsing(folder: Path) -> Iterator[Browser]:
    assert CHROMIUM is not None
    theirs_read, ours_write = os.pipe()
    ours_read, theirs_write = os.pipe()
    redirect = f'exec "$@" 3<&{theirs_read} 4>&{theirs_write}'
    command = ["bash", "-c", redirect, "browser", CHROMIUM, *FLAGS, f"--user-data-dir={folder}"]
    process = subprocess.Popen(
        command, pass_fds=(theirs_read, theirs_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    os.close(theirs_read)
    os.close(theirs_write)
    browser = Browser(ours_write, ours_read)
    try:
        yield browser
    finally:
        browser.close()
        process.terminate()
        process.wait(timeout=30)


def opened(browser: Browser, path: Path, *, width: int, scheme: str) -> None:
    phone = width < 500
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=850, deviceScaleFactor=1, mobile=phone)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.call("Page.navigate", url=path.as_uri())
    drawn = "document.querySelectorAll('.figure').length > 0 && [...document.querySelectorAll('.figure')].every(f => f.layout)"
    browser.wait(f"document.readyState === 'complete' && {drawn}")


def test_it_draws_fits_and_answers_to_its_legend(tmp_path: Path) -> None:
    whole = write_page(
        backtest_report(made_up(classification=True, price=2.0, currency="EUR")), tmp_path / "whole.html"
    )
    gaps = write_page(backtest_report(broken(made_up(periods=9))), tmp_path / "gaps.html")
    with browsing(tmp_path / "profile") as browser:
        for path in (whole, gaps):
            for width, scheme in ((390, "dark"), (1280, "light")):
                opened(browser, path, width=width, scheme=scheme)
                assert browser.look("document.documentElement.scrollWidth") <= width
                inks = browser.look("getComputedStyle(document.documentElement).getPropertyValue('--ink').trim()")
                assert browser.look("document.getElementById('loss').layout.font.color") == inks
        light = browser.look("document.getElementById('loss').layout.font.color")
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        browser.wait(f"document.getElementById('loss').layout.font.color !== {json.dumps(light)}")  # without a reload
        hidden = ".keys[data-for=loss] button[aria-pressed=false]"
        place = browser.look(f"const b = document.querySelector('{hidden}'); b.click(); b.dataset.traces")
        assert browser.look(f"document.getElementById('loss').data[{place}].visible") is True
        browser.look("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        browser.call("Emulation.setDeviceMetricsOverride", width=390, height=850, deviceScaleFactor=1, mobile=True)
        browser.wait(
            "window.innerWidth === 390 && document.documentElement.scrollWidth <= 390"
        )  # with every table unfolded
        assert browser.complaints == []


def test_an_injected_script_does_not_run_and_too_wide_is_noticed(tmp_path: Path) -> None:
    text = write_page(backtest_report(made_up(periods=3)), tmp_path / "whole.html").read_text(encoding="utf-8")
    spoilt = tmp_path / "spoilt.html"
    wide = '<main><div style="width:900px">wide</div><script>window.injected = 1</script>'
    spoilt.write_text(text.replace("<main>", wide, 1), encoding="utf-8")
    with browsing(tmp_path / "profile") as browser:
        opened(browser, spoilt, width=390, scheme="light")
        assert browser.look("typeof window.injected") == "undefined"
        assert browser.look("document.documentElement.scrollWidth") > 390
        assert len(browser.complaints) == 1
        assert "Content Security Policy" in browser.complaints[0]
