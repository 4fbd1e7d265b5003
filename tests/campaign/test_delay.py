"""Labels that may arrive some periods after their order: the next order does not wait for them."""

import math

import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.definition import Definition
from driftpace.campaign.serialization import status_json
from driftpace.campaign.template import template
from driftpace.campaign.text import lateness_lines
from driftpace.errors import ParameterError, ProtocolError
from driftpace.records import DelayPrice
from driftpace.storage import MemoryStore
from tests.campaign.test_late import drawn_campaign, some
from tests.campaign.test_undo import after_periods, recomputed
from tests.reference.campaigns import begun, rows_of, run_period


def waiting(campaign: Campaign) -> list[dict[str, int]]:
    return list(status_json(campaign.status())["lateness"]["outstanding"])


def test_without_a_delay_the_next_period_waits() -> None:
    campaign = after_periods(2)
    campaign.ask(key="W3")
    with pytest.raises(ProtocolError, match="deliver them or close it"):
        campaign.ask(key="W4")


def test_the_next_order_does_not_wait_for_labels() -> None:
    campaign = after_periods(2, delay=2)
    campaign.ask(key="W3")
    campaign.override(20, reason="to have some to wait for")
    campaign.tell(*rows_of(3, 0, 2), final=False)
    missing = campaign.order().missing
    assert campaign.ask(key="W4").period == 4
    assert campaign.outstanding() == {3: missing}
    assert waiting(campaign) == [{"period": 3, "rows": missing}]
    assert campaign.log(kinds=("closed",))[-1].body["waiting"] == missing
    recomputed(campaign)
    campaign.tell(*rows_of(3, 2, 3), key="W3", source="some.csv")
    assert campaign.outstanding() == {3: missing - 3}
    campaign.tell(*rows_of(3, 5, missing - 3), key="W3", source="rest.csv")
    assert campaign.outstanding() == {}
    recomputed(campaign)
    campaign.undo(delivery="rest.csv", reason="wrong file")
    assert campaign.outstanding() == {3: missing - 3}
    recomputed(campaign)


def test_no_label_in_time() -> None:
    campaign = begun(MemoryStore(), delay=1)
    samples = campaign.ask(key="W1").missing
    order = campaign.ask(key="W2")
    assert (order.period, campaign.outstanding()) == (2, {1: samples})
    campaign.tell(*rows_of(1, 0, samples), key="W1")
    assert campaign.outstanding() == {}
    assert campaign.tracker().coef is not None
    run_period(campaign, 2)
    recomputed(campaign)


def test_rows_that_were_drawn_are_counted_by_their_ids() -> None:
    campaign, pool = drawn_campaign(delay=1)
    campaign.ask(key="W1")
    ids = campaign.sample(pool).ids
    campaign.tell_table(some(pool, ids[:2]))
    campaign.ask(key="W2")
    assert campaign.outstanding() == {1: len(ids) - 2}
    campaign.tell_table(some(pool, ids[2:]))
    assert campaign.outstanding() == {}
    recomputed(campaign)


def test_overdue_rows_are_named() -> None:
    campaign = begun(MemoryStore(), delay=1)
    campaign.ask(key="W1")
    campaign.tell(*rows_of(1, 0, 4))
    campaign.ask(key="W2")
    assert ("Warning", "overdue") not in [(label, text[:7]) for label, text in lateness_lines(campaign.lateness())]
    missing = campaign.outstanding()[1]
    campaign.ask(key="W3")
    lateness = campaign.lateness()
    assert lateness is not None
    assert lateness.overdue == missing
    assert "more than 1 period after the order" in dict(lateness_lines(lateness))["Warning"]


def test_the_price_of_the_delay_is_stated() -> None:
    campaign = begun(MemoryStore(), delay=2)
    unknown = status_json(campaign.status())["lateness"]
    assert (unknown["delay_price"]["status"], unknown["delay_price"]["interval"]) == ("unknown", [None, None])
    assert unknown["sentence"].startswith(
        "labels may arrive up to 2 periods late; what labels 2 periods late cost is not known yet"
    )
    for period in range(1, 9):
        run_period(campaign, period)
    lateness = campaign.lateness()
    assert lateness is not None
    price = lateness.delay_price
    assert price is not None
    assert price == campaign.tracker().delay_price()
    assert 1.0 <= price.interval[0] <= price.value <= price.interval[1]
    assert price.interval[1] <= 1.0 / 0.4  # labels were in time
    assert status_json(campaign.status())["lateness"]["delay_price"] == price.to_dict()
    assert campaign.plan(horizon=3).delay_price == price


def test_prices_that_are_unknown_and_impossible_differ() -> None:
    unknown, impossible = (
        DelayPrice(periods=4, value=20.0, interval=(3.0, math.inf)),
        DelayPrice(periods=4, value=math.inf, interval=(math.inf, math.inf)),
    )
    assert unknown.to_dict() == {
        "status": "unknown",
        "periods": 4,
        "value": 20.0,
        "interval": [3.0, None],
        "sentence": unknown.sentence,
    }
    assert "(at least 3.0)" in unknown.sentence
    assert impossible.to_dict()["status"] == "impossible"
    assert "no number of them reaches the target" in impossible.sentence


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"delay": 0}, "whole number from 1 to 100"),
        ({"delay": 1.5}, "whole number"),
        ({"delay": 2000}, "whole number from 1 to 100; got 2000"),
        ({"delay": 1, "keep_rows": False}, "must be None where keep_rows is false"),
    ],
)
def test_delays_that_are_refused(values: dict[str, object], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        Definition.of({"name": "a", "target": "y", "epsilon": 0.1, **values})


def test_the_configuration_file_has_it() -> None:
    values = {"name": "a", "target": "y", "epsilon": 0.1, "delay": 3}
    assert Definition.of_toml(template(values)).delay == 3
    assert Definition.of_toml(template({"name": "a", "target": "y"})).delay is None
