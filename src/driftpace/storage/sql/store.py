"""The store over SQL, the same for SQLite and PostgreSQL."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import Connection, Select, delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from driftpace.errors import ConflictError, StorageError, UnknownCampaignError
from driftpace.storage.base import (
    LARGEST,
    LONGEST,
    Change,
    Damage,
    Entry,
    Head,
    Refusal,
    Token,
    Value,
    as_json,
    can_be_kept,
    require_after,
    require_change,
    require_text,
    short_refusal,
    up_to,
    within,
)
from driftpace.storage.chain import START
from driftpace.storage.sql.connections import Connections
from driftpace.storage.sql.inspection import campaign_names, find_damage
from driftpace.storage.sql.schema import CAMPAIGNS, ENTRIES, ROWS, TOKENS, VALUES, missing_parts, refuse_newer
from driftpace.storage.sql.statements import (
    ADD_CHECKPOINT,
    ADD_REFUSAL,
    ADD_TICKET,
    ALL_REFUSALS,
    ALL_TOKENS,
    ALL_VALUES,
    CHECKPOINT,
    DROP_REFUSALS,
    DROP_TICKET,
    ENTRY,
    FOUND,
    HEAD,
    HEADS,
    ONE_VALUE,
    PLACE,
    RENEW_TICKET,
    TABLES_VERSION,
    TICKETS_AHEAD,
    TICKETS_HELD,
    CompiledSelect,
    PreparedChange,
    belongs,
)
from driftpace.storage.stored import read_entry, read_head, read_token, read_value, read_whole
from driftpace.tracing import span

LEASE = 10.0
"""Seconds after which a ticket is passed over unless it is renewed: its holder was killed, or computes for long."""

PATIENCE = 120.0
"""Seconds to wait for a turn; after that a change is tried without one."""


TURN = 0.01
"""Seconds that a turn takes, as far as a writer who waits has not seen one."""


class SqlStore:
    """Keep campaigns in a database; open one with :func:`~driftpace.storage.open_store`.

    Every change is one short transaction that locks its campaign and compares the entry number. Every change has a batch id, so
    that one that was committed although the connection was lost is recognised, and neither written twice nor reported as failed.

    Parameters
    ----------
    connections : Connections
        From :mod:`driftpace.storage.sql.sqlite` or :mod:`driftpace.storage.sql.postgres`.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    @property
    def url(self) -> str:
        """Address of the store, without password."""
        return self._connections.url

    def promptly(self) -> "SqlStore":
        """Return the same store for a service: while the server is unavailable, calls fail at once."""
        return SqlStore(self._connections.promptly())

    def __repr__(self) -> str:
        return f"<SqlStore {self.url}>"

    def create(self, name: str, change: Change) -> None:
        """Create a campaign with its first entries; raise :class:`ConflictError` if the name is taken."""
        require_text("create", name=name)
        require_change("create", change, least=1)
        writing = PreparedChange("create", change, after=0)

        def work(connection: Connection, _: bool) -> None:
            first = change.entries[0].at
            row = {"name": name, "lowered": name.lower(), "seq": 0, "created_at": first, "updated_at": first}
            made = _insert_or_ignore(connection, CAMPAIGNS, row | {"summary": writing.summary})
            campaign = self._place(connection, name)[0]
            if made:
                connection.execute(ADD_CHECKPOINT, {"campaign_id": campaign, "seq": 0, "data": b""})
                writing.write(connection, campaign)
            elif not writing.is_written(connection, campaign):
                raise ConflictError(f"a campaign named {name!r} already exists.")

        self._connections.write(work)

    def append(self, name: str, after: int, change: Change) -> int:
        """Append entries after number ``after`` and return the last number; raise :class:`ConflictError` if the log is longer."""
        require_change("append", change)
        writing = PreparedChange("append", change, after=after)

        def work(connection: Connection, _: bool) -> int:
            campaign, seq, last_hash = self._place(connection, name)
            if seq == after:
                writing.write(connection, campaign, last_hash)
            elif not writing.is_written(connection, campaign):
                raise ConflictError(f"campaign {name!r} is at entry {seq}, no longer at {after}.")
            return after + len(change.entries)

        if not can_be_kept(name):
            raise UnknownCampaignError(f"there is no campaign named {name!r}.")
        return self._connections.write(work)

    def crowded(self, name: str) -> bool:
        """Return whether somebody waits for a turn to change a campaign, or has it."""
        return bool(self._connections.ask(TICKETS_HELD, {"name": name, "now": time.time()}))

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """Wait in order of arrival among those who change a campaign, by a ticket that expires if its holder is gone."""
        ticket = self._connections.lightly(ADD_TICKET, {"name": name, "expires": time.time() + LEASE})
        if not ticket:  # there is no such campaign
            yield
            return
        mine = {"id": int(ticket[0][0])}
        try:
            with span("store.wait", campaign=name):
                self._wait_for(name, mine["id"])
            yield
        finally:
            with suppress(StorageError):  # it expires
                self._connections.lightly(DROP_TICKET, mine)

    def _wait_for(self, name: str, ticket: int) -> None:
        renewed = time.time()
        began = time.monotonic()
        first = None
        while (waited := time.monotonic() - began) < PATIENCE:
            now = time.time()
            (ahead,) = self._connections.ask(TICKETS_AHEAD, {"name": name, "id": ticket, "now": now})[0]
            if not ahead:
                break
            first = first or ahead
            pace = waited / (first - ahead) if ahead < first else max(waited, TURN)
            if now > renewed + LEASE / 3:
                renewed = now
                self._connections.lightly(RENEW_TICKET, {"id": ticket, "expires": now + LEASE})
            time.sleep(_pause(ahead, pace))
        self._connections.lightly(RENEW_TICKET, {"id": ticket, "expires": time.time() + LEASE})

    def head(self, name: str) -> Head | None:
        """Return the head of a campaign; None if there is none."""
        rows = self._put(HEAD, name=name)
        return read_head(rows[0]) if rows else None

    def heads(
        self, *, after: str = "", limit: int | None = None, search: str = "", archived: bool | None = None
    ) -> list[Head]:
        """Return heads ordered by name, after the name ``after``, whose name contains ``search`` (case-insensitive)."""
        require_after(after)
        asked = _searched(select(*HEADS), search, archived).order_by(CAMPAIGNS.c.name).limit(up_to(limit))
        return [read_head(row) for row in self._all(asked.where(CAMPAIGNS.c.name > after), search)]

    def count(self, *, search: str = "", archived: bool | None = None) -> int:
        """Return the number of campaigns whose name contains ``search``."""
        rows = self._all(_searched(select(func.count()).select_from(CAMPAIGNS), search, archived), search)
        return int(rows[0][0]) if rows else 0

    def entries(
        self, name: str, *, after: int = 0, limit: int | None = None, kinds: Sequence[str] | None = None
    ) -> list[Entry]:
        """Return the entries after number ``after`` in order, of all or some ``kinds``."""
        asked = _of_kinds(select(*ENTRY).where(belongs(ENTRIES, name), ENTRIES.c.seq > within(after)), kinds)
        return [read_entry(row) for row in self._all(asked.order_by(ENTRIES.c.seq).limit(up_to(limit)), name)]

    def latest(self, name: str, *, limit: int, kinds: Sequence[str] | None = None) -> list[Entry]:
        """Return the last ``limit`` entries, in order."""
        asked = _of_kinds(select(*ENTRY).where(belongs(ENTRIES, name)), kinds)
        rows = self._all(asked.order_by(ENTRIES.c.seq.desc()).limit(up_to(limit)), name)
        return [read_entry(row) for row in reversed(rows)]

    def find(self, name: str, kind: str, key: str) -> Entry | None:
        """Return the last entry of a kind with that key, or None."""
        rows = self._put(FOUND, name=name, kind=kind, key=key)
        return read_entry(rows[0]) if rows else None

    def checkpoint(self, name: str) -> tuple[int, bytes] | None:
        """Return the number of the last entry and the checkpoint; None if there is no campaign."""
        rows = self._put(CHECKPOINT, name=name)
        if not rows:
            return None
        if not isinstance(rows[0][1], bytes | memoryview):
            raise StorageError(f"the checkpoint of campaign {name!r} is damaged in the store; restore a backup.")
        return read_whole(rows[0][0], f"the checkpoint of campaign {name!r}", "seq"), bytes(rows[0][1])

    def rows(self, name: str, seqs: Sequence[int]) -> dict[int, bytes]:
        """Return the rows of these entries by number; entries without rows are left out."""
        wanted = sorted({seq for seq in seqs if 0 < seq < LARGEST})
        data_by_seq: dict[int, bytes] = {}
        for start in range(0, len(wanted), 500):
            asked = select(ROWS.c.seq, ROWS.c.data).where(
                belongs(ROWS, name), ROWS.c.seq.in_(wanted[start : start + 500])
            )
            data_by_seq.update({int(seq): bytes(data) for seq, data in self._all(asked, name)})
        return {seq: data_by_seq[seq] for seq in seqs if seq in data_by_seq}

    def add_refusal(self, name: str, refusal: Refusal) -> None:
        """Note a refused delivery beside the log; nothing without a campaign."""
        short = short_refusal(refusal)
        texts = {"at": short.at, "who": short.who, "source": short.source, "sentence": short.sentence}

        def work(connection: Connection, again: bool) -> None:
            campaign = connection.scalar(select(CAMPAIGNS.c.id).where(CAMPAIGNS.c.name == name))
            if campaign is not None and not again:
                connection.execute(ADD_REFUSAL, {"campaign_id": campaign, **texts})
                connection.execute(DROP_REFUSALS, {"campaign": campaign})

        if can_be_kept(name):
            self._connections.write(work)

    def refusals(self, name: str) -> list[Refusal]:
        """Return the refused deliveries that are kept, the oldest first."""
        rows = self._put(ALL_REFUSALS, name=name)
        return [Refusal(at=at, who=who, source=source, sentence=sentence) for at, who, source, sentence in rows]

    def remove(self, name: str) -> None:
        """Delete a campaign with its log, rows and checkpoint; do nothing if there is none."""
        if can_be_kept(name):
            self._connections.write(
                lambda connection, _: connection.execute(delete(CAMPAIGNS).where(CAMPAIGNS.c.name == name)) and None
            )

    def add_token(self, token: Token) -> None:
        """Store a token; raise :class:`ConflictError` if the name is taken."""
        require_text("add_token", name=token.name, digest=token.digest)
        row: dict[str, Any] = {
            "name": token.name,
            "digest": token.digest,
            "scopes": as_json("add_token", scopes=list(token.scopes)),
        }
        row |= {"created_at": token.created_at, "expires_at": token.expires_at}

        def work(connection: Connection, again: bool) -> None:
            if not _insert_or_ignore(connection, TOKENS, row):
                kept = connection.scalar(select(TOKENS.c.digest).where(TOKENS.c.name == token.name))
                if not again or kept != token.digest:
                    raise ConflictError(f"a token named {token.name!r} already exists.")

        self._connections.write(work)

    def tokens(self) -> list[Token]:
        """Return all tokens, ordered by name."""
        return [read_token(row) for row in self._put(ALL_TOKENS)]

    def remove_token(self, name: str) -> bool:
        """Delete a token; return whether there was one."""

        def work(connection: Connection, again: bool) -> bool:
            return connection.execute(delete(TOKENS).where(TOKENS.c.name == name)).rowcount > 0 or again

        return can_be_kept(name) and self._connections.write(work)

    def put_value(self, value: Value) -> int:
        """Write a value and return its version; raise :class:`ConflictError` if the store has another version than its."""
        require_text("put_value", kind=value.kind, key=value.key)
        body, version = as_json("put_value", body=value.body), value.version + 1
        place = (VALUES.c.kind == value.kind, VALUES.c.key == value.key)

        def work(connection: Connection, again: bool) -> None:
            row = {"kind": value.kind, "key": value.key, "version": version, "body": body}
            if value.version == 0:
                written = _insert_or_ignore(connection, VALUES, row)
            else:
                changed = update(VALUES).where(*place, VALUES.c.version == value.version)
                written = connection.execute(changed.values(version=version, body=body)).rowcount > 0
            if not written:
                kept = connection.execute(select(VALUES.c.version, VALUES.c.body).where(*place)).one_or_none()
                if not again or kept is None or tuple(kept) != (version, body):
                    raise ConflictError(f"the value {value.key!r} was written by another process.")

        self._connections.write(work)
        return version

    def value(self, kind: str, key: str) -> Value | None:
        """Return a value, or None."""
        if not can_be_kept(key):
            return None
        return next(map(read_value, self._put(ONE_VALUE, kind=kind, key=key)), None)

    def values(self, kind: str) -> list[Value]:
        """Return the values of a kind, ordered by key."""
        return [read_value(row) for row in self._put(ALL_VALUES, kind=kind)]

    def remove_value(self, kind: str, key: str) -> bool:
        """Delete a value; return whether there was one."""

        def work(connection: Connection, again: bool) -> bool:
            gone = delete(VALUES).where(VALUES.c.kind == kind, VALUES.c.key == key)
            return connection.execute(gone).rowcount > 0 or again

        return can_be_kept(key) and self._connections.write(work)

    def purge(self) -> bool:
        """Write the write-ahead log to the file, where deleted rows are zeros, and empty it; return whether that was possible.

        Readers can prevent it. PostgreSQL keeps deleted rows in its files until VACUUM FULL.
        """

        def work(connection: Connection) -> bool:
            if connection.dialect.name != "sqlite":
                return False
            busy, _, _ = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
            return not busy

        return self._connections.read(work)

    def ping(self) -> None:
        """Raise :class:`StorageError` if the store cannot be reached."""
        rows = self._put(TABLES_VERSION)
        if not rows or not isinstance(rows[0][0], int):
            raise StorageError("the store{where} is damaged; restore a backup.", store=self.url)
        refuse_newer(int(rows[0][0]), self.url)

    def check(self) -> None:
        """Raise :class:`StorageError` if a table, a column or an index is missing."""
        missing = self._connections.read(missing_parts)
        if missing:
            raise StorageError(
                f"the store{{where}} is damaged: it has no {missing[0]}; restore a backup.", store=self.url
            )

    def names(self) -> list[str]:
        """Return the names of all campaigns that can be read, in order."""
        return self._connections.read(campaign_names)

    def damage(self) -> list[Damage]:
        """Return what driftpace cannot have written, as far as its form tells; reads everything but rows and checkpoints."""
        with self._connections.snapshot() as connection:
            return find_damage(connection)

    def close(self) -> None:
        """Close the connections; a closed store opens new ones when it is used again."""
        self._connections.close()

    def _place(self, connection: Connection, name: str) -> tuple[int, int, str]:
        """Lock a campaign until the end of the transaction; return its id, and the number and the hash of its last entry."""
        row = connection.execute(PLACE, {"name": name}).first()
        if row is None:
            raise UnknownCampaignError(f"there is no campaign named {name!r}.")
        refuse_newer(int(row[3]), self.url)  # a newer driftpace may have upgraded it since it was opened
        return int(row[0]), int(row[1]), row[2] or START

    def _all(self, asked: Select[Any], *texts: str) -> Sequence[Any]:
        """Return the rows of a query; none for a text that no store can hold."""
        if not all(can_be_kept(text) for text in texts):
            return []
        return self._connections.read(lambda connection: connection.execute(asked).all())

    def _put(self, query: CompiledSelect, **texts: str) -> Sequence[Any]:
        """Return the rows of a compiled query; none for a text that no store can hold."""
        return self._connections.ask(query, texts) if all(can_be_kept(text) for text in texts.values()) else []


def _pause(ahead: int, pace: float) -> float:
    """Return the seconds after which a writer looks again whether it is its turn: half of those that the others are likely to take.

    Each look costs the server and the others as much as a tenth of a turn.

    >>> [round(_pause(ahead, 0.01), 4) for ahead in (16, 4, 1)]
    [0.075, 0.015, 0.0025]
    """
    return min(max(0.5 * (ahead - 1) * pace, 0.25 * min(pace, 0.2), 0.001), 0.25)


def _insert_or_ignore(connection: Connection, table: Any, row: dict[str, Any]) -> bool:
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    unless_there = dialect.insert(table).on_conflict_do_nothing().values(**row)
    return connection.execute(unless_there, execution_options={"preserve_rowcount": True}).rowcount > 0


def _searched(asked: Select[Any], search: str, archived: bool | None) -> Select[Any]:
    if archived is not None:  # a quotation mark within a text of the summary is written with a backslash
        marked = CAMPAIGNS.c.summary.contains('"archived":true', autoescape=True)
        asked = asked.where(marked if archived else ~marked)
    lowered = search.lower()[: 3 * LONGEST + 1]  # longer than any name, so nothing matches
    return asked.where(CAMPAIGNS.c.lowered.contains(lowered, autoescape=True)) if search else asked


def _of_kinds(asked: Select[Any], kinds: Sequence[str] | None) -> Select[Any]:
    return asked if kinds is None else asked.where(ENTRIES.c.kind.in_([kind for kind in kinds if can_be_kept(kind)]))
