"""A plan may start from a campaign, by its name, as it may from the file of a tracker."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from driftpace.campaign import Campaign
from driftpace.storage import open_store
from tests.cli.loop import INIT, Run, content, label, period


def test_a_plan_of_what_is_left(churn: Path, run: Run) -> None:
    period(run, "W1")
    period(run, "W2")
    before = content()
    code, out, err = run("plan", "churn", "--format", "json")
    assert err.startswith("Took ")
    plan = json.loads(out)
    store = open_store("driftpace.db")
    status = Campaign.open("churn", storage=store).status()
    store.close()
    assert (plan["first_period"], plan["outlook"]["source"], code) == (
        3,
        "churn",
        0 if plan["periods"][0]["samples"] else 10,
    )
    assert status.money_left is not None
    assert status.last is not None
    assert Decimal(plan["budget"]) == status.money_left.amount
    assert plan["epsilon"] == status.last.epsilon  # what the tolerance amounts to
    assert len(plan["periods"]) == 10
    assert content() == before


def test_a_plan_pays_for_the_rows_of_the_open_period_once(churn: Path, run: Run) -> None:
    period(run, "W1")
    period(run, "W2")
    run("ask", "churn", "--key", "W3", "--select", "pool.csv", "--out", "W3.csv")
    label(Path("W3.csv"), Path("done.csv"), only=3)
    assert run("tell", "churn", "done.csv", "--part")[0] == 0
    status = json.loads(run("status", "churn", "--format", "json")[1])
    assert Decimal(status["committed"]["amount"]) > 0
    plan = json.loads(run("plan", "churn", "--format", "json")[1])
    assert Decimal(plan["budget"]) == Decimal(status["to_plan"]["amount"])
    assert f", {status['committed']['amount']} EUR for the rows of the open period, " in run("status", "churn")[1]


def test_a_plan_with_other_money(churn: Path, run: Run) -> None:
    period(run, "W1")
    code, out, _ = run("plan", "churn", "--budget", "90", "--horizon", "3", "--currency", "EUR", "--json")
    assert code == 0
    assert (json.loads(out)["budget"], len(json.loads(out)["periods"])) == ("90", 3)


def test_a_file_comes_before_a_campaign_of_its_name(churn: Path, run: Run) -> None:
    Path("churn").write_text("not a state")
    code, _, err = run("plan", "churn")
    assert code == 2
    assert "'churn' is truncated, or not a driftpace state" in err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("chrun",), "there is no campaign 'chrun' in sqlite:///"),
        (("churn",), "it is too early to plan ahead: "),
        (("churn", "--rho", "1"), "--rho must be left out beside NAME, which determines it; got 1.0."),
    ],
)
def test_refusals(churn: Path, run: Run, words: tuple[str, ...], sentence: str) -> None:
    code, out, err = run("plan", *words)
    assert (code, out) == (2, "")
    assert err.startswith(f"driftpace: {sentence}")


def test_money_is_not_needed_in_a_campaign_to_plan(folder: Path, run: Run) -> None:
    assert run(*INIT)[0] == 0
    period(run, "W1")
    assert run("plan", "churn", "--budget", "100", "--horizon", "4")[0] in (0, 10)
    code, _, err = run("plan", "churn")
    assert code == 2
    assert err.startswith("driftpace: Give two of --epsilon, --budget and --horizon")
