"""Every answer has its id and its headers, every request its line; no line and no answer holds what is nobody's business."""

import json
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from driftpace.service import logging as service_logging
from driftpace.service.auth import make_token
from driftpace.service.logging import JsonFormatter, LogFields
from driftpace.storage.base import Store
from tests.reference.periods import begun
from tests.reference.serving import Serving, serving

PATHS = [
    "/healthz",
    "/api/campaigns",
    "/api/campaigns/none",
    "/nowhere",
    "/login",
    "/metrics",
    "/static/x/y.js",
    "/api/openapi.json",
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_every_response_has_security_headers(store: Store, path: str, host: str) -> None:
    with serving(store, host=host, dashboard=True) as running:
        headers = running.client.get(path).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "Server" not in headers
    assert "Access-Control-Allow-Origin" not in headers
    assert len(headers["X-Request-ID"]) == 16
    if not path.startswith("/static/"):
        assert headers["Cache-Control"] == "no-store"


def test_valid_request_ids_are_kept(served: Serving) -> None:
    assert served.client.get("/healthz", headers={"X-Request-ID": "job-17.4"}).headers["X-Request-ID"] == "job-17.4"
    for odd in ("a b", "x" * 65, '"', ""):
        assert served.client.get("/healthz", headers={"X-Request-ID": odd}).headers["X-Request-ID"] != odd


def test_requests_are_logged_without_secrets(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    begun(store, "churn")
    secret = make_token(store, "nightly", ["read", "write"])
    with caplog.at_level(logging.INFO, logger="driftpace.service"), serving(store, host="0.0.0.0") as running:
        client = running.client
        shown = {"Authorization": f"Bearer {secret}", "X-Request-ID": "known"}
        client.post("/api/campaigns/churn/orders", json={"key": "hush-body"}, headers=shown)
        client.get("/api/campaigns?search=hush-query", headers={"Authorization": "Bearer dp_hush-wrong"})
        client.post("/login", data={"token": secret})
        client.get(f"/api/campaigns?token={secret}")
        client.get(f"/nowhere/{secret}", headers=shown)
    lines = [json.loads(record.getMessage()) for record in caplog.records if record.name == "driftpace.service"]
    assert len(lines) == 5
    assert lines[0] | {"ms": 0} == {
        "event": "request",
        "id": "known",
        "who": "nightly",
        "by": "token",
        "peer": "127.0.0.1",
        "method": "POST",
        "route": "/api/campaigns/{name}/orders",
        "campaign": "churn",
        "status": 200,
        "ms": 0,
    }
    assert [(one["status"], one["route"]) for one in lines[3:]] == [(200, "/api/campaigns"), (404, "none")]
    assert secret not in caplog.text
    assert secret[5:25] not in caplog.text
    assert "hush" not in caplog.text


def test_internal_errors_are_logged_and_not_disclosed(
    store: Store, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("inner workings")

    monkeypatch.setattr(type(store), "heads", broken)
    with caplog.at_level(logging.INFO, logger="driftpace.service"), serving(store) as running:
        answer = running.client.get("/api/campaigns")
        assert running.client.get("/healthz").status_code == 200
    assert answer.status_code == 500
    assert "inner" not in answer.text
    assert answer.headers["X-Request-ID"] in answer.json()["error"]["message"]
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 1
    assert answer.headers["X-Request-ID"] in errors[0].getMessage()
    assert "inner workings" in JsonFormatter().format(errors[0])


def test_log_lines_are_serialised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = LogFields(event="request", status=200)
    record = logging.LogRecord("driftpace.service", logging.INFO, "", 0, facts, None, None)
    written: list[object] = []
    dumps = json.dumps

    def counted(value: object, **how: Any) -> str:
        written.append(value)
        return dumps(value, **how)

    with monkeypatch.context() as patched:
        patched.setattr(service_logging, "json", SimpleNamespace(dumps=counted))
        line = JsonFormatter().format(record)
    assert len(written) == 1
    assert json.loads(line) | {"at": ""} == {"at": "", "level": "info", "logger": "driftpace.service", **facts}


def test_log_lines_are_json() -> None:
    record = logging.LogRecord("uvicorn.error", logging.WARNING, "", 0, 'odd "words"\n%s', ("here",), None)
    line = JsonFormatter().format(record)
    assert "\n" not in line
    assert json.loads(line)["message"] == 'odd "words"\nhere'
    assert json.loads(line)["level"] == "warning"
