"""Numbers for whoever watches the machine, as Prometheus reads them."""

import time
from collections import Counter as Tally

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from driftpace.campaign import Receipt, Stage
from driftpace.storage.base import Store

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_FRESH_SECONDS = 60.0
_PAGE = 1000


class Metrics:
    """Counters of one service, in a registry of their own.

    Labels are names of routes, never of campaigns or callers: their number stays small, and they tell nobody's business.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        mine = self.registry
        self._requests = Counter(
            "driftpace_http_requests", "Requests answered.", ("route", "method", "status"), registry=mine
        )
        self._seconds = Histogram(
            "driftpace_http_request_seconds",
            "Seconds until an answer was sent.",
            ("route", "method"),
            buckets=_BUCKETS,
            registry=mine,
        )
        self.orders = Counter("driftpace_orders", "Orders asked for.", registry=mine)
        self._deliveries = Counter("driftpace_deliveries", "Deliveries taken.", ("outcome",), registry=mine)
        self._rows = Counter("driftpace_rows_told", "Labelled rows counted.", registry=mine)
        self._fits = Histogram("driftpace_fit_seconds", "Seconds that fits took.", buckets=_BUCKETS, registry=mine)
        self.store_errors = Counter("driftpace_store_errors", "Requests that the store could not serve.", registry=mine)
        self._campaigns = Gauge("driftpace_campaigns", "Campaigns by what they wait for.", ("stage",), registry=mine)
        self.streams = Gauge("driftpace_streams", "Open streams of events.", registry=mine)
        self._counted = -_FRESH_SECONDS

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(route, method, str(status)).inc()
        self._seconds.labels(route, method).observe(seconds)

    def told(self, receipt: Receipt) -> None:
        """Count a delivery, and the fit where it closed its period."""
        outcome = "duplicate" if receipt.duplicate is not None else "closed" if receipt.report is not None else "taken"
        self._deliveries.labels(outcome).inc()
        self._rows.inc(receipt.rows)
        if receipt.report is not None and receipt.duplicate is None:
            self._fits.observe(receipt.report.seconds)

    def text(self, store: Store) -> bytes:
        """Return everything as text; campaigns are counted anew where that is a while ago."""
        now = time.monotonic()
        if now - self._counted >= _FRESH_SECONDS:
            self._counted = now
            stages = Tally(_stages(store))
            for stage in Stage:
                self._campaigns.labels(stage.value).set(stages[stage.value])
        return generate_latest(self.registry)


def _stages(store: Store) -> list[str]:
    found: list[str] = []
    after = ""
    while page := store.heads(after=after, limit=_PAGE):
        found += [str(head.summary.get("stage")) for head in page]
        after = page[-1].name
    return found
