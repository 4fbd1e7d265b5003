"""The report is one file that fetches nothing, runs nothing of a user's, and says the same as the numbers."""

import base64
import hashlib
import json
import math
import re
import sys
from dataclasses import replace
from functools import cache
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]
import pytest

from driftpace.backtest.judgement import judge_strategy, total_labels
from driftpace.backtest.promise import promise
from driftpace.backtest.result import BacktestResult
from driftpace.backtest.text import (
    alternatives,
    assumption_status,
    cheaper_strategies,
    headline,
    outcome,
    render_table,
    target_text,
)
from driftpace.errors import MissingExtraError
from driftpace.records import Assumption, Verdict
from driftpace.report import backtest_report, write_page
from tests.reference.backtests import broken, made_up

EVIL = "<script>alert(1)</script>"
HANDLER = "\"'><img src=x onerror=alert(1)>"


class Page(HTMLParser):
    """What a browser would find: elements with their attributes, the text of scripts, the text between tags."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.words: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.words.append(data)

    def having(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@cache
def page(classification: bool = False) -> tuple[str, Page]:
    text = backtest_report(made_up(classification=classification))
    return text, Page(text)


def without_plotly(text: str, found: Page) -> str:
    return text.replace(found.scripts[1], "")


def hostile() -> BacktestResult:
    result = made_up(periods=3, runs=2, price=2.0, currency=EVIL)
    note, _ = result.assumptions[0]
    return replace(
        result,
        table=EVIL,
        target=HANDLER,
        features=(EVIL, HANDLER),
        loss=EVIL,
        periods=(EVIL, "<b>b</b>", HANDLER),
        strategies=tuple(replace(each, title=EVIL, note=HANDLER) for each in result.strategies),
        assumptions=((replace(note, name=EVIL, sentence=HANDLER), 0.5),),
        notes=(EVIL, HANDLER),
    )


def test_nothing_is_fetched() -> None:
    text, parsed = page()
    rest = without_plotly(text, parsed)
    assert not re.search(r"https?:|//cdn|@import|url\(", rest)
    assert not any("src" in attributes or "href" in attributes for _, attributes in parsed.elements)
    assert parsed.having("link") == []


def test_the_policy_allows_the_two_scripts_and_nothing_else() -> None:
    _, parsed = page()
    policy = next(each["content"] for each in parsed.having("meta") if each.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    allowed = re.findall(r"'sha256-([^']+)'", policy)
    data, *scripts = parsed.scripts
    assert json.loads(data)
    assert allowed == [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in scripts]
    assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]


def test_names_from_a_file_stay_text() -> None:
    parsed = Page(backtest_report(hostile()))
    assert len(parsed.scripts) == 3
    assert parsed.having("img") == []
    assert not any(name.startswith("on") for _, attributes in parsed.elements for name in attributes)
    assert "<script>alert(1)</script>" in "".join(parsed.words)  # as words that a reader sees
    assert "<" not in parsed.scripts[0]  # nothing in the data can close its element
    names = json.loads(parsed.scripts[0])["samples"]["layout"]["xaxis"]["categoryarray"]
    assert names[0] == "&lt;script&gt;alert(1)&lt;/script&gt;"  # plotly reads tags in names; these are none


def test_the_same_result_gives_the_same_bytes(tmp_path: Path) -> None:
    first = write_page(backtest_report(made_up()), tmp_path / "deep" / "down" / "a.html")
    second = write_page(backtest_report(made_up()), tmp_path / "b.html")
    assert first == tmp_path / "deep" / "down" / "a.html"
    assert first.read_bytes() == second.read_bytes()


def test_the_answer_is_first_and_the_glossary_last() -> None:
    text, parsed = page()
    heads = [text.index(f">{title}<") for title in HEADINGS]
    assert heads == sorted(heads)
    assert text.index("<h1>") < heads[0]
    assert [tag for tag, _ in parsed.elements if tag == "h1"] == ["h1"]


HEADINGS = (
    "In short",
    "Labels per period",
    "Drift",
    "Predicted, measured and true risk",
    "Test loss",
    "All strategies",
    "Assumptions",
    "Configuration",
    "Glossary",
)


def test_every_figure_says_in_words_what_it_shows() -> None:
    _, parsed = page()
    drawn = [each for each in parsed.having("div") if each.get("class") == "figure"]
    assert {each["id"] for each in drawn} == set(json.loads(parsed.scripts[0]))
    assert all(each["role"] == "img" and len(str(each["aria-label"])) > 80 for each in drawn)
    assert all(each.get("scope") in {"col", "row"} for each in parsed.having("th"))
    assert len(parsed.having("caption")) == len(parsed.having("table"))
    assert parsed.having("html") == [{"lang": "en"}]


def test_every_legend_entry_holds_the_traces_of_its_figure() -> None:
    _, parsed = page()
    figures = json.loads(parsed.scripts[0])
    counted = sum(len(str(each["data-traces"]).split(",")) for each in parsed.having("button"))
    assert counted == sum(len(figure["data"]) for figure in figures.values())


@pytest.mark.parametrize("classification", [False, True])
def test_plotly_takes_every_figure(classification: bool) -> None:
    _, parsed = page(classification)
    for figure in json.loads(parsed.scripts[0]).values():
        assert len(go.Figure(figure).data) == len(figure["data"])  # raises on what it does not know


def test_auc_is_shown_for_classes_only() -> None:
    assert ">AUC<" in page(True)[0]
    assert ">AUC<" not in page(False)[0]


def test_money_is_shown_when_a_price_or_a_currency_was_given() -> None:
    result = made_up()
    total = total_labels(result.strategies[0])
    assert ">Money<" not in backtest_report(result)
    text = backtest_report(replace(result, price=2.5, currency="EUR"))
    assert ">Money<" in text
    assert f"{total * 2.5:,.0f} EUR" in text
    assert ">Money<" in backtest_report(replace(result, currency="$"))


@pytest.mark.parametrize(("runs", "periods"), [(1, 1), (1, 2), (3, 1), (2, 150)])
def test_few_and_many_runs_and_periods(runs: int, periods: int) -> None:
    parsed = Page(backtest_report(made_up(runs=runs, periods=periods)))
    assert json.loads(parsed.scripts[0])["ledger"]["data"]


@pytest.mark.parametrize("periods", [2, 28])
def test_what_was_not_measured_leaves_a_gap(periods: int) -> None:
    result = broken(made_up(periods=periods))
    text = backtest_report(result)
    parsed = Page(text)
    ledger = json.loads(parsed.scripts[0])["ledger"]["data"]
    measured = next(trace for trace in ledger if trace["name"].startswith("true"))
    assert [value is None for value in measured["y"]] == [index >= periods // 2 for index in range(periods)]
    assert f"not measured in {periods - periods // 2} period" in text
    assert not re.search(r">\s*(nan|inf)\b", without_plotly(text, parsed), re.IGNORECASE)


def test_nothing_measured_at_all() -> None:
    result = made_up(periods=2)
    nothing = np.full((result.runs, 2), math.nan)
    tracked = replace(result.strategies[0], excess_risk=nothing, test_loss=nothing, samples=nothing)
    empty = replace(result, strategies=(tracked,), epsilon=(math.nan, math.nan), assumptions=(), notes=())
    assert "was not measured" in headline(empty)
    assert alternatives(empty) == ["no baseline was replayed"]
    assert "<h1>" in backtest_report(empty)


def test_a_baseline_that_was_replayed_is_named_although_it_is_not_a_main_one() -> None:
    result = made_up(periods=4)
    even = next(each for each in result.strategies if each.name == "even")
    only = replace(result, strategies=(result.strategies[0], even), skipped=())
    (phrase,) = alternatives(only)
    assert "by spreading the labels evenly" in phrase


def test_the_promise_is_the_one_of_the_backtest() -> None:
    result = made_up()
    for strategy in result.strategies:
        verdict = promise(strategy.excess_risk, np.array(result.epsilon))
        judged = judge_strategy(strategy, result.epsilon)
        assert (judged.kept, judged.measured, judged.above) == (
            verdict.kept,
            verdict.mean,
            verdict.periods_above,
        )
    verdicts = {strategy.name: judge_strategy(strategy, result.epsilon).kept for strategy in result.strategies}
    assert verdicts["driftpace"]
    assert not verdicts["first_model"]


def test_a_promise_in_high_probability_counts_shares() -> None:
    result = made_up(runs=4, periods=5)
    risk = np.full((4, 5), 0.01)
    risk[0, 0] = 0.03
    tracked = replace(result.strategies[0], excess_risk=risk)
    assert judge_strategy(tracked, result.epsilon, 0.95).kept
    assert not judge_strategy(tracked, result.epsilon, 0.96).kept
    assert judge_strategy(tracked, result.epsilon, 0.95).measured == pytest.approx(0.95)
    assert "in 95 % of periods" in target_text(replace(result, confidence=0.95))


def test_the_answer_is_one_sentence_with_its_numbers() -> None:
    result = made_up()
    tracked, scratch = (
        next(each for each in result.strategies if each.name == name) for name in ("driftpace", "from_scratch")
    )
    sentence = headline(result)
    assert f"{total_labels(tracked):,.0f} labels over 28 periods" in sentence
    assert f"{total_labels(scratch):,.0f} labels" in sentence
    assert "was met" in sentence
    assert "was missed" in headline(replace(result, epsilon=(0.001,) * 28))
    assert "within 5 % of the best achievable loss" in headline(replace(result, tolerance=0.05))


def test_a_strategy_that_missed_the_target_is_marked() -> None:
    result = made_up()
    assert not any("missed the target" in line for line in alternatives(result))
    worse = tuple(
        replace(each, excess_risk=each.excess_risk * 5.0) if each.name == "from_scratch" else each
        for each in result.strategies
    )
    assert sum("(missed the target)" in line for line in alternatives(replace(result, strategies=worse))) == 1
    assert "; it missed the target, driftpace met the target" in backtest_report(replace(result, strategies=worse))
    assert "would have taken 4,088 labels and missed the target. " in headline(replace(result, strategies=worse))
    assert "missed" not in headline(result)


def test_every_baseline_that_met_the_target_more_cheaply_is_named_and_a_missed_target_comes_first() -> None:
    result = made_up()
    tracked, *others = result.strategies
    cheap = tuple(
        replace(each, samples=tracked.samples / 4.0, excess_risk=tracked.excess_risk)
        if each.name in ("even", "up_front")
        else each
        for each in others
    )
    finding = replace(result, strategies=(replace(tracked, excess_risk=tracked.excess_risk * 5.0), *cheap))
    assert {"even", "up_front"} <= {
        each.name for each in cheaper_strategies(replace(result, strategies=(tracked, *cheap)))
    }
    assert {"even", "up_front"} <= {each.name for each in cheaper_strategies(finding)}
    phrases = alternatives(finding)
    assert any("by spreading the labels evenly (met the target)" in line for line in phrases)
    assert any("by buying everything up front (met the target)" in line for line in phrases)
    assert headline(finding).startswith("The target, at most 0.02 worse")
    assert " was missed: " in headline(finding).split(". ")[0]
    assert "spread evenly met the target with 354 labels." in headline(finding)
    page = backtest_report(finding)
    assert "; it met the target, driftpace missed the target" in page
    assert "Met the target with fewer labels" in page
    assert "Met the target with fewer labels" not in backtest_report(replace(result, strategies=(tracked,)))


def test_a_strategy_that_met_the_target_after_its_first_periods_is_marked() -> None:
    result = made_up()
    slow = np.ones(len(result.periods))
    slow[:3] = 100.0
    late = tuple(
        replace(each, excess_risk=each.excess_risk * slow) if each.name == "best_constant" else each
        for each in result.strategies
    )
    finding = replace(result, strategies=late)
    assert any("hindsight (met the target only after period 3)" in line for line in alternatives(finding))
    assert "; it met the target only after period 3, driftpace met the target" in backtest_report(finding)
    assert "! after period 3" in backtest_report(finding)
    assert "! after period 3" not in backtest_report(result)


def test_only_the_yardstick_may_miss_its_first_periods() -> None:
    result = made_up()
    slow = np.ones(len(result.periods))
    slow[:3] = 100.0
    late = replace(
        result, strategies=tuple(replace(each, excess_risk=each.excess_risk * slow) for each in result.strategies)
    )
    results = {each.name: outcome(late, each) for each in late.strategies}
    assert results.pop("best_constant") == "after period 3"
    assert set(results.values()) == {"missed"}
    assert backtest_report(late).count("! after period 3") == 1


def test_the_terminal_and_the_report_say_the_same() -> None:
    result = replace(made_up(price=3.0, currency="EUR"), strategies=made_up(epsilon=0.05).strategies)
    page, lines = backtest_report(result), render_table(result).splitlines()[1:]
    for line, each in zip(lines, result.strategies, strict=True):
        row = page[page.index(f'role="rowheader">{escape(each.title)}') :].split("</tr>")[0]
        cells = [cell.strip("✓✗! ") for cell in re.findall(r'data-label="[^"]*">(?:<span[^>]*>)?([^<]*)<', row)]
        count, money, promise, _, ratio, loss = cells
        assert line.split("  ")[0] == each.title
        assert re.split(r" {2,}", line)[1:] == [
            count,
            f"{total_labels(each) / len(result.periods):,.1f}",
            money,
            ratio,
            promise,
            loss,
        ]


def test_a_rare_failure_is_no_alarm_and_a_common_one_is() -> None:
    fails = Assumption(name="pool", verdict=Verdict.FAIL, sentence="Too few rows.")
    rare, common = (replace(made_up(), assumptions=((fails, often),)) for often in (0.002, 0.05))
    assert assumption_status(fails, 0.0499)[0] == "warn"
    assert assumption_status(fails, 0.05)[0] == "bad"
    assert "! careful" in backtest_report(rare)
    assert "fails in 0.2 % of periods and runs" in backtest_report(rare)
    assert "✗ fails" not in backtest_report(rare)
    assert "✗ fails" in backtest_report(common)


def test_the_target_is_stated_beside_the_best_loss() -> None:
    result = made_up(periods=4)
    assert (
        target_text(result) == "at most 0.02 worse than the best model of its kind"
    )  # where the best loss is not known
    known = replace(result, best_loss=(0.6, 0.8, 0.7, 0.7))
    assert target_text(known) == "at most 0.02 worse than the best model of its kind (2.9 % of its loss of 0.7)"
    assert target_text(replace(known, tolerance=0.05)) == "within 5 % of the best achievable loss (0.7 on average)"
    for nothing in (0.0, 1e-30):
        assert target_text(replace(result, best_loss=(nothing,) * 4)) == target_text(result)


def test_without_plotly_the_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(MissingExtraError, match=r"driftpace\[report\]"):
        backtest_report(made_up())
