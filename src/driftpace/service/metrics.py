"""Prometheus metrics of the service."""

import time
from collections import Counter as Tally

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from driftpace.campaign import Receipt, Stage
from driftpace.storage.base import Store

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_COUNT_INTERVAL = 60.0
_PAGE = 1000


class Metrics:
    """Metrics of one service, in a separate registry.

    Labels are route templates, never campaigns or callers: cardinality stays small, and nothing private is exported.
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

    def text(self, store: Store) -> bytes:
        """Return all metrics in the text format; campaigns are counted at most once a minute."""
        now = time.monotonic()
        if now - self._counted_at >= _COUNT_INTERVAL:
            self._counted_at = now
            stages = Tally(_stages(store))
            for stage in Stage:
                self._campaigns.labels(stage.value).set(stages[stage.value])
        return generate_latest(self.registry)


def _stages(store: Store) -> list[str]:
    stages: list[str] = []
    after = ""
    while page := store.heads(after=after, limit=_PAGE):
        stages += [str(head.summary.get("stage")) for head in page]
        after = page[-1].name
    return stages
