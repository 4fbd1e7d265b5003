"""The report of a plan: one page that needs nothing from anywhere, draws without an error, and fits a phone."""

import json
import re
from pathlib import Path

import pytest

from driftpace.bounds import Anchored
from driftpace.cli.plan_text import plan_page, write_plan_page
from driftpace.planning import LinearCost, Outlook, PlanAnalysis, analyse_plan
from tests.report.test_browser import CHROMIUM, browsing, opened


def analysed(
    *, budget: str | None = "500", epsilon: float | None = 0.1, currency: str = "EUR", more: bool = True
) -> PlanAnalysis:
    outlook = Outlook(bound=Anchored(noise=1.0, features=5), rho=0.1, start=3.0)
    cost = LinearCost(fixed="50", per_sample="2", currency=currency)
    return analyse_plan(outlook, cost=cost, epsilon=epsilon, budget=budget, horizon=12, baselines=more, curve=more)


def figures(text: str) -> dict[str, dict[str, list[dict[str, object]]]]:
    match = re.search(r'<script type="application/json" id="figures">(.*?)</script>', text)
    assert match is not None
    body: dict[str, dict[str, list[dict[str, object]]]] = json.loads(match[1])
    return body


def test_bars_risk_and_money_are_those_of_the_plan() -> None:
    analysis = analysed()
    text = plan_page(analysis)
    drawn = figures(text)
    assert list(drawn) == ["bought", "risk", "money", "curve"]
    (bars,) = (trace for trace in drawn["bought"]["data"] if trace["type"] == "bar")
    assert bars["y"] == list(analysis.plan.samples)
    risk = {trace["name"]: trace for trace in drawn["risk"]["data"]}
    assert risk["this plan"]["y"] == list(analysis.plan.risks)
    assert risk["the target"]["y"] == [0.1] * 12
    assert risk["above the target"]["fill"] == "tonexty"
    assert {"all up front", "every second period", "the risk rule, without a budget"} <= set(risk)
    money = {trace["name"]: trace["y"] for trace in drawn["money"]["data"]}
    assert money["this plan"] == [
        500.0,
        356.0,
        356.0,
        356.0,
        236.0,
        236.0,
        236.0,
        116.0,
        116.0,
        116.0,
        0.0,
        0.0,
        0.0,
        0.0,
    ]
    assert [point.epsilon for point in analysis.curve] == drawn["curve"]["data"][0]["y"]


def test_without_other_plans_and_curve_they_are_not_there() -> None:
    text = plan_page(analysed(budget="1000", more=False))
    drawn = figures(text)
    assert list(drawn) == ["bought", "risk", "money"]
    assert [trace["name"] for trace in drawn["risk"]["data"]] == ["this plan", "the target"]  # and nothing above it
    assert "Other plans" not in text
    assert ">Met<" in text


def test_nothing_is_fetched_and_names_are_no_markup() -> None:
    text = plan_page(analysed(currency="<b>&"))
    head = text.split("<style>")[0]
    assert "default-src 'none'" in head
    assert "<b>&" not in text
    assert "&lt;b&gt;&amp;" in text
    assert (
        re.search(
            r"<(?:link|img|iframe)|\bsrc=", head + text.split("</style>")[1].split('<script type="application')[0]
        )
        is None
    )


def test_the_same_plan_gives_the_same_bytes(tmp_path: Path) -> None:
    analysis = analysed()
    one, two = (write_plan_page(analysis, tmp_path / name).read_bytes() for name in ("one.html", "two.html"))
    assert one == two


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_it_draws_and_fits_a_phone_in_a_browser(tmp_path: Path) -> None:
    whole = write_plan_page(analysed(), tmp_path / "whole.html")
    none = write_plan_page(analysed(budget="40"), tmp_path / "none.html")
    with browsing(tmp_path / "profile") as browser:
        for path in (whole, none):
            for width, scheme in ((390, "dark"), (1280, "light")):
                opened(browser, path, width=width, scheme=scheme)
                browser.look("document.querySelectorAll('details').forEach(d => { d.open = true; })")
                assert browser.look("document.documentElement.scrollWidth") <= width
                inks = browser.look("getComputedStyle(document.documentElement).getPropertyValue('--ink').trim()")
                assert browser.look("document.getElementById('risk').layout.font.color") == inks
        assert browser.complaints == []
