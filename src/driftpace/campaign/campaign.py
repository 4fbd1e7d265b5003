"""A campaign: a tracker with a name, a store and a history; whoever opens it, wherever, finds it where it was left.

Every change reads where the campaign stands, decides, and appends to its log; if somebody else appended first, it reads again and
decides anew. So any number of processes may work on one campaign, and what was acknowledged is in the log.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Self

from driftpace import validation
from driftpace.campaign import transitions
from driftpace.campaign.amendments import amend, fund
from driftpace.campaign.codec import pack_ids
from driftpace.campaign.compare import arrays_agree
from driftpace.campaign.definition import Definition, check_name
from driftpace.campaign.delivery import Delivery, tell
from driftpace.campaign.handle import CampaignHandle, Draft, first_change, unknown_campaign
from driftpace.campaign.ledger import Ledger, read_ledger
from driftpace.campaign.names import check_key, check_reason, check_text
from driftpace.campaign.orders import (
    ask,
    ask_again,
    awaited_in,
    drawn_in,
    not_open,
    open_order,
    order_of_period,
    past_order,
)
from driftpace.campaign.records import Decision, Order, Receipt, Status
from driftpace.campaign.sampling import Sample, Shortfall, draw_sample, find_shortfall
from driftpace.campaign.schema import Columns, Predicted, feature_rows, labelled, map_categories, predicted, unlisted
from driftpace.campaign.state import CampaignState, fingerprint
from driftpace.campaign.summary import named, status
from driftpace.errors import (
    ConflictError,
    ParameterError,
    ProtocolError,
    StateFileError,
)
from driftpace.records import Plan
from driftpace.storage import open_store
from driftpace.storage.base import Entry, Store
from driftpace.tracker import Tracker
from driftpace.typing import FloatArray

DRAW_ATTEMPTS = 6
"""How often rows are drawn anew where a concurrent writer drew first."""


class Campaign:
    """A tracker with a name and a history that survives the process, kept in a store.

    ``storage`` is where: the path of a file (SQLite), ``postgresql://...``, ``memory://``, or an opened store. A campaign is begun
    by :meth:`create` and found again by :meth:`open`. One handle may be used by several threads.

    >>> from driftpace.campaign import Campaign
    >>> from driftpace.storage import MemoryStore
    >>> store = MemoryStore()
    >>> campaign = Campaign.create({"name": "prices", "target": "price", "epsilon": 0.1, "seed": 0}, storage=store)
    >>> order = campaign.ask(key="2026-W46")
    >>> order.samples, Campaign.open("prices", storage=store).ask(key="2026-W46") == order
    (10, True)
    """

    def __init__(self, name: str, store: Store, *, clock: Callable[[], str] | None = None) -> None:
        self._name = name
        self._store = store
        self._kept = CampaignHandle(name, store, clock=clock)

    @classmethod
    def create(
        cls,
        what: "Definition | dict[str, Any] | Tracker",
        *,
        storage: Any,
        name: str | None = None,
        keep_rows: bool | None = None,
        load_if_exists: bool = False,
        who: str = "",
        clock: Callable[[], str] | None = None,
    ) -> Self:
        """Begin a campaign of a definition (or the values of one), or of a tracker, which then needs a ``name``.

        With ``keep_rows=False`` the rows of a period are forgotten when it is closed; what the mathematics needs to go on is
        kept, but the history can no longer be folded from its first row. ``load_if_exists`` opens the campaign of that name
        where there is one, whatever it is about.
        """
        store = open_store(storage)
        tracker = what if isinstance(what, Tracker) else None
        values: dict[str, Any] = {}
        if isinstance(what, Definition):
            values = what.to_values()
        elif tracker is None:
            if not isinstance(what, dict):
                raise ParameterError(
                    f"must be a definition or a tracker; got {what!r:.80}.",
                    owner="Campaign.create",
                    name="what",
                )
            values = dict(what)
        if name is not None:
            values["name"] = name
        if keep_rows is not None:
            values["keep_rows"] = keep_rows
        definition = Definition.of(values)
        campaign = cls(definition.name, store, clock=clock)
        if load_if_exists and store.head(definition.name) is not None:
            return campaign
        made = definition.make_tracker(rng=secrets.randbits(63)) if tracker is None else tracker
        try:
            store.create(definition.name, first_change(definition, made, at=campaign._kept.clock(), who=who))
        except ConflictError:
            if not load_if_exists:
                raise ParameterError(
                    f"must be a name that is free; got {definition.name!r}, which exists.",
                    owner="Campaign.create",
                    name="name",
                ) from None
        return campaign

    @classmethod
    def open(cls, name: str, *, storage: Any, clock: Callable[[], str] | None = None) -> Self:
        """Return the campaign of that name, or raise UnknownCampaignError."""
        store = open_store(storage, create=False)
        check_name(name)
        if store.head(name) is None:
            raise unknown_campaign(name, store)
        return cls(name, store, clock=clock)

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def store(self) -> Store:
        """Where the campaign is kept."""
        return self._store

    @property
    def definition(self) -> Definition:
        """What the campaign is about."""
        return self._kept.load().definition

    def ask(self, *, key: str | None = None, pool: int | None = None, who: str = "", dry_run: bool = False) -> Order:
        """Return this period's order: how many rows to label, and why. Asking again returns the same order.

        ``key`` is your name of the period (2026-W46). A key that was asked before returns the order of its period, open or
        closed. A new key opens the next period; if the one before still misses rows, that is refused. ``pool`` is how many rows
        the period can give at most.
        """
        key = check_key("Campaign.ask", "key", key)
        if pool is not None:
            validation.count("Campaign.ask", least=0, pool=pool)
            pool = int(pool)  # a count of NumPy's is no JSON

        return self._kept.change(
            lambda folded, draft: ask(self._store, folded, draft, key=key, pool=pool, who=who), dry_run=dry_run
        )

    def tell(
        self,
        X: Any = None,
        y: Any = None,
        *,
        groups: Any = None,
        ids: Sequence[Any] | None = None,
        final: bool | None = None,
        key: str | None = None,
        delivery: str | None = None,
        digest: str | None = None,
        again: bool = False,
        source: str = "",
        unlabelled: int = 0,
        other_period_rows: int = 0,
        period: int | None = None,
        who: str = "",
        dry_run: bool = False,
    ) -> Receipt:
        """Take rows that came for the open period, fit them when they are enough, and say what became of them.

        ``final=None`` closes the period when nothing is missing any more, True closes it with what came, False leaves it open.
        Without rows, ``tell()`` closes. ``ids`` tell rows apart: those told before in this period are not counted again.
        ``delivery`` names the whole delivery (by default it is known by its rows): one that was told before is not counted,
        unless ``again``; with ``final=True`` it still closes its period. ``digest`` says what came under that name: the name with
        another digest is refused. ``key`` and ``period`` (its number) say which period the rows are meant for, and that must be the
        open one. ``source``, ``unlabelled`` and ``other_period_rows`` go into the log.
        """
        validation.count("Campaign.tell", unlabelled=unlabelled, other_period_rows=other_period_rows)
        left_out = {"unlabelled": int(unlabelled), "other_period_rows": int(other_period_rows)}
        delivery = check_key("Campaign.tell", "delivery", delivery)
        digest = check_key("Campaign.tell", "digest", digest)
        brought = Delivery(
            X=X, y=y, groups=groups, ids=ids, name=delivery, digest=digest, source=source, left_out=left_out, who=who
        )
        return self._tell(lambda _: brought, final=final, key=key, period=period, again=again, dry_run=dry_run)

    def _tell(
        self,
        bring: Callable[[CampaignState], Delivery],
        *,
        final: bool | None,
        key: str | None,
        period: int | None,
        again: bool,
        dry_run: bool,
    ) -> Receipt:
        """Take what is brought to the campaign where it stands when it is written, and not where it stood when it was read."""
        if final is not None:
            validation.switch("Campaign.tell", final=final)
        key = check_key("Campaign.tell", "key", key)
        validation.switch("Campaign.tell", again=again)

        return self._kept.change(
            lambda folded, draft: tell(
                self._store, folded, draft, bring(folded), final=final, key=key, period=period, again=again
            ),
            dry_run=dry_run,
        )

    def tell_table(
        self,
        columns: Columns,
        *,
        final: bool | None = None,
        key: str | None = None,
        delivery: str | None = None,
        digest: str | None = None,
        again: bool = False,
        source: str = "",
        period: int | None = None,
        who: str = "",
        dry_run: bool = False,
    ) -> Receipt:
        """Take the labelled rows of a table (columns by name, as :mod:`driftpace.tables` reads them), as the definition says.

        Rows without a target are not labelled yet, and rows that were drawn for another period are out of date: both are left
        out and counted, and a table that holds nothing else closes no period by itself.
        """
        named_by = check_key("Campaign.tell", "delivery", delivery)
        digest = check_key("Campaign.tell", "digest", digest)

        def bring(folded: CampaignState) -> Delivery:
            found = labelled(
                folded.definition,
                columns,
                period=folded.state.period,
                names=() if folded.opened is None else folded.opened.names,
                known=folded.state.columns,
                owner="Campaign.tell",
            )
            return Delivery(
                X=found.rows,
                y=found.y,
                groups=found.groups,
                ids=found.ids,
                name=named_by,
                digest=digest,
                source=source,
                left_out={"unlabelled": found.unlabelled, "other_period_rows": found.other_period_rows},
                who=who,
                unlisted=found.unlisted,
            )

        return self._tell(bring, final=final, key=key, period=period, again=again, dry_run=dry_run)

    def forget(self, *, reason: str, period: int | None = None, who: str = "", dry_run: bool = False) -> Order:
        """Take back the rows told so far in the open period, such as a delivery that proved bad; ``period`` must be that one."""
        reason = check_reason("Campaign.forget", reason)

        def decide(folded: CampaignState, draft: Draft) -> tuple[CampaignState, Order]:
            order = open_order(folded, "forget", period)
            if order.received:
                seqs = folded.opened.deliveries if folded.opened else ()
                draft.add("forgotten", {"period": order.period, "rows": order.received, "reason": reason, "who": who})
                if not folded.definition.keep_rows:
                    draft.drop(seqs)
                folded = ask_again(transitions.forgotten(folded), draft, who=who)
            return folded, open_order(folded, "forget")

        return self._kept.change(decide, dry_run=dry_run)

    def override(
        self, samples: int, *, reason: str, period: int | None = None, who: str = "", dry_run: bool = False
    ) -> Order:
        """Put a number of your own in the place of the order, with the reason; it stands until the period is closed.

        ``period`` is the one that you looked at: where another is open by now, that is refused.
        """
        validation.count("Campaign.override", samples=samples)
        why = check_reason("Campaign.override", reason)
        return self._decided("overridden", transitions.overridden, int(samples), why, period, who, dry_run)

    def approve(self, *, reason: str = "", period: int | None = None, who: str = "", dry_run: bool = False) -> Order:
        """Agree with the order as the tracker made it; an override of it is over. ``period`` as for :meth:`override`."""
        why = check_text("Campaign.approve", "reason", reason)
        return self._decided("approved", transitions.approved, None, why, period, who, dry_run)

    def _decided(
        self,
        kind: str,
        apply: Callable[[CampaignState, Decision], CampaignState],
        samples: int | None,
        reason: str,
        period: int | None,
        who: str,
        dry_run: bool,
    ) -> Order:
        def decide(folded: CampaignState, draft: Draft) -> tuple[CampaignState, Order]:
            order = open_order(folded, "override" if samples is not None else "approve", period)
            asked = order.received + order.request.samples
            wanted = asked if samples is None else samples
            body = {"period": order.period, "samples": wanted, "asked": asked, "reason": reason, "who": who}
            folded = apply(folded, transitions.decision_of(body, draft.at))
            now = open_order(folded, kind)
            draft.add(kind, body if now.overridden is None else {**body, "risk_bound": now.overridden.risk_bound})
            return folded, now

        return self._kept.change(decide, dry_run=dry_run)

    def add_money(
        self, money: Any, *, reason: str, periods: int = 0, who: str = "", dry_run: bool = False, **prices: Any
    ) -> Status:
        """Add ``money`` to the budget, and ``periods`` to its horizon; the order of an open period is made anew.

        What was spent stays spent. ``fixed``, ``per_sample``, ``tiers``, ``minimum`` and ``currency`` are other prices from now on.
        Where there was no budget, there is one from the open period on.
        """
        validation.count("Campaign.add_money", periods=periods)
        why = check_reason("Campaign.add_money", reason)

        def decide(folded: CampaignState, draft: Draft) -> tuple[CampaignState, Status]:
            folded = fund(folded, draft, money, periods=int(periods), prices=prices, reason=why, who=who)
            return folded, status(replace(folded, seq=draft.next_seq - 1), updated_at=draft.at)

        return self._kept.change(decide, dry_run=dry_run)

    def amend(
        self, *, unknown_categories: Mapping[str, str], reason: str, who: str = "", dry_run: bool = False
    ) -> Status:
        """Say which of its listed words any other word of a column counts as, from now on: ``others={"city": "Milan"}``.

        Without it, a row with a word that ``categories`` does not list is refused. What was told stays as it was, and an order
        stands. Where all of it holds already, nothing is written.
        """
        why = check_reason("Campaign.amend", reason)

        def decide(folded: CampaignState, draft: Draft) -> tuple[CampaignState, Status]:
            folded = amend(folded, draft, unknown_categories, reason=why, who=who)
            if not draft.entries:
                return folded, self.status()
            return folded, status(replace(folded, seq=draft.next_seq - 1), updated_at=draft.at)

        return self._kept.change(decide, dry_run=dry_run)

    def drawn(self) -> tuple[str, ...]:
        """Return the ids of the rows that were drawn for labelling in the open period."""
        return drawn_in(self._store, self._kept.load())

    def awaited(self) -> tuple[str, ...]:
        """Return the ids of the rows that were drawn for labelling in the open period and were not told yet."""
        return awaited_in(self._store, self._kept.load())

    def record_draw(
        self,
        ids: Sequence[str],
        *,
        period: int | None = None,
        before: Sequence[str] | None = None,
        source: str = "",
        pool_rows: int = 0,
        who: str = "",
        dry_run: bool = False,
    ) -> None:
        """Write into the log which rows were drawn for labelling, so that they are not drawn twice.

        ``before`` is what :meth:`drawn` said when they were chosen: where somebody else drew in the meantime, ConflictError asks
        to look and to choose again.
        """

        def decide(folded: CampaignState, draft: Draft) -> tuple[CampaignState, None]:
            order = open_order(folded, "select", period)
            if before is not None and set(before) != set(drawn_in(self._store, folded)):
                raise ConflictError(
                    f"somebody else drew rows for {named(order.period, order.key)} just now; try again."
                )
            body = {"period": order.period, "rows": len(ids), "pool": pool_rows, "source": source, "who": who}
            seq = draft.next_seq
            draft.add("selected", body, rows=pack_ids(ids))
            return transitions.selected(folded, seq=seq), None

        self._kept.change(decide, dry_run=dry_run)

    def order(self, key: str | None = None) -> Order:
        """Return the order of the period with that key; by default the open one, else the one closed last."""
        folded = self._kept.load()
        order = folded.order
        if order is None or key not in (None, order.key):
            last = folded.state.period - 1
            order = order_of_period(self._store, folded, last) if key is None else past_order(self._store, folded, key)
        if order is None:
            raise not_open(self._store, folded, key)
        return order

    def shortfall(self, order: Order | None = None, *, replace: bool = False) -> Shortfall:
        """Return how many rows of an order (default: the open one) are still to be drawn by :meth:`sample`."""
        folded = self._kept.load()
        return find_shortfall(
            self._store, folded, open_order(folded, "sample") if order is None else order, replace=replace
        )

    def sample(
        self,
        pool: Any,
        *,
        order: Order | None = None,
        strata: str | None = None,
        replace: bool = False,
        source: str = "",
        who: str = "",
        dry_run: bool = False,
    ) -> Sample:
        """Draw the rows to label from a pool and record them in the log, so that none is drawn twice in a period.

        Rows that ``tell`` would refuse are not drawn. Where all rows of the order are drawn, those still without a label are
        returned again.

        Parameters
        ----------
        pool : frame, path, mapping of arrays, or columns as :mod:`driftpace.tables` reads them
            The rows to draw from.
        order : Order, optional
            The order to draw for: the open one, or in a dry run that of the next period.
        strata : str, optional
            Draw in proportion to the values of this column.
        replace : bool
            Draw other rows for those drawn before that are still without a label.
        source : str
            A name of the pool, for the log and for messages.
        who : str
            Who draws, for the log.
        dry_run : bool
            Record nothing.

        Returns
        -------
        Sample
            The ids and values of the rows.

        Examples
        --------
        >>> from driftpace.storage import MemoryStore
        >>> definition = {"name": "prices", "target": "price", "features": ["area"], "epsilon": 0.1, "seed": 0}
        >>> campaign = Campaign.create(definition, storage=MemoryStore())
        >>> order = campaign.ask()
        >>> sample = campaign.sample({"area": list(range(100))})
        >>> len(sample), sample.new, len(campaign.sample({"area": list(range(100))}).rows()["area"])
        (10, 10, 10)
        """
        draw = partial(self._sample, pool, order, source, who, dry_run, strata=strata, replace=replace)
        for _ in range(DRAW_ATTEMPTS - 1):
            with suppress(ConflictError):  # rows drawn by a concurrent writer are in the log now: look again
                return draw()
        return draw()

    def _sample(self, pool: Any, order: Order | None, source: str, who: str, dry_run: bool, **options: Any) -> Sample:
        folded = self._kept.load()
        wanted = open_order(folded, "sample") if order is None else order
        sample = draw_sample(self._store, folded, wanted, pool, source=source, **options)
        if sample.new and not dry_run:
            before = find_shortfall(self._store, folded, wanted).drawn
            eligible = sample.eligible
            self.record_draw(
                sample.ids, period=wanted.period, before=before, source=source, pool_rows=eligible, who=who
            )
        return sample

    def status(self) -> Status:
        """Return where the campaign stands, and what to do now."""
        head = self._store.head(self._name)
        if head is None:
            raise unknown_campaign(self._name, self._store)
        return status(self._kept.load(), updated_at=head.updated_at)

    def plan(self, **wanted: Any) -> Plan:
        """Return a plan from this period on, by :meth:`Tracker.plan` (cost, epsilon, budget, horizon, gap); nothing is changed."""
        return self._now().plan(**wanted)

    def predict(self, X: Any) -> FloatArray:
        """Return what the current model says of rows."""
        return self._now().predict(X)

    def predict_table(self, columns: Columns) -> Predicted:
        """Return what the current model says of the rows of a table, in the words of the definition."""
        folded = self._kept.load()
        if folded.last is None:
            raise ProtocolError(
                f"predict() came before the first period was closed; {folded.definition.name!r} has no model yet."
            )
        definition, known, owner = folded.definition, folded.state.columns, "Campaign.predict"
        rows = feature_rows(definition, columns, known=known, owner=owner)
        mapped = map_categories(definition, unlisted(definition, columns, known=known, owner=owner))
        return predicted(definition, self._now().decision_function(rows), unknown_categories=mapped)

    def tracker(self) -> Tracker:
        """Return a tracker that stands where the campaign stands; what is done with it is not written anywhere."""
        folded = self._kept.load()
        return Tracker.from_snapshot(folded.method, folded.state, [row.report for row in self.ledger()])

    def _now(self) -> Tracker:
        """Return a tracker without its history, which neither plans nor predictions need."""
        folded = self._kept.load()
        return Tracker.from_snapshot(folded.method, folded.state)

    def ledger(self) -> Ledger:
        """Return the closed periods: what was promised and what was measured; ``.to_frame()`` for a table."""
        found = read_ledger(self._store, self._name)
        if not found and self._store.head(self._name) is None:
            raise unknown_campaign(self._name, self._store)
        return found

    def log(self, *, after: int = 0, limit: int | None = None, kinds: Sequence[str] | None = None) -> tuple[Entry, ...]:
        """Return what happened, in order."""
        found = tuple(self._store.entries(self._name, after=after, limit=limit, kinds=kinds))
        if not found and self._store.head(self._name) is None:
            raise unknown_campaign(self._name, self._store)
        return found

    def replay(self) -> Iterator[tuple[Entry, CampaignState]]:
        """Yield each entry with where it leads to, folded from the first row on; refused where rows were not kept.

        Where an entry says what it led to and the fold says otherwise, StateFileError names it; last digits may differ, where
        another machine or library wrote the log.
        """
        log = self.log()
        for entry, folded in transitions.replay((entry, self._rows_of(entry)) for entry in log):
            if entry.kind == "fitted" and not _led_to(entry, folded):
                raise StateFileError(f"entry {entry.seq} led to another state than its replay does.")
            yield entry, folded

    def _rows_of(self, entry: Entry) -> bytes | None:
        return self._store.rows(self._name, [entry.seq]).get(entry.seq) if entry.kind == "delivered" else None

    def __repr__(self) -> str:
        return f"Campaign({self._name!r}, storage={self._store.url!r})"


def _led_to(entry: Entry, folded: CampaignState) -> bool:
    """Whether a fit led to this state, or to its model up to rounding."""
    coef = folded.state.coef
    return entry.body["sha256"] == fingerprint(folded) or arrays_agree(entry.body["coef"], () if coef is None else coef)
