"""What in the tables of a store cannot be what driftpace wrote: values of another form, copies that differ, foreign parts.

The hash chain covers the logs. This covers what is beside them as far as its form tells: tokens, values, derived columns, and
triggers, which could change what is written later.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sqlalchemy import Column, Connection, Double, Integer, LargeBinary, Table, Text, cast, func, literal, select, text

from driftpace.errors import ParameterError
from driftpace.storage.base import VALUE_KINDS, Damage, as_json
from driftpace.storage.sql.schema import CAMPAIGNS, ENTRIES, METADATA, REFUSALS, TOKENS, VALUES
from driftpace.storage.stored import json_object, json_texts

Check = Callable[[Mapping[str, Any]], str | None]
"""Returns what a value of a row must be, or None where it is."""

CHUNK = 500
"""Rows that are read at once."""


def find_damage(connection: Connection) -> list[Damage]:
    """Return what cannot have been written by a store: of each column the first row, with how many more there are."""
    found = [*_foreign_parts(connection)]
    names = {number: name for number, name in _campaigns(connection) if isinstance(name, str)}
    for table in METADATA.sorted_tables:
        found += _damaged_rows(connection, table, names)
    if connection.dialect.name == "sqlite":
        found += _orphans(connection)
    return found


def campaign_names(connection: Connection) -> list[str]:
    """Return the names of the campaigns that can be read."""
    return [name for _, name in _campaigns(connection) if isinstance(name, str)]


def _campaigns(connection: Connection) -> list[tuple[Any, Any]]:
    asked = select(CAMPAIGNS.c.id, *_cells(connection, CAMPAIGNS.c.name)).order_by(CAMPAIGNS.c.name)
    return [(row[0], _value(CAMPAIGNS.c.name, row[1:])) for row in connection.execute(asked)]


def _damaged_rows(connection: Connection, table: Table, names: Mapping[Any, str]) -> list[Damage]:
    columns = list(table.columns)
    cells = [cell for column in columns for cell in _cells(connection, column)]
    first: dict[str, tuple[str, str]] = {}
    more: dict[str, int] = {}
    for row in connection.execution_options(yield_per=CHUNK).execute(select(*cells)):
        values = {column.name: _value(column, row[2 * place : 2 * place + 2]) for place, column in enumerate(columns)}
        for name, needed in _problems(table, values):
            first.setdefault(name, (_named(table, values, names), needed))
            more[name] = more.get(name, -1) + 1
    return [
        Damage(table=table.name, sentence=f"{named}: {name} must be {needed}{_and_more(more[name])}.")
        for name, (named, needed) in first.items()
    ]


def _and_more(count: int) -> str:
    return f" (and in {count:,} more {'row' if count == 1 else 'rows'})" if count else ""


def _problems(table: Table, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the columns of a row that are wrong, each with what it must be."""
    wrong = set()
    for column in table.columns:
        if isinstance(values[column.name], _Wrong):
            wrong.add(column.name)
            yield column.name, values[column.name].needed
    for (owner, name), check in _CHECKS.items():
        if owner is table and not wrong & {name, "name"}:
            needed = check(values)
            if needed is not None:
                yield name, needed


class _Wrong:
    """A value of a type that the column does not have."""

    def __init__(self, needed: str) -> None:
        self.needed = needed

    def __repr__(self) -> str:
        return "?"


def _cells(connection: Connection, column: Column[Any]) -> list[Any]:
    """Return the type and the content of a column; SQLite takes values of any type, and texts of any bytes, in any column."""
    blob = isinstance(column.type, LargeBinary)
    if connection.dialect.name != "sqlite":
        return [literal(""), literal("") if blob else column]
    content = cast(column, LargeBinary) if isinstance(column.type, Text) else column
    return [func.typeof(column), literal("") if blob else content]


_AS_WRITTEN = "written as driftpace writes JSON"

_NEEDED = {
    Text: ("a text", ("text",)),
    Integer: ("a whole number", ("integer",)),
    Double: ("a number", ("real", "integer")),
}


def _value(column: Column[Any], cell: Any) -> Any:
    """Return the value of a cell, or _Wrong."""
    kind, content = cell
    if not kind:
        return content
    needed, kinds = next(
        (value for base, value in _NEEDED.items() if isinstance(column.type, base)), ("bytes", ("blob",))
    )
    if kind == "null" and column.nullable:
        return None
    if kind not in kinds:
        return _Wrong(needed)
    try:
        return content.decode() if isinstance(content, bytes) and kind == "text" else content
    except UnicodeDecodeError:
        return _Wrong("a text in UTF-8")


def _named(table: Table, values: Mapping[str, Any], names: Mapping[Any, str]) -> str:
    """Return the place of a row in words: its key, with the name of its campaign."""
    keys = [column.name for column in table.primary_key] if table is not CAMPAIGNS else ["id", "name"]
    if "campaign_id" in values and "campaign_id" not in keys:
        keys.append("campaign_id")
    words = [
        f"campaign {names[values[key]]!r}"
        if key == "campaign_id" and values[key] in names
        else f"{key} {values[key]!r}"
        for key in keys
    ]
    return "Row " + ", ".join(words)


def _form(name: str, pattern: str, needed: str) -> Check:
    compiled = re.compile(pattern)
    return lambda row: None if row[name] is None or compiled.fullmatch(row[name]) else needed


def _json(name: str, parse: Callable[[Any], Any]) -> Check:
    def check(row: Mapping[str, Any]) -> str | None:
        try:
            content = parse(row[name])
            written = as_json("doctor", content=content)
        except (ParameterError, ValueError) as error:
            return _AS_WRITTEN if isinstance(error, ParameterError) else f"{error}"
        return (
            None if row[name] == written else _AS_WRITTEN
        )  # of a name that is there twice, other programs read the other

    return check


def _lowered(row: Mapping[str, Any]) -> str | None:
    return None if row["lowered"] == row["name"].lower() else "the name in lower case"


def _kind(row: Mapping[str, Any]) -> str | None:
    return None if row["kind"] in VALUE_KINDS else f"one of {', '.join(sorted(VALUE_KINDS))}"


_TIME = (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", "a time in ISO 8601")

_CHECKS: dict[tuple[Table, str], Check] = {
    (CAMPAIGNS, "lowered"): _lowered,
    (CAMPAIGNS, "summary"): _json("summary", json_object),
    (ENTRIES, "body"): _json("body", json_object),
    (ENTRIES, "batch"): _form("batch", "[0-9a-f]{32}", "the 32 hexadecimal digits of a change"),
    (REFUSALS, "at"): _form("at", *_TIME),
    (TOKENS, "digest"): _form("digest", "[0-9a-f]{64}", "the 64 hexadecimal digits of SHA-256"),
    (TOKENS, "scopes"): _json("scopes", json_texts),
    (TOKENS, "created_at"): _form("created_at", *_TIME),
    (TOKENS, "expires_at"): _form("expires_at", *_TIME),
    (VALUES, "kind"): _kind,
    (VALUES, "version"): lambda row: None if row["version"] > 0 else "positive",
    (VALUES, "body"): _json("body", json_object),
}

_SQLITE_PARTS = "SELECT type, name, tbl_name FROM sqlite_master WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'"
_POSTGRES_PARTS = """
SELECT 'trigger', t.tgname, c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE NOT t.tgisinternal AND c.relnamespace = current_schema()::regnamespace
UNION ALL
SELECT 'rule', r.rulename, r.tablename FROM pg_rules r WHERE r.schemaname = current_schema()
UNION ALL
SELECT CASE c.relkind WHEN 'v' THEN 'view' ELSE 'table' END, c.relname, c.relname FROM pg_class c
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relnamespace = current_schema()::regnamespace
UNION ALL
SELECT 'index', i.indexname, i.tablename FROM pg_indexes i WHERE i.schemaname = current_schema()
"""


def _foreign_parts(connection: Connection) -> Iterator[Damage]:
    """Yield triggers and rules on the tables, and tables, views and indexes of their names, that driftpace does not make."""
    sqlite = connection.dialect.name == "sqlite"
    known = {table.name for table in METADATA.sorted_tables}
    indexes = {f"{index.name}" for table in METADATA.sorted_tables for index in table.indexes}
    indexes |= {f"{table.name}_{column.name}_key" for table in METADATA.sorted_tables for column in table.columns}
    indexes |= {f"{name}_pkey" for name in known}
    for kind, name, table in connection.execute(text(_SQLITE_PARTS if sqlite else _POSTGRES_PARTS)):
        ours = table in known or table.startswith("driftpace_")
        made = (kind == "index" and name in indexes) or (kind == "table" and name in known)
        if ours and not made:
            yield Damage(
                table=table, sentence=f"The {kind} {name!r} is not of driftpace; drop it if you did not add it."
            )


def _orphans(connection: Connection) -> Iterator[Damage]:
    """Yield rows of campaigns or entries that do not exist."""
    for table, row, parent, _ in connection.execute(text("PRAGMA foreign_key_check")):
        yield Damage(table=table, sentence=f"Row number {row} belongs to no row of {parent}.")
        return
