"""A check says what driftpace would make of a table: what was proposed, understood, left out, and what it would take."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftpace
from driftpace.backtest import check_labels, read_table, render, replay, summary
from driftpace.backtest.check import check_table, glance_at_drift
from driftpace.backtest.check_result import DriftGlance, LabelEstimate, TableCheck
from driftpace.backtest.check_text import check_lines
from driftpace.backtest.population import find_population
from driftpace.backtest.proposals import propose_periods, summarise_columns
from driftpace.datasets import load_psid7682
from driftpace.errors import ParameterError
from driftpace.tables import read_columns

DAYS = np.arange("2023-01-01", "2024-07-01", dtype="datetime64[D]").repeat(6)
ROWS = DAYS.size


def _table(rng: np.random.Generator, drift: float = 1.0) -> dict[str, Any]:
    time = np.linspace(0.0, drift, ROWS)
    x, city = rng.normal(size=ROWS), rng.choice(["Oslo", "Rome", "Lima"], ROWS)
    return {
        "order_id": np.arange(ROWS),
        "sold on": [day.strftime("%d/%m/%Y") for day in DAYS.tolist()],
        "x": np.where(rng.random(ROWS) < 0.05, np.nan, x),
        "city": city.astype(object),
        "demand": (3.0 - 2.0 * time) * x + (city == "Oslo") + rng.normal(size=ROWS),
    }


def _labels(lines: list[tuple[str, str]]) -> dict[str, str]:
    return {label: text for label, text in lines if label}


def test_it_is_public() -> None:
    assert driftpace.check_table is check_table


def test_a_table_as_people_have_it(rng: np.random.Generator) -> None:
    check = check_table(_table(rng), target="demand")
    assert (check.rows, check.period, check.target_proposed) == (ROWS, "sold on:month", False)
    assert check.periods[0] == "2023-01"
    assert len(check.periods) == 18
    assert check.features == ("x", "city")
    assert dict(check.left_out) == {"order_id": "named like an id"}
    assert not check.problems
    assert not check.leaks
    assert [estimate.too_fine for estimate in check.labels] == [False, True, True]  # rows without x are noisy
    assert check.command == "driftpace backtest FILE --period 'sold on:month' --target demand --tolerance 0.2"
    assert check.caution is None
    assert [estimate.tolerance for estimate in check.labels] == [0.2, 0.1, 0.05]
    later = [estimate.later for estimate in check.labels]
    assert later == sorted(later)
    lines = _labels(check_lines(check, "sales.csv"))
    assert lines["Periods"] == (
        "sold on:month: 18 periods, 2023-01 to 2024-06, 168 to 186 rows each (chosen as a column of dates; --period names another)"
    )
    assert lines["Features"] == "2 columns, 4 after encoding: x, city"
    assert lines["Leakage"] == "none found: no feature gives the target away"
    assert lines["Next"].startswith("driftpace backtest sales.csv --period 'sold on:month' --target demand")


def test_the_options_of_the_next_command_are_those_of_a_backtest(rng: np.random.Generator) -> None:
    """The command that is proposed runs, and takes about as many labels as was said."""
    table = _table(rng)
    check = check_table(table, target="demand")
    assert check.period is not None
    panel = read_table(table, period=check.period, target="demand")
    result = replay(panel, tolerance=0.1, runs=2, workers=1, baselines=[], progress=False)
    assert "driftpace" in render(result)
    assert summary(result)[0].labels / len(panel) == pytest.approx(check.labels[1].later, rel=1.0)


def test_drift_is_measured_against_a_model_fitted_there(rng: np.random.Generator) -> None:
    """The loss of the stale model is known: the slope moved from 3 to 1, about 4/3 between the means of the thirds."""
    still = check_table(_table(rng, drift=0.0), target="demand").drift
    moved = check_table(_table(rng), target="demand").drift
    assert still is not None
    assert moved is not None
    assert abs(still.excess) < 0.03
    # half of (4/3)^2 more than half of the noise: 1 + x's filled cells; the slope moves within the thirds too
    assert moved.excess == pytest.approx((4.0 / 3.0) ** 2, rel=0.25)
    assert "hardly any drift" in _labels(check_lines(check_table(_table(rng, drift=0.0), target="demand")))["Drift"]


def test_two_classes_and_too_few_periods(rng: np.random.Generator) -> None:
    x = rng.normal(size=400)
    table = {"year": np.repeat([1, 2], 200), "x": x, "sold": np.where(x + rng.normal(size=400) > 0.0, "yes", "no")}
    check = check_table(table, target="sold")
    assert check.period == "year"
    assert check.target_detail.startswith("two classes, no and yes; ")
    assert check.drift is None
    assert glance_at_drift(read_table(table, period="year", target="sold")) is None


def test_leaks_are_named_and_the_numbers_are_without_them(rng: np.random.Generator) -> None:
    table = _table(rng)
    table["invoice"] = 3.0 * table["demand"] + 0.1 * rng.normal(size=ROWS)
    check = check_table(table, target="demand")
    assert [leak.feature for leak in check.leaks] == ["invoice"]
    assert check.suspects == ("invoice",)
    assert "invoice" in check.features
    assert "--exclude invoice" in check.command
    assert check.drift is not None
    assert check.drift.fresh > 0.3  # the noise, which the invoice would explain
    named = check_table(table, target="demand", features=["x", "invoice"])
    assert named.suspects == ()
    assert named.leaks == check.leaks or len(named.leaks) == 1


@pytest.mark.parametrize("seed", range(1, 5))
def test_named_copies_that_no_fit_can_follow_are_left_out(seed: int) -> None:
    """Rows that are predicted exactly have no loss, and a fit may overflow: then the numbers are without the copies."""
    rng, size = np.random.default_rng(seed), 4000
    X = rng.normal(size=(size, 3))
    y = X @ [1.0, -1.0, 0.5] + rng.normal(size=size)
    table: dict[str, Any] = {"month": np.arange(size) // 250, "x": X[:, 0], "b": (y > 0.8).astype(int), "y": y}
    for share in (5, 15):
        table[f"copy{share}"] = np.where(rng.random(size) < share / 100.0, np.nan, 2.0 * y + 1.0)
    named = check_table(table, period="month", target="y", features=["x", "copy5", "copy15", "b"])
    assert [leak.feature for leak in named.leaks] == ["copy5", "copy15"]
    assert named.problems == ()
    assert named.labels
    assert named.suspects in ((), ("copy5", "copy15"))
    assert ("--exclude copy5,copy15" in named.command) == (named.suspects != ())


def test_no_leak_is_left_after_those_found_are_excluded(rng: np.random.Generator) -> None:
    table = _table(rng)
    demand = table["demand"]
    for name, noise in (("invoice", 0.0), ("paid", 0.1), ("billed", 0.2)):
        cells = np.asarray(3.0 * demand + noise * rng.normal(size=ROWS) * demand.std())
        table[name] = np.where(rng.random(ROWS) < 0.3, np.nan, cells)
    check = check_table(table, target="demand")
    assert set(check.suspects) == {"invoice", "paid", "billed"}
    assert check_table(table, target="demand", exclude=check.suspects).leaks == ()


def test_without_a_target_the_columns_are_listed(rng: np.random.Generator) -> None:
    check = check_table(_table(rng))
    assert check.target is None
    assert check.candidates == ("x", "demand", "city")
    assert len(check.periods) == 18
    assert check.command == "driftpace check FILE --period 'sold on:month' --target COLUMN"
    lines = _labels(check_lines(check))
    assert lines["Target"] == "not named. Which column do you want to predict? Possible: x, demand, city"
    assert {column.name: (column.holds, column.target) for column in check.columns} == {
        "order_id": ("ids", None),
        "sold on": ("dates", None),
        "x": ("numbers", "a number"),
        "city": ("categories", "3 classes"),
        "demand": ("numbers", "a number"),
    }


def test_a_column_called_target_is_proposed_and_said(rng: np.random.Generator) -> None:
    table = _table(rng)
    table["target"] = table.pop("demand")
    check = check_table(table)
    assert (check.target, check.target_proposed) == ("target", True)
    assert "(chosen by its name; --target names another)" in _labels(check_lines(check))["Target"]


def test_what_cannot_be_used_is_a_problem_not_an_error(rng: np.random.Generator) -> None:
    table = _table(rng)
    table["remark"] = [f"note {row}" for row in range(ROWS)]
    check = check_table(table, target="remark")
    problem = f"'remark' must be numbers or at most 100 classes; got {ROWS:,} texts, such as 'note 0'."
    assert check.problems == (f"target {problem}",)
    assert len(check.periods) == 18
    lines = check_lines(check)
    assert lines[0] == ("Problem", f"Target {problem}")
    assert _labels(lines)["Target"] == "remark cannot be used; columns that can be predicted: x, demand, city"
    assert lines[-1] == ("Next", "driftpace check FILE --period 'sold on:month' --target COLUMN")
    same = check_table({**_table(rng), "y": np.ones(ROWS)}, target="y")
    assert same.problems == ("target 'y' is the same in every row.",)
    x, y = np.tile(
        [[1, 1, -1, -1, 1, 1, -1, -1], [1, 2, 2, 1, -1, -2, -2, -1]], 60
    )  # orthogonal, in both halves of the rows
    noise = check_table({"week": np.repeat(np.arange(10), 48), "x": x, "y": y}, target="y")
    assert noise.labels == ()
    assert _labels(check_lines(noise))["Drift"].startswith(
        "The features explain nothing on the last third of the periods"
    )
    short = check_table({"x": [1.0, 2.0], "y": [2.0, 3.0]}, target="y")
    assert short.problems == ("it has too few rows, and no column that says when a row was observed.",)
    with pytest.raises(
        ParameterError, match=r"check_table\(target=\.\.\.\) must be a column of the table; got 'demnd'"
    ):
        check_table(_table(rng), target="demnd")


def test_collinear_columns_need_a_penalty(rng: np.random.Generator) -> None:
    table = _table(rng)
    table["twice"] = 2.0 * np.nan_to_num(table["x"], nan=float(np.nanmean(table["x"]))) + 1.0
    table["x"] = (table["twice"] - 1.0) / 2.0
    check = check_table(table, target="demand")
    assert check.l2 == 0.001
    assert "--l2 0.001" in check.command
    assert check.labels


def test_files_and_bundled_tables(tmp_path: Path, rng: np.random.Generator) -> None:
    path = tmp_path / "sales.csv"
    rows = zip(*_table(rng).values(), strict=True)
    path.write_text("order_id,sold on,x,city,demand\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    assert check_table(path, target="demand").name == "sales"
    bundled = check_table(load_psid7682())
    assert (bundled.period, bundled.target, bundled.proposals) == ("year", "log_wage", ())


@pytest.mark.parametrize(
    ("columns", "period"),
    [
        ({"period": np.repeat(np.arange(20), 50), "date": DAYS[:1000]}, "period"),
        ({"date": DAYS[:3000]}, "date:month"),
        ({"month": np.repeat(np.arange(1, 13), 100)}, ":100"),  # a month that begins again every year
        ({"year": np.repeat(np.arange(2000, 2010), 100), "month": np.tile(np.arange(1, 11), 100)}, "year"),
        ({"wave": np.repeat(["wave 1", "wave 2"], 500)}, "wave"),
        ({"x": np.sin(np.arange(1000))}, ":100"),
        (
            {"year": np.append(np.full(3, 1893), np.repeat(np.arange(1990, 2010), 50))},
            "year:100",
        ),  # three films of one year
        ({"when": ["2024"] * 500 + ["soon"] * 500}, ":100"),
    ],
)
def test_proposed_periods(columns: dict[str, Any], period: str) -> None:
    assert propose_periods(read_columns(columns))[0].period == period


def test_a_period_of_too_few_rows_is_not_proposed(rng: np.random.Generator) -> None:
    """The first proposal has periods with fewer rows than coefficients; the next one, quarters, does not."""
    rows = 600
    table: dict[str, Any] = {f"x{k}": rng.normal(size=rows) for k in range(8)}
    table |= {"period": np.arange(rows) // 6, "day": DAYS[::5][:rows], "y": table["x0"] + rng.normal(size=rows)}
    check = check_table(table, target="y")
    assert check.proposals[0].period == check.period == "day:quarter"
    assert check.labels
    asked = check_table(table, target="y", period="period")
    assert asked.problems[0].startswith(
        "period must give each period more training rows than the 9 coefficients; period '0'"
    )


def test_columns_of_every_kind() -> None:
    rows = 200
    table = read_columns(
        {
            "empty": [None] * rows,
            "flag": [True, False] * (rows // 2),
            "species": [0, 1, 2, 1] * (rows // 4),
            "constant": [3.5] * rows,
            "mostly": [str(number) for number in range(rows - 2)] + ["many", "few"],
            "name": [f"row {row}" for row in range(rows)],
            "mixed": [1, "a"] * (rows // 2),
            "count": [row % 40 for row in range(rows)],
        }
    )
    assert {column.name: (column.holds, column.target) for column in summarise_columns(table)} == {
        "empty": ("nothing", None),
        "flag": ("two values", "two classes"),
        "species": ("whole numbers", "3 classes, if they are codes"),
        "constant": ("numbers", None),
        "mostly": ("numbers", "a number"),
        "name": ("ids", None),
        "mixed": ("two values", "two classes"),
        "count": ("whole numbers", "a number"),
    }


def test_small_periods_are_joined_and_the_next_command_runs(rng: np.random.Generator) -> None:
    """A last period of one row is joined to the one before, whether periods are dates or numbers."""
    table = _table(rng) | {"when": np.append(np.arange(ROWS - 1) // 300, 99)}
    check = check_table(table, target="demand", period="when")
    assert not check.problems
    assert "Joined to the period before, because fewer than 5 rows: 99." in check.notes
    assert check.periods[-1] == str((ROWS - 2) // 300)
    panel = read_table(table, period="when", target="demand")
    assert panel.periods == check.periods


def test_where_a_period_has_too_few_rows_a_longer_one_is_proposed(rng: np.random.Generator) -> None:
    """Eight rows a week are too few for ten coefficients: the command that is proposed has longer periods and runs."""
    rows, days = 700, np.arange("2023-01-02", "2024-05-01", dtype="datetime64[D]")
    table: dict[str, Any] = {f"x{place}": rng.normal(size=rows) for place in range(9)}
    table |= {"day": rng.choice(days, rows), "demand": table["x0"] + rng.normal(size=rows)}
    check = check_table(table, target="demand", period="day:week")
    assert len(check.problems) == 1
    assert check.problems[0].startswith("period must give each period more training rows than the 10 coefficients")
    assert check.period == "day:month"
    assert "--period day:month" in check.command
    assert _labels(check_lines(check))["Periods"].startswith("day:month: 16 periods")
    read_table(table, period="day:month", target="demand")
    assert not check_table(table, target="demand", period="day:quarter").problems


def test_years_of_few_rows_become_periods_of_several(rng: np.random.Generator) -> None:
    """Nine rows a year are too few for ten coefficients, and years have no coarser unit: rows are taken in their order."""
    rows = 720
    table: dict[str, Any] = {f"x{place}": rng.normal(size=rows) for place in range(9)}
    table |= {"year": 2020 - np.arange(rows) // 9, "demand": table["x0"] + rng.normal(size=rows)}
    check = check_table(table, target="demand")
    assert not check.problems
    assert check.period == "year:100"
    assert "--period year:100" in check.command
    assert check.periods == read_table(table, period="year:100", target="demand").periods
    assert check.periods[0] == "1941"


def test_ids_with_several_rows_in_a_period_are_said(rng: np.random.Generator) -> None:
    rows = 900
    table: dict[str, Any] = {"person_id": np.repeat(np.arange(30), 30), "x": rng.normal(size=rows)}
    table["y"] = table["x"] + rng.normal(size=rows)
    check = check_table(table, target="y")
    assert check.period == ":100"
    assert check.warnings == (
        "person_id has about 25 rows of each value in a period: where they are alike, --groups person_id counts them together.",
        "Rows of one person_id stand together in the file: periods in its order differ in person_id, not in time.",
    )
    assert check_table(table, target="y", groups="person_id").warnings == ()
    species = {**table, "person_id": np.array(["DM", "PB", "PP"])[rng.integers(0, 3, rows)]}
    assert "person_id" in (categories := check_table(species, target="y")).features
    assert categories.warnings == ()
    order = rng.permutation(rows)
    mixed = check_table({name: values[order] for name, values in table.items()}, target="y").warnings
    assert len(mixed) == 1
    assert mixed[0].startswith("person_id has about 3.")


def test_columns_that_may_say_when_are_mentioned(rng: np.random.Generator) -> None:
    """A year of unknown meaning and a time are not chosen, but named; the order of the file is what there is."""
    rows = 1000
    table = {
        "sample.yr": np.tile(np.arange(1995, 2005), 100),
        "time": rng.integers(-9, 99, rows),
        "x": rng.normal(size=rows),
    }
    proposals = propose_periods(read_columns(table))
    assert [proposal.period for proposal in proposals] == [":100", "sample.yr", "time:100"]
    table["year"] = np.arange(rows) // 100
    assert [proposal.period for proposal in propose_periods(read_columns(table))] == ["year"]


def test_where_nothing_is_explained_the_command_has_a_caution(rng: np.random.Generator) -> None:
    x, y = np.tile([[1, 1, -1, -1, 1, 1, -1, -1], [1, 2, 2, 1, -1, -2, -2, -1]], 60)
    check = check_table({"week": np.repeat(np.arange(10), 48), "x": x, "y": y}, target="y")
    assert (
        check.caution
        == "Labels gain nothing with these features: predicting the same for every row meets every target."
    )
    assert check_table(_table(rng), target="demand").caution is None


def test_weights_are_those_of_a_backtest(rng: np.random.Generator) -> None:
    """Rows of weight 1 that are one half of the table hide those of weight 0; without the weights, the drift is another."""
    table, noise = _table(rng, drift=0.0), _table(rng)
    both = {name: np.concatenate([table[name], noise[name]]) for name in table}
    both["w"] = np.repeat([1.0, 1e-9], ROWS)
    alone, weighted = check_table(table, target="demand"), check_table(both, target="demand", weight="w")
    assert alone.drift is not None
    assert weighted.drift is not None
    assert weighted.drift.fresh == pytest.approx(alone.drift.fresh, rel=0.1)
    assert abs(weighted.drift.excess) < 0.05
    plain = check_table(both | {"w": np.ones(2 * ROWS)}, target="demand", weight="w").drift
    assert plain is not None
    assert plain.excess > 0.15
    assert "--weight w" in weighted.command
    assert "w" not in weighted.features


def test_a_campaign_can_be_made_of_a_checked_table(rng: np.random.Generator) -> None:
    check = check_table(_table(rng), target="demand", groups="city")
    assert check.init_command == (
        "driftpace init NAME --table FILE --period 'sold on:month' --target demand --groups city --id order_id --tolerance 0.5"
    )
    assert check_table(_table(rng)).init_command is None
    values = check.to_values("sales.csv")
    assert values["init_command"].startswith("driftpace init NAME --table sales.csv")
    assert values["command"].startswith("driftpace backtest sales.csv")


def test_marks_of_a_file_are_missing_targets(rng: np.random.Generator) -> None:
    table = _table(rng)
    lines = [
        f"{x},{'NA' if row % 3 == 0 else y}" for row, (x, y) in enumerate(zip(table["x"], table["demand"], strict=True))
    ]
    data = "\n".join(["x,demand", *lines]).encode()
    check, columns = check_table(data, target="demand"), check_table(read_columns(data), target="demand")
    assert check.unlabelled == columns.unlabelled == (ROWS + 2) // 3
    assert not check.problems


def _waves(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """Return six waves of so many rows."""
    x = rng.normal(size=(6 * rows, 6))
    features = {f"x{place}": x[:, place] for place in range(6)}
    return features | {"wave": np.arange(6 * rows) // rows, "y": x.sum(axis=1) + rng.normal(size=6 * rows)}


def test_where_no_fine_target_can_be_shown_the_least_that_can_is_proposed(rng: np.random.Generator) -> None:
    """Seven coefficients of 40 rows are uncertain by a fifth of the loss: a target of 0.2 cannot be judged."""
    check = check_table(_waves(rng, 40), target="y")
    tried = [estimate.tolerance for estimate in check.labels]
    assert tried == sorted(tried, reverse=True)
    assert check.tolerance == tried[0] > 0.2
    assert [one.feasible(40.0) for one in check.labels] == [True] + [False] * (len(tried) - 1)
    assert check.caution is None
    control = check_table(_waves(rng, 300), target="y")
    assert max(estimate.tolerance for estimate in control.labels) == 0.2


@pytest.mark.parametrize(("constant", "said"), [(1.023, True), (1.05, False)])
def test_a_target_that_a_constant_nearly_meets_is_said(constant: float, said: bool) -> None:
    estimate = LabelEstimate(tolerance=0.02, first=900.0, later=400.0, reached=1.0, best_model_error=0.1)
    drift = DriftGlance(first="1", last="3", stale=1.1, fresh=1.0, constant=constant)
    check = TableCheck(name="t", rows=3000, columns=(), sizes=(1000,) * 3, labels=(estimate,), drift=drift)
    assert check.tolerance == 0.02
    assert (check.caution is not None) == said
    if said:
        assert str(check.caution).startswith("Predicting the same for every row is within 2.3 % of the best loss")


def test_what_is_odd_in_a_table_is_said(rng: np.random.Generator) -> None:
    table = _table(rng)
    table["order_id"] = table["order_id"].copy()
    table["order_id"][7] = 3
    table["sold on"] = [*table["sold on"][:9], "soon", *table["sold on"][10:]]
    table = {name: [*values, *values[:5]] for name, values in table.items()}
    check = check_table(table, target="demand")
    dates, repeated, ids = check.warnings
    assert (
        dates == "sold on has dates but is not used as dates: row 10 has 'soon': correct it, or write it as 2010-03-15."
    )
    assert repeated.startswith(f"5 rows repeat an earlier one in every cell, such as row {ROWS + 1:,}: remove them")
    assert (
        ids == "order_id has 1 value again in other rows, such as 3 in row 8: a campaign takes an id once in a period."
    )
    assert [text for label, text in check_lines(check)][: len(check.warnings)] == list(check.warnings)


def test_ambiguous_days_are_said_and_decided(rng: np.random.Generator) -> None:
    days = [f"{1 + row % 12:02d}/{1 + row // 60:02d}/2024" for row in range(600)]
    table = {"day": days, "x": rng.normal(size=600), "y": rng.normal(size=600)}
    check = check_table(table, target="y")
    assert check.period == ":100"
    assert "no cell shows whether day or month is first: set dayfirst" in check.warnings[0]
    decided = check_table(table, target="y", dayfirst=True)
    assert (decided.period, decided.warnings, len(decided.periods)) == ("day:month", (), 10)


def test_codes_and_odd_targets_are_said(rng: np.random.Generator) -> None:
    rows = 300
    table = {"wave": np.arange(rows) // 50, "x": rng.normal(size=rows)}
    codes = check_table(table | {"y": rng.integers(0, 3, rows)}, target="y")
    assert codes.target_detail.startswith("3 classes: 0, 1 and 2")
    assert any("--loss squared, or loss=SquaredLoss(), treats them as a number" in note for note in codes.notes)
    numbers = [f"{value:.3f}" for value in rng.normal(size=rows)]
    odd = check_table(table | {"y": [*numbers[:40], "oops", *numbers[41:]]}, target="y")
    assert odd.problems == ("target 'y' must be numeric; row 41 has 'oops'.",)
    commas = check_table(table | {"y": [number.replace(".", ",") for number in numbers]}, target="y")
    assert re.search(
        r"texts, such as '-?\d,\d{3}'; write numbers with a decimal point, such as -?\d\.\d+\.$", commas.problems[0]
    )


def test_what_to_do_with_many_categories_is_said(rng: np.random.Generator) -> None:
    """Hashed categories may need fewer labels as means; texts that look like ids are used where they are named."""
    rows = 1500
    town = [f"town {number}" for number in rng.integers(200, size=rows)]
    order = [f"order {number}" for number in range(rows)]
    x = rng.normal(size=rows)
    table = {"week": np.arange(rows) // 250, "x": x, "town": town, "order": order, "y": x + rng.normal(size=rows)}
    lines = check_lines(check_table(table, period="week", target="y"))
    texts = [text for _, text in lines]
    assert "Means of the target by town (tables.TargetEncoder) may take far fewer labels." in texts
    assert ("Left out", "order (free text or ids; --features uses the columns that it names)") in lines


def test_work_is_bounded_where_a_model_has_many_coefficients(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight classes by 12 columns are 91 coefficients: few periods are fitted and replayed, for at most two targets."""
    replayed: list[tuple[int, float]] = []
    fitted: list[str] = []

    def counted_replay(panel: Any, **given: Any) -> Any:
        replayed.append((len(panel.periods), given["tolerance"]))
        return replay(panel, **given)

    def counted_population(label: str, *given: Any) -> Any:
        fitted.append(label)
        return find_population(label, *given)

    monkeypatch.setattr(check_labels, "replay", counted_replay)
    monkeypatch.setattr(check_labels, "find_population", counted_population)
    rows = 12 * 300
    X = rng.normal(size=(rows, 12))
    scores = X @ rng.normal(size=(12, 8)) + rng.gumbel(size=(rows, 8))
    kinds = np.array(list("abcdefgh"), dtype=object)[scores.argmax(axis=1)]
    table = {"month": np.arange(rows) // 300, "y": kinds, **{f"x{k}": X[:, k] for k in range(12)}}
    check = check_table(table, period="month", target="y")
    assert check.labels
    assert 1 <= len(replayed) <= 2
    assert {periods for periods, _ in replayed} == {check_labels.FEW_PERIODS}
    assert len(fitted) == check_labels.FEW_MODELS
    replayed.clear()
    small = check_table({**table, "y": X[:, 0] + rng.normal(size=rows)}, period="month", target="y")
    assert small.labels
    assert {periods for periods, _ in replayed} == {12}
