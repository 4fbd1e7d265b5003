"""Settings of the audit and of seasons in the definition of a campaign."""

import pytest

from driftpace.campaign.definition import Definition
from driftpace.campaign.log_text import describe_entry
from driftpace.campaign.template import template
from driftpace.errors import ParameterError
from driftpace.storage import MemoryStore
from tests.reference.campaigns import VALUES, begun, run_period


def test_the_share_held_out_is_a_setting() -> None:
    values = {**VALUES, "audit": 0.1}
    assert Definition.of_toml(template(values)).audit == 0.1
    assert Definition.of(values).to_values()["audit"] == 0.1
    assert "audit" not in Definition.of(VALUES).to_values()
    for wrong in (0, 0.9, "some"):
        with pytest.raises(ParameterError, match=r"^Campaign\(audit=\.\.\.\) must be a share of each order"):
            begun(MemoryStore(), audit=wrong)


def test_a_campaign_says_on_how_many_rows_it_was_measured() -> None:
    campaign = begun(MemoryStore(), audit=0.25)
    for period in (1, 2, 3):
        run_period(campaign, period)
    last = campaign.status().last
    assert last is not None
    assert last.audit is not None
    assert f"on {last.audit.held_out} held-out rows" in last.audit.sentence
    assert last.audit.held_out >= 9
    fits = [entry.body for entry in campaign.log() if entry.kind == "fitted"]
    assert sum(body["held_out"] for body in fits) == last.audit.held_out
    assert fits[-1]["rows"] + fits[-1]["held_out"] == last.samples
    sentences = [describe_entry(entry).sentence for entry in campaign.log() if entry.kind == "fitted"]
    assert f"; {fits[-1]['held_out']} more held out for the audit" in sentences[-1]


@pytest.mark.parametrize(("name", "length"), [("quarter", 4), ("weekday", 7), ("month", 12), ("week", 52)])
def test_seasons_have_names(name: str, length: int) -> None:
    definition = Definition.of({**VALUES, "season": name})
    assert definition.season == length
    assert definition == Definition.of({**VALUES, "season": length})
    assert Definition.of_toml(template({**VALUES, "season": name})).season == length
    with pytest.raises(
        ParameterError, match=r"^Campaign\(season=\.\.\.\) must be a whole number from 2 to 1000, or one"
    ):
        Definition.of({**VALUES, "season": "year"})
