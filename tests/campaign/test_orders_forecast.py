"""An override predicts the risk for its number of rows as the tracker would, or has no prediction."""

import json
import math
import zlib
from dataclasses import replace
from typing import Any

import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.serialization import entry_json, ledger_json, order_json
from driftpace.campaign.state import CampaignState, from_checkpoint
from driftpace.constraints import Ball
from driftpace.drift import KnownDrift
from driftpace.losses import SquaredLoss
from driftpace.records import Outcome
from driftpace.storage import MemoryStore
from driftpace.tracker import Tracker
from driftpace.tracker.candidates_method import CandidatesMethod, CandidatesState
from tests.reference.campaigns import begun, rows_of, run_period

BUDGET = {"total": 400, "horizon": 4, "fixed": 5, "per_sample": 1, "currency": "EUR"}


def _now(campaign: Campaign) -> CampaignState:
    *_, (_, folded) = campaign.replay()
    return folded


def _foretold(campaign: Campaign, samples: int) -> float | None:
    folded = _now(campaign)
    return folded.method.forecast(folded.state, samples)


def _of_parts() -> Campaign:
    tracker = Tracker(SquaredLoss(), epsilon=0.2, drift=KnownDrift(0.4), domain=Ball(3.0), rng=0)
    return Campaign.create(tracker, name="parts", storage=MemoryStore())


def test_before_anything_is_known_nothing_is_promised_for_any_number() -> None:
    campaign = begun(MemoryStore())
    campaign.ask()
    mine = campaign.override(500, reason="plenty")
    assert mine.overridden is not None
    assert (mine.overridden.risk_bound, mine.risk_bound, mine.outcome) == (None, math.inf, Outcome.PILOT)
    fields = order_json(mine)
    assert (fields["risk_bound"], fields["promised"], fields["overridden"]["risk_bound"]) == (None, False, None)


def test_fewer_rows_promise_less_and_enough_rows_promise_the_target() -> None:
    campaign = begun(MemoryStore())
    for period in (1, 2, 3):
        run_period(campaign, period)
    order = campaign.ask()
    assert order.missing > 0
    few, many = (campaign.override(rows, reason="a trial") for rows in (0, 200))
    assert few.risk_bound > few.request.epsilon > many.risk_bound
    assert (few.outcome, many.outcome) == (Outcome.SHORT, Outcome.MET)
    assert (order_json(few)["promised"], order_json(many)["promised"]) == (False, True)
    assert order_json(few)["outcome"] == "short"
    assert campaign.approve().risk_bound == order.request.risk_bound, "the tracker's promise is back"
    folded = _now(campaign)
    risks = [folded.method.forecast(folded.state, rows) for rows in range(200)]
    assert risks == sorted(risks, key=lambda one: -(one or 0.0)), "no row makes it worse"
    assert order.request.risk_bound in risks, "somewhere it is the number that the tracker has in mind"


def test_what_is_foretold_follows_the_rows_that_come_and_ends_near_what_is_reported() -> None:
    campaign = begun(MemoryStore())
    run_period(campaign, 1)
    campaign.ask()
    campaign.override(60, reason="a trial")
    risks = []
    for start in range(0, 60, 20):
        receipt = campaign.tell(*rows_of(2, start, 20), final=False)
        risks.append(receipt.order.risk_bound)
        assert receipt.order.overridden is not None
        assert receipt.order.risk_bound == _foretold(campaign, 60)
    assert len(set(risks)) == 3, "every look at more rows predicts again"
    report = campaign.tell(final=True).report
    assert report is not None
    assert report.risk_bound == risks[-1], "with all rows delivered, the report has the predicted risk"


def test_whoever_chooses_the_number_of_the_plan_is_promised_what_it_promises() -> None:
    campaign = begun(MemoryStore(), budget=BUDGET)
    for period in (1, 2):
        run_period(campaign, period)
    order = campaign.ask()
    plan = order.request.plan
    assert plan is not None
    mine = campaign.override(plan.samples[0], reason="as planned")
    assert mine.risk_bound == order.request.risk_bound == plan.risks[0]
    assert mine.outcome.promised == order.outcome.promised
    assert campaign.override(plan.samples[0] + 50, reason="more").risk_bound < order.request.risk_bound


@pytest.mark.parametrize("fixed", [0, 5])
def test_that_is_so_in_a_first_period_when_its_pilot_came(fixed: int) -> None:
    campaign = begun(MemoryStore(), budget={**BUDGET, "fixed": fixed})
    order, delivered = campaign.ask(), 0
    while order.request.plan is None:
        rows = order.missing
        order = campaign.tell(*rows_of(1, delivered, rows), final=False).order
        delivered += rows
    plan = order.request.plan
    assert plan.samples[0] > delivered
    assert campaign.override(plan.samples[0], reason="as planned").risk_bound == plan.risks[0]


def test_that_is_so_in_the_middle_of_a_period_that_buys_in_batches() -> None:
    campaign = begun(MemoryStore(), budget={"total": 400, "horizon": 6, "per_sample": 1})
    for period in (1, 2):
        run_period(campaign, period)
    campaign.ask()
    order = campaign.tell(*rows_of(3, 0, 3), final=False).order
    plan = order.request.plan
    assert plan is not None
    assert order.samples < plan.samples[0], "the next batch is less than all that is planned"
    assert campaign.override(plan.samples[0], reason="as planned").risk_bound == order.request.risk_bound
    assert campaign.override(order.samples, reason="one batch").outcome is Outcome.SHORT


def test_of_several_candidates_the_one_that_is_worst_off_counts() -> None:
    campaign = begun(MemoryStore(), l2=[0.01, 0.1, 3.0])
    for period in (1, 2):
        run_period(campaign, period)
    campaign.ask()
    folded = _now(campaign)
    assert isinstance(folded.method, CandidatesMethod)
    assert isinstance(folded.state, CandidatesState)
    pairs = zip(folded.method.methods, folded.state.states, strict=True)
    alone = [method.forecast(state, 12) or math.inf for method, state in pairs]
    assert len(set(alone)) == 3
    assert campaign.override(12, reason="a trial").risk_bound == max(alone) < math.inf


def test_a_tracker_of_parts_says_it_by_its_bound() -> None:
    campaign = _of_parts()
    while math.isinf((order := campaign.ask()).request.risk_bound):
        campaign.tell(*rows_of(order.period, 0, order.missing), final=True)
        assert order.period < 5
    same = campaign.override(order.samples, reason="as asked")
    assert (same.risk_bound, same.outcome) == (order.request.risk_bound, order.request.outcome)
    few = campaign.override(1, reason="no staff")
    assert order.request.risk_bound < few.risk_bound < math.inf
    assert not few.outcome.promised


def test_a_tracker_of_parts_that_knows_no_bound_yet_promises_nothing() -> None:
    campaign = _of_parts()
    assert campaign.ask().request.risk_bound == math.inf
    assert campaign.override(100, reason="plenty").risk_bound == math.inf


@pytest.mark.parametrize("more", [{}, {"budget": BUDGET}])
def test_replayed_and_opened_again_it_is_the_same_to_the_last_bit(more: dict[str, Any]) -> None:
    store = MemoryStore()
    campaign = begun(store, **more)
    run_period(campaign, 1)
    campaign.ask(key="W2")
    campaign.override(25, reason="a trial")
    campaign.tell(*rows_of(2, 0, 10), final=False)
    order = campaign.status().order
    assert order is not None
    assert math.isfinite(order.risk_bound)
    assert Campaign.open("prices", storage=store).status().order == order
    assert _now(campaign).order == order


def test_the_log_and_the_ledger_keep_it() -> None:
    campaign = begun(MemoryStore())
    run_period(campaign, 1)
    campaign.ask()
    mine = campaign.override(25, reason="a trial", who="Ada")
    [entry] = campaign.log(kinds=("overridden",))
    assert entry_json(entry)["risk_bound"] == mine.risk_bound
    campaign.tell(*rows_of(2, 0, 25), final=True)
    first, second = campaign.ledger()
    assert second.overridden is not None
    assert (second.overridden.samples, second.overridden.who) == (25, "Ada")
    assert second.overridden.risk_bound == second.report.risk_bound
    assert ledger_json(second)["overridden"]["risk_bound"] == second.overridden.risk_bound
    assert (first.overridden, ledger_json(first)["overridden"]) == (None, None)
    columns = campaign.ledger().columns()
    assert columns["overridden_samples"] == [None, 25]
    assert columns["overridden_risk_bound"] == [None, second.overridden.risk_bound]
    closed = campaign.log(kinds=("closed",))[-1]
    assert closed.body["overridden"]["risk_bound"] == second.overridden.risk_bound


def test_what_was_written_before_there_was_such_a_number_opens_and_says_it_when_asked_again() -> None:
    store = MemoryStore()
    campaign = begun(store)
    run_period(campaign, 1)
    campaign.ask()
    order = campaign.override(25, reason="a trial")
    saved = store.checkpoint("prices")
    assert saved is not None
    body = json.loads(zlib.decompress(saved[1]))
    del body["opened"]["overridden"]["risk_bound"]
    old = from_checkpoint(saved[0], zlib.compress(json.dumps(body).encode())).order
    assert old is not None
    assert old.overridden is not None
    assert (old.samples, old.overridden.risk_bound, old.outcome) == (25, None, Outcome.PILOT)
    assert order.overridden == replace(old.overridden, risk_bound=order.risk_bound)
