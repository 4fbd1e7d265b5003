"""Tables with missing cells, categories, weights, groups and drawn rows: any history gives the state of the tidy one, bit for bit.

Rows arrive in time or late, and anything in the log is undone, undos too. After every step the log leads to the saved state, and
the state is the one of the deliveries in force, absorbed period by period, with the orders that were placed.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from driftpace.campaign import Campaign
from driftpace.campaign.packing import unpack_rows
from driftpace.campaign.sampling import Sample
from driftpace.campaign.state import fingerprint, to_checkpoint
from driftpace.errors import DriftpaceError
from driftpace.storage import MemoryStore
from driftpace.storage.base import Entry
from driftpace.storage.codec import decode
from driftpace.tracker.codec import snapshot_from_body
from driftpace.tracker.revision import with_orders

BASE: dict[str, Any] = {"name": "prices", "id": "id", "target": "y", "epsilon": 0.3, "seed": 1, "cap": 60}
CITIES = ("Oslo", "Rome", "Bari")
SHAPES: dict[str, dict[str, Any]] = {
    "learned": {},
    "one order": {"orders": 1},
    "weights": {"weight": "w"},
    "groups": {"groups": "team"},
    "classes": {"loss": "logistic", "classes": ["no", "yes"], "epsilon": 0.1},
    "classes, weights, one order": {"loss": "logistic", "classes": ["no", "yes"], "weight": "w", "orders": 1},
    "dropped": {"missing": "drop"},
    "annotators": {"annotator": "who", "features": ["age", "city"], "categories": {"city": list(CITIES)}},
    "listed": {"features": ["age", "city"], "categories": {"city": list(CITIES)}},
    "no id": {"id": None, "features": ["age", "city"], "categories": {"city": list(CITIES)}},
}


def rows_of(period: int, start: int, count: int, *, classes: bool, several: bool = False) -> dict[str, list[Any]]:
    """Return rows of a table with missing cells, unlabelled rows and now and then an unknown category.

    Every third row has labels by two annotators where there are ``several``.
    """
    table: dict[str, list[Any]] = {name: [] for name in ("id", "age", "city", "w", "team", "y")}
    for place in range(start, start + count):
        rng = random.Random(1_000 * period + place)
        age, city = rng.gauss(0, 1), rng.choice(CITIES)
        score = age * (1 + 0.1 * period) + (city == "Rome") + rng.gauss(0, 1)
        table["id"].append(f"{period}-{place}")
        table["age"].append(None if rng.random() < 0.1 else age)
        table["city"].append(None if rng.random() < 0.1 else "Turin" if rng.random() < 0.05 else city)
        table["w"].append(rng.choice((0.5, 1.0, 2.0)))
        table["team"].append(f"team {place // 2}")
        label: Any = ("yes" if score > 0 else "no") if classes else score
        table["y"].append(None if rng.random() < 0.05 else label)
    if several:
        second = range(0, count, 3)
        table["who"] = ["Ada"] * count + ["Ben"] * len(second)
        for name in ("id", "age", "city", "w", "team"):
            table[name] += [table[name][place] for place in second]
        table["y"] += [None if table["y"][place] is None else table["y"][place] + 0.1 for place in second]
    return table


class Histories(RuleBasedStateMachine):
    """A campaign on tables whose past changes."""

    shapes = tuple(SHAPES)

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryStore()
        self.fresh = 0

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        """Begin a campaign and close two periods; the first rows show the encoding."""
        shape = data.draw(st.sampled_from(self.shapes))
        self.classes = "classes" in SHAPES[shape]
        self.several = "annotator" in SHAPES[shape]
        self.campaign = Campaign.create({**BASE, **SHAPES[shape]}, storage=self.store)
        self.tell(30, 0, True)
        self.tell(12, 0, True)

    def is_open(self) -> bool:
        """Whether a period is open."""
        return self.campaign.status().order is not None

    @rule(rows=st.integers(1, 20), back=st.integers(0, 2), final=st.booleans())
    def tell(self, rows: int, back: int, final: bool) -> None:
        """Deliver new rows to the open period or to a closed one."""
        if back == 0:
            self.campaign.ask()
        period = self.campaign.status().period - back
        if period < 1:
            return
        table = rows_of(period, self.fresh, rows, classes=self.classes, several=self.several)
        self.fresh += rows
        self._attempt(
            lambda: self.campaign.tell_table(
                table, key=str(period) if back else None, final=None if back else final, accept_others=True
            )
        )

    @rule()
    def ask(self) -> None:
        """Open the next period."""
        self.campaign.ask()

    @rule(choose=st.sampled_from(["uniform", "informative"]), deliver=st.booleans())
    def draw(self, choose: str, deliver: bool) -> None:
        """Draw rows from a pool, and deliver some of them."""
        order = self.campaign.ask()
        pool = rows_of(order.period, 5_000 + self.fresh, 80, classes=self.classes)
        if self.several:
            pool["who"] = ["Ada"] * 80
        self.fresh += 80
        before = len(self.campaign.log())
        samples: list[Sample] = []
        unlabelled = {**pool, "y": [None] * len(pool["y"])}
        self._attempt(lambda: samples.append(self.campaign.sample(unlabelled, choose=choose)))
        if deliver and len(self.campaign.log()) > before:
            places = sorted(samples[0].positions.tolist())[:12]
            some = {name: [cells[place] for place in places] for name, cells in pool.items()}
            if places:
                self._attempt(lambda: self.campaign.tell_table(some, final=False))

    @precondition(is_open)
    @rule(samples=st.integers(1, 80))
    def override(self, samples: int) -> None:
        """Order another number of rows."""
        self._attempt(lambda: self.campaign.override(samples, reason="fewer"))

    @precondition(is_open)
    @rule()
    def forget(self) -> None:
        """Discard the rows of the open period."""
        self._attempt(lambda: self.campaign.forget(reason="wrong"))

    @precondition(is_open)
    @rule()
    def release(self) -> None:
        """Release the drawn rows."""
        self._attempt(lambda: self.campaign.release(reason="wrong pool"))

    @precondition(is_open)
    @rule()
    def close(self) -> None:
        """Close the open period."""
        self._attempt(self.campaign.tell)

    @rule(
        data=st.data(), kind=st.sampled_from(["delivered", "closed", "selected", "overridden", "forgotten", "undone"])
    )
    def undo(self, data: st.DataObject, kind: str) -> None:
        """Undo anything in force, an undo too."""
        entries = [entry.seq for entry in in_force(self.campaign.log()) if entry.kind == kind]
        if entries:
            seq = data.draw(st.sampled_from(entries))
            self._attempt(lambda: self.campaign.undo(seq, reason="wrong"))

    @rule(data=st.data(), kind=st.sampled_from(["delivered", "closed", "selected", "overridden"]))
    def undo_and_return(self, data: st.DataObject, kind: str) -> None:
        """Undo anything in force that can be, and undo that at once: it is never refused, and the model is the one before."""
        entries = [entry.seq for entry in in_force(self.campaign.log()) if entry.kind == kind]
        if not entries:
            return
        seq, before = data.draw(st.sampled_from(entries)), self.campaign.tracker().coef
        try:
            undone = self.campaign.undo(seq, reason="wrong")
        except DriftpaceError:
            return
        self.campaign.undo(undone.entry, reason="it was right")
        after = self.campaign.tracker().coef
        assert (before is None) == (after is None)
        assert before is None or np.array_equal(before, after)

    def _attempt(self, change: Any) -> None:
        """Change something, or be refused in one sentence with nothing changed."""
        before = self.store.checkpoint("prices"), self.store.entries("prices")
        refused = "."
        try:
            change()
        except DriftpaceError as error:
            refused = str(error)
        assert refused.endswith((".", "?"))
        if refused != ".":
            assert (self.store.checkpoint("prices"), self.store.entries("prices")) == before

    @invariant()
    def the_state_is_that_of_the_tidy_history(self) -> None:
        """The log leads to the saved state, and the closed periods to the model of the tidy history."""
        if not hasattr(self, "campaign"):
            return
        *_, (_, folded) = self.campaign.replay()
        saved = self.store.checkpoint("prices")
        assert saved is not None
        assert to_checkpoint(folded) == saved[1]
        log = in_force(self.campaign.log())
        method, state = snapshot_from_body(log[0].body["tracker"], {})
        for period in range(1, self.campaign.status().period):
            closing = [entry for entry in log if entry.kind == "closed" and entry.body["period"] == period][-1]
            state = with_orders(state, tuple(decode(order) for order in closing.body["orders"]))
            wiped = [entry.seq for entry in log if entry.kind == "forgotten" and entry.body["period"] == period]
            for entry in log:
                if entry.kind == "delivered" and entry.body["period"] == period and entry.seq > max(wiped, default=0):
                    rows = unpack_rows(self.store.rows("prices", [entry.seq])[entry.seq])
                    state = method.gather(state, rows.event)
            state, _ = method.close(state)
        if folded.opened is None:
            assert fingerprint(folded) == fingerprint(replace(folded, state=state))
        elif state.coef is not None:
            mine = folded.method.forget(folded.state).coef
            assert mine is None or np.array_equal(mine, state.coef)


def in_force(log: Sequence[Entry]) -> list[Entry]:
    """Return the entries that no undo in force takes back; the last undo is in force, and may take back an earlier one."""
    gone: set[int] = set()
    for entry in reversed(log):
        if entry.kind == "undone" and entry.seq not in gone:
            gone.update(entry.body["entries"])
    return [entry for entry in log if entry.seq not in gone]


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=12, stateful_step_count=12, deadline=None)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_histories_for_longer(shape: str) -> None:
    class Shaped(Histories):
        shapes = (shape,)

    run_state_machine_as_test(Shaped, settings=settings(max_examples=20, stateful_step_count=20, deadline=None))
