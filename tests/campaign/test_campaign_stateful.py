"""Whatever is done to a campaign, by whom and in which order: the log folds to where it stands, and nothing counts twice."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from driftpace.campaign import Campaign
from driftpace.campaign.state import to_checkpoint
from driftpace.errors import ProtocolError
from driftpace.storage import MemoryStore
from tests.reference.campaigns import begun, rows_of


class Anything(RuleBasedStateMachine):
    """Two people with a handle each, and the rows that must have been delivered by what they were answered."""

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryStore()
        self.handles: list[Campaign] = []
        self.received: dict[int, set[int]] = {}
        self.closed = 0

    @initialize(
        more=st.sampled_from([{}, {"keep_rows": False}, {"l2": [0.0, 0.5]}, {"features": ["a", "b"], "pool": 30}])
    )
    def begin(self, more: dict[str, Any]) -> None:
        """Begin a campaign."""
        self.keep_rows = more.get("keep_rows", True)
        self.handles = [begun(self.store, **more), Campaign.open("prices", storage=self.store)]

    @property
    def period(self) -> int:
        """The open period, or the next one."""
        return self.closed + 1

    @rule(who=st.integers(0, 1), key=st.none() | st.integers(1, 4))
    def ask(self, who: int, key: int | None) -> None:
        """Ask, perhaps by a name: of this period, one before, or one to come."""
        named = None if key is None else f"W{key}"
        before = self.handles[who].status().order
        try:
            order = self.handles[who].ask(key=named)
        except ProtocolError:
            assert before is not None
            assert before.missing > 0
            assert before.key not in (None, named)
            return
        if order.closed:
            assert order.period <= self.closed
            assert order.received == len(self.received.get(order.period, ()))
            return
        if order.period > self.period:
            self.closed += 1  # nothing was missing, so asking by a new name closed the period
        assert order.period == self.period
        assert self.handles[1 - who].ask() == order

    @rule(
        who=st.integers(0, 1),
        start=st.integers(0, 12),
        count=st.integers(0, 9),
        final=st.sampled_from([None, None, False, True]),
    )
    def tell(self, who: int, start: int, count: int, final: bool | None) -> None:
        """Tell rows that may have come before, in part or whole."""
        campaign = self.handles[who]
        X, y = rows_of(self.period, start, count)
        asked = campaign.status().order
        ids = [str(place) for place in range(start, start + count)]

        def deliver() -> Any:
            return campaign.tell(X, y, ids=ids, final=final)

        if asked is None:
            self._refused(deliver, count)
            return
        receipt = deliver()
        if receipt.duplicate is not None:
            assert receipt.rows == 0
            assert (receipt.report is not None) == (final is True and not receipt.order.period <= self.closed)
            self.closed += receipt.report is not None
            return
        here = self.received.setdefault(self.period, set())
        new = set(range(start, start + count)) - here
        assert (receipt.rows, receipt.repeated) == (len(new), count - len(new))
        here |= new
        if receipt.report is not None:
            assert receipt.report.samples == len(here)
            self.closed += 1

    def _refused(self, deliver: Callable[[], Any], count: int) -> None:
        try:
            receipt = deliver()
        except ProtocolError:
            return
        assert count > 0
        assert receipt.duplicate is not None, "the same rows as in an earlier period"

    @rule(who=st.integers(0, 1), samples=st.integers(0, 12))
    def override(self, who: int, samples: int) -> None:
        """Put a number in the place of the order."""
        if self.handles[who].status().order is not None:
            order = self.handles[who].override(samples, reason="because")
            assert order.missing == max(0, samples - order.received)

    @rule(who=st.integers(0, 1))
    def forget(self, who: int) -> None:
        """Withdraw the rows of the open period."""
        if self.handles[who].status().order is not None:
            assert self.handles[who].forget(reason="wrong").received == 0
            self.received[self.period] = set()

    @rule(who=st.integers(0, 1))
    def close(self, who: int) -> None:
        """Close the period with the rows delivered."""
        if self.handles[who].status().order is not None:
            report = self.handles[who].tell().report
            assert report is not None
            self.closed += 1

    @invariant()
    def the_log_folds_to_where_it_stands(self) -> None:
        """Both handles stand where the log leads to, and every row delivered counts."""
        if not self.handles:
            return
        one, two = (handle.status() for handle in self.handles)
        assert one == two
        assert one.period == self.period
        assert one.rows == sum(len(self.received.get(period, ())) for period in range(1, self.period))
        if one.order is not None:
            assert one.order.received == len(self.received.get(self.period, ()))
        saved = self.store.checkpoint("prices")
        assert saved is not None
        if self.keep_rows:
            *_, (_, folded) = self.handles[0].replay()
            assert to_checkpoint(folded) == saved[1]


TestAnything = Anything.TestCase
TestAnything.settings = settings(max_examples=12, stateful_step_count=15, deadline=None)


@pytest.mark.slow
def test_anything_for_longer() -> None:
    run_state_machine_as_test(Anything, settings=settings(max_examples=60, stateful_step_count=20, deadline=None))
