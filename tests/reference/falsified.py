"""Single edits of a store, one for every kind of value in it, as someone who can write to its file would make them."""

import json
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from driftpace.campaign.packing import PackedRows, pack_ids, pack_rows, unpack_rows
from driftpace.storage.base import Entry
from driftpace.storage.chain import chain

Edit = Callable[[sqlite3.Connection], None]
CAMPAIGN = "prices"
_OF = f"campaign_id = (SELECT id FROM driftpace_campaigns WHERE name = '{CAMPAIGN}')"


def _first(connection: sqlite3.Connection, kind: str) -> tuple[int, dict[str, Any]]:
    seq, body = connection.execute(
        f"SELECT seq, body FROM driftpace_entries WHERE {_OF} AND kind = ? ORDER BY seq LIMIT 1", (kind,)
    ).fetchone()
    return seq, json.loads(body)


def body(kind: str, path: str, value: Any) -> Edit:
    """Set a value in the body of the first entry of a kind; ``path`` has dots between names."""

    def edit(connection: sqlite3.Connection) -> None:
        seq, values = _first(connection, kind)
        *folders, name = path.split(".")
        place: Any = values
        for folder in folders:
            place = place[folder]
        assert place[name] != value
        place[name] = value
        text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
        connection.execute(f"UPDATE driftpace_entries SET body = ? WHERE {_OF} AND seq = ?", (text, seq))

    return edit


def column(kind: str, name: str, value: Any) -> Edit:
    """Set a column of the first entry of a kind."""

    def edit(connection: sqlite3.Connection) -> None:
        seq, _ = _first(connection, kind)
        connection.execute(f"UPDATE driftpace_entries SET {name} = ? WHERE {_OF} AND seq = ?", (value, seq))

    return edit


def statement(text: str) -> Edit:
    """Run a statement; ``{of}`` is the condition that names the campaign."""

    def edit(connection: sqlite3.Connection) -> None:
        connection.execute(text.format(of=_OF))

    return edit


def _label_changed(connection: sqlite3.Connection) -> None:
    seq, _ = _first(connection, "delivered")
    (data,) = connection.execute(f"SELECT data FROM driftpace_rows WHERE {_OF} AND seq = ?", (seq,)).fetchone()
    packed = unpack_rows(data)
    y = packed.event.y.copy()
    y[0] += 1.0
    event = type(packed.event)(X=packed.event.X, y=y)
    again = pack_rows(PackedRows(event=event, ids=packed.ids)).data
    connection.execute(f"UPDATE driftpace_rows SET data = ? WHERE {_OF} AND seq = ?", (again, seq))


def _draw_changed(connection: sqlite3.Connection) -> None:
    seq, _ = _first(connection, "selected")
    data = pack_ids([f"other-{place}" for place in range(5)]).data
    connection.execute(f"UPDATE driftpace_rows SET data = ? WHERE {_OF} AND seq = ?", (data, seq))


def _state_changed(connection: sqlite3.Connection) -> None:
    (data,) = connection.execute(f"SELECT data FROM driftpace_checkpoints WHERE {_OF}").fetchone()
    state = json.loads(zlib.decompress(data))
    state["rows"] += 1
    packed = zlib.compress(json.dumps(state, sort_keys=True, separators=(",", ":")).encode(), 1)
    connection.execute(f"UPDATE driftpace_checkpoints SET data = ? WHERE {_OF}", (packed,))


def _swapped(connection: sqlite3.Connection) -> None:
    for old, new in ((3, 9001), (4, 3), (9001, 4)):
        connection.execute(f"UPDATE driftpace_entries SET seq = ? WHERE {_OF} AND seq = ?", (new, old))


def _last_removed(connection: sqlite3.Connection) -> None:
    (last,) = connection.execute(f"SELECT max(seq) FROM driftpace_entries WHERE {_OF}").fetchone()
    connection.execute(f"DELETE FROM driftpace_entries WHERE {_OF} AND seq = ?", (last,))
    connection.execute(f"UPDATE driftpace_checkpoints SET seq = ? WHERE {_OF}", (last - 1,))
    connection.execute(f"UPDATE driftpace_campaigns SET seq = ? WHERE name = '{CAMPAIGN}'", (last - 1,))


RECOMPUTED: dict[str, Edit] = {
    "risk bound of a certificate": body("certified", "report.fields.risk_bound", 0.001),
    "certificate": body("certified", "report.fields.certificate", 0.0001),
    "samples of a certificate": body("certified", "report.fields.samples", 6),
    "outcome of a certificate": body("certified", "report.fields.outcome.name", "MISSED"),
    "served loss": body("revised", "served", [{"loss": 0.1}]),
    "coefficients": body("fitted", "coef", [0.0, 0.0, 0.0]),
    "hash of a fit": body("fitted", "sha256", "0" * 64),
    "rows of a fit": body("fitted", "rows", 99),
    "samples of a closed period": body("closed", "samples", 40),
    "orders of a closed period": body("closed", "orders", []),
    "missing rows of an order": body("asked", "missing", 1),
    "request of an order": body("asked", "request.risk_bound", 0.5),
    "rows of a delivery": body("delivered", "rows", 5),
    "risk bound of an override": body("overridden", "risk_bound", 0.0001),
    "samples of an override": body("overridden", "samples", 3),
    "target of the definition": body("created", "definition.epsilon", 0.5),
    "a label": _label_changed,
    "the saved state": _state_changed,
    "the summary": statement(f"UPDATE driftpace_campaigns SET summary = '{{{{}}}}' WHERE name = '{CAMPAIGN}'"),
    "the time of creation": statement("UPDATE driftpace_campaigns SET created_at = '2020-01-01T00:00:00.000Z'"),
    "the name": statement(f"UPDATE driftpace_campaigns SET name = 'rents' WHERE name = '{CAMPAIGN}'"),
}
"""Edits that a replay of the log finds, even where the chain was computed anew."""

FOREIGN = "INSERT INTO driftpace_rows SELECT campaign_id, 1, data FROM driftpace_rows WHERE {of} LIMIT 1"
"""Store rows beside the first entry, which brought none."""

NOTED: dict[str, Edit] = {
    "who delivered": body("delivered", "who", "Mallory"),
    "source of a delivery": body("delivered", "source", "elsewhere"),
    "key of a delivery": column("delivered", "key", "other.csv"),
    "time of a delivery": column("delivered", "at", "2020-01-01T00:00:00.000Z"),
    "seconds of a fit": body("certified", "report.fields.seconds", 60.0),
    "who overrode": body("overridden", "who", "Mallory"),
    "why it was overridden": body("undone", "reason", "because"),
    "reason of an undo": body("undone", "reason", "as agreed"),
    "who closed": body("closed", "who", "Mallory"),
    "why it was closed": body("closed", "why", "as agreed"),
    "key of a period": column("certified", "key", "7"),
    "time of a certificate": column("certified", "at", "2020-01-01T00:00:00.000Z"),
    "who drew": body("selected", "who", "Mallory"),
    "size of a pool": body("selected", "pool", 5000),
    "who created": body("created", "who", "Mallory"),
    "the rows of a draw": _draw_changed,
    "kind of an entry": column("selected", "kind", "approved"),
    "two entries swapped": _swapped,
    "the last entry removed": _last_removed,
    "an entry removed": statement("DELETE FROM driftpace_entries WHERE {of} AND seq = 5"),
    "a hash": column("asked", "hash", "0" * 64),
}
"""Edits that only the chain finds."""

EDITS = RECOMPUTED | NOTED


def edit(path: Path, name: str) -> None:
    """Make a single edit in a store."""
    with closing(sqlite3.connect(path)) as connection, connection:
        EDITS[name](connection)


def rebuild_chain(path: Path) -> None:
    """Compute the chain of the campaign anew, as someone who knows how it is made would."""
    with closing(sqlite3.connect(path)) as connection, connection:
        found = connection.execute(f"SELECT seq, kind, key, at, body FROM driftpace_entries WHERE {_OF} ORDER BY seq")
        entries = [
            Entry(seq=seq, kind=kind, key=key, at=at, body=json.loads(text)) for seq, kind, key, at, text in found
        ]
        for entry, link in zip(entries, chain(entries), strict=True):
            connection.execute(f"UPDATE driftpace_entries SET hash = ? WHERE {_OF} AND seq = ?", (link, entry.seq))


def random_bits(path: Path, rng: np.random.Generator) -> str:
    """Change one character of a random body to another digit; return what was changed."""
    with closing(sqlite3.connect(path)) as connection, connection:
        found = connection.execute(f"SELECT seq, body FROM driftpace_entries WHERE {_OF}").fetchall()
        seq, text = found[rng.integers(len(found))]
        places = [place for place, sign in enumerate(text) if sign.isdigit()]
        place = places[rng.integers(len(places))]
        digit = str((int(text[place]) + int(rng.integers(1, 9))) % 10)
        changed = f"{text[:place]}{digit}{text[place + 1 :]}"
        connection.execute(f"UPDATE driftpace_entries SET body = ? WHERE {_OF} AND seq = ?", (changed, seq))
        return f"entry {seq}: {text[place - 20 : place + 20]}"
