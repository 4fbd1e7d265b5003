"""Static figures: the same bytes for the same data, one column wide, distinguishable without colour, for any numbers."""

import io
import re
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from driftpace.errors import DataError, MissingExtraError
from paper import Figure, Series, from_json, to_json
from paper.report.files import to_csv
from paper.report.static import COLOURS, DOTS, ROLES, SPARE, WIDTH, looks, pictures
from tests.reference.findings import curve, hostile, made_up


def one_figure(*series: Series, **more: object) -> Figure:
    given = {"key": "k", "title": "T", "caption": "C", "alt": "A", "x_label": "period n", "y_label": "K_n"} | more
    return Figure(series=series, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("figure", made_up().figures, ids=lambda figure: figure.key)
def test_the_same_figure_gives_the_same_bytes_without_a_date(figure: Figure) -> None:
    once, again = pictures(figure), pictures(figure)
    assert once == again
    assert list(once) == ["png", "svg"]
    image = Image.open(io.BytesIO(once["png"]))
    assert not image.info.keys() - {"dpi"}
    assert image.width == round(WIDTH * DOTS)
    words = once["svg"].decode()
    assert not re.search(r"<dc:date|<dc:creator|[Mm]atplotlib v|20\d\d-\d\d-\d\d", words)


@pytest.mark.parametrize("figure", made_up().figures, ids=lambda figure: figure.key)
def test_nothing_is_cut_at_the_edge(figure: Figure) -> None:
    long = replace(
        figure, y_label="a name of an axis that is as long as it can be", x_label="wave n (1 is 1974, 30 is 2018)"
    )
    ink = np.array(Image.open(io.BytesIO(pictures(long)["png"])).convert("L")) < 250
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    edges = (rows[0], ink.shape[0] - 1 - rows[-1], columns[0], ink.shape[1] - 1 - columns[-1])
    assert min(edges) >= 3  # dots of 300 an inch


def test_another_figure_gives_other_bytes() -> None:
    figure = made_up().figures[0]
    moved = replace(figure, series=(replace(figure.series[0], y=figure.series[0].y + 0.01), *figure.series[1:]))
    assert pictures(figure)["svg"] != pictures(moved)["svg"]


def test_a_user_style_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib as mpl

    figure = made_up(periods=4).figures[0]
    before = pictures(figure)
    custom: dict[Any, Any] = {"font.size": 20.0, "savefig.dpi": 40.0, "axes.grid": False, "lines.linewidth": 9.0}
    for name, value in custom.items():
        monkeypatch.setitem(mpl.rcParams, name, value)
    assert pictures(figure) == before
    assert mpl.rcParams["font.size"] == 20.0  # nor is it changed


def test_the_legend_stands_above_the_axes_and_the_sheet_grows_with_it() -> None:
    lines = [curve(f"a rather long name of a line, number {place}", "other", np.ones(3) * place) for place in range(9)]
    short = Image.open(io.BytesIO(pictures(one_figure(*lines[:2]))["png"]))
    tall = Image.open(io.BytesIO(pictures(one_figure(*lines))["png"]))
    assert tall.height > short.height + 6 * 0.1 * DOTS  # of seven more rows, each at least a tenth of an inch
    assert tall.width == short.width


@pytest.mark.parametrize("evil", ["<b>&\"'", "$x_{", "_hidden", "\\rho $$ ^", "", "词语"])
@pytest.mark.filterwarnings("ignore:Glyph:UserWarning")  # letters the serif face lacks are drawn as boxes
def test_whatever_the_words_and_numbers_are_something_is_drawn(evil: str) -> None:
    for figure in hostile(evil).figures:
        assert pictures(figure)["png"].startswith(b"\x89PNG")


def test_no_series_and_no_numbers_are_drawn_as_empty_axes() -> None:
    for figure in (one_figure(), one_figure(curve("a", "paper", np.full(3, np.nan)), log_y=True)):
        assert pictures(figure)["svg"].startswith(b"<?xml")


def test_looks_differ_in_dash_or_marker_so_that_grey_is_enough() -> None:
    results = [*ROLES.values(), *(look for look in SPARE if look not in ROLES.values())]
    assert len({(look.dash, look.marker) for look in results}) == len(results)
    assert {look.colour for look in results} <= set(COLOURS)
    crowd = one_figure(*(curve(str(place), "other", np.ones(2)) for place in range(9)))
    assert len({(look.dash, look.marker) for look in looks(crowd)}) == 9


def test_a_second_truth_differs_by_its_dash() -> None:
    truths = one_figure(
        *(curve(str(place), "truth", np.ones(2)) for place in range(3)), curve("t", "target", np.ones(2))
    )
    result = looks(truths)
    assert all(look.marker is None for look in result)
    assert len({look.dash for look in result}) == 4


def test_a_look_belongs_to_the_role_of_its_curve() -> None:
    both = one_figure(curve("default", "practical", np.ones(2)), curve("paper", "paper", np.ones(2)))
    assert looks(both) == [ROLES["practical"], ROLES["paper"]]


def test_without_matplotlib_the_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r'The figures need matplotlib: pip install "driftpace\[figures\]"\.'):
        pictures(made_up().figures[0])


def test_csv_has_every_point_of_every_curve() -> None:
    figure = made_up(periods=6).figures[0]
    lines = to_csv(figure).splitlines()
    assert len(lines) == 1 + 3 * 6
    assert lines[1] == "as in the paper,paper,1,,,"  # not measured in the first period
    y = figure.series[1].y[5]
    assert float(lines[1 + 6 + 5].split(",")[3]) == pytest.approx(y, rel=1e-9)


def test_json_round_trips() -> None:
    findings = (made_up(), replace(made_up("cost", seed=3), figures=()))
    text = to_json(findings)
    back = from_json(text)
    assert to_json(back) == text
    assert back[0].comparisons == findings[0].comparisons
    assert back[0].sensitivity == findings[0].sensitivity
    np.testing.assert_array_equal(back[0].figures[0].series[0].y, findings[0].figures[0].series[0].y)
    assert "NaN" not in text


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"kind":"driftpace.findings","schema":9}'])
def test_json_of_something_else_is_refused(text: str) -> None:
    with pytest.raises(DataError, match=r"from_json\(text=\.\.\.\) must"):
        from_json(text)


def test_json_with_a_piece_missing_is_refused() -> None:
    with pytest.raises(DataError, match="reading it raised"):
        from_json(to_json([made_up()]).replace('"claims"', '"clams"'))
