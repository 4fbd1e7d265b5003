"""Spans nest from the request down to the store, take the trace of the caller, and cost nothing while traces are off."""

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from driftpace import tracing
from driftpace.errors import MissingExtraError, ParameterError
from driftpace.storage import open_store
from driftpace.storage.base import Store
from tests.reference.periods import begun
from tests.reference.serving import serving

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
HEADERS = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
PROGRAM = "import sys; from driftpace.cli import main; sys.exit(main())"


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    stop = tracing.start_with(SimpleSpanProcessor(exporter))
    yield exporter
    stop()


def paths(spans: list[Any]) -> set[str]:
    """Return the names of spans from the top down, such as POST /x > campaign.ask."""
    known = {span.context.span_id: span for span in spans}

    def path(span: Any) -> str:
        above = None if span.parent is None else known.get(span.parent.span_id)
        return span.name if above is None else f"{path(above)} > {span.name}"

    return {path(span) for span in spans}


def test_spans_nest_below_the_trace_of_the_caller(store: Store, spans: InMemorySpanExporter) -> None:
    begun(store, "churn")
    with serving(store) as running:
        spans.clear()
        asked = running.client.post("/api/campaigns/churn/orders?secret=s3", json={"key": "W1"}, headers=HEADERS)
        rng = np.random.default_rng(0)
        rows = {"X": rng.normal(size=(asked.json()["missing"], 2)).tolist()}
        rows["y"] = [x[0] for x in rows["X"]]
        told = running.client.post("/api/campaigns/churn/deliveries?final=true", json=rows, headers=HEADERS)
        assert told.json()["order"]["closed"]
        missing = running.client.get("/api/campaigns/none", headers={"traceparent": "00-zz"})
        assert (asked.status_code, told.status_code, missing.status_code) == (200, 200, 404)
    finished = list(spans.get_finished_spans())
    orders, deliveries = ("POST /api/campaigns/{name}/" + name for name in ("orders", "deliveries"))
    expected = {f"{orders} > campaign.ask > store.write", f"{deliveries} > campaign.tell > store.write"}
    assert expected | {f"{deliveries} > campaign.tell > campaign.close"} <= paths(finished)
    requests: dict[str, Any] = {span.name: span for span in finished if span.name.startswith(("POST", "GET"))}
    for name in (orders, deliveries):
        assert f"{requests[name].context.trace_id:032x}" == TRACE
        assert f"{requests[name].parent.span_id:016x}" == PARENT
    assert requests["GET /api/campaigns/{name}"].parent is None  # what is no traceparent begins a trace
    assert dict(requests[orders].attributes) == {
        "http.request.method": "POST",
        "http.route": "/api/campaigns/{name}/orders",
        "http.response.status_code": 200,
        "driftpace.campaign": "churn",
    }
    closed: Any = next(span for span in finished if span.name == "campaign.close")
    assert dict(closed.attributes) == {
        "driftpace.campaign": "churn",
        "driftpace.period": 1,
        "driftpace.rows": len(rows["y"]),
    }
    assert "s3" not in "".join(span.to_json() for span in finished)


def test_a_request_that_fails_is_marked(
    store: Store, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(store) as running:
        spans.clear()
        monkeypatch.setattr(type(running.service.store), "heads", lambda *_, **__: 1 / 0)
        assert running.client.get("/api/campaigns").status_code == 500
    found = {span.name: span for span in spans.get_finished_spans()}
    span = found["GET /api/campaigns"]
    assert not span.status.is_ok, list(found)
    assert not span.events  # the sentence of an error may name what is delivered


def test_nothing_is_loaded_or_made_while_traces_are_off(tmp_path: Path) -> None:
    program = """
import sys
from driftpace import tracing
from driftpace.service.app import create_app
from driftpace.storage import open_store
from tests.reference.periods import begun
store = open_store(sys.argv[1])
create_app(store)
begun(store, "churn").ask()
print(tracing.span("a") is tracing.span("b", c="d"), tracing.carried(print) is print, "opentelemetry.sdk" in sys.modules)
"""
    words = [sys.executable, "-c", program, str(tmp_path / "store.db")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.split() == ["True", "True", "False"]


@contextmanager
def collector() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """Yield the address of a collector, and what it receives."""
    received: list[tuple[str, bytes]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", received
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("words", [["--traces"], []])
def test_the_service_sends_what_is_left_when_it_stops(tmp_path: Path, words: list[str]) -> None:
    open_store(tmp_path / "store.db").close()
    with collector() as (url, received):
        environment = {**os.environ, "NO_PROXY": "127.0.0.1", "OTEL_SERVICE_NAME": "labels of a test"}
        environment["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = f"{url}/v1/traces"
        serve = ["serve", "--storage", str(tmp_path / "store.db"), "--port", "0", "--format", "json", *words]
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *serve],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["url"]
        assert httpx.get(f"{address}/api/campaigns", timeout=60.0, trust_env=False).status_code == 200
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "Traceback" not in errors
    assert {path for path, _ in received} == {"/v1/traces"}
    whole = b"".join(body for _, body in received)
    assert b"labels of a test" in whole
    assert b"GET /api/campaigns" in whole


@pytest.mark.parametrize(
    ("variables", "on"),
    [
        ({}, False),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({"OTEL_TRACES_EXPORTER": "console"}, True),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}, False),
        ({"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "otlp"}, False),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector:4318/v1/traces"}, True),
        ({"OTEL_SERVICE_NAME": "labels"}, False),
    ],
)
def test_the_standard_variables_switch_traces_on(variables: dict[str, str], on: bool) -> None:
    assert tracing.asked_for(variables) is on


def test_unknown_exporters_and_missing_packages_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "jaeger")
    with pytest.raises(ParameterError, match=r"must be otlp, console or none; got 'jaeger'"):
        tracing.start()
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(MissingExtraError, match=r"driftpace\[otel\]"):
        tracing.start()
    assert not tracing.is_on()
