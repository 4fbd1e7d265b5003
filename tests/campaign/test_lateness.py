"""How late labels arrive, what that costs, and classes that arrive later than others."""

import math

import numpy as np
import pytest

from driftpace.adaptive.delay import price_of_delay
from driftpace.campaign import Campaign
from driftpace.campaign.text import lateness_lines
from driftpace.storage import MemoryStore
from tests.campaign.test_undo import after_periods
from tests.reference.campaigns import rows_of


@pytest.mark.parametrize("step", [0.01, 0.1, 0.2, 0.4])
@pytest.mark.parametrize("delay", [0, 1, 2, 4])
def test_the_price_is_that_of_the_steady_state(step: float, delay: int) -> None:
    """With risk v after the rows of a period and ``step`` for each period since, v + delay step = 1 target.

    Before its rows the risk is v + step, and K rows of noise s leave 1/v = 1/(v + step) + K/s.
    """

    def rows(late: int) -> float:
        left = 1.0 - late * step
        return 1.0 / left - 1.0 / (left + step) if left > 0.0 else math.inf

    if math.isinf(rows(delay)):
        assert math.isinf(price_of_delay(step, delay))
    else:
        assert price_of_delay(step, delay) == pytest.approx(rows(delay) / rows(0))


def test_learned_from_the_log() -> None:
    campaign = after_periods(3)
    assert campaign.lateness() is None
    in_time = sum(row.report.samples for row in campaign.ledger())
    campaign.tell(*rows_of(2, 100, in_time + 1), key="W2")
    lateness = campaign.lateness()
    assert lateness is not None
    assert lateness.median == 2
    assert lateness.shares[2] == pytest.approx((in_time + 1) / (2 * in_time + 1))
    assert lateness.sentence.startswith("half of the labels arrive 2 periods late or later")
    assert lateness_lines(lateness)[0][0] == "Delay"


@pytest.mark.parametrize("later", [True, False])
def test_classes_that_arrive_late(later: bool, rng: np.random.Generator) -> None:
    """Late rows of one class are noticed; rows that are late at random are not (one false alarm in a thousand)."""
    campaign = Campaign.create(
        {"name": "a", "target": "y", "classes": ["no", "yes"], "loss": "logistic", "tolerance": 0.5, "seed": 0},
        storage=MemoryStore(),
    )
    campaign.ask(key="W1")
    X = rng.standard_normal((400, 2))
    y = (rng.random(400) < 0.5).astype(float)
    late = (y > 0.0) & (rng.random(400) < 0.7) if later else rng.random(400) < 0.35
    late |= np.arange(400) < 20
    campaign.tell(X[~late], y[~late], final=True)
    campaign.tell(X[late], y[late], key="W1")
    lateness = campaign.lateness()
    assert lateness is not None
    assert (lateness.classes is not None) is later
    assert ("late classes" in lateness.warning) is later
