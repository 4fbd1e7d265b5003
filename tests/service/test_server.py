"""Serving as the command line does: who may be let in from where, and how it stops."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import pytest

from driftpace.errors import ParameterError, StorageError
from driftpace.service import run
from driftpace.service.auth import make_token
from driftpace.storage import open_store
from tests.reference.periods import begun

PROGRAM = "import sys; from driftpace.service import run; run(sys.argv[1], port=0)"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.invalid"])
def test_listening_beyond_loopback_needs_a_token(tmp_path: Path, host: str) -> None:
    with pytest.raises(ParameterError, match="token"):
        run(tmp_path / "store.db", host=host, port=0)


def test_token_always_needs_a_token(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="token"):
        run(tmp_path / "store.db", port=0, token_always=True)


@pytest.mark.parametrize("host", ["192.0.2.1", "example.invalid"])
def test_unknown_hosts_are_refused(tmp_path: Path, host: str) -> None:
    store = open_store(tmp_path / "store.db")
    make_token(store, "a")
    with pytest.raises((ParameterError, StorageError), match=host):
        run(store, host=host, port=0)


def test_ports_in_use_are_refused(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ParameterError, match=f"must be a free port; got {port}"):
            run(tmp_path / "store.db", port=port)


@pytest.mark.parametrize("port", [-1, 65_536, 1.5, True])
def test_invalid_ports_are_refused(tmp_path: Path, port: int) -> None:
    with pytest.raises(ParameterError, match="port"):
        run(tmp_path / "store.db", port=port)


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_the_server_prints_its_address_and_shuts_down_gracefully(tmp_path: Path, sign: signal.Signals) -> None:
    store = open_store(tmp_path / "store.db")
    begun(store, "churn")
    store.close()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "store.db")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )
    assert process.stdout is not None
    said = process.stdout.readline()
    assert "http://127.0.0.1:" in said
    url = said.split(" at ")[1].split(" ")[0]
    answer = httpx.post(f"{url}/api/campaigns/churn/orders", json={"key": "2026-W46"}, timeout=60.0, trust_env=False)
    assert answer.status_code == 200
    streaming = threading.Event()

    def listen() -> None:
        with (
            httpx.Client(timeout=60.0, trust_env=False) as client,
            client.stream("GET", f"{url}/api/campaigns/churn/stream") as answer,
        ):
            for _ in answer.iter_lines():
                streaming.set()

    thread = threading.Thread(target=listen)
    thread.start()
    assert streaming.wait(60.0)
    process.send_signal(sign)
    _, errors = process.communicate(timeout=60.0)
    thread.join(30.0)
    assert not thread.is_alive()
    assert process.returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["store.db"]  # everything is in the file, nothing beside it
    assert "Traceback" not in errors
    routes = {json.loads(line)["route"] for line in errors.splitlines()}
    assert routes == {"/api/campaigns/{name}/orders", "/api/campaigns/{name}/stream"}


def test_sigterm_while_the_store_is_opened_closes_it(tmp_path: Path) -> None:
    begin = "import os, signal; from driftpace.storage.sql.store import SqlStore"
    stop = "SqlStore.ping = lambda store: (store.tokens(), os.kill(os.getpid(), signal.SIGTERM))"
    words = [sys.executable, "-c", f"{begin}; {stop}; {PROGRAM}", str(tmp_path / "store.db")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [path.name for path in tmp_path.iterdir()] == ["store.db"]


def test_importing_the_package_loads_no_web_framework() -> None:
    program = "import sys, driftpace.service; print([m for m in ('fastapi', 'uvicorn', 'pydantic', 'numba') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert shown.stdout.strip() == "[]"
