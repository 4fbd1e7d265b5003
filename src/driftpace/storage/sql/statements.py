"""What is said to a database over and over, built once: building a statement costs more than the database takes to answer it."""

from typing import Any

from sqlalchemy import Dialect, Select, bindparam, delete, insert, select, update

from driftpace.storage.sql.schema import CAMPAIGNS, CHECKPOINTS, ENTRIES, META, ROWS, TOKENS

HEADS = (CAMPAIGNS.c.name, CAMPAIGNS.c.seq, CAMPAIGNS.c.summary, CAMPAIGNS.c.created_at, CAMPAIGNS.c.updated_at)
ENTRY = (ENTRIES.c.seq, ENTRIES.c.kind, ENTRIES.c.key, ENTRIES.c.at, ENTRIES.c.body)


class Question:
    """A select whose parameters have names, in the words of each driver that it was put to."""

    def __init__(self, asked: Select[Any]) -> None:
        self._asked = asked
        self._words: dict[str, tuple[str, list[str] | None, dict[str, Any]]] = {}

    def to(self, dialect: Dialect, values: dict[str, Any]) -> tuple[str, Any]:
        """Return the text for a driver, and the parameters as it takes them: in order, or by name."""
        found = self._words.get(dialect.name)
        if found is None:
            compiled = self._asked.compile(dialect=dialect)
            order = getattr(compiled, "positiontup", None)
            found = self._words[dialect.name] = (str(compiled), order, dict(compiled.params))
        text, order, given = found
        values = {**given, **values}
        return text, values if order is None else [values[name] for name in order]


def belongs(table: Any, name: Any) -> Any:
    """Return the condition that a row is one of the campaign of that name."""
    return table.c.campaign_id == select(CAMPAIGNS.c.id).where(CAMPAIGNS.c.name == name).scalar_subquery()


_NAME: Any = bindparam("name")
_CAMPAIGN: Any = bindparam("campaign")

HEAD = Question(select(*HEADS).where(CAMPAIGNS.c.name == _NAME))
CHECKPOINT = Question(select(CHECKPOINTS.c.seq, CHECKPOINTS.c.data).where(belongs(CHECKPOINTS, _NAME)))
FOUND = Question(
    select(*ENTRY)
    .where(belongs(ENTRIES, _NAME), ENTRIES.c.kind == bindparam("kind"), ENTRIES.c.key == bindparam("key"))
    .order_by(ENTRIES.c.seq.desc())
    .limit(1)
)
ALL_TOKENS = Question(select(*TOKENS.c).order_by(TOKENS.c.name))
TABLES_VERSION = Question(select(META.c.version))

PLACE = (
    select(CAMPAIGNS.c.id, CAMPAIGNS.c.seq, select(META.c.version).scalar_subquery())
    .where(CAMPAIGNS.c.name == _NAME)
    .with_for_update(of=CAMPAIGNS)
)
"""Locks a campaign until the end of the transaction: its own number, that of its last entry, the version of the tables."""

MARK = select(ENTRIES.c.batch).where(ENTRIES.c.campaign_id == _CAMPAIGN, ENTRIES.c.seq == bindparam("first"))
ADD_ENTRIES, ADD_ROWS, ADD_CHECKPOINT = insert(ENTRIES), insert(ROWS), insert(CHECKPOINTS)
DROP_ROWS = delete(ROWS).where(ROWS.c.campaign_id == _CAMPAIGN, ROWS.c.seq == bindparam("dropped"))
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
