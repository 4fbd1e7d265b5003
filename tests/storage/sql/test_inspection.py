"""What driftpace cannot have written is found in both databases, and nothing in a store that it wrote."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, text

from driftpace.service import sessions
from driftpace.service.auth import make_token
from driftpace.service.notifications import _KIND
from driftpace.storage import Change, Entry, Refusal, Store, open_store
from driftpace.storage.base import VALUE_KINDS, Value

AT = "2026-11-15T10:00:00.000Z"
BODY = "UPDATE driftpace_{} SET {} = {}"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/labels.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    store = open_store(url)
    for name in ("Churn", "prices"):
        entries = [Entry(kind="created", body={"text": "ä\\0"}, at=AT, key="K"), Entry(kind="asked", body={}, at=AT)]
        store.create(name, Change(entries=entries, checkpoint=b"\xff", summary={"stage": "ask"}, rows={0: b"\0"}))
        store.add_refusal(name, Refusal(at=AT, who="ada", source="a.csv", sentence="it is empty."))
    make_token(store, "ada", ["read"], 1.0)
    store.put_value(Value(kind="session", key="k", body={}))
    with store.turn("prices"):
        yield store
    store.close()


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    yield engine
    engine.dispose()


def execute(engine: Engine, *statements: str) -> None:
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))


def test_nothing_is_found_in_a_whole_store(store: Store) -> None:
    assert store.damage() == []
    assert store.names() == ["Churn", "prices"]


@pytest.mark.parametrize(
    ("statement", "table", "sentence"),
    [
        (
            "UPDATE driftpace_campaigns SET lowered = 'x'",
            "campaigns",
            "name 'Churn': lowered must be the name in lower case (and in 1",
        ),
        (
            "UPDATE driftpace_campaigns SET summary = 'x'",
            "campaigns",
            "summary must be a JSON object (and in 1 more row).",
        ),
        (
            "UPDATE driftpace_entries SET batch = 'zzz'",
            "entries",
            "'Churn', seq 1: batch must be the 32 hexadecimal digits of a change (and in 3",
        ),
        (
            "UPDATE driftpace_entries SET body = '{' WHERE seq = 2",
            "entries",
            "Row campaign 'Churn', seq 2: body must be a JSON object (and in 1",
        ),
        (
            """UPDATE driftpace_entries SET body = '{"who":"Mallory","who":"Ada"}' WHERE seq = 2""",
            "entries",
            "Row campaign 'Churn', seq 2: body must be written as driftpace writes JSON (and in 1",
        ),
        (
            """UPDATE driftpace_entries SET body = '{"who":"\\ud800"}' WHERE seq = 2""",
            "entries",
            "Row campaign 'Churn', seq 2: body must be written as driftpace writes JSON (and in 1",
        ),
        (
            "UPDATE driftpace_tokens SET scopes = '[1]'",
            "tokens",
            "Row name 'ada': scopes must be a JSON list of texts.",
        ),
        (
            "UPDATE driftpace_tokens SET digest = 'x'",
            "tokens",
            "Row name 'ada': digest must be the 64 hexadecimal digits of SHA-256.",
        ),
        (
            "UPDATE driftpace_tokens SET expires_at = 'never'",
            "tokens",
            "Row name 'ada': expires_at must be a time in ISO 8601.",
        ),
        (
            "UPDATE driftpace_refusals SET at = 'x'",
            "refusals",
            "campaign 'Churn': at must be a time in ISO 8601 (and in 1 more row).",
        ),
        (
            "INSERT INTO driftpace_values VALUES ('junk', 'a', 1, '{}')",
            "values",
            "Row kind 'junk', key 'a': kind must be one of alert, secret, session.",
        ),
        ("UPDATE driftpace_values SET version = 0", "values", "Row kind 'session', key 'k': version must be positive."),
        (
            "UPDATE driftpace_values SET body = '[]'",
            "values",
            "Row kind 'session', key 'k': body must be a JSON object.",
        ),
        ("CREATE VIEW driftpace_more AS SELECT 1 AS one", "more", "The view 'driftpace_more' is not of driftpace"),
        ("CREATE TABLE driftpace_more (x INTEGER)", "more", "The table 'driftpace_more' is not of driftpace"),
        ("CREATE INDEX more ON driftpace_entries (at)", "entries", "The index 'more' is not of driftpace"),
    ],
)
def test_what_it_cannot_have_written_is_named(
    store: Store, engine: Engine, statement: str, table: str, sentence: str
) -> None:
    execute(engine, statement)
    (found,) = store.damage()
    assert found.table == f"driftpace_{table}"
    assert sentence in found.sentence


def test_triggers_are_named(store: Store, engine: Engine) -> None:
    if engine.dialect.name == "sqlite":
        execute(engine, "CREATE TRIGGER more AFTER INSERT ON driftpace_entries BEGIN DELETE FROM driftpace_tokens; END")
    else:
        execute(
            engine,
            "CREATE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
            "CREATE TRIGGER more BEFORE INSERT ON driftpace_entries FOR EACH ROW EXECUTE FUNCTION more()",
            "CREATE RULE less AS ON DELETE TO driftpace_tokens DO INSTEAD NOTHING",
        )
    sentences = [found.sentence for found in store.damage()]
    assert any("The trigger 'more' is not of driftpace" in sentence for sentence in sentences)
    if engine.dialect.name != "sqlite":
        assert any("The rule 'less' is not of driftpace" in sentence for sentence in sentences)


def test_tables_of_others_beside_the_store_are_no_damage(store: Store, engine: Engine) -> None:
    execute(engine, "CREATE TABLE customers (x INTEGER)", "CREATE VIEW latest AS SELECT x FROM customers")
    assert store.damage() == []


def test_values_of_other_types_and_orphans_are_named_in_sqlite(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/labels.db"
    store = open_store(url)
    for name in ("churn", "prices"):
        entries = [Entry(kind="created", body={}, at=AT)]
        store.create(name, Change(entries=entries, checkpoint=b"", summary={}))
    engine = create_engine(url)
    execute(
        engine,
        "UPDATE driftpace_entries SET kind = x'ff' WHERE campaign_id = 1",
        "UPDATE driftpace_checkpoints SET seq = 'x', data = 'y' WHERE campaign_id = 1",
        "DELETE FROM driftpace_campaigns WHERE name = 'prices'",
    )
    engine.dispose()
    sentences = [found.sentence for found in store.damage()]
    assert sentences[:3] == [
        "Row campaign 'churn': seq must be a whole number.",
        "Row campaign 'churn': data must be bytes.",
        "Row campaign 'churn', seq 1: kind must be a text.",
    ]
    assert sentences[3].endswith("belongs to no row of driftpace_campaigns.")
    assert store.names() == ["churn"]
    store.close()


def test_every_kind_of_value_is_known() -> None:
    assert {_KIND, sessions._SESSION, sessions._SECRET} == VALUE_KINDS
