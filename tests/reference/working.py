"""Somebody who works on a campaign by a fixed script, can be stopped at any instant, and takes up again as people do.

Every period: ask, add late rows to the period before, undo an extra delivery, tell what is missing until nothing is, close.
Before each command a line goes to ``note``, after it was
acknowledged another. Whoever takes up again first gives the command again that was not acknowledged, for they cannot know.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from driftpace.campaign import Campaign, Order
from driftpace.errors import ProtocolError
from driftpace.records import StepReport
from driftpace.storage import open_store
from driftpace.storage.base import Entry
from driftpace.storage.codec import encode
from driftpace.typing import FloatArray

DEFINITION: dict[str, Any] = {"name": "prices", "target": "price", "epsilon": 0.1, "seed": 1, "cap": 60}

Command = tuple[str, int, int, int]
"""ask, tell, late, extra, undo or close; the period; behind how many rows; how many rows."""
Note = Callable[[str, Command, Any], None]


def rows_of(period: int, came: int, rows: int) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng((7, period, came))
    X = rng.normal(size=(rows, 2))
    return X, X @ np.array([1.0 + 0.05 * period, -1.0]) + rng.normal(size=rows)


def obey(campaign: Campaign, command: Command, note: Note) -> Order | None:
    """Give one command, with a note before and after; None where a period was closed already."""
    verb, period, received, rows = command
    key = f"W{period}"
    note("begun", command, None)
    if verb == "ask":
        order = campaign.ask(key=key)
        note("done", command, [order.period, order.samples, order.received])
        return order
    if verb == "late":
        receipt = campaign.tell(*rows_of(period - 1, 900, rows), key=f"W{period - 1}", delivery=f"late {period}")
        note("done", command, receipt.duplicate)
        return None
    if verb == "extra":
        campaign.tell(*rows_of(period, 900, rows), key=key, delivery=f"extra {period}", final=False)
        note("done", command, None)
        return None
    if verb == "undo":
        if not is_undone(campaign, period):
            campaign.undo(delivery=f"extra {period}", reason=f"extra {period}")
        note("done", command, None)
        return None
    if verb == "tell":
        named = f"{period}:{received}" if period % 2 else None
        receipt = campaign.tell(*rows_of(period, received, rows), key=key, delivery=named, final=False)
        assert receipt.rows + (rows if receipt.duplicate else 0) == rows
        note("done", command, receipt.duplicate)
        return receipt.order
    try:
        report = campaign.tell(key=key).report
    except ProtocolError as refused:
        if "is closed" not in str(refused):
            raise
        return None
    assert report is not None
    note("done", command, [report.period, report.samples, digest_of(report)])
    return None


def is_undone(campaign: Campaign, period: int) -> bool:
    """Whether the extra delivery of a period was undone."""
    return any(entry.body["reason"] == f"extra {period}" for entry in campaign.log(kinds=("undone",)))


def work(
    campaign: Campaign, note: Note, *, first: int = 1, again: Command | None = None, last: int | None = None
) -> None:
    """Work from a period on; ``again`` is the command that was not acknowledged."""
    if again is not None and not (again[0] == "extra" and is_undone(campaign, again[1])):
        obey(campaign, again, note)
    for period in count(first) if last is None else range(first, last + 1):
        order = obey(campaign, ("ask", period, 0, 0), note)
        assert order is not None
        if not order.closed and period > 1:
            obey(campaign, ("late", period, 0, 3), note)
            if not is_undone(campaign, period):
                obey(campaign, ("extra", period, 0, 2), note)
                obey(campaign, ("undo", period, 0, 0), note)
            order = campaign.order()
        while order.missing and not order.closed:
            order = obey(campaign, ("tell", period, order.received, order.missing), note)
            assert order is not None
        if not order.closed:
            obey(campaign, ("close", period, 0, 0), note)


def warm_up(folder: Path) -> None:
    """Compile and import here what every fork would compile and import for itself."""
    import psycopg  # noqa: F401

    import driftpace.storage.sql.postgres  # noqa: F401

    store = open_store(folder / "labels.db")
    work(Campaign.create(DEFINITION, storage=store), lambda *_: None, last=3)
    store.close()


def digest_of(report: StepReport) -> str:
    """A short mark of everything in a report but how long it took."""
    return hashlib.sha256(json.dumps(encode(replace(report, seconds=0.0))).encode()).hexdigest()


def timeless(log: Sequence[Entry]) -> list[Entry]:
    """The log without what is read from a clock, and without hashes, which have random salts."""
    reported = [json.loads(json.dumps(dict(entry.body))) for entry in log]
    for body in reported:
        for name in ("rows_hash", "state_hash"):
            body.pop(name, None)
        for report in (*body.get("reports", ()), *([body["report"]] if "report" in body else ())):
            del report["fields"]["seconds"]
    return [replace(entry, at="", body=body) for entry, body in zip(log, reported, strict=True)]
