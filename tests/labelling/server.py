"""The real Label Studio server, started for a test in a folder of its own, and stopped after it."""

import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx

from tests.labelling.exchange import LEGACY

_SETTINGS = {
    "COLLECT_ANALYTICS": "False",
    "LATEST_VERSION_CHECK": "False",
    "SENTRY_DSN": "",
    "FRONTEND_SENTRY_DSN": "",
    "FEATURE_FLAGS_OFFLINE": "True",
    "SSRF_PROTECTION_ENABLED": "False",  # the webhook of a test is on this machine
    "WEBHOOK_TIMEOUT": "20",
    "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
}
_START_WITHIN = 300.0


def _free_port() -> int:
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        port: int = some.getsockname()[1]
        return port


@contextmanager
def label_studio(executable: str, folder: Path) -> Iterator[str]:
    """Return the address of a fresh server that nothing outside this machine can reach, and that calls nobody."""
    port = _free_port()
    command = [executable, "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port)]
    command += ["--data-dir", str(folder), "--username", "people@example.com", "--password", "not-a-secret-here"]
    command += ["--user-token", LEGACY, "--enable-legacy-api-token"]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LABEL_STUDIO_BASE_DATA_DIR": str(folder),
        **_SETTINGS,
    }
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            _wait(f"http://127.0.0.1:{port}/health", server, folder / "log")
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            try:
                server.wait(timeout=20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait(timeout=20)


def _wait(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _START_WITHIN
    while time.monotonic() < until:
        if server.poll() is not None:
            raise RuntimeError(f"Label Studio ended: {log.read_text()[-2000:]}")
        try:
            if httpx.get(url, timeout=5, trust_env=False).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.5)
    raise RuntimeError(f"Label Studio did not start: {log.read_text()[-2000:]}")


class Listener:
    """A small server on this machine that keeps what it is sent."""

    def __init__(self) -> None:
        calls = self.calls = list[tuple[dict[str, str], bytes]]()

        class Keep(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                calls.append((dict(self.headers.items()), body))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Keep)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/hook"

    def wait_for(self, count: int) -> None:
        until = time.monotonic() + 60
        while len(self.calls) < count and time.monotonic() < until:
            time.sleep(0.05)

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join(timeout=20)
        self._server.server_close()
