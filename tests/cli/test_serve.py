"""The service starts on this machine from the command line, says where, answers, and stops on a signal."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.cli.loop import Run


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_and_stops(churn: Path, sign: signal.Signals) -> None:
    words = [sys.executable, "-m", "driftpace", "serve", "--port", "0", "--no-dashboard"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            address = re.search(r"http://127\.0\.0\.1:\d+", line)
            assert address is not None, line
            with urlopen(f"{address[0]}/api/campaigns", timeout=60) as answer:
                body = json.load(answer)
            process.send_signal(sign)
            process.wait(120)
        finally:
            process.kill()
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
    assert "churn" in json.dumps(body)
    assert process.returncode == 0
    assert not list(churn.glob("driftpace.db-*"))


@pytest.mark.parametrize(("host", "shown"), [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")])
def test_a_machine_learns_where(churn: Path, host: str, shown: str) -> None:
    words = [sys.executable, "-m", "driftpace", "serve", "--host", host, "--port", "0", "--format", "json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stdout is not None
        try:
            announced = json.loads(process.stdout.readline())
            with urlopen(f"{announced['url']}/api/campaigns", timeout=60) as answer:
                body = json.load(answer)
            process.send_signal(signal.SIGINT)
            rest = process.communicate(timeout=120)[0]
        finally:
            process.kill()
    assert (announced.keys(), announced["storage"]) == ({"storage", "url"}, f"sqlite:///{churn.resolve()}/driftpace.db")
    assert re.fullmatch(rf"http://{re.escape(shown)}:\d+", announced["url"])
    assert (body["total"], rest) == (1, "")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--host", "0.0.0.0"), "--host must be 127.0.0.1 while the store has no token"),
        (("--token-always",), "--token-always must not be set while the store has no token"),
        (("--port", "99999"), "--port must be at most 65,535; got 99999."),
        (("--storage", "pool.csv"), "the file at"),
    ],
)
def test_refusals(churn: Path, run: Run, words: tuple[str, ...], sentence: str) -> None:
    code, out, err = run("serve", *words)
    assert (code, out) == (2, "")
    assert err.startswith(f"driftpace: {sentence}")
