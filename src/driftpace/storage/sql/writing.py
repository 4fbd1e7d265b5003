"""One change as it is written: everything that can be refused is refused before, and its mark stays over several tries."""

from uuid import uuid4

from sqlalchemy import Connection

from driftpace.storage.sql import statements
from driftpace.storage.store import Change
from driftpace.storage.writable import LARGEST, as_json, numbered, within


class Writing:
    """A change behind number ``after`` of a log, on its way into the tables."""

    def __init__(self, owner: str, change: Change, *, after: int) -> None:
        self.after, self.change, self.batch = after, change, uuid4().hex
        self.entries = [
            {"seq": entry.seq, "kind": entry.kind, "key": entry.key, "at": entry.at}
            | {"body": as_json(owner, body=entry.body), "batch": self.batch}
            for entry in numbered(change.entries, after)
        ]
        self.summary = as_json(owner, summary=change.summary)

    def into(self, connection: Connection, campaign: int) -> None:
        """Write the change behind the number it was made for."""
        belongs = {"campaign_id": campaign}
        last = self.after + len(self.entries)
        if self.entries:
            connection.execute(statements.ADD_ENTRIES, [belongs | entry for entry in self.entries])
        if self.change.rows:
            rows = [{"seq": self.after + 1 + place, "data": bytes(data)} for place, data in self.change.rows.items()]
            connection.execute(statements.ADD_ROWS, [belongs | row for row in rows])
        dropped = [{"campaign": campaign, "dropped": seq} for seq in self.change.drop_rows if 0 < seq < LARGEST]
        if dropped:
            connection.execute(statements.DROP_ROWS, dropped)
        put = {"campaign": campaign, "last": last, "bytes": bytes(self.change.checkpoint)}
        connection.execute(statements.PUT_CHECKPOINT, put)
        facts = {"campaign": campaign, "facts": self.summary}
        if self.entries:
            connection.execute(statements.PUT_HEAD, facts | {"last": last, "at": self.change.entries[-1].at})
        else:
            connection.execute(statements.PUT_SUMMARY, facts)

    def is_in(self, connection: Connection, campaign: int) -> bool:
        """Whether an earlier try of this very change was written."""
        first = {"campaign": campaign, "first": within(self.after) + 1}
        return connection.scalar(statements.MARK, first) == self.batch
