"""A file of several months: rows go to the period of their date, and those of other periods are named and counted."""

from typing import Any

import numpy as np
import pytest

from driftpace.campaign import Campaign, Definition
from driftpace.campaign.inference import infer_definition
from driftpace.campaign.packing import unpack_rows
from driftpace.campaign.period_column import check_period_key
from driftpace.campaign.records import CheckVerdict
from driftpace.campaign.text import receipt_sentence
from driftpace.campaign.verification import verify_campaign
from driftpace.errors import DataError, ParameterError
from driftpace.storage import MemoryStore

VALUES: dict[str, Any] = {
    "name": "sales",
    "target": "y",
    "features": ["x"],
    "id": "row",
    "period": "date:month",
    "dayfirst": True,
    "epsilon": 0.3,
    "seed": 0,
}
PER_MONTH = 40


def table(*months: int, ids: bool = True) -> dict[str, list[Any]]:
    """Return rows of those months of 2026, the same ones in every file."""
    rows: dict[str, list[Any]] = {"row": [], "date": [], "x": [], "y": []}
    for month in months:
        rng = np.random.default_rng(month)
        x = rng.normal(size=PER_MONTH)
        rows["row"] += [f"{month}/{place}" for place in range(PER_MONTH)]
        rows["date"] += [f"{1 + place % 12:02}/{month:02}/2026" for place in range(PER_MONTH)]
        rows["x"] += x.tolist()
        rows["y"] += (x + 0.3 * rng.normal(size=PER_MONTH)).tolist()
    return rows if ids else {name: cells for name, cells in rows.items() if name != "row"}


def begun(**more: Any) -> Campaign:
    return Campaign.create({**VALUES, **more}, storage=MemoryStore())


def test_rows_of_other_months_are_named_and_left_out() -> None:
    campaign = begun()
    campaign.ask(key="2026-01")
    receipt = campaign.tell_table(table(1, 2, 3), source="all.csv")
    assert (receipt.rows, receipt.other_period_rows) == (PER_MONTH, 2 * PER_MONTH)
    assert dict(receipt.other_periods) == {"2026-02": PER_MONTH, "2026-03": PER_MONTH}
    sentence = "Added 40 rows to period 1 (2026-01); skipped 80 of another period (40 of 2026-02, 40 of 2026-03)."
    assert receipt_sentence(receipt, "all.csv") == sentence
    (entry,) = campaign.log(kinds=("delivered",))
    assert entry.body["other_periods"] == receipt.other_periods


def test_rows_of_a_closed_month_arrive_late_and_the_state_is_that_of_the_tidy_files() -> None:
    tidy, messy = begun(), begun()
    some = {name: cells[: PER_MONTH // 2] for name, cells in table(1).items()}
    rest = {name: cells[PER_MONTH // 2 :] for name, cells in table(1).items()}
    for campaign in (tidy, messy):
        campaign.ask(key="2026-01")
        campaign.tell_table(some, final=True)
        campaign.ask(key="2026-02")
    tidy.tell_table(rest, key="2026-01")
    tidy.tell_table(table(2), final=False)
    receipt = messy.tell_table(table(1, 2, 3), final=False)
    assert [(part.period, part.rows) for part in receipt.late] == [(1, PER_MONTH // 2)]
    assert receipt.repeated == PER_MONTH // 2
    assert dict(receipt.other_periods) == {"2026-03": PER_MONTH}
    assert messy.status().order == tidy.status().order
    again = messy.tell_table(table(1, 2, 3), final=False, again=True)
    assert (again.rows, again.late, again.repeated) == (0, (), 2 * PER_MONTH)


def test_a_delivery_for_a_closed_month_takes_no_rows_of_the_open_one() -> None:
    campaign = begun()
    campaign.ask(key="2026-01")
    campaign.tell_table({name: cells[:20] for name, cells in table(1).items()}, final=True)
    campaign.ask(key="2026-02")
    receipt = campaign.tell_table(table(1, 2), key="2026-01")
    assert [(part.period, part.rows) for part in receipt.late] == [(1, PER_MONTH - 20)]
    assert dict(receipt.other_periods) == {"2026-02": PER_MONTH}
    assert campaign.tell_table(table(1, 2), final=False).rows == PER_MONTH


def test_rows_without_ids_count_in_the_period_that_is_meant() -> None:
    """Otherwise a file that holds the earlier months too would count them twice."""
    campaign = begun(id=None)
    campaign.ask(key="2026-01")
    campaign.tell_table(table(1, ids=False), final=True)
    campaign.ask(key="2026-02")
    receipt = campaign.tell_table(table(1, 2, ids=False), final=False)
    assert (receipt.rows, receipt.late) == (PER_MONTH, ())
    assert dict(receipt.other_periods) == {"2026-01": PER_MONTH}


def test_rows_to_label_are_drawn_from_the_open_period() -> None:
    campaign = begun()
    campaign.ask(key="2026-02")
    drawn = campaign.sample({name: cells for name, cells in table(1, 2, 3).items() if name != "y"})
    assert {row_id.partition("/")[0] for row_id in drawn.ids} == {"2"}
    assert drawn.invalid == {"of another period": 2 * PER_MONTH}


def test_the_order_of_day_and_month_is_that_of_the_definition() -> None:
    """The days of a file do not show whether 03/02/2026 is in February; the table of the definition did."""
    learned = infer_definition(
        {**table(1, 2), "date": ["25/01/2026"] * PER_MONTH + ["03/02/2026"] * PER_MONTH},
        name="sales",
        target="y",
        epsilon=0.3,
        period="date:month",
    )
    assert learned.definition.dayfirst is True
    assert dict(learned.notes)["Periods"] == "by date:month, 2 periods in the table; keys are such as 2026-02"
    assert "date" not in (learned.definition.features or ())
    campaign = Campaign.create(learned.definition, storage=MemoryStore())
    campaign.ask(key="2026-02")
    dated = {**table(2), "date": ["03/02/2026"] * PER_MONTH}
    assert campaign.tell_table(dated).rows == PER_MONTH
    other = begun(dayfirst=None)
    other.ask(key="2026-02")
    with pytest.raises(DataError, match="whether day or month is first"):
        other.tell_table(dated)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (None, "Campaign.ask(key=...) must be given, such as 2026-11, because rows are put into periods by date:month"),
        ("2026-3", "did you mean '2026-03'?"),
        ("March", "must be a month such as 2026-11"),
    ],
)
def test_keys_are_periods_of_the_column(key: str | None, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        begun().ask(key=key)
    assert message in str(caught.value)
    check_period_key(Definition.of({**VALUES, "period": "wave"}), "any", owner="ask")


def test_values_of_a_column_are_keys_too() -> None:
    campaign = begun(period="wave")
    campaign.ask(key="W1")
    rows = table(1, 2)
    rows["wave"] = ["W1"] * PER_MONTH + ["W2"] * (PER_MONTH - 1) + [None]
    receipt = campaign.tell_table(rows)
    assert (receipt.rows, dict(receipt.other_periods)) == (PER_MONTH, {"W2": PER_MONTH - 1, "no period": 1})
    with pytest.raises(DataError, match="must have the column 'wave' of the period"):
        campaign.tell_table(table(3), again=True)


def dated(day: str, month: str = "03", *, first: int = 0) -> dict[str, list[Any]]:
    """Return ten rows of March 2026 whose dates are written by a template."""
    days = range(20, 30) if "late" in day else range(1, 11)
    order = day.replace("late ", "")
    return {
        "row": [f"{first + place}" for place in range(10)],
        "date": [order.format(day=f"{one:02}", month=month) for one in days],
        "x": [0.1 * place for place in range(10)],
        "y": [0.2 * place for place in range(10)],
    }


EUROPEAN, AMERICAN = "{day}/{month}/2026", "{month}/{day}/2026"


@pytest.mark.parametrize("how", ["delivery", "pool"])
def test_the_first_file_that_shows_whether_the_day_comes_first_decides_for_all(how: str) -> None:
    campaign = begun(dayfirst=None)
    campaign.ask(key="2026-03")
    with pytest.raises(DataError, match="no cell shows whether day or month is first: write 2026-03-01"):
        campaign.tell_table(dated(EUROPEAN, first=10), final=False)
    if how == "delivery":
        campaign.tell_table(dated("late " + EUROPEAN), final=False)
    else:
        campaign.sample({name: cells for name, cells in dated("late " + EUROPEAN).items() if name != "y"})
    known = [campaign.definition.dayfirst]
    with pytest.raises(
        DataError, match="row 1 has '03/20/2026', and the day comes first in other dates: write 2026-03-20"
    ):
        campaign.tell_table(dated("late " + AMERICAN, first=20), accept_others=True, final=False)
    receipt = campaign.tell_table(dated(EUROPEAN, first=10), accept_others=True, final=False)
    assert (receipt.rows, receipt.other_period_rows) == (10, 0)
    *_, (_, replayed) = campaign.replay()
    assert replayed.definition == campaign.definition

    shown = campaign.log(kinds=("delivered", "selected"))[0].seq
    campaign.undo(shown, reason="another system")
    known.append(campaign.definition.dayfirst)
    campaign.tell_table(dated("late " + AMERICAN, first=30), accept_others=True, final=False)
    assert [*known, campaign.definition.dayfirst] == [True, None, False]
    *_, (_, replayed) = campaign.replay()
    assert replayed.definition == campaign.definition


def test_calendar_features_are_read_alike_in_every_file_too() -> None:
    months = ["Mar", "Jan", "Feb", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    values = {**VALUES, "period": None, "features": ["x", "date:month"], "categories": {"date:month": months}}
    store = MemoryStore()
    campaign = Campaign.create({**values, "dayfirst": None}, storage=store)
    campaign.ask()
    campaign.tell_table(dated("late " + EUROPEAN), final=False)
    campaign.tell_table(dated(EUROPEAN, first=10), final=False)
    seq = campaign.log(kinds=("delivered",))[-1].seq
    assert not unpack_rows(store.rows("sales", [seq])[seq]).event.X[:, 1:].any()  # all of March


def test_late_rows_of_several_months_in_one_file_are_verified() -> None:
    store = MemoryStore()
    campaign = Campaign.create(VALUES, storage=store)
    for month in (1, 2, 3):
        campaign.ask(key=f"2026-{month:02}")
        campaign.tell_table({name: cells[:20] for name, cells in table(month).items()}, final=True)
    late = {name: cells[20:40] + cells[60:80] for name, cells in table(1, 2).items()}
    assert [part.period for part in campaign.tell_table(late).late] == [1, 2]
    assert campaign.undo(campaign.log(kinds=("delivered",))[-1].seq, reason="wrong").revision is not None
    found = verify_campaign("sales", store)
    assert (found.verdict, found.sentence.rpartition(", ")[2]) == (CheckVerdict.PASS, "recomputed: identical.")
