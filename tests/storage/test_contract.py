"""One contract over memory, SQLite and PostgreSQL."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from driftpace.errors import ConflictError, ParameterError, UnknownCampaignError
from driftpace.storage import Change, Entry, MemoryStore, Refusal, Store, Token, open_store
from driftpace.storage.base import MAX_REFUSALS, Value
from driftpace.storage.chain import chain, first_break

AT = "2026-11-15T10:00:0{}Z"


def entry(kind: str = "asked", *, key: str | None = None, at: int = 0, **body: object) -> Entry:
    return Entry(kind=kind, body=body, at=AT.format(at), key=key)


def change(*entries: Entry, checkpoint: bytes = b"", rows: dict[int, bytes] | None = None, **summary: object) -> Change:
    return Change(entries=entries or (entry(),), checkpoint=checkpoint, summary=summary, rows=rows or {})


class StoreContract:
    """What every store does."""

    def test_a_campaign_begins_with_its_first_entries(self, store: Store) -> None:
        store.create("churn", change(entry("created", target=0.02), entry(at=1), checkpoint=b"\0state", open=True))
        head = store.head("churn")
        assert head is not None
        assert (head.name, head.seq, head.summary) == ("churn", 2, {"open": True})
        assert (head.created_at, head.updated_at) == (AT.format(0), AT.format(1))
        assert store.checkpoint("churn") == (2, b"\0state")
        assert store.entries("churn") == [
            replace(entry("created", target=0.02), seq=1),
            replace(entry(at=1), seq=2),
        ]

    def test_refusals_are_kept_beside_the_log_up_to_a_number(self, store: Store) -> None:
        store.create("churn", change())
        store.create("other", change())
        for place in range(MAX_REFUSALS + 2):
            store.add_refusal("churn", Refusal(at=AT.format(0), who="ada", source=f"{place}.csv", sentence="a" * 900))
        store.add_refusal("none", Refusal(at=AT.format(0), who="", source="", sentence=""))
        store.add_refusal("other", Refusal(at=AT.format(1), who="\0b", source="\ud800", sentence="it is empty."))
        kept = store.refusals("churn")
        assert [item.source for item in kept] == [f"{place}.csv" for place in range(2, MAX_REFUSALS + 2)]
        assert {(item.who, len(item.sentence)) for item in kept} == {("ada", 500)}
        assert store.refusals("other") == [Refusal(at=AT.format(1), who="b", source="?", sentence="it is empty.")]
        assert store.refusals("none") == []
        head = store.head("churn")
        assert head is not None
        assert head.seq == 1
        store.remove("churn")
        assert store.refusals("churn") == []

    def test_a_name_is_taken_once_and_the_first_stays(self, store: Store) -> None:
        store.create("churn", change(entry("created"), checkpoint=b"first"))
        with pytest.raises(ConflictError, match="'churn' already exists"):
            store.create("churn", change(entry("created"), entry(), checkpoint=b"second"))
        assert store.checkpoint("churn") == (1, b"first")

    def test_appending_goes_behind_the_number_that_was_read(self, store: Store) -> None:
        store.create("churn", change())
        assert store.append("churn", 1, change(entry(at=1), entry(at=2), checkpoint=b"two")) == 3
        assert [found.seq for found in store.entries("churn")] == [1, 2, 3]
        head = store.head("churn")
        assert head is not None
        assert (head.seq, head.updated_at, head.created_at) == (3, AT.format(2), AT.format(0))

    @pytest.mark.parametrize("after", [0, 2, 7, -1, 10**30])
    def test_whoever_has_read_another_number_writes_nothing(self, store: Store, after: int) -> None:
        store.create("churn", change(checkpoint=b"one", rows={0: b"rows"}, done=1))
        with pytest.raises(ConflictError, match=f"'churn' is at entry 1, no longer at {after}"):
            store.append("churn", after, replace(change(checkpoint=b"two", rows={0: b"more"}), drop_rows=[1]))
        assert (store.checkpoint("churn"), store.rows("churn", [1, 2]), len(store.entries("churn"))) == (
            *((1, b"one"), {1: b"rows"}, 1),
        )

    def test_a_change_without_entries_replaces_what_follows_from_the_log(self, store: Store) -> None:
        store.create("churn", change(checkpoint=b"one", rows={0: b"rows"}))
        assert store.append("churn", 1, Change(entries=[], checkpoint=b"smaller", summary={"a": 1}, drop_rows=[1])) == 1
        head = store.head("churn")
        assert head is not None
        assert (head.summary, head.updated_at) == ({"a": 1}, AT.format(0))
        assert (store.checkpoint("churn"), store.rows("churn", [1])) == ((1, b"smaller"), {})

    def test_nothing_is_found_of_a_campaign_that_is_not_there(self, store: Store) -> None:
        for name in ("nobody", "", "a\0b", "\ud800"):
            assert (store.head(name), store.checkpoint(name), store.find(name, "asked", "k")) == (None, None, None)
            assert (store.entries(name), store.latest(name, limit=3), store.rows(name, [1])) == ([], [], {})
            with pytest.raises(UnknownCampaignError, match="there is no campaign named"):
                store.append(name, 0, change())
            store.remove(name)

    def test_entries_are_read_from_a_number_on_by_kind_and_by_count(self, store: Store) -> None:
        kinds = ["created", "asked", "delivered", "asked", "delivered", "asked"]
        store.create("churn", change(*[entry(kind) for kind in kinds]))

        def numbers(found: list[Entry]) -> list[int]:
            return [one.seq for one in found]

        assert numbers(store.entries("churn", after=2)) == [3, 4, 5, 6]
        assert numbers(store.entries("churn", after=-5, limit=2)) == [1, 2]
        assert numbers(store.entries("churn", after=10**30)) == []
        assert numbers(store.entries("churn", after=2, limit=2, kinds=["asked", "fitted"])) == [4, 6]
        assert numbers(store.entries("churn", kinds=[])) == []
        assert numbers(store.entries("churn", kinds=["\0"])) == []
        assert numbers(store.entries("churn", limit=-1)) == []
        assert numbers(store.latest("churn", limit=2)) == [5, 6]
        assert numbers(store.latest("churn", limit=2, kinds=["delivered", "created"])) == [3, 5]
        assert numbers(store.latest("churn", limit=10**30)) == [1, 2, 3, 4, 5, 6]
        assert numbers(store.latest("churn", limit=0)) == []

    def test_every_entry_carries_the_hash_of_the_one_before(self, store: Store) -> None:
        store.create("churn", change(entry("created", counts={2: 1, 10: 2}), entry(at=1, reason="Ostern")))
        store.append("churn", 2, change(entry(at=2, x=-0.0, y=1e-300), entry(key="k", at=3)))
        log = store.entries("churn")
        assert [one.hash for one in log] == chain(log)
        assert len({one.hash for one in log}) == 4
        assert first_break(log) is None
        assert store.latest("churn", limit=1)[0].hash == log[-1].hash

    def test_rows_are_replaced_only_where_there_are_some(self, store: Store) -> None:
        store.create("churn", change(entry("created"), entry(), rows={0: b"rows"}))
        put = Change(entries=[entry()], checkpoint=b"", summary={}, put_rows={1: b"fewer", 2: b"more", 9: b"none"})
        store.append("churn", 2, put)
        assert store.rows("churn", [1, 2, 9]) == {1: b"fewer"}

    def test_a_change_can_drop_the_refusals(self, store: Store) -> None:
        for name in ("churn", "other"):
            store.create(name, change())
            store.add_refusal(name, Refusal(at=AT.format(0), who="ada", source="a.csv", sentence="7 is there twice."))
        with pytest.raises(ConflictError):
            store.append("churn", 9, replace(change(), drop_refusals=True))
        assert len(store.refusals("churn")) == 1
        store.append("churn", 1, replace(change(), drop_refusals=True))
        assert (store.refusals("churn"), len(store.refusals("other"))) == ([], 1)

    def test_archived_campaigns_are_listed_apart(self, store: Store) -> None:
        summaries: dict[str, dict[str, Any]] = {
            "a": {"archived": True},
            "b": {"archived": False},
            "c": {},
            "d": {"description": '"archived":true'},
        }
        for name, summary in summaries.items():
            store.create(name, replace(change(), summary=summary))
        assert [head.name for head in store.heads(archived=True)] == ["a"]
        assert [head.name for head in store.heads(archived=False, limit=2)] == ["b", "c"]
        assert [head.name for head in store.heads(archived=False, after="b", search="D")] == ["d"]
        assert [store.count(archived=one) for one in (None, True, False)] == [4, 1, 3]
        assert isinstance(store.purge(), bool)

    def test_a_whole_store_passes_its_check(self, store: Store) -> None:
        store.create("churn", change())
        store.check()
        assert store.damage() == []
        assert store.names() == ["churn"]

    def test_the_last_entry_with_a_key_is_found(self, store: Store) -> None:
        week = "2026-W46"
        store.create("churn", change(entry(key=week, n=1), entry("told", key=week), entry(key=week, n=2)))
        found = store.find("churn", "asked", "2026-W46")
        assert found is not None
        assert (found.seq, found.body) == (3, {"n": 2})
        assert store.find("churn", "asked", "2026-W47") is None
        assert store.find("churn", "fitted", "2026-W46") is None
        assert store.find("churn", "asked", "\0") is None

    def test_rows_are_kept_until_they_are_dropped(self, store: Store) -> None:
        store.create("churn", change(entry(), entry(), rows={1: b"\0\xff"}))
        store.append("churn", 2, change(rows={0: b""}))
        assert store.rows("churn", [3, 2, 1, 10**30, -1]) == {3: b"", 2: b"\0\xff"}
        store.append("churn", 3, replace(change(rows={0: b"gone at once"}), drop_rows=[2, 1, 4, 99, 10**30]))
        assert store.rows("churn", range(1, 2000)) == {3: b""}

    def test_names_are_searched_in_any_case_and_paged_in_order(self, store: Store) -> None:
        names = ["Zebra", "alpha", "Älter", "älter_2", "100%", "1000", "a_b", "a\\b", "ｚ", "😀", "a/b"]
        for name in names:
            store.create(name, change())
        assert [head.name for head in store.heads()] == sorted(names)
        paged: list[str] = []
        while found := store.heads(after=paged[-1] if paged else "", limit=2):
            paged += [head.name for head in found]
        assert paged == sorted(names)
        for search in ("ÄLTER", "a", "100%", "_", "\\", "/", "😀", "nothing", "\0", "\ud800", "x" * 100_000):
            expected = [name for name in sorted(names) if search.lower() in name.lower()]
            assert [head.name for head in store.heads(search=search)] == expected
            assert store.count(search=search) == len(expected)
        assert (store.count(), store.heads(limit=0), store.heads(after="😀")) == (len(names), [], [])

    def test_a_removed_campaign_leaves_nothing_and_its_name_is_free(self, store: Store) -> None:
        store.create("churn", change(rows={0: b"rows"}, checkpoint=b"old"))
        store.create("other", change(rows={0: b"stay"}))
        store.remove("churn")
        assert (store.head("churn"), store.rows("churn", [1]), store.count()) == (None, {}, 1)
        store.create("churn", change(checkpoint=b"new"))
        assert (store.checkpoint("churn"), store.rows("churn", [1])) == ((1, b"new"), {})
        assert store.rows("other", [1]) == {1: b"stay"}

    def test_bodies_come_back_exactly_and_are_the_readers_own(self, store: Store) -> None:
        body = {"x": 0.1 + 0.2, "big": 2**70, "text": "Ø\0\n😀", "list": [1, [None, True]], "tiny": 5e-324, "e": {}}
        store.create("churn", Change(entries=[Entry(kind="k", body=body, at="now")], checkpoint=b"", summary=body))
        body["x"] = 0
        first = store.entries("churn")[0]
        head = store.head("churn")
        assert head is not None
        assert first.body == head.summary == {**body, "x": 0.1 + 0.2}
        first.body["list"].append("mine")
        assert store.entries("churn")[0].body["list"] == [1, [None, True]]

    @pytest.mark.parametrize(
        ("bad", "said"),
        [
            (change(entry(x=float("nan"))), "must be a JSON value"),
            (change(entry(x=object())), "must be a JSON value"),
            (change(entry(x="\ud800")), "lone surrogates"),
            (change(entry("a\0b")), "kind"),
            (change(entry(key="k" * 401)), "401 characters"),
            (change(entry(key="\udfff")), "key"),
            (change(rows={1: b"for nobody"}), "position 1"),
            (change(summary=float("inf")), "summary"),
        ],
    )
    def test_what_cannot_be_kept_is_refused_and_changes_nothing(self, store: Store, bad: Change, said: str) -> None:
        store.create("churn", change(checkpoint=b"as it was"))
        with pytest.raises(ParameterError, match=said):
            store.create("new", bad)
        for name, after in (("churn", 1), ("churn", 7), ("nobody", 0)):
            with pytest.raises(ParameterError, match=said):
                store.append(name, after, bad)
        assert (store.checkpoint("churn"), store.count()) == ((1, b"as it was"), 1)

    @pytest.mark.parametrize("name", ["", "a\0b", "\udc80", "n" * 401])
    def test_a_name_that_cannot_be_kept_is_refused(self, store: Store, name: str) -> None:
        with pytest.raises(ParameterError, match=r"create\(name=...\) must "):
            store.create(name, change())
        assert store.count() == 0

    def test_a_page_cannot_begin_behind_what_is_no_name(self, store: Store) -> None:
        with pytest.raises(ParameterError, match=r"heads\(after=...\)"):
            store.heads(after="\0")

    def test_a_campaign_needs_a_first_entry(self, store: Store) -> None:
        with pytest.raises(ParameterError, match="at least 1 entry"):
            store.create("churn", Change(entries=[], checkpoint=b"", summary={}))

    def test_the_longest_names_and_keys_are_found_again(self, store: Store) -> None:
        name, key = "😀" * 400, "🐘" * 400
        store.create(name, change(entry(key=key)))
        assert store.find(name, "asked", key) is not None
        assert [head.name for head in store.heads(search="😀" * 400)] == [name]

    def test_values_are_replaced_by_who_knows_their_version(self, store: Store) -> None:
        value = Value(kind="session", key="a\\b", body={"token": "é", "until": 1.5})
        assert store.value("session", value.key) is None
        assert store.put_value(value) == 1
        with pytest.raises(ConflictError):
            store.put_value(value)
        assert store.put_value(replace(value, version=1, body={})) == 2
        for version in (0, 1, 3):
            with pytest.raises(ConflictError):
                store.put_value(replace(value, version=version, body={"token": "lost"}))
        assert store.value("session", value.key) == replace(value, version=2, body={})
        other = replace(value, key="B")
        store.put_value(other)
        store.put_value(replace(value, kind="alert"))
        assert store.values("session") == [replace(other, version=1), replace(value, version=2, body={})]
        assert (store.remove_value("session", "B"), store.remove_value("session", "B")) == (True, False)
        assert (store.value("session", "\0"), store.remove_value("session", "\0")) == (None, False)
        assert [kept.key for kept in store.values("session")] == [value.key]
        assert len(store.values("alert")) == 1

    def test_one_of_several_writers_replaces_a_value(self, store: Store) -> None:
        store.put_value(Value(kind="alert", key="a", body={}))
        barrier = threading.Barrier(6)

        def write(number: int) -> int | None:
            barrier.wait(60.0)
            try:
                return store.put_value(Value(kind="alert", key="a", body={"by": number}, version=1)) and number
            except ConflictError:
                return None

        with ThreadPoolExecutor(6) as threads:
            (won,) = (number for number in threads.map(write, range(6)) if number is not None)
        kept = store.value("alert", "a")
        assert kept is not None
        assert (kept.version, kept.body) == (2, {"by": won})

    def test_tokens_are_kept_by_name(self, store: Store) -> None:
        token = Token(name="ci", digest="ab" * 32, scopes=("read", "write"), created_at="now")
        other = replace(token, name="a\\b", scopes=(), expires_at="later")
        store.add_token(token)
        store.add_token(other)
        for again in (token, replace(token, digest="cd" * 32)):
            with pytest.raises(ConflictError, match="'ci' already exists"):
                store.add_token(again)
        assert store.tokens() == [other, token]
        assert (store.remove_token("ci"), store.remove_token("ci"), store.remove_token("\0")) == (True, False, False)
        assert store.tokens() == [other]

    def test_a_closed_store_goes_on_when_it_is_used_again(self, store: Store) -> None:
        store.create("churn", change())
        store.close()
        store.ping()
        assert store.append("churn", 1, change()) == 2
        store.close()
        store.close()

    def test_large_rows_and_many_entries(self, store: Store) -> None:
        data = bytes(range(256)) * 20_000
        store.create(
            "churn", change(*[entry(at=1)] * 700, rows={place: b"%d" % place for place in range(699)} | {699: data})
        )
        found = store.rows("churn", range(1, 701))
        assert (len(found), found[700] == data, found[699]) == (700, True, b"698")


class TestMemory(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return MemoryStore()


class TestSqlite(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = open_store(tmp_path / "labels.db")
        yield store
        store.close()


class TestPostgres(StoreContract):
    @pytest.fixture
    def store(self, postgres_url: str) -> Iterator[Store]:
        store = open_store(postgres_url)
        yield store
        store.close()
