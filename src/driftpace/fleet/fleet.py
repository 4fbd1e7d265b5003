"""The fleet: many segments with a model each, sized, filled and closed together."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from driftpace import validation
from driftpace.errors import DataError, ParameterError, ProtocolError
from driftpace.executors import LocalExecutor, open_executor
from driftpace.fleet.borrowing import Borrowing, Observe, Segments, parts_of
from driftpace.fleet.budget import BudgetShare, FleetBudget, budget_of, shared_orders
from driftpace.fleet.collection import without_collection
from driftpace.fleet.lent import with_lent
from driftpace.fleet.observed import KnownRows, Observed, observe
from driftpace.fleet.parameters import checked_progress, columns_of, method_of, targets_of
from driftpace.fleet.parquet import is_folder, read_folder, write_folder
from driftpace.fleet.records import Delivery, FleetLedger, FleetOrders, SegmentOrder
from driftpace.fleet.rows import (
    SegmentRows,
    accepted_segments,
    learned,
    names_in,
    read_segments,
    read_table,
    segment_names,
)
from driftpace.fleet.saving import FleetState, from_body, to_body
from driftpace.fleet.segments import (
    CHUNK,
    Segment,
    SegmentWork,
    WorkDone,
    gathered,
    is_light,
    is_sized,
    with_cost,
    with_order,
    with_seen,
    work_on,
)
from driftpace.losses import Loss
from driftpace.planning import Budget, Demand
from driftpace.records import Money
from driftpace.storage import read_state, write_state
from driftpace.tables import Encoding
from driftpace.tables.encoding import MISSING_POLICIES, MissingPolicy
from driftpace.tracker import Tracker
from driftpace.tracker.adaptive_method import AdaptiveMethod
from driftpace.tracker.codec import to_body as tracker_body
from driftpace.tracker.late import KeptPeriod, LateWindow
from driftpace.tracker.method import TellEvent
from driftpace.typing import FloatArray

KEYS = 1_000
"""The keys of so many last deliveries are remembered."""


class Fleet:
    """Track one model for each segment, such as shops, countries or stations, with one order and one delivery a period.

    Every segment is followed by the default method of :class:`~driftpace.Tracker`, with its promise, audit and certificates.
    Segments appear with their first rows. A segment whose rows cannot be used is named and set aside, and the others go on.

    Parameters
    ----------
    loss : LinearLoss
        What is minimised, such as :class:`~driftpace.SquaredLoss`.
    epsilon : float, optional
        The largest acceptable excess loss of each segment; or one of ``tolerance`` and ``metric``, as in ``Tracker``.
    epsilons : mapping of str to float, optional
        Targets of some segments that differ from ``epsilon``.
    segment, target : str
        The columns that hold the name of the segment and the target.
    features : sequence of str, optional
        The columns to use; by default all others that can be used, which the first rows show, or :meth:`fit_pool`.
    weight, groups : str, optional
        Columns of weights and groups, as in :meth:`Tracker.tell`.
    segments : sequence of str, optional
        Segments that are known before their first rows.
    missing : {"impute", "drop", "refuse"}, default "impute"
        What to do with missing cells; one encoding serves all segments.
    borrow : bool or sequence of str, default True
        What segments learn from each other, of ``"drift"``, ``"start"``, ``"slopes"`` and ``"common"``; all of it, or nothing.
    budget : Budget or FleetBudget, optional
        The money for the labels of all segments. Where it does not bring all of them to their targets, they get the same relative
        gap, or the least weighted one; prices of segments and weights are those of :class:`~driftpace.fleet.FleetBudget`.
    executor : str or object, optional
        What works on the segments: ``"local"``, the default, one after the other; ``"processes"``, ``"dask"``, ``"ray"``,
        ``"spark"``; a client or session of them; what :func:`~driftpace.executors.open_executor` returns; or any object with
        ``map(function, items)``, which returns the results in the order of the items. The numbers are the same.
    progress : callable, optional
        Called with the number of segments that are done and that of all, while ``ask`` and ``tell`` work.
    rng : int or numpy.random.Generator, optional
        A seed.
    **options
        ``tolerance``, ``metric``, ``at_least``, ``at_most``, ``confidence``, ``certificate_level``, ``orders``, ``season``,
        ``delay``, ``audit``, ``fit_intercept``, ``cap`` and ``pool`` as for :class:`~driftpace.Tracker`.

    Examples
    --------
    >>> import numpy as np
    >>> from driftpace import Fleet, SquaredLoss
    >>> rng = np.random.default_rng(0)
    >>> fleet = Fleet(SquaredLoss(), epsilon=0.1, segment="store", target="sales", segments=["Oslo", "Rome"])
    >>> def label(orders):
    ...     store = [order.segment for order in orders for _ in range(order.samples)]
    ...     price = rng.standard_normal(len(store))
    ...     level = np.where(np.array(store) == "Oslo", 3.0, 5.0)
    ...     return {"store": store, "price": price, "sales": level - price + rng.standard_normal(len(store))}
    >>> for month in range(3):
    ...     while (orders := fleet.ask()).samples:
    ...         delivery = fleet.tell(label(orders), final=False)
    ...     delivery = fleet.tell()
    >>> fleet.period, len(fleet), fleet.ledger["Oslo"][-1].outcome.name
    (4, 2, 'MET')
    >>> fleet.segment("Rome").coef.round()
    array([-1.])
    """

    def __init__(  # noqa: PLR0913  public API
        self,
        loss: Loss,
        *,
        epsilon: float | None = None,
        epsilons: Mapping[str, float] | None = None,
        segment: str,
        target: str,
        features: Sequence[str] | None = None,
        weight: str | None = None,
        groups: str | None = None,
        segments: Sequence[str] | None = None,
        missing: MissingPolicy = "impute",
        borrow: bool | Sequence[str] = True,
        budget: Budget | FleetBudget | None = None,
        executor: Any = None,
        progress: Callable[[int, int], None] | None = None,
        rng: np.random.Generator | int | None = None,
        **options: Any,
    ) -> None:
        validation.choice("Fleet", MISSING_POLICIES, missing=missing)
        self._method = method_of(loss, epsilon, rng, options)
        self._columns = columns_of(segment, target, features, weight, groups, missing)
        self._epsilons = targets_of(epsilons, self._method)
        self._borrowing = Borrowing(parts=parts_of(borrow))
        self._budget = budget_of(budget, self._method)
        self._spent = Decimal(0)
        self._share: BudgetShare | None = None
        self._executor = open_executor(executor, owner="Fleet")
        self._progress = checked_progress(progress)
        self._encoding: Encoding | None = None
        self._segments: dict[str, Segment] = {}
        self._period = 1
        self._keys: tuple[str, ...] = ()
        self._demands: dict[str, Demand] = {}
        self._observed: dict[str, KnownRows] = {}
        self._with_features: AdaptiveMethod | None = None
        self._add(segment_names(segments, "Fleet"))

    def fit_pool(self, pool: Any) -> None:
        """Show the rows that could be labelled: their segments are added, and before the first rows they show the encoding.

        Parameters
        ----------
        pool : data frame, mapping of columns, or file
            Unlabelled rows with the segment and the features.

        Raises
        ------
        DataError
            If a column can be neither numbers nor categories, or a row has no segment.
        """
        owner = "Fleet.fit_pool"
        table = read_table(pool, self._columns, self._encoding, owner)
        names = names_in(table, self._columns, owner)
        encoding = learned(table, self._columns, owner) if self._encoding is None else self._encoding
        self._encoding = encoding
        self._add(names)

    def add(self, segments: Sequence[str]) -> None:
        """Add segments before their first rows.

        Parameters
        ----------
        segments : sequence of str
            New names; those that the fleet has are left as they are.
        """
        self._add(segment_names(segments, "Fleet.add"))

    @without_collection()
    def ask(self, *, pool: int | Mapping[str, int] | None = None) -> FleetOrders:
        """Return how many rows of each segment to label next, and why.

        Asking again gives the same answer until :meth:`tell`; after a partial delivery, the rows still missing.

        Parameters
        ----------
        pool : int or mapping of str to int, optional
            The most rows that a segment can provide in this period; it counts when its period is first sized.

        Returns
        -------
        FleetOrders

        Raises
        ------
        ProtocolError
            If a period was sized for another pool.
        """
        if self._budget is not None and pool is not None:
            raise ParameterError(f"must be None with a budget; got {pool!r:.80}.", owner="Fleet.ask", name="pool")
        pools = self._pools(pool)
        open_segments = [name for name, one in self._segments.items() if not is_sized(one.state, pools(name))]
        known: Collection[str] = self._demands if open_segments and self._budget is not None else self._segments
        chosen = {name for name in self._segments if name not in known} | set(open_segments)

        def asked(lent: Segments) -> tuple[Segments, dict[str, Demand]]:
            sent = [name for name in lent if name in chosen]
            work = [
                SegmentWork(
                    method=self._method_of(name), segment=lent[name], pool=pools(name), demand=self._budget is not None
                )
                for name in sent
            ]
            after, demands = dict(lent), dict(self._demands)
            for name, done in zip(sent, self._work(work), strict=True):
                after[name] = _with_problem(done, lent[name], self._period)
                if done.demand is not None:
                    demands[name] = done.demand
            return after, demands

        begun = {name: self._begun(name) if name in chosen else one for name, one in self._segments.items()}
        segments, demands = self._borrowing.sized(begun, open_segments, asked, self._observer(begun))
        if self._budget is not None and open_segments:
            before = {name: self._segments[name].state.order for name in open_segments}
            left = self._left() - self._budget.price(self._gathered())
            orders, share = shared_orders(self._budget, left, self._period, segments, before, demands)
            segments |= {name: with_order(segments[name], order) for name, order in orders.items()}
            self._share = share
        self._segments, self._demands = segments, demands
        return self._orders()

    def _orders(self) -> FleetOrders:
        """Return the orders of all segments as they are, with their prices where there is a budget."""
        orders = tuple(self._order(name, segment) for name, segment in self._segments.items())
        if self._budget is None:
            return FleetOrders(period=self._period, orders=orders)
        had = self._gathered()
        have = {order.segment: had[order.segment] + order.samples for order in orders}
        price, before = self._budget.price_of, self._budget.price(had)
        priced = tuple(
            replace(one, cost=price(one.segment, have[one.segment]) - price(one.segment, had[one.segment]))
            for one in orders
        )
        return FleetOrders(
            period=self._period,
            orders=priced,
            cost=self._budget.price(have) - before,
            money_left=self._left() - before,
            share=self._share,
        )

    def _gathered(self) -> dict[str, int]:
        """Return how many rows each segment has in the open period."""
        return {name: segment.state.gathered for name, segment in self._segments.items()}

    def _left(self) -> Money:
        """Return the money that the closed periods have left."""
        assert self._budget is not None
        return self._budget.money - Money(self._spent, self._budget.currency)

    def set_budget(self, budget: Budget | FleetBudget) -> None:
        """Replace the budget, or begin with one: what was spent stays spent, and the open period is sized again.

        Parameters
        ----------
        budget : Budget or FleetBudget
            As for :class:`Fleet`; its total and horizon count from the first period.

        Raises
        ------
        ParameterError
            If it is in another currency than what was spent.
        """
        owner = "Fleet.set_budget"
        made = budget_of(budget, self._method)
        if made is None:
            raise ParameterError("must be a Budget or a FleetBudget; got None.", owner=owner, name="budget")
        if self._budget is not None and made.currency != self._budget.currency:
            raise ParameterError(
                f"must be in the currency of the first one, {self._budget.currency or 'none'}; got {made.currency or 'none'}.",
                owner=owner,
                name="budget",
            )
        self._budget, self._share, self._demands = made, None, {}
        self._segments = {
            name: replace(segment, state=segment.state.without_order()) for name, segment in self._segments.items()
        }

    @without_collection()
    def tell(
        self,
        frame: Any = None,
        *,
        period: int | None = None,
        key: str | None = None,
        final: bool = True,
        accept: bool | Sequence[str] = False,
    ) -> Delivery:
        """Add labelled rows of any segments, in any order, and close the period for all segments.

        A segment whose rows cannot be used is set aside: its rows are not added, its name and the reason are in
        :attr:`Delivery.rejected` and in the ledger, and its period is closed without them. So is one with a column that is a
        hundred times as large as in its earlier rows, or in its first period as in other segments: its unit may be another one.

        Parameters
        ----------
        frame : data frame, mapping of columns, or file, optional
            Rows with the segment, the target and the features. Without rows the period is closed on those delivered before.
        period : int, optional
            A closed period that the rows belong to, with ``delay=``: they are late, and the open period stays open.
        key : str, optional
            A name of the delivery. One whose key was told before changes nothing, so that it can be sent again after a failure.
        final : bool, default True
            Whether the period is closed; with False it stays open for more rows.
        accept : bool or sequence of str, default False
            The segments whose rows are right though their numbers are that much larger or smaller; True for all.

        Returns
        -------
        Delivery

        Raises
        ------
        DataError
            If the table as a whole cannot be used; nothing is changed then.
        """
        owner = "Fleet.tell"
        validation.switch(owner, final=final)
        if key is not None and not isinstance(key, str):
            raise ParameterError(f"must be a text; got {key!r:.80}.", owner=owner, name="key")
        if key is not None and key in self._keys:
            return Delivery(period=self._period if period is None else period, rows=0, repeated=True)
        if frame is None and (period is not None or key is not None):
            raise DataError("must be given with period= and key=; got None.", owner=owner, name="frame")
        accepted = accepted_segments(accept, owner)
        rows = SegmentRows(encoding=self._encoding)
        if frame is not None:
            rows = read_segments(frame, self._columns, self._encoding, owner=owner)
            rows = rows.without_doubtful(self._segments, self._columns.target, accepted)
        delivery = self._tell_open(rows, final) if period is None else self._tell_late(rows, period)
        if key is not None:
            self._keys = (*self._keys, key)[-KEYS:]
        return delivery

    def segment(self, name: str) -> Tracker:
        """Return a tracker of one segment as it is now: its model, history, forecasts and plans.

        It is a copy: what it is told does not reach the fleet.

        Parameters
        ----------
        name : str
            The segment.

        Returns
        -------
        Tracker
        """
        segment = self._segments[self._checked(name)]
        method = self._method_of(name)
        body = tracker_body(method, with_lent(segment.state, segment.lent), list(segment.reports))
        encoding = self._encoding if segment.state.columns is not None else None
        body |= {
            "encoding": None if encoding is None else encoding.to_values(),
            "missing": self._columns.missing,
            "from_pool": encoding is not None,
        }
        if segment.late is not None:
            body["late"] = segment.late.to_body()
        return Tracker.from_body(body, {"loss": method.spec.loss})

    def model(self, name: str) -> FloatArray | None:
        """Return the coefficients of a segment, the intercept last; None before the columns are known.

        Parameters
        ----------
        name : str
            The segment.

        Returns
        -------
        ndarray
        """
        coef = self._segments[self._checked(name, "Fleet.model")].state.coef
        return None if coef is None else coef.copy()

    @property
    def budget(self) -> FleetBudget | None:
        """The budget of all segments; None where there is none."""
        return self._budget

    @property
    def money_left(self) -> Money | None:
        """What is left of the budget, the rows of the open period paid; below zero where more rows came than were requested."""
        return None if self._budget is None else self._left() - self._budget.price(self._gathered())

    @property
    def borrow(self) -> tuple[str, ...]:
        """What segments learn from each other."""
        return self._borrowing.parts

    @property
    def period(self) -> int:
        """The open period, from 1."""
        return self._period

    @property
    def segments(self) -> tuple[str, ...]:
        """The names of the segments, in the order in which they appeared."""
        return tuple(self._segments)

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the coefficients; None before the first rows."""
        return None if self._encoding is None else self._encoding.names

    @property
    def encoding(self) -> Encoding | None:
        """How columns are encoded, for all segments alike; None before the first rows and :meth:`fit_pool`."""
        return self._encoding

    @property
    def set_aside(self) -> Mapping[str, str]:
        """The segments whose last rows were set aside in the open period or the one before, and why."""
        found = {}
        for name, segment in self._segments.items():
            for period in (self._period, self._period - 1):
                if period in segment.problems:
                    found[name] = segment.problems[period]
                    break
        return MappingProxyType(found)

    @property
    def ledger(self) -> FleetLedger:
        """The reports of the closed periods of all segments; ``.to_frame()`` for a table."""
        return FleetLedger(
            {name: segment.reports for name, segment in self._segments.items()},
            {name: segment.first for name, segment in self._segments.items()},
            {name: segment.problems for name, segment in self._segments.items()},
            {name: segment.freed for name, segment in self._segments.items()},
        )

    def __len__(self) -> int:
        return len(self._segments)

    def __contains__(self, name: object) -> bool:
        return name in self._segments

    def __repr__(self) -> str:
        loss = type(self._method.spec.loss).__name__
        return f"Fleet({loss}, epsilon={self._method.epsilon!r}, period={self._period}, segments={len(self)})"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, or a folder of Parquet files: atomically, without pickle, exact to the bit.

        Parameters
        ----------
        path : str or path-like
            The file. Where it ends in ``.parquet`` it is a folder with a file for every thousand segments, which is smaller.

        Raises
        ------
        MissingExtraError
            If Parquet files are wanted and pyarrow is not installed.
        """
        if is_folder(path):
            write_folder(path, self.snapshot())
        else:
            write_state(path, to_body(self.snapshot()))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        executor: Any = None,
        progress: Callable[[int, int], None] | None = None,
        loss: Loss | None = None,
    ) -> Self:
        """Return the fleet that was saved.

        Parameters
        ----------
        path : str or path-like
            The file, or the folder.
        executor : str or object, optional
            As for :class:`Fleet`.
        progress : callable, optional
            As for :class:`Fleet`.
        loss : LinearLoss, optional
            A loss of your own, which a file cannot hold.

        Raises
        ------
        StateFileError
            If a file is damaged, or was written by a newer version.
        """
        body = read_folder(path) if is_folder(path) else read_state(path)
        state = from_body(body, {} if loss is None else {"loss": loss})
        return cls.from_snapshot(state, executor=executor, progress=progress)

    def snapshot(self) -> FleetState:
        """Return all that the fleet remembers, as a value that later calls do not change."""
        return FleetState(
            method=self._method,
            columns=self._columns,
            epsilons=self._epsilons,
            encoding=self._encoding,
            segments=MappingProxyType(dict(self._segments)),
            period=self._period,
            keys=self._keys,
            borrowing=self._borrowing,
            budget=self._budget,
            spent=self._spent,
            share=self._share,
        )

    @classmethod
    def from_snapshot(
        cls,
        state: FleetState,
        *,
        executor: Any = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Self:
        """Return a fleet that goes on from a snapshot; parameters as for :class:`Fleet`."""
        fleet = cls.__new__(cls)
        fleet._method, fleet._columns, fleet._epsilons = state.method, state.columns, dict(state.epsilons)
        fleet._encoding, fleet._segments = state.encoding, dict(state.segments)
        fleet._period, fleet._keys, fleet._demands = state.period, state.keys, {}
        fleet._budget, fleet._spent, fleet._share = state.budget, state.spent, state.share
        fleet._borrowing, fleet._observed, fleet._with_features = state.borrowing, {}, None
        fleet._executor = open_executor(executor, owner="Fleet")
        fleet._progress = checked_progress(progress)
        return fleet

    def _tell_open(self, rows: SegmentRows, final: bool) -> Delivery:
        """Add rows to the open period, and close it."""
        events, encoding = rows.events, rows.encoding
        segments, added = dict(self._segments), []
        for name in sorted({*events, *rows.rejected}):
            if name not in segments:
                segments[name] = self._fresh(name, encoding)
                added.append(name)
        segments = self._borrowing.with_starts(
            segments, list(segments), self._observer(segments, encoding), unsized=True
        )
        rejected = dict(rows.rejected)
        count = 0
        for name, one in self._told(list(events), segments, events, encoding, close=False).items():
            segments[name] = _with_problem(one, segments[name], self._period)
            if one.problem is not None:
                rejected[name] = one.problem
            else:
                count += len(events[name].y)
                problems = {at: why for at, why in segments[name].problems.items() if at != self._period}
                segments[name] = replace(with_seen(segments[name], rows.seen.get(name)), problems=problems)
        borrowing = self._borrowing
        if final:
            borrowing, segments = self._closed(segments, encoding, rejected)
        for name in rows.rejected:
            segments[name] = _with_why(segments[name], self._period, rows.rejected[name])
        period = self._period
        if self._budget is not None and final:
            bought = {name: segment.reports[-1].samples for name, segment in segments.items()}
            segments = {
                name: with_cost(segment, self._budget.price_of(name, bought[name]))
                for name, segment in segments.items()
            }
            self._spent += self._budget.price(bought).amount
            self._demands, self._share = {}, None
        self._observed = {} if final else self._observed
        self._segments, self._encoding, self._period = segments, encoding, period + 1 if final else period
        self._borrowing = borrowing
        return Delivery(
            period=period, rows=count, rejected=rejected, added=tuple(added), closed=final, without=dict(rows.without)
        )

    def _closed(
        self, segments: Segments, encoding: Encoding | None, rejected: dict[str, str]
    ) -> tuple[Borrowing, Segments]:
        """Return the fleet and its segments after the open period, once the rows of all of them are there."""
        segments, told = self._borrowing.before_closing(segments, self._observer(segments, encoding))
        for name, one in self._told(list(segments), segments, {}, encoding, close=True).items():
            segments[name] = _with_problem(one, segments[name], self._period)
            if one.problem is not None:
                rejected[name] = one.problem
        return self._borrowing.after_closing(segments, told, self._period)

    def _told(
        self,
        names: Sequence[str],
        segments: Mapping[str, Segment],
        events: Mapping[str, TellEvent],
        encoding: Encoding | None,
        *,
        close: bool,
    ) -> dict[str, WorkDone]:
        """Return what became of segments to which rows were added, or which were closed."""
        done: dict[str, WorkDone] = {}
        work: dict[str, SegmentWork] = {}
        for name in names:
            method, segment = self._method_of(name, encoding), segments[name]
            if close or segment.state.order is None:
                work[name] = SegmentWork(method=method, segment=segment, event=events.get(name), close=close)
            else:  # to add rows takes less time than to send the segment
                done[name] = gathered(method, segment, events[name])
        return done | dict(zip(work, self._work(list(work.values())), strict=True))

    def _observer(self, segments: Mapping[str, Segment], encoding: Encoding | None = None) -> Observe:
        """Return what observes segments by their names."""

        def observed(names: Sequence[str]) -> list[Observed]:
            known = self._observed
            new = [name for name in names if not (name in known and known[name].of(segments[name]))]
            every = {name: SegmentWork(method=self._method_of(name, encoding), segment=segments[name]) for name in new}
            here = {name for name, one in every.items() if one.segment.has_past or is_light(one)}
            for executor, there in ((self._executor, True), (LocalExecutor(), False)):
                some = [name for name in new if (name not in here) is there]
                chunks = [tuple(every[name] for name in some[at : at + CHUNK]) for at in range(0, len(some), CHUNK)]
                done = [one for chunk in executor.map(observe, chunks) for one in chunk]
                for name, one in zip(some, done, strict=True):
                    known[name] = KnownRows.of_segment(segments[name], one)
            return [known[name].observed for name in names]

        return observed

    def _tell_late(self, rows: SegmentRows, period: int) -> Delivery:
        """Add rows to a closed period."""
        validation.count("Fleet.tell", least=1, period=period)
        if self._method.config.delay is None:
            raise ProtocolError("tell(period=) needs a fleet that keeps its last periods; give Fleet(delay=...).")
        if period >= self._period:
            raise ProtocolError(f"tell(period=) needs a closed period; got {period}, and {self._period} is open.")
        rejected = dict(rows.rejected)
        names = []
        for name in rows.events:
            if name not in self._segments or self._segments[name].first > period:
                rejected[name] = f"the segment did not exist in period {period}."
            else:
                names.append(name)
        work = [
            SegmentWork(
                method=self._method_of(name),
                segment=self._segments[name],
                event=rows.events[name],
                period=period - self._segments[name].first + 1,
            )
            for name in names
        ]
        count, segments = 0, dict(self._segments)
        for name, one in zip(names, self._work(work), strict=True):
            segments[name] = _with_problem(one, segments[name], period)
            if one.problem is None:
                count += len(rows.events[name].y)
                segments[name] = with_seen(segments[name], rows.seen.get(name))
            else:
                rejected[name] = one.problem
        self._segments = segments
        return Delivery(period=period, rows=count, rejected=rejected, without=dict(rows.without))

    def _work(self, work: Sequence[SegmentWork]) -> list[WorkDone]:
        """Return what became of each segment, in order; chunks of them are the items that an executor maps.

        What takes less time than to send a segment is done here.
        """
        results: dict[int, WorkDone] = {}
        light = [is_light(one) for one in work]
        for executor, here in ((self._executor, False), (LocalExecutor(), True)):
            places = [place for place, one in enumerate(light) if one is here]
            chunks = [places[at : at + CHUNK] for at in range(0, len(places), CHUNK)]
            answers = executor.map(work_on, [tuple(work[place] for place in chunk) for chunk in chunks])
            for chunk, done in zip(chunks, answers, strict=True):
                results.update(zip(chunk, done, strict=True))
                if self._progress is not None:
                    self._progress(len(results), len(work))
        return [results[place] for place in range(len(work))]

    def _add(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self._segments:
                self._segments[name] = self._fresh(name, self._encoding)

    def _begun(self, name: str) -> Segment:
        """Return a segment that had no rows yet with the number of columns that others have shown."""
        segment, state = self._segments[name], self._segments[name].state
        if self._encoding is None or state.features is not None or state.order is not None:
            return segment
        begun = replace(self._method_of(name).begin(), period=state.period)
        late = segment.late
        if late is not None:
            late = replace(late, opened=KeptPeriod(start=begun))
        return replace(segment, state=begun, late=late)

    def _fresh(self, name: str, encoding: Encoding | None) -> Segment:
        """Return a segment before its first rows."""
        state = self._method_of(name, encoding).begin()
        delay = self._method.config.delay
        late = None if delay is None else LateWindow(delay=delay, opened=KeptPeriod(start=state))
        return Segment(first=self._period, state=state, late=late)

    def _method_of(self, name: str, encoding: Encoding | None = None) -> AdaptiveMethod:
        """Return the method of a segment: with its target, and the number of columns where it is known."""
        encoding = self._encoding if encoding is None else encoding
        method = self._method
        if encoding is not None and method.spec.features is None:
            method = self._with_columns(len(encoding.names))
        epsilon = self._epsilons.get(name)
        return method if epsilon is None else replace(method, config=replace(method.config, epsilon=epsilon))

    def _with_columns(self, features: int) -> AdaptiveMethod:
        """Return the method of segments whose number of columns is known; made once, since each batch takes it many times."""
        made = self._with_features
        if made is None or made.spec.features != features:
            made = replace(self._method, spec=replace(self._method.spec, features=features))
            self._with_features = made
        return made

    def _order(self, name: str, segment: Segment) -> SegmentOrder:
        order = segment.state.order
        assert order is not None
        return SegmentOrder(
            segment=name,
            samples=order.total - order.after,
            risk=order.risk,
            epsilon=order.epsilon,
            outcome=order.outcome,
            reason=order.reason,
            status=order.status,
            problem=segment.problems.get(self._period),
            freed=self._period in segment.freed,
        )

    def _pools(self, pool: int | Mapping[str, int] | None) -> Callable[[str], int | None]:
        """Return the pool of each segment by its name."""
        if isinstance(pool, Mapping):
            for name, rows in pool.items():
                self._checked(name, "Fleet.ask")
                validation.count("Fleet.ask", least=0, pool=rows)
            return pool.get
        if pool is not None:
            validation.count("Fleet.ask", least=0, pool=pool)
        return lambda _: pool

    def _checked(self, name: str, owner: str = "Fleet.segment") -> str:
        if name not in self._segments:
            raise ParameterError(f"must be a segment of the fleet; got {name!r:.80}.", owner=owner, name="name")
        return name


def _with_problem(done: WorkDone, before: Segment, period: int) -> Segment:
    """Return the segment, with why its rows were set aside, if they were."""
    return done.of(before) if done.problem is None else _with_why(done.of(before), period, done.problem)


def _with_why(segment: Segment, period: int, problem: str) -> Segment:
    return replace(segment, problems={**segment.problems, period: problem})
