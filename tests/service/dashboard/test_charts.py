"""Charts: whatever the numbers, the drawing is whole, and it is never anything but a drawing."""

import math
from itertools import pairwise
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from driftpace.service.dashboard.charts import NARROW, WIDE, Chart, finite, highest, text_width, ticks

VALUES = st.lists(st.none() | st.floats(width=64), min_size=1, max_size=80)


@given(st.floats())
def test_ticks_start_at_zero_and_reach_the_top(top: float) -> None:
    steps = ticks(top)
    assert steps[0] == 0.0
    assert 2 <= len(steps) <= 8
    assert steps == sorted(set(steps))
    if math.isfinite(top) and 0.0 < top <= 1e300:
        assert steps[-1] >= top * (1 - 1e-5)


@given(VALUES, st.sampled_from([WIDE, NARROW]), st.text(max_size=30))
def test_any_values_give_a_valid_svg(values: list[float | None], size: tuple[int, int], name: str) -> None:
    shown = [finite(value) for value in values]
    legal = "".join(one for one in name if one.isprintable())
    chart = Chart(names=[legal] * len(shown), top=highest(shown), size=size, key="k")
    chart.line(shown, "own")
    chart.band([0.0] * len(shown), shown, "own")
    chart.bars(shown, "own")
    chart.hatched(shown)
    chart.level(shown, "ink")
    chart.errors(shown, shown, "teal")
    chart.across(1.0, "bad")
    chart.now(0)
    root = ET.fromstring(chart.svg())
    kinds = {one.tag for one in root.iter()}
    assert kinds <= {"svg", "defs", "pattern", "rect", "line", "polyline", "polygon", "circle", "text"}
    assert not any(key.startswith("on") or key in ("style", "href") for one in root.iter() for key in one.attrib)
    numbers = [
        one.attrib[key] for one in root.iter() for key in ("x", "y", "width", "height", "cx", "cy") if key in one.attrib
    ]
    assert all(math.isfinite(float(number)) for number in numbers)


def test_period_names_are_escaped() -> None:
    chart = Chart(names=['<script>"'], top=1.0, size=WIDE, key="k")
    assert "<script>" not in chart.svg()
    assert "&lt;script&gt;" in chart.svg()


@given(st.floats(min_value=0.0, max_value=1e12))
def test_counts_have_integer_ticks(top: float) -> None:
    steps = ticks(top, whole=True)
    assert all(step == int(step) for step in steps)
    assert steps[-1] >= top * (1 - 1e-5)
    assert len(steps) <= 8


def test_axes_have_units() -> None:
    texts = [
        one.text for one in ET.fromstring(Chart(names=["1"], top=1.0, size=WIDE, key="k", axis="EUR").svg()).iter()
    ]
    assert "EUR" in texts
    assert "period" in texts


def test_values_above_the_chart_are_marked() -> None:
    within = Chart(names=["1", "2"], top=1.0, size=WIDE, key="k")
    within.line([0.5, 1.0], "own")
    assert not within.beyond
    chart = Chart(names=["1", "2"], top=1.0, size=WIDE, key="k")
    chart.line([9.0, 0.5], "own")
    chart.errors([None, 7.0], [None, 0.1], "teal")
    assert chart.beyond
    root = ET.fromstring(chart.svg())
    above = [one for one in root.iter("polygon") if one.attrib["class"].startswith("beyond")]
    assert [one.attrib["class"] for one in above] == ["beyond own", "beyond teal"]
    assert len(list(root.iter("circle"))) == 1  # what is above is no point at the edge


def test_period_labels_stay_within_the_chart() -> None:
    for name in ("2026-W46", "WWWWWWWWWWWW", "1"):
        for size in (WIDE, NARROW):
            chart = Chart(names=[name] * 40, top=1.0, size=size, key="k")
            root = ET.fromstring(chart.svg())
            middles = [float(one.attrib["x"]) for one in root.iter("text") if one.attrib.get("text-anchor") == "middle"]
            assert middles
            assert all(text_width(name) / 2 < middle < size[0] - text_width(name) / 2 for middle in middles)
            assert all(b - a > text_width(name) for a, b in pairwise(middles))
