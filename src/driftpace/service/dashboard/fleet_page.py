"""The pages of a fleet: the segments that matter, the table of all in pages, and one segment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from driftpace.campaign import FleetCampaign
from driftpace.campaign.fleet import FleetPeriod, FleetStatus, SegmentRow, SegmentTotals
from driftpace.campaign.fleet.serialization import segment_json
from driftpace.campaign.fleet.table import COLUMNS, SHOWS
from driftpace.campaign.fleet.text import why
from driftpace.campaign.log_text import EntryText, describe_entry
from driftpace.campaign.transitions import undone_by
from driftpace.records import Outcome
from driftpace.service.dashboard.campaign_list import NEEDS, need
from driftpace.service.dashboard.charts import Chart, HistoryPage, PageFigure, panel
from driftpace.service.templating import number, plural
from driftpace.storage.base import Entry

PAGE_SIZE = 50
"""Segments of a page of the table."""
LOG_ENTRIES = 15
"""Entries of the log that the page shows."""
PERIODS = 12
"""Closed periods that the page lists."""

FILTERS = {
    "": "All",
    "attention": "Matter now",
    "set_aside": "Set aside",
    "failed": "Check failed",
    "not_met": "Not met",
    "missing": "Rows missing",
    "complete": "Complete",
}
"""The filters of the table, by their value in the address."""

SORTS = {
    "segment": "Segment",
    "missing": "Missing",
    "received": "Received",
    "risk": "Expected excess",
    "epsilon": "Target",
    "last": "Last period",
    "rows": "Rows so far",
}
"""The columns by which the table can be sorted."""

SPARK = (148.0, 38.0)
"""Pixels of a small multiple."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SegmentCard:
    """A segment that matters: why, and its risks as a small drawing."""

    row: SegmentRow
    why: str
    drawing: str
    sentence: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SegmentQuery:
    """What the table shows, as its address says; values that are unknown count as the default."""

    sort: str = "urgency"
    descending: bool = False
    show: str = ""
    search: str = ""
    page: int = 1

    @classmethod
    def of(cls, *, sort: str, order: str, show: str, search: str, page: int) -> "SegmentQuery":
        """Return the query of an address."""
        return cls(
            sort=sort if sort in COLUMNS else "urgency",
            descending=order == "descending",
            show=show if show in SHOWS else "",
            search=search.strip(),
            page=max(1, page),
        )

    def address(self, **changes: object) -> str:
        """Return the address with changes; defaults are left out.

        >>> SegmentQuery(search="Oslo").address(show="missing")
        '?show=missing&search=Oslo#segments'
        """
        values: dict[str, object] = {
            "sort": "" if self.sort == "urgency" else self.sort,
            "order": "descending" if self.descending else "",
            "show": self.show,
            "search": self.search,
            **changes,
        }
        return f"?{urlencode({name: value for name, value in values.items() if value})}#segments"

    def sorted_by(self, column: str) -> str:
        """Return the address that sorts by a column: numbers from the largest, and the other way round the second time."""
        again = self.sort == column
        first = column != "segment"
        descending = not self.descending if again else first
        return self.address(sort=column, order="descending" if descending else "")


@dataclass(frozen=True, kw_only=True, slots=True)
class FleetPage:
    """The content of the page of a fleet.

    ``rows`` is a page of the segments, of ``matches`` in all. ``log`` has the last entries, with what undid them.
    """

    status: FleetStatus
    totals: SegmentTotals
    description: str
    need: str
    cards: tuple[SegmentCard, ...]
    rows: tuple[tuple[SegmentRow, str], ...]
    matches: int
    query: SegmentQuery
    pages: int
    counts: Mapping[str, int]
    periods: tuple[FleetPeriod, ...]
    log: tuple[tuple[Entry, EntryText, int | None], ...]

    @property
    def need_text(self) -> str:
        """The need in words."""
        return NEEDS[self.need]


def load_fleet_page(fleet: FleetCampaign, query: SegmentQuery) -> FleetPage:
    """Return the page of a fleet."""
    status = fleet.status()
    table, totals = status.segments, status.segments.totals()
    options = {"sort": query.sort, "descending": query.descending, "show": query.show, "search": query.search}
    matches = table.page(**options, limit=0)[1]  # type: ignore[arg-type]
    pages = max(1, -(-matches // PAGE_SIZE))
    page = min(query.page, pages)
    rows, _ = table.page(**options, offset=(page - 1) * PAGE_SIZE, limit=PAGE_SIZE)  # type: ignore[arg-type]
    head = fleet.store.head(fleet.name)
    gone = undone_by(fleet.log(kinds=("undone",)))
    return FleetPage(
        status=status,
        totals=totals,
        description=fleet.definition.description,
        need=need({} if head is None else head.summary),
        cards=tuple(segment_card(row) for row in table.attention()),
        rows=tuple((row, why(row)) for row in rows),
        matches=matches,
        query=SegmentQuery.of(
            sort=query.sort,
            order="descending" if query.descending else "",
            show=query.show,
            search=query.search,
            page=page,
        ),
        pages=pages,
        counts={
            "": totals.segments,
            "attention": table.page(show="attention", limit=0)[1],
            "set_aside": totals.set_aside,
            "failed": totals.failed,
            "not_met": totals.not_met,
            "missing": totals.incomplete,
            "complete": totals.segments - totals.incomplete,
        },
        periods=fleet.ledger()[-PERIODS:],
        log=tuple((entry, describe_entry(entry), gone.get(entry.seq)) for entry in fleet.latest(LOG_ENTRIES)),
    )


def segment_card(row: SegmentRow) -> SegmentCard:
    """Return the card of a segment that matters."""
    known = [value for value in row.trail if value is not None]
    sentence = "No period is closed yet."
    if row.trail:
        latest = "no bound yet" if row.trail[-1] is None else f"{number(row.trail[-1])} times the target in the last"
        sentence = f"Expected excess loss of {plural(len(row.trail), 'period')}: {latest}."
    return SegmentCard(row=row, why=why(row), drawing=sparkline(row.trail) if known else "", sentence=sentence)


def sparkline(trail: Sequence[float | None]) -> str:
    """Return risks in units of the target as a small drawing; the dotted line is the target.

    >>> sparkline([2.0, 0.5]).count("<circle")
    1
    """
    width, height = SPARK
    top = max(1.3, min(4.0, max((value for value in trail if value is not None), default=1.0)))
    step = (width - 10.0) / max(1, len(trail) - 1)

    def place(index: int, value: float) -> str:
        return f"{5.0 + index * step:.1f},{height - 4.0 - (height - 8.0) * min(value, top) / top:.1f}"

    runs: list[list[str]] = [[]]
    for index, value in enumerate(trail):
        if value is None:
            runs.append([])
        else:
            runs[-1].append(place(index, value))
    lines = "".join(f'<polyline class="own line" points="{" ".join(run)}"/>' for run in runs if len(run) > 1)
    last = next(index for index in range(len(trail) - 1, -1, -1) if trail[index] is not None)
    value = trail[last]
    assert value is not None
    x, y = place(last, value).split(",")
    target = place(0, 1.0).split(",")[1]
    tone = "own" if value <= 1.0 else "bad"
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" focusable="false">'
        f'<line class="bad limit" x1="2" x2="{width - 2:g}" y1="{target}" y2="{target}"/>{lines}'
        f'<circle class="{tone}" cx="{x}" cy="{y}" r="3"/></svg>'
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class SegmentPage:
    """The content of the page of one segment."""

    name: str
    row: SegmentRow
    why: str
    reason: str | None
    figures: tuple[PageFigure, ...]
    coefficients: tuple[tuple[str, str], ...]


def load_segment_page(fleet: FleetCampaign, name: str) -> SegmentPage:
    """Return the page of one segment, of which one chunk of segments is read."""
    values = segment_json(fleet, name)
    row = fleet.segments[name]
    keys = {period.period: period.key for period in fleet.ledger()}
    coefficients = values["coefficients"] if values["periods"] else None  # before that it is where the model starts
    return SegmentPage(
        name=fleet.name,
        row=row,
        why=why(row),
        reason=values["reason"],
        figures=_figures(values["periods"], keys),
        coefficients=tuple((column, number(value)) for column, value in (coefficients or {}).items()),
    )


def _figures(periods: Sequence[Mapping[str, object]], keys: Mapping[int, str | None]) -> tuple[PageFigure, ...]:
    """Return the expected excess loss and the rows of the last closed periods."""
    if not periods:
        return ()
    shown = HistoryPage.of(len(periods), 1)
    latest = periods[shown.start : shown.stop]
    names = [str(keys.get(int(str(period["period"]))) or period["period"]) for period in latest]
    risks, bounds, targets = (
        [_float(period[name]) for period in latest] for name in ("risk_bound", "certificate", "epsilon")
    )
    rows = [float(str(period["samples"])) for period in latest]
    known = [value for value in (*risks, *targets) if value is not None]
    top = min(
        max([*known, *(bound for bound in bounds if bound is not None)], default=1.0), 2.5 * max(known, default=1.0)
    )

    def draw(chart: Chart) -> None:
        chart.line(bounds, "slate", look="dash")
        chart.line(risks, "own")
        chart.line(targets, "bad", dots=False, look="limit-line")

    legend = (
        ("own line", "expected excess loss"),
        ("slate dash", "certificate (upper bound)"),
        ("bad limit-line", "target"),
    )
    met = sum(Outcome(str(period["outcome"])).promised for period in periods)
    table = tuple(
        (
            name,
            f"{'✓' if Outcome(str(period['outcome'])).promised else '✗'} {period['outcome']}",
            number(_float(period["risk_bound"])),
            number(_float(period["certificate"])),
            number(_float(period["epsilon"])),
            f"{int(str(period['samples'])):,}",
        )
        for name, period in zip(names, latest, strict=True)
    )
    figure = PageFigure(
        key="loss",
        title="Expected loss and rows",
        sentence=f"Expected to be within the target in {met} of {plural(len(periods), 'closed period')}.",
        panels=(
            panel("segment-excess", "excess loss", names, top, draw, legend),
            panel(
                "segment-rows",
                "rows",
                names,
                max(rows, default=1.0),
                lambda chart: chart.bars(rows, "own"),
                (("own barkey", "rows"),),
                whole=True,
            ),
        ),
        columns=("Period", "Outcome", "Expected excess", "Upper bound", "Target", "Rows"),
        rows=table,
    )
    return (figure,)


def _float(value: object) -> float | None:
    return None if value is None else float(str(value))
