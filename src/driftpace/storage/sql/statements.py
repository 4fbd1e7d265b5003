"""Prepared statements, and the rows that one change writes.

Statements are built once because building one takes longer than the database needs to execute it.
"""

import json
from dataclasses import replace
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Dialect, bindparam, delete, func, insert, select, update

from driftpace.storage.base import LARGEST, MAX_REFUSALS, Change, as_json, numbered, within
from driftpace.storage.chain import START, content_hash, linked
from driftpace.storage.sql import statements
from driftpace.storage.sql.schema import CAMPAIGNS, CHECKPOINTS, ENTRIES, META, REFUSALS, ROWS, TICKETS, TOKENS, VALUES

HEADS = (CAMPAIGNS.c.name, CAMPAIGNS.c.seq, CAMPAIGNS.c.summary, CAMPAIGNS.c.created_at, CAMPAIGNS.c.updated_at)
ENTRY = (ENTRIES.c.seq, ENTRIES.c.kind, ENTRIES.c.key, ENTRIES.c.at, ENTRIES.c.body, ENTRIES.c.hash)


class CompiledSelect:
    """A statement with named parameters that returns rows, compiled once for each dialect."""

    def __init__(self, select: Any) -> None:
        self._select = select
        self._compiled: dict[str, tuple[str, list[str] | None, dict[str, Any]]] = {}

    def compiled_for(self, dialect: Dialect, values: dict[str, Any]) -> tuple[str, Any]:
        """Return the SQL for a driver, and its parameters by position or by name."""
        statement = self._compiled.get(dialect.name)
        if statement is None:
            compiled = self._select.compile(dialect=dialect)
            order = getattr(compiled, "positiontup", None)
            statement = self._compiled[dialect.name] = (str(compiled), order, dict(compiled.params))
        text, order, given = statement
        values = {**given, **values}
        return text, values if order is None else [values[name] for name in order]


def belongs(table: Any, name: Any) -> Any:
    """Return the condition that a row belongs to the campaign of that name."""
    return table.c.campaign_id == select(CAMPAIGNS.c.id).where(CAMPAIGNS.c.name == name).scalar_subquery()


_NAME: Any = bindparam("name")
_CAMPAIGN: Any = bindparam("campaign")

HEAD = CompiledSelect(select(*HEADS).where(CAMPAIGNS.c.name == _NAME))
CHECKPOINT = CompiledSelect(select(CHECKPOINTS.c.seq, CHECKPOINTS.c.data).where(belongs(CHECKPOINTS, _NAME)))
FOUND = CompiledSelect(
    select(*ENTRY)
    .where(belongs(ENTRIES, _NAME), ENTRIES.c.kind == bindparam("kind"), ENTRIES.c.key == bindparam("key"))
    .order_by(ENTRIES.c.seq.desc())
    .limit(1)
)
ALL_TOKENS = CompiledSelect(select(*TOKENS.c).order_by(TOKENS.c.name))
ALL_VALUES = CompiledSelect(select(*VALUES.c).where(VALUES.c.kind == bindparam("kind")).order_by(VALUES.c.key))
ONE_VALUE = CompiledSelect(
    select(*VALUES.c).where(VALUES.c.kind == bindparam("kind"), VALUES.c.key == bindparam("key"))
)
TABLES_VERSION = CompiledSelect(select(META.c.version))

ALL_REFUSALS = CompiledSelect(
    select(REFUSALS.c.at, REFUSALS.c.who, REFUSALS.c.source, REFUSALS.c.sentence)
    .where(belongs(REFUSALS, _NAME))
    .order_by(REFUSALS.c.id)
)
ADD_REFUSAL = insert(REFUSALS)
DROP_REFUSALS = delete(REFUSALS).where(
    REFUSALS.c.campaign_id == _CAMPAIGN,
    REFUSALS.c.id.not_in(
        select(REFUSALS.c.id)
        .where(REFUSALS.c.campaign_id == _CAMPAIGN)
        .order_by(REFUSALS.c.id.desc())
        .limit(MAX_REFUSALS)
    ),
)

DROP_ALL_REFUSALS = delete(REFUSALS).where(REFUSALS.c.campaign_id == _CAMPAIGN)

ADD_TICKET = CompiledSelect(
    insert(TICKETS)
    .from_select(
        ["campaign_id", "expires"],
        select(CAMPAIGNS.c.id, bindparam("expires", type_=TICKETS.c.expires.type)).where(CAMPAIGNS.c.name == _NAME),
    )
    .returning(TICKETS.c.id)
)
DROP_TICKET = CompiledSelect(delete(TICKETS).where(TICKETS.c.id == bindparam("id")).returning(TICKETS.c.id))
RENEW_TICKET = CompiledSelect(
    update(TICKETS).where(TICKETS.c.id == bindparam("id")).values(expires=bindparam("expires")).returning(TICKETS.c.id)
)
TICKETS_AHEAD = CompiledSelect(
    select(func.count()).where(
        belongs(TICKETS, _NAME), TICKETS.c.id < bindparam("id"), TICKETS.c.expires > bindparam("now")
    )
)
"""How many tickets for a campaign came before one and have not expired."""

TICKETS_HELD = CompiledSelect(
    select(TICKETS.c.id).where(belongs(TICKETS, _NAME), TICKETS.c.expires > bindparam("now")).limit(1)
)
"""A ticket for a campaign that has not expired."""

_LAST_HASH = (
    select(ENTRIES.c.hash)
    .where(ENTRIES.c.campaign_id == CAMPAIGNS.c.id, ENTRIES.c.seq == CAMPAIGNS.c.seq)
    .correlate(CAMPAIGNS)
    .scalar_subquery()
)
PLACE = (
    select(CAMPAIGNS.c.id, CAMPAIGNS.c.seq, _LAST_HASH, select(META.c.version).scalar_subquery())
    .where(CAMPAIGNS.c.name == _NAME)
    .with_for_update(of=CAMPAIGNS)
)
"""Lock a campaign until the end of the transaction; returns its id, the number and the hash of its last entry, and the version of
the tables. Where it waited for another transaction, the hash is that of before, and only of use if the number is."""

MARK = select(ENTRIES.c.batch).where(ENTRIES.c.campaign_id == _CAMPAIGN, ENTRIES.c.seq == bindparam("first"))
ADD_ENTRIES, ADD_ROWS, ADD_CHECKPOINT = insert(ENTRIES), insert(ROWS), insert(CHECKPOINTS)
DROP_ROWS = delete(ROWS).where(ROWS.c.campaign_id == _CAMPAIGN, ROWS.c.seq == bindparam("dropped"))
PUT_ROWS = (
    update(ROWS)
    .where(ROWS.c.campaign_id == _CAMPAIGN, ROWS.c.seq == bindparam("replaced"))
    .values(data=bindparam("bytes"))
)
PUT_CHECKPOINT = (
    update(CHECKPOINTS)
    .where(CHECKPOINTS.c.campaign_id == _CAMPAIGN)
    .values(seq=bindparam("last"), data=bindparam("bytes"))
)
PUT_HEAD = (
    update(CAMPAIGNS)
    .where(CAMPAIGNS.c.id == _CAMPAIGN)
    .values(seq=bindparam("last"), summary=bindparam("facts"), updated_at=bindparam("at"))
)
PUT_SUMMARY = update(CAMPAIGNS).where(CAMPAIGNS.c.id == _CAMPAIGN).values(summary=bindparam("facts"))


class PreparedChange:
    """The rows that a change writes after entry ``after``; its batch id stays the same over retries."""

    def __init__(self, owner: str, change: Change, *, after: int) -> None:
        self.after, self.change, self.batch = after, change, uuid4().hex
        entries = numbered(change.entries, after)
        bodies = [as_json(owner, body=entry.body) for entry in entries]
        self.entries = [
            {"seq": entry.seq, "kind": entry.kind, "key": entry.key, "at": entry.at, "body": body, "batch": self.batch}
            for entry, body in zip(entries, bodies, strict=True)
        ]
        self.contents = [
            content_hash(replace(entry, body=json.loads(body))) for entry, body in zip(entries, bodies, strict=True)
        ]
        self.summary = as_json(owner, summary=change.summary)

    def write(self, connection: Connection, campaign: int, last_hash: str = START) -> None:
        """Write the change; its first entry carries on ``last_hash``, that of the last one in the log."""
        belongs = {"campaign_id": campaign}
        last = self.after + len(self.entries)
        if self.entries:
            links = self._links(last_hash)
            entries = [belongs | entry | {"hash": link} for entry, link in zip(self.entries, links, strict=True)]
            connection.execute(statements.ADD_ENTRIES, entries)
        if self.change.rows:
            rows = [{"seq": self.after + 1 + place, "data": bytes(data)} for place, data in self.change.rows.items()]
            connection.execute(statements.ADD_ROWS, [belongs | row for row in rows])
        dropped = [{"campaign": campaign, "dropped": seq} for seq in self.change.drop_rows if 0 < seq < LARGEST]
        if dropped:
            connection.execute(statements.DROP_ROWS, dropped)
        replaced = [
            {"campaign": campaign, "replaced": seq, "bytes": bytes(data)}
            for seq, data in self.change.put_rows.items()
            if 0 < seq < LARGEST
        ]
        if replaced:
            connection.execute(statements.PUT_ROWS, replaced)
        if self.change.drop_refusals:
            connection.execute(statements.DROP_ALL_REFUSALS, {"campaign": campaign})
        put = {"campaign": campaign, "last": last, "bytes": bytes(self.change.checkpoint)}
        connection.execute(statements.PUT_CHECKPOINT, put)
        facts = {"campaign": campaign, "facts": self.summary}
        if self.entries:
            connection.execute(statements.PUT_HEAD, facts | {"last": last, "at": self.change.entries[-1].at})
        else:
            connection.execute(statements.PUT_SUMMARY, facts)

    def _links(self, previous: str) -> list[str]:
        """Return the hash of each entry, of which the first carries on ``previous``."""
        links = []
        for content in self.contents:
            previous = linked(previous, content)
            links.append(previous)
        return links

    def is_written(self, connection: Connection, campaign: int) -> bool:
        """Return whether an earlier attempt of this change was committed."""
        first = {"campaign": campaign, "first": within(self.after) + 1}
        return connection.scalar(statements.MARK, first) == self.batch
