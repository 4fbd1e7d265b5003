"""What the pages of a fleet show, without a browser."""

import pytest

from driftpace import FleetCampaign
from driftpace.campaign.fleet import SegmentRow
from driftpace.campaign.fleet.table import COLUMNS, SHOWS
from driftpace.errors import ParameterError
from driftpace.service.dashboard.fleet_page import (
    FILTERS,
    SORTS,
    SegmentQuery,
    load_fleet_page,
    load_segment_page,
    segment_card,
    sparkline,
)
from driftpace.storage import MemoryStore
from tests.campaign.fleet.shops import Market, create, work


def query(**values: object) -> SegmentQuery:
    given: dict[str, object] = {"sort": "", "order": "", "show": "", "search": "", "page": 1, **values}
    return SegmentQuery.of(**given)  # type: ignore[arg-type]


def worked() -> FleetCampaign:
    campaign, market = create(MemoryStore(), segments=tuple(f"shop {place:02d}" for place in range(60))), Market()
    work(campaign, market, "W1")
    campaign.ask(key="W2")
    return campaign


def test_addresses_keep_what_is_shown_and_unknown_values_count_as_the_default() -> None:
    assert query(sort="colour", show="odd", page=-3) == SegmentQuery()
    shown = query(sort="risk", order="descending", show="missing", search=" a ")
    assert shown.address(page=2) == "?sort=risk&order=descending&show=missing&search=a&page=2#segments"
    assert shown.sorted_by("risk") == "?sort=risk&show=missing&search=a#segments"
    assert query().sorted_by("segment") == "?sort=segment#segments"
    assert query().sorted_by("missing") == "?sort=missing&order=descending#segments"


def test_filters_and_columns_are_those_of_the_table() -> None:
    assert set(FILTERS) == {"", *SHOWS}
    assert set(SORTS) <= set(COLUMNS)


def test_a_page_beyond_the_last_is_the_last() -> None:
    view = load_fleet_page(worked(), query(page=99))
    assert (view.query.page, view.pages, len(view.rows), view.matches) == (2, 2, 10, 60)
    assert len(view.cards) == 10
    assert view.counts["missing"] == view.totals.incomplete == 60
    assert view.log[0][1].title == "Asked"


def test_one_segment() -> None:
    view = load_segment_page(worked(), "shop 07")
    assert [name for name, _ in view.coefficients] == ["price", "intercept"]
    (figure,) = view.figures
    assert figure.rows[0][:2] == ("W1", "✓ met")
    assert view.reason is not None
    with pytest.raises(ParameterError, match="must be a segment of the fleet"):
        load_segment_page(worked(), "Bari")


def test_a_segment_without_a_closed_period_has_no_model() -> None:
    campaign, market = create(MemoryStore()), Market()
    campaign.tell(market.rows(campaign.ask().segments.missing), final=False)
    assert load_segment_page(campaign, "Oslo").coefficients == ()
    campaign.tell(final=True)
    assert [name for name, _ in load_segment_page(campaign, "Oslo").coefficients] == ["price", "intercept"]


def test_small_drawings_are_interrupted_where_nothing_is_known() -> None:
    assert sparkline([0.5, None, 2.0, 1.0]).count("<polyline") == 1
    assert 'class="bad"' in sparkline([0.5, 1.4])
    assert segment_card(SegmentRow(segment="a", trail=(None,))).drawing == ""
    assert segment_card(SegmentRow(segment="a", trail=(0.5, 0.25))).sentence.endswith(
        "0.25 times the target in the last."
    )
