"""Nobody makes the service look further ahead than its limit, in whatever words."""

import numpy as np
import pytest

from driftpace.campaign import Campaign
from driftpace.errors import ParameterError
from driftpace.service.limits import plan_within
from driftpace.storage import MemoryStore
from tests.reference.periods import begun, run_periods


@pytest.fixture
def campaign(rng: np.random.Generator) -> Campaign:
    made = begun(MemoryStore(), "churn", epsilon=0.5)
    run_periods(made, rng, 3)
    return made


def test_large_budgets_are_planned_up_to_the_limit(campaign: Campaign) -> None:
    plan = plan_within(campaign, 6, budget=10**9)
    assert (plan.horizon, plan.holds) == (6, True)
    assert plan.reason == "the budget meets the target for 6 periods or more"


def test_small_budgets_are_planned_until_spent(campaign: Campaign) -> None:
    enough = plan_within(campaign, 520, horizon=9).budget
    assert enough is not None
    plan = plan_within(campaign, 40, budget=enough.amount)
    assert plan == campaign.plan(budget=enough.amount)
    assert 9 <= plan.horizon < 40


def test_horizons_beyond_the_limit_are_refused(campaign: Campaign, rng: np.random.Generator) -> None:
    with pytest.raises(ParameterError, match="at most 6 periods here; got 7"):
        plan_within(campaign, 6, horizon=7)
    own = begun(MemoryStore(), "long", epsilon=0.5, budget={"total": 9000, "horizon": 30})
    run_periods(own, rng, 3)
    with pytest.raises(ParameterError, match="must be given, and at most 6 periods here"):
        plan_within(own, 6)
    assert plan_within(own, 27).horizon == 27
