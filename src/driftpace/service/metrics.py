"""Prometheus metrics of the service."""

import time
from collections import Counter as Tally
from collections.abc import Mapping
from typing import Any, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from driftpace.campaign import Receipt, Stage
from driftpace.campaign.alerts import ALERT_KINDS, find_alerts
from driftpace.campaign.fleet import FleetReceipt
from driftpace.campaign.fleet.campaign import is_fleet
from driftpace.storage.base import Head, Store

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_COUNT_INTERVAL = 60.0
_PAGE = 1000
_MOST_FLEETS = 100
"""Fleets that have gauges of their own."""


class Listed(Protocol):
    """What lists the heads of campaigns, such as a store."""

    def heads(
        self, *, after: str = "", limit: int | None = None, search: str = "", archived: bool | None = None
    ) -> list[Head]:
        """Return heads ordered by name."""
        ...


class Metrics:
    """Metrics of one service, in a separate registry.

    Labels are route templates and the names of fleets, never segments, other campaigns or callers: cardinality stays small, and
    nothing private is exported.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        registry = self.registry
        self._requests = Counter(
            "driftpace_http_requests", "HTTP requests.", ("route", "method", "status"), registry=registry
        )
        self._seconds = Histogram(
            "driftpace_http_request_seconds",
            "Seconds until the response was sent.",
            ("route", "method"),
            buckets=_BUCKETS,
            registry=registry,
        )
        self.orders = Counter("driftpace_orders", "Orders requested.", registry=registry)
        self._deliveries = Counter("driftpace_deliveries", "Deliveries received.", ("outcome",), registry=registry)
        self._rows = Counter("driftpace_rows_received", "Labelled rows received.", registry=registry)
        self._fits = Histogram("driftpace_fit_seconds", "Seconds of model fits.", buckets=_BUCKETS, registry=registry)
        self.store_errors = Counter("driftpace_store_errors", "Requests that failed in the store.", registry=registry)
        self._campaigns = Gauge("driftpace_campaigns", "Campaigns by stage.", ("stage",), registry=registry)
        self._alerts = Gauge("driftpace_alerts", "Alerts that hold, by kind.", ("kind",), registry=registry)
        fleet = ("fleet",)
        self._segments = Gauge(
            "driftpace_fleet_segments",
            "Segments of a fleet: all, incomplete, set aside, with a failed check, or not met in the last period.",
            (*fleet, "which"),
            registry=registry,
        )
        self._outcomes = Gauge(
            "driftpace_fleet_outcomes",
            "Segments of a fleet by the outcome of the last period.",
            (*fleet, "outcome"),
            registry=registry,
        )
        self._missing = Gauge(
            "driftpace_fleet_rows_missing", "Rows of the open period still to be labelled.", fleet, registry=registry
        )
        self.streams = Gauge("driftpace_streams", "Open event streams.", registry=registry)
        self._counted_at = -_COUNT_INTERVAL

    def count_request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(route, method, str(status)).inc()
        self._seconds.labels(route, method).observe(seconds)

    def count_delivery(self, receipt: Receipt) -> None:
        """Count a delivery, and the fit if it closed its period."""
        outcome = (
            "duplicate" if receipt.duplicate is not None else "closed" if receipt.report is not None else "received"
        )
        self._deliveries.labels(outcome).inc()
        self._rows.inc(receipt.rows)
        if receipt.report is not None and receipt.duplicate is None:
            self._fits.observe(receipt.report.seconds)

    def count_fleet_delivery(self, receipt: FleetReceipt) -> None:
        """Count a delivery of a fleet."""
        closed = "closed" if receipt.closed is not None else "received"
        self._deliveries.labels("duplicate" if receipt.duplicate is not None else closed).inc()
        self._rows.inc(receipt.rows)

    def text(self, store: Store) -> bytes:
        """Return all metrics in the text format; campaigns are counted at most once a minute."""
        now = time.monotonic()
        if now - self._counted_at >= _COUNT_INTERVAL:
            self._counted_at = now
            heads = all_heads(store)
            summaries = [(head.name, head.summary) for head in heads]
            alerts = Tally(alert.kind for alert in find_alerts(heads))
            for kind in ALERT_KINDS:
                self._alerts.labels(kind).set(alerts[kind])
            stages = Tally(str(summary.get("stage")) for _, summary in summaries)
            for stage in Stage:
                self._campaigns.labels(stage.value).set(stages[stage.value])
            self._count_fleets({name: summary["segments"] for name, summary in summaries if is_fleet(summary)})
        return generate_latest(self.registry)

    def _count_fleets(self, fleets: Mapping[str, Mapping[str, Any]]) -> None:
        """Set the gauges of the first fleets by name; those that are gone are no longer shown."""
        for gauge in (self._segments, self._outcomes, self._missing):
            gauge.clear()
        for name in sorted(fleets)[:_MOST_FLEETS]:
            totals = fleets[name]
            self._missing.labels(name).set(totals["missing"])
            for which in ("segments", "incomplete", "set_aside", "failed", "not_met"):
                self._segments.labels(name, "all" if which == "segments" else which).set(totals[which])
            for outcome, count in totals["outcomes"].items():
                self._outcomes.labels(name, outcome).set(count)


def all_heads(store: Listed) -> list[Head]:
    """Return the heads of all campaigns that are not archived, read in pages."""
    heads: list[Head] = []
    while page := store.heads(after=heads[-1].name if heads else "", limit=_PAGE, archived=False):
        heads += page
    return heads
