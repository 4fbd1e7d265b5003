"""Fleet campaigns: a model for each segment, with one name and one log, kept in a store."""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from driftpace import validation
from driftpace.campaign.archive import archive
from driftpace.campaign.definition import Definition, check_name
from driftpace.campaign.fleet import actions
from driftpace.campaign.fleet.changes import CHANGES, Engine, created, packed, replay, selected, unpacked
from driftpace.campaign.fleet.draft import FleetDraft, FleetHandle
from driftpace.campaign.fleet.records import FleetOrder, FleetPeriod, FleetReceipt, FleetStatus, FleetUndone
from driftpace.campaign.fleet.rows import read_delivery
from driftpace.campaign.fleet.sampling import FleetSample, draw, drawn_in, segments_in
from driftpace.campaign.fleet.state import FleetCampaignState, StoredSegments, first_fleet
from driftpace.campaign.fleet.status import status
from driftpace.campaign.fleet.table import SegmentTable
from driftpace.campaign.handle import check_key, check_reason, check_text, unknown_campaign, utc_now
from driftpace.campaign.prediction import predicted
from driftpace.campaign.records import Predicted
from driftpace.campaign.schema import current_encoding, read_table, text_columns
from driftpace.campaign.transitions import undone_by
from driftpace.errors import ConflictError, NoOpenPeriodError, ParameterError, ProtocolError
from driftpace.executors import open_executor
from driftpace.fleet import Fleet, FleetLedger
from driftpace.fleet.saving import header_to_body
from driftpace.storage import open_store
from driftpace.storage.base import Entry, Refusal, Store
from driftpace.tables import Encoding
from driftpace.tables.categories import word_of
from driftpace.tables.encoding import find_column
from driftpace.tracing import span
from driftpace.tracker import Tracker


class FleetCampaign:
    """A model for each segment, with one order and one delivery a period, kept in a store.

    Everything is as in :class:`~driftpace.Campaign`: a key names a period, asking again returns the same order, a delivery counts
    once, the log is append-only, and a process killed at any time loses no acknowledged change.

    Parameters
    ----------
    name : str
        Name of an existing campaign.
    store : Store
        The store that holds it.
    clock : callable, optional
        Returns the time that the log records; the current UTC time by default.
    executor, progress : optional
        What works on the segments, and what is told how many are done; see :class:`~driftpace.Fleet`.

    Examples
    --------
    >>> from driftpace import FleetCampaign
    >>> from driftpace.storage import MemoryStore
    >>> store = MemoryStore()
    >>> definition = {"name": "shops", "segment": "shop", "target": "sales", "epsilon": 0.1, "seed": 0}
    >>> campaign = FleetCampaign.create(definition, storage=store, segments=["Oslo", "Rome"])
    >>> order = campaign.ask(key="2026-W46")
    >>> order.segments.missing
    {'Oslo': 10, 'Rome': 10}
    >>> FleetCampaign.open("shops", storage=store).ask(key="2026-W46").missing
    20
    """

    def __init__(
        self,
        name: str,
        store: Store,
        *,
        clock: Callable[[], str] | None = None,
        executor: Any = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._name, self._store = name, store
        self._handle = FleetHandle(name, store, clock=clock)
        self._engine = Engine(executor=open_executor(executor, owner="FleetCampaign"), progress=progress)

    @classmethod
    def create(
        cls,
        what: Definition | dict[str, Any],
        *,
        storage: Any,
        segments: Sequence[str] = (),
        load_if_exists: bool = False,
        who: str = "",
        **options: Any,
    ) -> Self:
        """Create a campaign.

        Parameters
        ----------
        what : Definition or dict
            The definition, or its values; ``segment`` names the column of segments.
        storage : str, path-like or Store
            Where to keep it; see :func:`driftpace.storage.open_store`.
        segments : sequence of str, optional
            Segments that are known before their first rows; :meth:`add` adds others.
        load_if_exists : bool, default False
            Open the campaign of that name if there is one, whatever its definition.
        who : str
            Recorded in the log.
        **options
            ``clock``, ``executor`` and ``progress`` as in the class.

        Raises
        ------
        ParameterError
            If the name is taken, or the definition is invalid.
        """
        owner = "FleetCampaign.create"
        if not isinstance(what, Definition | dict):
            raise ParameterError(f"must be a definition; got {what!r:.80}.", owner=owner, name="what")
        definition = what if isinstance(what, Definition) else Definition.of(what)
        if definition.segment is None:
            raise ParameterError("must name the column of segments; got None.", owner="Campaign", name="segment")
        store = open_store(storage)
        campaign = cls(definition.name, store, **options)
        if load_if_exists and store.head(definition.name) is not None:
            return cls.open(definition.name, storage=store, **options)
        draft = FleetDraft(before=None, at=campaign._handle.clock(), read=campaign._handle.read_rows)
        body = {"definition": definition.to_values(), "who": who}
        body["fleet"] = header_to_body(first_fleet(definition, rng=secrets.randbits(63)))
        draft.add("created", body)
        state = created(replace(draft.entries[0], seq=1))
        state, _ = actions.add(state, draft, _names(segments, owner), who=who, engine=campaign._engine)
        try:
            store.create(definition.name, draft.finish(state)[1])
        except ConflictError:
            if not load_if_exists:
                raise ParameterError(
                    f"must not be taken; a campaign named {definition.name!r} exists.", owner=owner, name="name"
                ) from None
        return campaign

    @classmethod
    def open(cls, name: str, *, storage: Any, **options: Any) -> Self:
        """Open an existing campaign; ``options`` are ``clock``, ``executor`` and ``progress`` as in the class.

        Raises
        ------
        UnknownCampaignError
            If the store has no campaign of that name.
        ParameterError
            If it follows one model and no segments.
        """
        store = open_store(storage, create=False)
        check_name(name)
        head = store.head(name)
        if head is None:
            raise unknown_campaign(name, store)
        if not is_fleet(head.summary):
            raise ParameterError(
                f"must be a campaign with segments; {name!r} has none: open it with Campaign.open.",
                owner="FleetCampaign.open",
                name="name",
            )
        return cls(name, store, **options)

    @property
    def name(self) -> str:
        """Name of the campaign."""
        return self._name

    @property
    def store(self) -> Store:
        """The store that holds the campaign."""
        return self._store

    @property
    def definition(self) -> Definition:
        """The definition."""
        return self._handle.load().definition

    @property
    def encoding(self) -> Encoding | None:
        """How columns are encoded, for all segments alike; None before the first rows, unless the definition says it."""
        state = self._handle.load()
        return state.fleet.encoding or current_encoding(state.definition, None)

    @property
    def text_columns(self) -> list[str]:
        """The columns to be read as text: segments, ids, groups, classes and categories."""
        return text_columns(self.definition, self.encoding)

    def add(self, segments: Sequence[str], *, who: str = "", dry_run: bool = False) -> int:
        """Add segments before their first rows, and return how many are new; an open order is computed with them.

        Parameters
        ----------
        segments : sequence of str
            Names; those that are there are left as they are.
        who, dry_run
            Recorded in the log; return the result without writing it.
        """
        names = _names(segments, "FleetCampaign.add")
        return self._handle.change(
            lambda state, draft: actions.add(state, draft, names, who=who, engine=self._engine), dry_run=dry_run
        )

    def ask(
        self,
        *,
        key: str | None = None,
        pool: int | Mapping[str, int] | None = None,
        segments: Sequence[str] = (),
        who: str = "",
        dry_run: bool = False,
    ) -> FleetOrder:
        """Return how many rows of each segment to label; asking again returns the same order.

        Parameters
        ----------
        key : str, optional
            Your name of the period, such as 2026-W46. A known key returns the order of its period. A new key opens the next
            period; with a ``delay`` in the definition, whether or not rows of the open one are missing.
        pool : int or mapping of str to int, optional
            The most rows that each segment can provide in this period.
        segments : sequence of str, optional
            Segments to add, where they are new.
        who, dry_run
            Recorded in the log; return the result without writing it.

        Raises
        ------
        ProtocolError
            If the key is new and rows of the open period are missing, without a ``delay``.
        """
        owner = "FleetCampaign.ask"
        key, names = check_key(owner, "key", key), _names(segments, owner)
        store, engine = self._store, self._engine

        def decide(state: FleetCampaignState, draft: FleetDraft) -> tuple[FleetCampaignState, FleetOrder]:
            if state.opened is None:
                state, _ = actions.add(state, draft, names, who=who, engine=engine)
            state, order = actions.ask(store, state, draft, key=key, pool=pool, who=who, engine=engine)
            if not order.closed:
                state, _ = actions.add(state, draft, names, who=who, engine=engine)
                order = state.order or order
            return state, order

        with span("campaign.ask", campaign=self._name):
            return self._handle.change(decide, dry_run=dry_run)

    def tell(  # noqa: PLR0913  public API
        self,
        table: Any = None,
        *,
        key: str | None = None,
        final: bool | None = None,
        delivery: str | None = None,
        again: bool = False,
        accept: Sequence[str] = (),
        source: str = "",
        who: str = "",
        dry_run: bool = False,
    ) -> FleetReceipt:
        """Deliver labelled rows of any segments; the period is closed for all when no rows are missing.

        A segment whose rows cannot be used is named and set aside; correct rows can be delivered while the period is open.

        Parameters
        ----------
        table : frame, path, mapping of arrays, or columns as :mod:`driftpace.tables` reads them, optional
            Rows with the segment, the target and the features; those without a target are left out and counted. Without a
            table the period is closed with the rows received.
        key : str, optional
            The period that the rows are meant for. Rows for a closed period are absorbed into it, which needs a ``delay``.
        final : bool, optional
            None closes the period when no rows are missing, True closes it with the rows received, False leaves it open.
        delivery : str, optional
            Name of the delivery; by default a hash of its rows. A delivery counts once.
        again : bool, default False
            Count the delivery even if it was delivered before.
        accept : sequence of str, optional
            Segments whose rows are right though their numbers are far larger or smaller than before. The same delivery can be told
            again with them: only the rows that were set aside are added.
        source : str
            Recorded in the log: where the rows are from.
        who, dry_run
            Recorded in the log; return the result without writing it.
        """
        owner = "FleetCampaign.tell"
        validation.switch(owner, again=again)
        if final is not None:
            validation.switch(owner, final=final)
        target = actions.FleetTarget(
            key=check_key(owner, "key", key),
            name=check_key(owner, "delivery", delivery),
            final=final,
            again=again,
            source=source,
            who=who,
            accept=_names(accept, owner, "accept"),
        )
        columns = (
            None
            if table is None
            else read_table(table, owner=owner, definition=self.definition, encoding=self.encoding)
        )

        def decide(state: FleetCampaignState, draft: FleetDraft) -> tuple[FleetCampaignState, FleetReceipt]:
            rows = None if columns is None else read_delivery(columns, state.definition, state.fleet.encoding)
            return actions.tell(self._store, state, draft, rows, target, self._engine)

        with span("campaign.tell", campaign=self._name):
            return self._handle.change(decide, dry_run=dry_run)

    def sample(self, pool: Any, *, source: str = "", who: str = "", dry_run: bool = False) -> FleetSample:
        """Draw the rows to label of each segment from a pool, and record them; segments that are new in it are added.

        Rows that were drawn before in the period and have no label are returned again, so that a job that runs twice draws once.

        Parameters
        ----------
        pool : frame, path, mapping of arrays, or columns as :mod:`driftpace.tables` reads them
            The rows to draw from, with the column of segments.
        source : str
            A name of the pool, for the log.
        who, dry_run
            Recorded in the log; return the result without writing it.
        """

        def decide(state: FleetCampaignState, draft: FleetDraft) -> tuple[FleetCampaignState, FleetSample]:
            columns, names = segments_in(pool, state)
            state, _ = actions.add(state, draft, sorted(set(names) - {""}), who=who, engine=self._engine)
            if state.opened is None:
                raise NoOpenPeriodError("sample", state.fleet.period)
            draws = len(state.opened.draws)
            sample = draw(self._store, state, columns, names, draws=draws)
            if sample.new:
                before = drawn_in(self._store, state)
                fresh = {
                    name: [one for one in ids if one not in set(before.get(name, ()))]
                    for name, ids in sample.ids.items()
                }
                body = {
                    "period": state.fleet.period,
                    "rows": sample.new,
                    "pool": sample.pool_rows,
                    "source": source,
                    "who": who,
                }
                seq = draft.add("selected", body, rows=packed({name: ids for name, ids in fresh.items() if ids}))
                state = selected(state, seq)
            return state, sample

        return self._handle.change(decide, dry_run=dry_run)

    def add_money(
        self, money: Any, *, reason: str, periods: int = 0, who: str = "", dry_run: bool = False, **prices: Any
    ) -> FleetStatus:
        """Add money to the budget that segments share; the orders of an open period are computed again.

        Parameters
        ----------
        money : number, str or Decimal
            The amount; a negative one takes money away.
        reason : str
            Recorded in the log.
        periods : int, default 0
            Added to the horizon. A campaign without a budget gets one for that many periods, the open one included.
        who, dry_run
            Recorded in the log; return the result without writing it.
        **prices
            New prices from now on: ``fixed``, ``per_sample``, ``minimum``, ``order_price``, ``currency``.
        """
        owner = "FleetCampaign.add_money"
        validation.count(owner, periods=periods)
        why = check_reason(owner, reason)

        def decide(state: FleetCampaignState, draft: FleetDraft) -> tuple[FleetCampaignState, FleetStatus]:
            made = actions.fund(
                state,
                draft,
                money,
                periods=int(periods),
                prices=prices,
                reason=why,
                who=who,
                engine=self._engine,
            )
            return made, status(replace(made, seq=draft.next_seq - 1), updated_at=draft.at)

        return self._handle.change(decide, dry_run=dry_run)

    def undo(
        self,
        entry: int | None = None,
        *,
        delivery: str | None = None,
        period: int | None = None,
        reason: str,
        who: str = "",
        dry_run: bool = False,
    ) -> FleetUndone:
        """Take back a delivery, a draw or the closing of a period; the log keeps it and its undo.

        It reaches back to the start of the period closed last. The periods since are computed again.

        Parameters
        ----------
        entry : int, optional
            Number of the log entry to undo. Give this, ``delivery`` or ``period``.
        delivery : str, optional
            Name or source of a delivery; the last one that counts.
        period : int, optional
            The period closed last, which is opened again.
        reason : str
            Recorded in the log.
        who, dry_run
            Recorded in the log; return the result without writing it.

        Raises
        ------
        ProtocolError
            If it is older, or later entries depend on it.
        """
        owner = "FleetCampaign.undo"
        reason = check_reason(owner, reason)
        if sum(one is not None for one in (entry, delivery, period)) != 1:
            raise ParameterError(
                "must be given alone, or delivery or period; got none or several.", owner=owner, name="entry"
            )

        def decide(state: FleetCampaignState, draft: FleetDraft) -> tuple[FleetCampaignState, FleetUndone]:
            target = self._undo_target(state, entry, delivery, period)
            made = actions.undo(self._store, state, draft, target, reason=reason, who=who, engine=self._engine)
            seq = draft.next_seq - 1
            return made, FleetUndone(
                entry=seq,
                undone=target.seq,
                kind=target.kind,
                rows=int(draft.entries[-1].body["rows"]),
                status=status(replace(made, seq=seq), updated_at=draft.at),
            )

        return self._handle.change(decide, dry_run=dry_run)

    def archive(self, *, reason: str = "", who: str = "", dry_run: bool = False) -> FleetStatus:
        """Archive the campaign: it can be read, all changes are refused, and lists leave it out.

        Parameters
        ----------
        reason : str
            Recorded in the log.
        who, dry_run
            See :meth:`ask`.
        """
        return self._archive(True, "FleetCampaign.archive", reason, who, dry_run)

    def unarchive(self, *, reason: str = "", who: str = "", dry_run: bool = False) -> FleetStatus:
        """Open an archived campaign again, as it was. Parameters as in :meth:`archive`."""
        return self._archive(False, "FleetCampaign.unarchive", reason, who, dry_run)

    def _archive(self, archived: bool, owner: str, reason: str, who: str, dry_run: bool) -> FleetStatus:
        why = check_text(owner, "reason", reason)

        def decide(state: FleetCampaignState, draft: FleetDraft) -> tuple[FleetCampaignState, FleetStatus]:
            made = archive(state, draft, period=state.fleet.period, archived=archived, reason=why, who=who)
            if not draft.entries:
                return state, self.status()
            return made, status(replace(made, seq=draft.next_seq - 1), updated_at=draft.at)

        return self._handle.change(decide, dry_run=dry_run, archived=True)

    def _undo_target(
        self, state: FleetCampaignState, entry: int | None, delivery: str | None, period: int | None
    ) -> Entry:
        oldest = state.before or state.start
        assert oldest is not None
        log = self._store.entries(self._name, after=oldest.seq, kinds=CHANGES)
        gone = undone_by(log)
        counts = [one for one in log if one.seq not in gone]
        if entry is not None:
            found = [one for one in log if one.seq == entry]
        elif delivery is not None:
            found = [one for one in counts if one.kind == "delivered" and delivery in (one.key, one.body["source"])]
        else:
            found = [one for one in counts if one.kind == "closed" and one.body["period"] == period]
        if not found:
            named = (
                f"entry {entry}"
                if entry is not None
                else f"delivery {delivery!r:.80}"
                if delivery
                else f"closing of period {period}"
            )
            raise ProtocolError(
                f"undo() reaches back to the start of the period closed last; there is no {named} since then."
            )
        return found[-1]

    def status(self) -> FleetStatus:
        """Return the current status, with the next step as a sentence; it is read without the models of the segments."""
        head = self._store.head(self._name)
        if head is None:
            raise unknown_campaign(self._name, self._store)
        return status(self._handle.load(head), updated_at=head.updated_at)

    @property
    def segments(self) -> SegmentTable:
        """The table of segments: rows missing and delivered, risks and outcomes; ``.page(...)`` sorts, filters and pages it."""
        return self._handle.load().table

    def segment(self, name: str) -> Tracker:
        """Return a tracker of one segment as it is now: its model, history, forecasts and plans; the campaign does not follow it.

        Parameters
        ----------
        name : str
            The segment.
        """

        def read(state: FleetCampaignState) -> Tracker:
            state.table[name]  # an unknown name is refused
            one = replace(state.fleet, segments={name: state.fleet.segments[name]})
            return Fleet.from_snapshot(one).segment(name)

        return self._handle.read(read)

    def reason(self, name: str) -> str | None:
        """Return why a segment has its order, in words; None before the first order."""
        state = self._handle.load()
        row = state.table[name]
        entries = self._store.latest(self._name, limit=1, kinds=("asked",))
        if not entries or row.outcome is None:
            return None
        data = self._store.rows(self._name, [entries[-1].seq]).get(entries[-1].seq)
        if data is None:
            return None
        orders = unpacked(data)["orders"]
        return str(orders["reason"][orders["segment"].index(name)]) if name in orders["segment"] else None

    def fleet(self) -> Fleet:
        """Return the whole fleet as it is now, which the campaign does not follow; it reads every segment."""
        return self._handle.read(lambda state: self._engine.fleet(state.fleet))

    def stored_segments(self) -> StoredSegments:
        """Return the segments as they are saved, which are read when they are needed."""
        segments = self._handle.load().fleet.segments
        assert isinstance(segments, StoredSegments)
        return segments

    def predict_table(self, table: Any) -> Predicted:
        """Predict the target of the rows of a table, each by the model of its segment.

        Parameters
        ----------
        table : frame, path, mapping of arrays, or columns as :mod:`driftpace.tables` reads them
            Must have the columns of the segment and the features.

        Raises
        ------
        ProtocolError
            If a segment has no model yet.
        """
        owner = "FleetCampaign.predict"
        definition, encoding = self.definition, self.encoding
        if encoding is None:
            raise ProtocolError("predict_table() requires a closed period; deliver rows with tell() first.")
        columns = read_table(table, owner=owner, definition=definition, encoding=encoding)
        column = find_column(columns, str(definition.segment), owner)
        names = np.array([word_of(value, column.kind) for value in column.values], dtype=object)
        rows = encoding.encode(columns, owner=owner)
        scores = np.empty(len(rows.X))
        known = {row.segment: row for row in self.segments}
        for name in sorted(set(names.tolist())):
            if name not in known or known[name].last is None:
                raise ProtocolError(
                    f"predict_table() requires a closed period of each segment; {name!r:.80} has no model yet."
                )
            chosen = names == name
            scores[chosen] = self.segment(name).decision_function(rows.X[chosen])
        made = predicted(definition, scores)
        return replace(made, unknown_categories=rows.mapped_categories(), filled=rows.filled_cells())

    def ledger(self) -> tuple[FleetPeriod, ...]:
        """Return the closed periods of all segments together; :meth:`segment_ledger` has those of each."""
        log = self._store.entries(self._name, kinds=("closed", "undone"))
        gone = undone_by(log)
        counted = [entry for entry in log if entry.kind == "closed" and entry.seq not in gone]
        return tuple(FleetPeriod.of(entry.body) for entry in counted)

    def segment_ledger(self) -> FleetLedger:
        """Return the reports of the closed periods of each segment; ``.to_frame()`` for a table. It reads every segment."""
        return self.fleet().ledger

    def log(self, *, after: int = 0, limit: int | None = None, kinds: Sequence[str] | None = None) -> tuple[Entry, ...]:
        """Return entries of the log in order, by default without those that only hold segments; see :meth:`Campaign.log`."""
        chosen = ("created", "imported", *CHANGES) if kinds is None else kinds
        return tuple(self._store.entries(self._name, after=after, limit=limit, kinds=chosen))

    def latest(self, limit: int) -> tuple[Entry, ...]:
        """Return the last entries of the log, the latest first, without those that only hold segments."""
        return tuple(reversed(self._store.latest(self._name, limit=limit, kinds=("created", "imported", *CHANGES))))

    def replay(self) -> Iterator[tuple[Entry, FleetCampaignState]]:
        """Compute the campaign again from its log, and yield each entry with the state it leads to."""
        return replay(self.log(), self._handle.read_rows, self._engine)

    def refusals(self) -> list[Refusal]:
        """Return the last deliveries that were refused, the oldest first."""
        return self._store.refusals(self._name)

    def note_refusal(self, sentence: str, source: str = "", who: str = "") -> None:
        """Note a delivery that was refused, beside the log; the command line and the service do."""
        self._store.add_refusal(self._name, Refusal(at=utc_now(), who=who, source=source, sentence=sentence))

    def __repr__(self) -> str:
        return f"FleetCampaign({self._name!r}, storage={self._store.url!r})"


def is_fleet(summary: Mapping[str, Any]) -> bool:
    """Return whether a campaign has segments, by its summary."""
    return summary.get("segments") is not None


def _names(segments: Sequence[str], owner: str, name: str = "segments") -> tuple[str, ...]:
    names = () if isinstance(segments, str) else tuple(segments)
    if isinstance(segments, str) or any(not isinstance(name, str) or not name or "\0" in name for name in names):
        raise ParameterError(f"must be names of segments; got {segments!r:.80}.", owner=owner, name=name)
    return names
