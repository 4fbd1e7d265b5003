"""One file through three doors, the command line, REST and Python: the same receipt to the last digit, or the same sentence."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from driftpace.campaign import Campaign
from driftpace.campaign.serialization import receipt_json
from driftpace.errors import DriftpaceError
from driftpace.storage import open_store
from driftpace.storage.base import Store
from tests.cli.loop import quiet_run
from tests.reference.serving import Serving, serving
from tests.reference.spellings import COLUMNS, tidy_rows, written

FILES = ("csv", "json", "jsonl", "parquet", "arrow", "stream", "xlsx")
FIRST = 30
PATH = "/api/campaigns/prices/deliveries"
Outcome = dict[str, Any] | str
"""A receipt, or the sentence that refuses the file, without the name that the door gives it."""


class Doors:
    """A campaign with one tidy delivery, and the ways into it; nothing is written."""

    def __init__(self, folder: Path, store: Store, served: Serving) -> None:
        self.folder, self.store, self.served = folder, store, served
        values = {"name": "prices", "target": "price", "id": "id", "epsilon": 0.1, "seed": 1}
        self.campaign = Campaign.create(values, storage=store)
        self.campaign.ask()
        first = tidy_rows(random.Random(1), FIRST)
        self.campaign.tell_table({name: [row[name] for row in first] for name in COLUMNS}, final=False)
        self.before = self.content()

    def content(self) -> tuple[Any, ...]:
        entries = self.store.entries("prices")
        return entries, self.store.rows("prices", [entry.seq for entry in entries])

    def python(self, name: str) -> Outcome:
        return self.table(self.folder / name)

    def table(self, table: Any) -> Outcome:
        try:
            receipt = self.campaign.tell_table(table, final=False, dry_run=True)
        except DriftpaceError as error:
            return after(str(error), "Campaign.tell: ", "Campaign.tell(table=...) ")
        return plain(receipt_json(receipt))

    def command_line(self, name: str) -> Outcome:
        options = ("--part", "--dry-run", "--format", "json", "--storage", self.folder / "driftpace.db")
        code, out, err = quiet_run("tell", "prices", self.folder / name, *options)
        assert code == (0 if out else 2), err
        return plain(json.loads(out)) if out else after(err.strip(), "driftpace: FILE: ", "driftpace: FILE ")

    def rest(self, name: str) -> Outcome:
        files = {"file": (name, (self.folder / name).read_bytes())}
        answer = self.served.client.post(PATH, params={"final": "false", "dry_run": "true"}, files=files)
        body = answer.json()
        if answer.status_code == 200:
            return plain(body)
        assert 400 <= answer.status_code < 500, body
        return str(body["error"]["problem"])

    def agree(self, name: str, data: bytes) -> Outcome:
        """Return what all doors say of a file."""
        (self.folder / name).write_bytes(data)
        ways: tuple[Callable[[str], Outcome], ...] = (self.python, self.command_line, self.rest)
        mine, *others = (way(name) for way in ways)
        for other in others:
            assert other == mine
        assert self.content() == self.before
        return mine


def after(sentence: str, *heads: str) -> str:
    """Return a sentence without the name of what refuses."""
    return next((sentence.removeprefix(head) for head in heads if sentence.startswith(head)), sentence)


def plain(receipt: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in receipt.items() if key != "preview"}


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    folder = tmp_path_factory.mktemp("doors")
    store = open_store(folder / "driftpace.db")
    with serving(store) as served:
        yield Doors(folder, store, served)
    store.close()


@pytest.mark.parametrize("form", FILES)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 12))
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_format_is_the_same_through_every_door(doors: Doors, form: str, seed: int, count: int) -> None:
    rng = random.Random(seed)
    rows = tidy_rows(rng, count, first=FIRST - 2, gaps=0.2)
    receipt = doors.agree(*written(rng, rows, form))
    assert isinstance(receipt, dict), receipt
    assert receipt["rows"] + receipt["repeated"] + receipt["unlabelled"] == count
    for frame in ("pandas", "polars", "pyarrow", "arrays"):
        table = written(random.Random(0), rows, frame)[1]
        assert doors.table(table) == receipt, frame


@given(
    seed=st.integers(0, 2**32),
    form=st.sampled_from(FILES),
    place=st.floats(0, 1, exclude_max=True),
    how=st.sampled_from(["delete", "insert", "replace", "cut"]),
    piece=st.sampled_from([*',;"\n0.-', "five", "24 kg", "1,5", "NaN", "\ufeff", "id", "\0"]),
)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_file_is_the_same_through_every_door(
    doors: Doors, seed: int, form: str, place: float, how: str, piece: str
) -> None:
    rng = random.Random(seed)
    name, data = written(rng, tidy_rows(rng, 8, first=FIRST, gaps=0.1), form)
    at = 1 + int(place * (len(data) - 1))  # REST says of an empty body how a period is closed without rows
    rest = data[at:] if how == "insert" else b"" if how == "cut" else data[at + 1 :]
    outcome = doors.agree(name, data[:at] + (b"" if how in ("delete", "cut") else piece.encode()) + rest)
    if isinstance(outcome, str):
        assert outcome.endswith((".", "?"))
        assert "\n" not in outcome
