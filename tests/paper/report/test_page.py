"""The page: one file that fetches nothing and runs nothing of anybody's, says every number, and is the same every time."""

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import plotly.graph_objects as go  # type: ignore[import-untyped]
import pytest

from driftpace.errors import DataError
from paper import Comparison, Finding, Measured, write_findings
from paper.report import page
from tests.reference.findings import hostile, made_up
from tests.report.test_backtest import Page
from tests.report.test_browser import CHROMIUM, browsing, opened

EVIL = "<script>alert(1)</script>"
HANDLER = "\"'><img src=x onerror=alert(1)>"


@cache
def read(*names: str) -> tuple[str, Page]:
    text = page([made_up(name) for name in names])
    return text, Page(text)


def rest(found: Page, text: str) -> str:
    return text.replace(found.scripts[1], "")


def test_it_states_every_result() -> None:
    text, result = read("regression")
    words = " ".join(" ".join(result.words).split())
    finding = made_up("regression")
    for stated in (
        finding.title,
        "± is the standard deviation over n",
        "2.797e-2 ± 1.071e-2",
        "0.0281 ± 0.0012",
        "13.4 samples",
        "small enough that the start distance matters.",
        "Ten times the noise moves the excess risk by a fifth.",
        "above in 24 of 25 periods",
        "Averages are over runs & periods.",
        "Kₙ settles after the two periods whose size is given.",
        "In the paper: figure 1.",
        "Not in the paper.",
        "20 runs, seed 0",
    ):
        assert stated in words, stated
    assert text.count("✓") == 1
    assert text.count("✗") == 1


def test_a_note_of_many_numbers_is_stated_once() -> None:
    finding = made_up()
    note = "± is the standard error over runs of the mean over periods"  # written as +-
    many = tuple(
        Comparison(
            what=f"a: number {place}",
            paper=None,
            as_in_paper=Measured(value=1.0, error=0.1, note=note.replace("±", "+-")),
            practical=None,
        )
        for place in range(4)
    )
    alone = page([replace(finding, comparisons=many)])
    assert alone.count(note) == 1
    assert "1.00 ± 0.10</span>" in alone
    plain = Comparison(what="b", paper=None, as_in_paper=Measured(value=2.0, error=0.1), practical=None)
    mixed = page([replace(finding, comparisons=(*many, plain))])
    assert mixed.count(note) == 1
    assert "± is the standard error over runs. * " + note in mixed
    assert mixed.count("1.00 ± 0.10\u202f*") == 4
    assert "2.00 ± 0.10</span>" in mixed


def test_numbers_of_one_kind_stand_below_its_name() -> None:
    rows = [
        Comparison(what=what, paper=None, as_in_paper=None, practical=None) for what in ("c", "b: z", "a: x", "a: y")
    ]
    parsed = Page(page([replace(made_up(), comparisons=tuple(rows))]))
    heads = [each for each in parsed.having("th") if each.get("scope") == "rowgroup"]
    assert len(heads) == 1
    assert {"a", "x", "y", "b: z", "c"} <= set(parsed.words)


def test_what_stands_between_backticks_is_code() -> None:
    text = page([replace(made_up(), notes=("See `driftpace plan --epsilon <1>` for epsilon.", "A ` alone."))])
    assert "See <code>driftpace plan --epsilon &lt;1&gt;</code> for ε." in text
    assert "A ` alone." in text


def test_symbols_are_explained_before_they_are_used() -> None:
    text, _ = read("regression")
    body = text.split("<body>")[1]
    for sign in ("ρ", "Kₙ", "ε"):
        assert body.index(sign) > body.index("Four symbols")


def test_every_figure_is_there_three_times() -> None:
    text, result = read("regression", "cost")
    ids = [
        each["id"]
        for each in result.having("div")
        if str(each.get("class", "")).startswith("figure ") or each.get("class") == "figure"
    ]
    figures = json.loads(result.scripts[0])
    assert (
        ids
        == list(figures)
        == [f"{name}-{figure.key}" for name in ("regression", "cost") for figure in made_up().figures]
    )
    links = [str(each["href"]) for each in result.having("a")]
    for key in figures:
        for file in (f"figures/{key}.png", f"figures/{key}.svg", f"data/{key}.csv"):
            assert file in links
    assert len([each for each in result.having("details") if each.get("class") != "fold"]) == len(figures)
    assert len(result.having("figcaption")) == len(figures)
    assert text.count("The same as a table") == len(figures)


def test_plotly_takes_every_figure() -> None:
    _, result = read("regression", "cost")
    for figure in json.loads(result.scripts[0]).values():
        plain = json.loads(re.sub(r"var\(--[\w-]+\)", "#123456", json.dumps(figure)))
        plain["layout"].pop("modebar")
        assert go.Figure(plain).data


def test_curves_are_those_of_the_finding() -> None:
    _, result = read("regression")
    traces = json.loads(result.scripts[0])["regression-samples"]["data"]
    finding = made_up("regression")
    lines = [trace for trace in traces if "hovertemplate" in trace]
    for trace, series in zip(lines, finding.figures[1].series, strict=True):
        assert trace["y"] == series.y.tolist()
        assert trace["line"]["shape"] == "hvh"


def test_contents_lead_to_every_experiment_and_one_alone_needs_none() -> None:
    text, result = read("regression", "cost")
    links = [each["href"] for each in result.having("a")]
    assert {"#regression", "#cost"} <= set(links)
    assert "1 of 2 claims hold" in text
    alone, _ = read("cost")
    assert "<nav" not in alone
    assert "<title>The paper and driftpace, side by side: Synthetic cost</title>" in alone


def test_tables_name_their_rows_and_columns() -> None:
    _, result = read("regression")
    assert {str(each.get("scope")) for each in result.having("th")} == {"row", "col"}
    assert len(result.having("caption")) == len(result.having("table"))
    pictures = [each for each in result.having("div") if each.get("role") == "img"]
    assert all(len(str(each["aria-label"])) > 10 for each in pictures)
    ids = [each["id"] for _, each in result.elements if "id" in each]
    assert len(ids) == len(set(ids))


def test_nothing_is_fetched_and_only_two_scripts_may_run() -> None:
    text, result = read("regression")
    (policy,) = (each["content"] for each in result.having("meta") if each.get("http-equiv"))
    assert str(policy).startswith("default-src 'none'; script-src 'sha256-")
    assert str(policy).count("sha256-") == 2
    assert not result.having("link")
    assert not result.having("img")
    assert not re.search(r"\b(?:src|on\w+)=", rest(result, text).split("</style>")[1].split("<script")[0])


@pytest.mark.parametrize("evil", [EVIL, HANDLER])
def test_text_is_escaped_and_missing_numbers_are_not_printed_as_numbers(evil: str) -> None:
    text = page([hostile(evil)])
    parsed = Page(text)
    assert len(parsed.scripts) == 3
    assert evil not in rest(parsed, text)
    assert not parsed.having("img")
    assert not re.search(r">\s*(nan|inf)\b", rest(parsed, text), re.IGNORECASE)
    assert "not measured" in text


def folder(path: Path) -> dict[str, bytes]:
    return {str(each.relative_to(path)): each.read_bytes() for each in sorted(path.rglob("*")) if each.is_file()}


def test_the_same_findings_give_the_same_files(tmp_path: Path) -> None:
    cost = made_up("cost", seed=1)
    findings = [made_up(), replace(cost, figures=cost.figures[:1])]
    written = [write_findings(findings, tmp_path / name) for name in ("one", "two/deep")]
    first, two = folder(tmp_path / "one"), folder(tmp_path / "two/deep")
    assert first == two
    keys = [f"{finding.name}-{figure.key}" for finding in findings for figure in finding.figures]
    files = {"index.html", "findings.json"}
    files |= {f"figures/{key}.{ending}" for key in keys for ending in ("png", "svg")} | {
        f"data/{key}.csv" for key in keys
    }
    assert set(first) == files
    assert written[0]["page"] == tmp_path / "one" / "index.html"
    assert all(path.exists() for path in written[1].values())


def spoilt(what: str) -> list[Finding]:
    finding = made_up()
    first = finding.figures[0]
    return {
        "none": [],
        "twice": [replace(finding, figures=(first, first))],
        "path": [replace(finding, figures=(replace(first, key="../x"),))],
    }[what]


@pytest.mark.parametrize("what", ["none", "twice", "path"])
def test_names_that_are_no_files_are_refused_before_anything_is_written(what: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="must be"):
        write_findings(spoilt(what), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_it_draws_and_fits_a_phone_in_a_browser(tmp_path: Path) -> None:
    whole, odd = tmp_path / "whole.html", tmp_path / "odd.html"
    whole.write_text(page([made_up(), made_up("cost")]), encoding="utf-8")
    odd.write_text(page([hostile(HANDLER * 9)]), encoding="utf-8")
    with browsing(tmp_path / "profile") as browser:
        for path, key in ((whole, "cost-rho"), (odd, "regression-odd-log")):
            for width, scheme in ((390, "dark"), (1280, "light")):
                opened(browser, path, width=width, scheme=scheme)
                browser.look("document.querySelectorAll('details').forEach(d => { d.open = true; })")
                assert browser.look("document.documentElement.scrollWidth") <= width
                inks = browser.look("getComputedStyle(document.documentElement).getPropertyValue('--ink').trim()")
                assert browser.look(f"document.getElementById('{key}').layout.font.color") == inks
                assert "var(" not in browser.look(f"JSON.stringify(document.getElementById('{key}').data)")
        assert browser.complaints == []
        opened(browser, whole, width=1280, scheme="light")
        displayed = browser.look(
            "const b = document.querySelector('.keys[data-for=cost-rho] button'); b.focus(); b.click();"
            "JSON.stringify(document.getElementById('cost-rho').data.map(t => t.visible))"
        )
        assert json.loads(displayed)[:3] == [False, False, False]  # a line goes with its band
        assert json.loads(displayed)[3:] == [True] * (len(json.loads(displayed)) - 3)
