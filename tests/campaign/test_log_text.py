"""The log in sentences: one for every kind of entry."""

import pytest

from driftpace.campaign.log_text import MAX_QUOTE, TITLES, describe_entry
from driftpace.formatting import number
from driftpace.models import Gain, Training
from driftpace.storage import MemoryStore
from driftpace.storage.base import Entry
from driftpace.storage.codec import encode
from tests.service.dashboard.examples import HOSTILE, one


def test_every_kind_of_entry_has_a_sentence() -> None:
    campaign, world = one(MemoryStore(), periods=2)
    order = campaign.status().order
    assert order is not None
    campaign.record_draw(["a", "b"], source="pool.csv", pool_rows=500, who="Ada")
    risk = campaign.override(order.samples + 9, reason="holiday week", who="Ada").risk_bound
    campaign.approve(who="Bo")
    campaign.tell(*world.rows(2), final=False, unlabelled=3)
    campaign.forget(reason="wrong week", who="Ada")
    campaign.tell(final=True)
    campaign.undo(campaign.log(kinds=("delivered",))[0].seq, reason="wrong week")
    copied = {"name": "a", "source": "a.campaign", "entries": 9, "who": "Bo"}
    campaign.add_money(50, periods=3, reason="next quarter", who="Ada", per_sample=1)
    imported = Entry(kind="imported", at="2026-11-15T10:00:00Z", body=copied)
    words = {"period": 4, "unknown_categories": {"city": "Milan"}, "reason": "a new shop", "who": "Ada"}
    amended = Entry(kind="amended", at="2026-11-15T10:00:00Z", body=words)
    model = {
        "period": 4,
        "model": {"sha256": "4bd863696c21c8"},
        "given": False,
        "rows": 300,
        "reason": "the alarm",
        "who": "Bo",
    }
    gain = encode(
        Gain(mean=0.012, error=0.004, lower=0.007, rows=420, periods=8, best=Training(way="fresh", half_life=8.0))
    )
    retrained = Entry(kind="retrained", at="2026-11-15T10:00:00Z", body={**model, "gain": gain})
    added = Entry(kind="added", at="2026-11-15T10:00:00Z", body={"segments": 3, "who": "Bo"})
    saved = Entry(kind="saved", at="2026-11-15T10:00:00Z", body={"chunk": 1, "segments": 3, "sha256": "4bd8"})
    upgraded = Entry(kind="upgraded", at="2026-11-15T10:00:00Z", body={"from": 1, "to": 2, "rows": {}, "who": "Bo"})
    campaign.ask()
    campaign.tell(*world.rows(2), ids=["c", "d"], accept_others=True, final=True, unlabelled=3)
    campaign.erase(["a", "c"], reason="request of a person", who="Ada")
    campaign.archive(reason="the shop closed", who="Bo")
    campaign.unarchive(who="Bo")
    facts = {"sha256": "4bd8", "rows": 900, "columns": 2048, "count": 300, "explained": 0.5}
    pool = {"components": facts, "source": "pool.csv", "who": "Bo"}
    learned = Entry(kind="learned", at="2026-11-15T10:00:00Z", body=pool)
    entries = (*campaign.log(), imported, amended, retrained, added, saved, upgraded, learned)
    sentences = {entry.kind: describe_entry(entry).sentence for entry in entries}
    assert set(sentences) == set(TITLES)
    assert sentences["overridden"] == (
        f"Order for period 3 set to {order.samples + 9} rows instead of {order.samples}; expected excess loss {risk:.3g}, "
        "by Ada: “holiday week”."
    )
    assert sentences["selected"] == "2 rows of 500 sampled for labelling in period 3 from “pool.csv”, by Ada."
    assert sentences["delivered"].endswith("3 unlabelled rows were skipped.")
    assert sentences["forgotten"] == "2 rows of period 3 withdrawn, by Ada: “wrong week”."
    assert sentences["budgeted"] == (
        "50 added to the budget and 3 periods to its horizon from period 4, by Ada: “next quarter”."
    )
    assert (
        sentences["amended"] == "From period 4, unlisted categories of “city” count as “Milan”, by Ada: “a new shop”."
    )
    assert sentences["learned"] == (
        "Components learned from unlabelled rows from “pool.csv”, by Bo: 300 components of 900 rows have 50 % of the variance "
        "of 2,048 columns."
    )
    assert sentences["retrained"] == (
        "Base trained again on 300 rows before period 4 (4bd863696c21); expected to lower the loss by 0.0120 ± 0.0040, by Bo: "
        "“the alarm”."
    )
    assert (sentences["added"], sentences["saved"]) == ("3 segments added, by Bo.", "3 segments saved (part 1).")
    assert sentences["erased"] == "Content of 1 row and 1 drawn id erased, by Ada: “request of a person”."
    assert sentences["archived"] == "Campaign archived, by Bo: “the shop closed”."
    assert sentences["unarchived"] == "Archived campaign opened again, by Bo."
    assert sentences["upgraded"] == "Store upgraded from version 1 to 2, by Bo."
    assert sentences["imported"] == "9 entries of “a” imported from “a.campaign”, by Bo."
    for sentence in (describe_entry(entry).sentence for entry in entries):
        assert sentence.endswith(".")
        assert "None" not in sentence
        assert "{" not in sentence


@pytest.mark.parametrize("reason", [HOSTILE, "x" * 5000, "two\nlines\tand a tab"])
def test_user_text_is_quoted_and_bounded(reason: str) -> None:
    body = {"samples": 1, "reason": reason, "who": ""}
    sentence = describe_entry(Entry(kind="overridden", at="2026-11-15T10:00:00Z", body=body)).sentence
    assert len(sentence) < MAX_QUOTE + 100
    assert "\n" not in sentence


def test_unknown_entries_are_shown() -> None:
    assert "“merged”" in describe_entry(Entry(kind="merged", at="2026-11-15T10:00:00Z", body={})).sentence


def test_bidi_controls_are_stripped_from_user_text() -> None:
    body = {
        "period": 2,
        "rows": 12,
        "source": "\u202efdp.csv\u2067",
        "repeated": 1,
        "unlabelled": 0,
        "who": "Ada\u202e",
    }
    sentence = describe_entry(Entry(kind="delivered", at="2026-11-15T10:00:00Z", seq=3, body=body)).sentence
    assert sentence == "12 rows received for period 2 from “fdp.csv”, by Ada; 1 duplicate row was skipped."


def test_missed_targets_are_warnings() -> None:
    campaign, _ = one(MemoryStore(), periods=3)
    campaign.override(0, reason="nobody has time")
    campaign.tell(final=True)
    certified = [
        (describe_entry(entry), row.report)
        for entry, row in zip(campaign.log(kinds=["certified"]), campaign.ledger(), strict=True)
    ]
    assert {report.outcome.promised for _, report in certified} == {True, False}
    for text, report in certified:
        assert text.warning != report.outcome.promised
        assert (text.title == "Certified") == report.outcome.promised
        assert f"(target {number(report.epsilon)})" in text.sentence


def test_bidi_controls_are_stripped_from_keys() -> None:
    body = {"period": 2, "key": "\u202e64W", "samples": 0, "received": 0, "who": ""}
    text = describe_entry(Entry(kind="closed", at="2026-11-15T10:00:00Z", seq=3, body=body))
    assert text.sentence == "Period 2 (64W) closed with no rows, as requested."


def test_overrides_without_a_bound_are_shown() -> None:
    body = {"period": 2, "samples": 5, "reason": "so", "who": ""}
    assert (
        describe_entry(Entry(kind="overridden", at="2026-11-15T10:00:00Z", body=body)).sentence
        == "Order for period 2 set to 5 rows: “so”."
    )
