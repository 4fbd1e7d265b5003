"""Spans of campaigns, stores and requests for OpenTelemetry (extra ``otel``), which cost nothing until they are switched on.

Spans nest, and a call that runs in another thread goes on with those of its caller (:func:`carried`).
"""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from typing import Any, TypeVar

from driftpace.errors import MissingExtraError, ParameterError

Result = TypeVar("Result")

_OFF: AbstractContextManager[Any] = nullcontext()
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_tracer: Any = None


def is_on() -> bool:
    """Return whether spans are recorded."""
    return _tracer is not None


def span(name: str, **attributes: str | int) -> AbstractContextManager[Any]:
    """Return a span to be entered, below the current one; its attributes are prefixed with ``driftpace.``.

    >>> with span("campaign.ask", campaign="churn"):
    ...     is_on()
    False
    """
    if _tracer is None:
        return _OFF
    named = {f"driftpace.{key}": value for key, value in attributes.items()}
    entered: AbstractContextManager[Any] = _tracer.start_as_current_span(name, attributes=named)
    return entered


def request_span(headers: Iterable[tuple[bytes, bytes]]) -> AbstractContextManager[Any]:
    """Return the span of a request, below the one that its header ``traceparent`` names."""
    from opentelemetry.propagate import extract
    from opentelemetry.trace import SpanKind

    carrier = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
    entered: AbstractContextManager[Any] = _tracer.start_as_current_span(
        "HTTP", context=extract(carrier), kind=SpanKind.SERVER, record_exception=False, set_status_on_exception=False
    )
    return entered


def mark_failed(span: Any) -> None:
    """Mark a span as failed."""
    from opentelemetry.trace import StatusCode

    span.set_status(StatusCode.ERROR)


def carried(function: Callable[[], Result]) -> Callable[[], Result]:
    """Return a function that runs in another thread below the current span."""
    if _tracer is None:
        return function
    context = copy_context()
    return lambda: context.run(function)


def asked_for(environment: Mapping[str, str]) -> bool:
    """Return whether the standard variables ask for traces: an exporter or an address of a collector, unless switched off.

    >>> asked_for({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}), asked_for({})
    (True, False)
    >>> asked_for({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318", "OTEL_TRACES_EXPORTER": "none"})
    False
    """
    exporter = environment.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    if exporter == "none" or environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    return bool(exporter) or any(environment.get(name) for name in _ENDPOINTS)


def start() -> Callable[[], None]:
    """Record spans, and send them as the standard variables say; return what sends the rest and ends it.

    Raises
    ------
    MissingExtraError
        If the packages are missing.
    ParameterError
        If ``OTEL_TRACES_EXPORTER`` names another exporter than otlp or console.
    """
    named = os.environ.get("OTEL_TRACES_EXPORTER", "").strip().lower() or "otlp"
    if named not in ("otlp", "console"):
        raise ParameterError(f"OTEL_TRACES_EXPORTER must be otlp, console or none; got {named!r}.")
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter
    except ImportError as error:
        raise MissingExtraError('traces need OpenTelemetry: pip install "driftpace[otel]".') from error
    return start_with(BatchSpanProcessor(OTLPSpanExporter() if named == "otlp" else ConsoleSpanExporter()))


def start_with(processor: Any) -> Callable[[], None]:
    """Record spans for a span processor of OpenTelemetry's SDK; return what ends it."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

    global _tracer
    service = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "driftpace"}
    provider = TracerProvider(resource=Resource.create(service), shutdown_on_exit=False)
    provider.add_span_processor(processor)
    _tracer = provider.get_tracer("driftpace")

    def stop() -> None:
        global _tracer
        _tracer = None
        provider.shutdown()

    return stop
