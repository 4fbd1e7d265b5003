"""Any order of deliveries, late rows, undos and closings gives the state of the tidy history with the same orders, bit for bit.

The tidy history is computed apart from campaigns: for each closed period the rows that should count by the answers given, in the
order of their delivery, and the order that was placed, fitted by the method of the tracker.
"""

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
from driftpace.campaign.state import fingerprint, to_checkpoint
from driftpace.errors import DriftpaceError
from driftpace.storage import MemoryStore
from driftpace.storage.codec import decode
from driftpace.tracker.codec import snapshot_from_body
from driftpace.tracker.method import TellEvent
from driftpace.tracker.revision import with_orders
from tests.reference.campaigns import begun, rows_of


class Revisions(RuleBasedStateMachine):
    """A campaign whose past changes, and which deliveries should count."""

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryStore()
        self.fresh = 0
        self.counted: dict[int, tuple[int, int, int]] = {}
        self.gone: dict[int, dict[int, tuple[int, int, int]]] = {}

    @initialize(more=st.sampled_from([{}, {"orders": 1}, {"l2": [0.0, 0.5]}]))
    def begin(self, more: dict[str, Any]) -> None:
        """Begin a campaign."""
        self.campaign = begun(self.store, **more)

    @rule()
    def ask(self) -> None:
        """Open the next period."""
        self.campaign.ask()

    @rule(rows=st.integers(1, 20), final=st.booleans(), back=st.integers(0, 2))
    def tell(self, rows: int, final: bool, back: int) -> None:
        """Deliver new rows to the open period, or to one that is closed."""
        status = self.campaign.status()
        period = status.period - back
        if period < 1 or (back == 0 and status.order is None):
            return
        X, y = rows_of(period, self.fresh, rows)
        self.campaign.tell(X, y, key=str(period) if back else None, final=final if not back else None)
        seq = self.campaign.log(kinds=("delivered",))[-1].seq
        self.counted[seq] = (period, self.fresh, rows)
        self.fresh += rows

    @precondition(lambda self: self.counted)
    @rule(data=st.data())
    def undo_a_delivery(self, data: st.DataObject) -> None:
        """Take a delivery back, in whatever period it is."""
        seq = data.draw(st.sampled_from(sorted(self.counted)))
        undone = self.campaign.undo(seq, reason="wrong")
        self.gone[undone.entry] = {seq: self.counted.pop(seq)}

    @precondition(lambda self: self.gone)
    @rule(data=st.data())
    def undo_an_undo(self, data: st.DataObject) -> None:
        """Restore what was taken back."""
        entry = data.draw(st.sampled_from(sorted(self.gone)))
        self.campaign.undo(entry, reason="right")
        self.counted |= self.gone.pop(entry)

    @rule()
    def close(self) -> None:
        """Close the open period."""
        if self.campaign.status().order is not None:
            self.campaign.tell()

    @rule()
    def reopen(self) -> None:
        """Take the last closing back, if nothing depends on it."""
        status = self.campaign.status()
        if status.period == 1:
            return
        if status.order is not None and status.order.received:
            with pytest.raises(DriftpaceError, match="cannot be opened again"):
                self.campaign.undo(period=status.period - 1, reason="too early")
        else:
            self.campaign.undo(period=status.period - 1, reason="too early")

    @invariant()
    def the_state_is_that_of_the_tidy_history(self) -> None:
        """The log leads to the saved state, and the closed periods to the model of the tidy history."""
        if not hasattr(self, "campaign"):
            return
        campaign: Campaign = self.campaign
        *_, (_, folded) = campaign.replay()
        saved = self.store.checkpoint("prices")
        assert saved is not None
        assert to_checkpoint(folded) == saved[1]
        log = campaign.log()
        method, state = snapshot_from_body(log[0].body["tracker"], {})
        closings = {entry.body["period"]: entry for entry in log if entry.kind == "closed"}
        for period in range(1, campaign.status().period):
            state = with_orders(state, tuple(decode(order) for order in closings[period].body["orders"]))
            for place in sorted(self.counted):
                where, start, count = self.counted[place]
                if where == period:
                    X, y = rows_of(period, start, count)
                    state = method.gather(state, TellEvent(X=X, y=y))
            state, report = method.close(state)
            assert campaign.ledger()[period - 1].report.samples == report.samples
        if state.coef is not None:
            mine = folded.method.forget(folded.state) if folded.opened is not None else folded.state
            coef = mine.coef
            assert coef is None or np.array_equal(coef, state.coef)
        if folded.opened is None:
            assert fingerprint(folded) == fingerprint(replace(folded, state=state))


TestRevisions = Revisions.TestCase
TestRevisions.settings = settings(max_examples=20, stateful_step_count=14, deadline=None)


@pytest.mark.slow
def test_revisions_for_longer() -> None:
    run_state_machine_as_test(Revisions, settings=settings(max_examples=60, stateful_step_count=20, deadline=None))
