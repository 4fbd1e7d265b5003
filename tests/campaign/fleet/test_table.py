"""Sorting, filtering and paging of the table of segments, and the segments that matter."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace.campaign.fleet import SegmentRow, SegmentTable
from driftpace.campaign.fleet.table import COLUMNS, SHOWS
from driftpace.errors import ParameterError

NAMES = st.text("abcXYZ ", min_size=1, max_size=4)
ROWS = st.builds(
    SegmentRow,
    segment=NAMES,
    missing=st.integers(0, 20),
    risk=st.none() | st.floats(0, 1),
    last=st.sampled_from([None, "met", "short", "pilot"]),
    problem=st.sampled_from([None, "no numbers"]),
    failed=st.sampled_from([(), ("target",)]),
)
TABLES = st.lists(ROWS, max_size=12, unique_by=lambda row: row.segment).map(lambda rows: SegmentTable(tuple(rows)))


@given(TABLES, st.sampled_from(["urgency", *COLUMNS]), st.booleans(), st.sampled_from(["", *SHOWS]), st.integers(1, 5))
def test_pages_together_are_all_that_match_in_order(
    table: SegmentTable, sort: str, descending: bool, show: str, limit: int
) -> None:
    options: dict[str, Any] = {"sort": sort, "descending": descending, "show": show}
    whole, total = table.page(**options, limit=1000)
    paged = [row for at in range(0, total, limit) for row in table.page(**options, offset=at, limit=limit)[0]]
    assert tuple(paged) == whole
    assert total == len(whole)
    values = [getattr(row, sort) for row in whole if sort != "urgency"]
    known = [value for value in values if value not in (None, ())]
    assert known == sorted(known, reverse=descending)
    assert values[: len(known)] == known


@given(TABLES)
def test_totals_count_what_the_filters_show(table: SegmentTable) -> None:
    totals = table.totals()
    for show, count in (("set_aside", totals.set_aside), ("failed", totals.failed), ("not_met", totals.not_met)):
        assert table.page(show=show)[1] == count
    assert table.page(show="missing")[1] == totals.incomplete
    assert table.page(show="missing")[1] + table.page(show="complete")[1] == totals.segments
    assert SegmentTable.of_columns(table.columns()).rows == table.rows


def test_the_segments_that_matter_come_first() -> None:
    table = SegmentTable(
        (
            SegmentRow(segment="fine", last="met"),
            SegmentRow(segment="few", missing=3),
            SegmentRow(segment="many", missing=30),
            SegmentRow(segment="missed", last="short"),
            SegmentRow(segment="failed", failed=("target",)),
            SegmentRow(segment="aside", problem="no numbers"),
        )
    )
    assert [row.segment for row in table.attention()] == ["aside", "failed", "missed", "many", "few"]
    assert [row.segment for row in table.attention(2)] == ["aside", "failed"]
    assert [row.segment for row in table.page(search="MISS")[0]] == ["missed"]
    assert [row.segment for row in table.page(outcome="short")[0]] == ["missed"]
    with pytest.raises(ParameterError, match="sort"):
        table.page(sort="colour")
    with pytest.raises(ParameterError, match="must be a segment of the fleet; got 'other'"):
        table["other"]
