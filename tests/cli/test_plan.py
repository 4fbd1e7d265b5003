"""The command says when to buy how many samples, in words and in numbers, and in one sentence when it cannot."""

import csv
import io
import itertools
import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftpace
from driftpace import SquaredLoss, Tracker
from driftpace.cli import main
from driftpace.planning import Budget, LinearCost, TieredCost, price
from driftpace.synthetic import DriftingRegression

DATA = ("--noise", "1.0", "--features", "5", "--rho", "0.1")
COST = ("--fixed", "50", "--per-sample", "2", "--currency", "EUR")
NUMBERS = ("plan", *DATA, *COST)
ALL = (*NUMBERS, "--epsilon", "0.1", "--horizon", "12")
EUR = LinearCost(fixed=50, per_sample=2, currency="EUR")


def planned(**named: Any) -> Any:
    return driftpace.plan(noise=1.0, features=5, rho=0.1, cost=EUR, **named)


def summary(text: str) -> dict[str, str]:
    """Return the lines of the summary by their labels."""
    lines = text.rstrip().split("\n\n")[-2].splitlines()
    return {line[:10].strip(): line[11:] for line in lines}


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.split("\n\n")[0].splitlines()[1:]]


def as_numbers(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    main([*arguments, "--json"])
    body: dict[str, Any] = json.loads(capsys.readouterr().out)
    return body


def test_a_budget_that_meets_the_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ALL, "--budget", "1000"]) == 0
    printed = capsys.readouterr()
    expected = planned(epsilon=0.1, budget=1000, horizon=12)
    words = summary(printed.out)
    assert list(words) == ["Task", "Drift", "Next", "Cost", "Target", "Optimality", "Budget"]
    assert words["Next"] == f"buy {expected.samples[0]} samples in period 1, for {expected.costs[0]}"
    assert words["Cost"].startswith(
        f"{expected.spent} for {sum(expected.samples)} samples in 6 orders; {expected.left} of 1,000 EUR left"
    )
    assert words["Target"].startswith("met in each of 12 periods")
    assert words["Optimality"] == expected.reason
    assert "can even meet 0.0" in words["Budget"]
    assert printed.out.splitlines()[-1].startswith("Took ")
    assert printed.err == ""
    assert "\x1b" not in printed.out


def test_periods_that_buy_nothing_are_folded(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ALL, "--budget", "500"]) == 0
    text = capsys.readouterr().out
    expected = planned(epsilon=0.1, budget=500, horizon=12)
    table = rows(text)
    bought = [(str(n), f"{k}") for n, k in enumerate(expected.samples, start=1) if k]
    assert [(row[0], row[1]) for row in table if row[1] != "nothing"] == bought
    assert table[1] == [
        "2-3",
        "nothing",
        "-",
        "356",
        f"{max(expected.risks[1:3]):.4g}",
        f"{max(expected.gaps[1:3]):.4g}",
    ]
    assert table[-1][3] == "0"
    words = summary(text)
    missed = sum(gap > 0 for gap in expected.gaps)
    assert words["Target"].startswith(f"missed in {missed} of 12 periods, by {max(expected.gaps):.4g} at most")
    assert f"below {expected.lower:.4g}; this one has {expected.value:.4g}, within" in words["Optimality"]
    least, best = planned(epsilon=0.1, horizon=12).spent, planned(budget=500, horizon=12).epsilon
    assert words["Budget"] == f"500 EUR can meet {best:.4g} in every period; meeting 0.1 in every period takes {least}"


@pytest.mark.parametrize(
    ("rest", "code", "sentence"),
    [
        (("--epsilon", "0.1", "--budget", "500"), 0, "buy 47 samples in period 1, for 144 EUR"),
        (("--epsilon", "10", "--budget", "500"), 10, "buy nothing in period 1"),
        (
            ("--epsilon", "0.1", "--budget", "500", "--start", "0.2"),
            10,
            "buy nothing in period 1; the first order is in period ",
        ),
        (
            ("--epsilon", "0.1", "--budget", "40"),
            20,
            "nothing can be bought: one sample costs 52 EUR, and the budget is 40 EUR",
        ),
        (("--epsilon", "10", "--budget", "40"), 10, "buy nothing in period 1"),
        (
            ("--epsilon", "0.1", "--budget", "0"),
            20,
            "nothing can be bought: one sample costs 52 EUR, and the budget is 0 EUR",
        ),
    ],
)
def test_the_exit_code_says_what_to_do_now(
    rest: tuple[str, ...], code: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*NUMBERS, "--horizon", "6", *rest]) == code
    assert summary(capsys.readouterr().out)["Next"].startswith(sentence)


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"epsilon": 0.1, "horizon": 12}, "budget"),
        ({"budget": 500, "horizon": 12}, "epsilon"),
        ({"epsilon": 0.1, "budget": 500}, "horizon"),
    ],
    ids=["budget", "epsilon", "horizon"],
)
def test_what_is_left_out_is_solved_for(
    given: dict[str, Any], missing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [word for name, value in given.items() for word in (f"--{name}", str(value))]
    assert main([*NUMBERS, *options]) == 0
    expected = planned(**given)
    words = summary(capsys.readouterr().out)
    assert words["Optimality"] == expected.reason
    assert words["Target"].startswith(f"met in each of {expected.horizon} periods")
    body = as_numbers(capsys, *NUMBERS, *options, "--solve", missing)  # named explicitly, it is the same
    assert body["solved_for"] == missing
    assert (body["epsilon"], body["horizon"], body["budget"]) == (
        expected.epsilon,
        expected.horizon,
        str(expected.budget.amount),
    )


def test_json_is_alone_on_stdout_and_the_same_every_time(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = [*ALL, "--budget", "500", "--json", "--out", str(tmp_path / "new" / "place")]
    texts = []
    for _ in range(2):
        assert main(arguments) == 0
        printed = capsys.readouterr()
        texts.append(printed.out)
        assert "plan.html" in printed.err
    assert texts[0] == texts[1] == (tmp_path / "new" / "place" / "plan.json").read_text()
    body = json.loads(texts[0])
    expected = planned(epsilon=0.1, budget=500, horizon=12)
    assert tuple(each["samples"] for each in body["periods"]) == expected.samples
    assert (body["value"], body["lower"], body["spent"]) == (expected.value, expected.lower, str(expected.spent.amount))
    assert body["outlook"] == {"source": None, "rho": 0.1, "start": 3.0, "steps": "worst"}
    assert body["tightest_epsilon"] == pytest.approx(planned(budget=500, horizon=12).epsilon)
    assert body["sufficient_budget"] == str(planned(epsilon=0.1, horizon=12).spent.amount)
    assert body["baselines"] == body["trade_off"] == []


def test_csv_has_a_row_for_each_period(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ALL, "--budget", "500", "--format", "csv"]) == 0
    records = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [int(row["period"]) for row in records] == list(range(1, 13))
    assert sum(Decimal(row["cost"]) for row in records) == 500
    assert tuple(int(row["samples"]) for row in records) == planned(epsilon=0.1, budget=500, horizon=12).samples


def test_other_plans_and_the_curve(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (*ALL, "--budget", "500", "--compare", "--curve")
    body = as_numbers(capsys, *arguments)
    names = ["up front", "every 2 periods", "every 5 periods", "every period", "the risk rule"]
    assert [other["method"] for other in body["baselines"]] == names
    paid = [other for other in body["baselines"] if Decimal(other["left"]) >= 0]
    assert len(paid) == 4
    assert body["value"] < min(other["value"] for other in paid)
    assert body["baselines"][-1]["holds"]
    curve = [(Decimal(point["budget"]), point["epsilon"]) for point in body["trade_off"]]
    assert curve == sorted(curve, key=lambda point: (point[0], -point[1]))  # more money never meets less
    assert curve[0][0] < 500 < curve[-1][0]
    assert main(list(arguments)) == 0
    printed = capsys.readouterr().out
    table = printed.split("\n\n")[1].splitlines()
    assert table[0] == "Other plans"
    assert len(table) == 9  # with heads and a note
    assert [line.split("  ")[0] for line in table[2:8]][:2] == ["this plan", "all up front"]
    assert table[8] == "Above the budget of 500 EUR: the risk rule, without a budget."
    assert printed.split("\n\n")[2].startswith("Targets that other budgets meet in every period")


def test_a_short_horizon_has_fewer_other_plans(capsys: pytest.CaptureFixture[str]) -> None:
    body = as_numbers(capsys, *NUMBERS, "--epsilon", "0.1", "--horizon", "2", "--budget", "500", "--compare")
    assert [other["method"] for other in body["baselines"]] == ["up front", "every period", "the risk rule"]


def test_plans_that_break_the_rule_of_neighbours_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ALL, "--budget", "900", "--adjacent", "--compare", "--gap", "run"]) == 0
    text = capsys.readouterr().out
    assert "largest run" in text
    assert "Violating --adjacent: all up front, every second period, every five periods." in text
    bought = [row[1] != "nothing" for row in rows(text)]
    assert any(a and b for a, b in itertools.pairwise(bought))


def test_tiers_and_the_minimum_are_paid(capsys: pytest.CaptureFixture[str]) -> None:
    tiers = ("--tier", "41:1.00", "--tier", "31:1.55", "--minimum", "25")
    body = as_numbers(capsys, *ALL, "--budget", "500", *tiers)
    cost = TieredCost(tiers=((1, 2), (31, "1.55"), (41, 1)), fixed=50, minimum=25, currency="EUR")
    bought = [each for each in body["periods"] if each["samples"]]
    assert bought
    for each in bought:
        assert Decimal(each["cost"]) == price(cost, each["samples"]).amount


def test_a_long_table_ends_early_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--epsilon", "0.1", "--horizon", "200", "--budget", "9000")
    assert main(["plan", *DATA, *options]) == 0
    text = capsys.readouterr().out
    assert "--format csv prints every period" in text
    assert len(text.split("\n\n")[0].splitlines()) < 60


def test_a_terminal_gets_colours_and_the_same_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main([*ALL, "--budget", "500", "--compare"]) == 0
    text = capsys.readouterr().out
    assert "\x1b[31m" in text  # red: above the target
    assert "buy 47 samples in period 1, for 144 EUR" in text
    assert "Above the budget of 500 EUR" in text


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trackers that were saved: some periods old, new, with a tolerance, with a budget, and after one."""
    folder = tmp_path_factory.mktemp("saved")
    world = DriftingRegression(features=2, rho=0.2, noise=1.0, rng=0)
    rng = np.random.default_rng(0)

    def after(periods: int, name: str, **named: Any) -> None:
        tracker = Tracker(SquaredLoss(), rng=0, **named)
        for period in range(1, periods + 1):
            tracker.step(lambda samples: world.period(period).draw(samples, rng=rng))  # noqa: B023
        tracker.save(folder / name)

    after(4, "churn.state", epsilon=0.1)
    after(0, "new.state", epsilon=0.1)
    after(3, "tolerant.state", tolerance=0.1)
    after(3, "paid.state", epsilon=0.1, budget=Budget(total=900, horizon=6, cost=EUR))
    after(3, "over.state", epsilon=0.1, budget=Budget(total=900, horizon=3, cost=EUR))
    return folder


@pytest.mark.parametrize(
    ("options", "given", "solved"),
    [
        ("--budget 500 --horizon 6", {"epsilon": 0.1, "budget": 500, "horizon": 6}, None),
        ("--horizon 6", {"epsilon": 0.1, "horizon": 6}, "budget"),
        ("--budget 500", {"epsilon": 0.1, "budget": 500}, "horizon"),
        ("--budget 500 --horizon 6 --solve epsilon", {"budget": 500, "horizon": 6}, "epsilon"),
        ("--budget 500 --horizon 6 --epsilon 0.3", {"epsilon": 0.3, "budget": 500, "horizon": 6}, None),
    ],
)
def test_a_saved_tracker_knows_its_world_its_target_and_its_period(
    options: str, given: dict[str, Any], solved: str | None, saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved / "churn.state"
    tracker = Tracker.load(path)
    expected = driftpace.plan(tracker.outlook(), cost=EUR, first_period=5, **given)
    body = as_numbers(capsys, "plan", str(path), *COST, *options.split())
    assert body["first_period"] == tracker.period == 5
    assert body["solved_for"] == solved
    assert body["outlook"]["source"] == "churn.state"
    assert (body["epsilon"], body["horizon"], body["value"]) == (expected.epsilon, expected.horizon, expected.value)
    assert tuple(each["samples"] for each in body["periods"]) == expected.samples


def test_a_saved_tracker_is_named_and_not_changed(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved / "churn.state"
    before = path.read_bytes()
    assert main(["plan", str(path), *COST, "--horizon", "3"]) in (0, 10)
    words = summary(capsys.readouterr().out)
    assert words["Task"].endswith("over 3 periods, from period 5 on")
    assert words["Drift"].startswith("as estimated by churn.state: ")
    assert "in period 5" in words["Next"]
    assert path.read_bytes() == before


@pytest.mark.parametrize("more", ["", "--solve epsilon"])
def test_a_tracker_with_a_budget_plans_what_is_left_of_it(
    more: str, saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tracker = Tracker.load(saved / "paid.state")
    assert tracker.money_left is not None
    body = as_numbers(capsys, "plan", str(saved / "paid.state"), *more.split())
    assert (body["first_period"], body["horizon"], body["currency"]) == (4, 3, "EUR")
    assert body["budget"] == str(tracker.money_left.amount)
    assert (body["epsilon"] == 0.1) == (not more)
    bought = [each for each in body["periods"] if each["samples"]]
    assert all(Decimal(each["cost"]) == price(EUR, each["samples"]).amount for each in bought)


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("new.state", "--horizon 3", "no initial labels yet"),
        ("tolerant.state", "--horizon 3", "tolerant.state has a tolerance and no epsilon"),
        ("over.state", "", "Give two of --epsilon, --budget and --horizon"),
        ("paid.state", "--solve epsilon --gap run", "--gap must be left out"),
        ("paid.state", "--solve budget", "Give two of --epsilon, --budget and --horizon"),
    ],
)
def test_what_a_saved_tracker_cannot_answer(
    name: str, options: str, sentence: str, saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", str(saved / name), *options.split()]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert sentence in printed.err


REFUSED = {
    "nothing": ((), "Give NAME"),
    "no rho": (("--noise", "1", "--features", "5", "--epsilon", "0.1", "--budget", "10"), "got no --rho"),
    "one of three": ((*DATA, "--budget", "10"), "Give two of --epsilon, --budget and --horizon"),
    "horizon 0": ((*DATA, "--epsilon", "0.1", "--budget", "10", "--horizon", "0"), "--horizon must be a whole number"),
    "horizon too long": (
        (*DATA, "--epsilon", "0.1", "--budget", "10", "--horizon", "99999"),
        "at most 10,000 periods",
    ),
    "epsilon nan": ((*DATA, "--epsilon", "nan", "--horizon", "3"), "--epsilon must be positive"),
    "budget nan": ((*DATA, "--epsilon", "0.1", "--horizon", "3", "--budget", "nan"), "--budget must be an amount"),
    "budget below 0": ((*DATA, "--epsilon", "0.1", "--horizon", "3", "--budget", "-1"), "--budget must be an amount"),
    "fixed below 0": ((*DATA, "--epsilon", "0.1", "--horizon", "3", "--fixed", "-1"), "--fixed must be an amount"),
    "price nan": (
        (*DATA, "--epsilon", "0.1", "--horizon", "3", "--per-sample", "nan"),
        "--per-sample must be an amount",
    ),
    "first tier nan": (
        (*DATA, "--epsilon", "0.1", "--horizon", "3", "--per-sample", "nan", "--tier", "9:1"),
        "--per-sample must be an amount",
    ),
    "tier without a price": (
        (*DATA, "--epsilon", "0.1", "--horizon", "3", "--tier", "9"),
        "--tier must be FROM:AMOUNT",
    ),
    "tier from 1": ((*DATA, "--epsilon", "0.1", "--horizon", "3", "--tier", "1:2"), "--tier must be FROM:AMOUNT"),
    "tier of no price": ((*DATA, "--epsilon", "0.1", "--horizon", "3", "--tier", "9:x"), "--tier must be an amount"),
    "minimum below 0": ((*DATA, "--epsilon", "0.1", "--horizon", "3", "--minimum", "-1"), "--minimum must be"),
    "noise below 0": (
        ("--noise", "-1", "--features", "5", "--rho", "0.1", "--epsilon", "0.1", "--horizon", "3"),
        "--noise must be",
    ),
    "no features": (
        ("--noise", "1", "--features", "0", "--rho", "0.1", "--epsilon", "0.1", "--horizon", "3"),
        "--features must be",
    ),
    "start nan": ((*DATA, "--start", "nan", "--epsilon", "0.1", "--horizon", "3"), "--start must be"),
    "accuracy": ((*DATA, "--epsilon", "0.1", "--horizon", "3", "--accuracy", "-1"), "--accuracy must be"),
    "solved and given": (
        (*DATA, "--epsilon", "0.1", "--horizon", "3", "--solve", "horizon"),
        "--horizon must be left out",
    ),
    "a goal without gaps": ((*DATA, "--epsilon", "0.1", "--horizon", "3", "--gap", "run"), "--gap must be left out"),
    "two forms": (
        (*DATA, "--epsilon", "0.1", "--horizon", "3", "--json", "--format", "csv"),
        "--json must be left out",
    ),
    "an unknown goal": ((*DATA, "--epsilon", "0.1", "--horizon", "3", "--gap", "median"), "--gap"),
    "too poor for one period": ((*DATA, *COST, "--epsilon", "0.1", "--budget", "60"), "--budget must meet the target"),
    "no such state": (
        ("churn", "--budget", "10"),
        "NAME must be a campaign, or a file that Tracker.save() wrote; 'churn' is neither",
    ),
    "a folder": ((".", "--budget", "10"), "'.' is a folder"),
    "not a state": (("taken", "--budget", "10"), "'taken' is truncated, or not a driftpace state"),
    "a state and numbers": (("taken", "--rho", "1", "--budget", "10"), "--rho must be left out beside NAME"),
    "out is a file": ((*DATA, "--epsilon", "0.1", "--horizon", "3", "--out", "taken"), "--out must be a directory"),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_refusals_are_one_sentence_and_code_two(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments, sentence = REFUSED[name]
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("")
    assert main(["plan", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("driftpace: ")
    assert printed.err.count("\n") == 1
    assert sentence in printed.err
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_picture_that_cannot_be_drawn_is_refused_before_the_work(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("driftpace.cli.files.find_spec", lambda name: None)
    assert main([*ALL, "--budget", "500", "--out", str(tmp_path / "out")]) == 2
    assert 'pip install "driftpace[report]"' in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_help_loads_nothing_heavy() -> None:
    heavy = ("numpy", "numba", "scipy", "plotly", "driftpace.planning", "driftpace.tracker", "driftpace.backtest")
    code = f"import sys; from driftpace.cli import main; main(['plan', '--help']); print([n for n in {heavy} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "--per-sample" in done.stdout


def test_without_the_picture_plotly_and_the_backtest_are_not_loaded() -> None:
    code = (
        f"import sys; from driftpace.cli import main; code = main({[*ALL, '--budget', '40']!r}); "
        "print(code, [n for n in ('plotly', 'driftpace.backtest', 'driftpace.tracker') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "20 []"
