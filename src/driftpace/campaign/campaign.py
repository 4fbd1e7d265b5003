"""Campaigns: trackers with a name and a log, kept in a store.

Every change reads the current state, decides, and appends to the log; if another writer appended first, it reads again and
decides again. Any number of processes can work on one campaign, and every acknowledged change is in the log.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Self

from driftpace import validation
from driftpace.campaign.archive import archive
from driftpace.campaign.base_model import adapter_of, make_tracker, retrain, with_model
from driftpace.campaign.definition import Definition
from driftpace.campaign.delivery import Delivery, Target, forget, read_delivery, tell
from driftpace.campaign.erasure import ErasureTarget, erase
from driftpace.campaign.handle import Draft, check_key, check_reason, check_text, first_change
from driftpace.campaign.lateness import lateness_of
from driftpace.campaign.orders import amend, ask, decide, fund, open_order
from driftpace.campaign.pool import components_of, fit_pool, with_pool
from driftpace.campaign.reader import CampaignReader
from driftpace.campaign.records import Erasure, Order, PoolComponents, Receipt, Status, Undone
from driftpace.campaign.sampling import Draw, Sample, day_order_of, draw_sample, find_shortfall, profile_of, record_draw
from driftpace.campaign.schema import current_encoding, frame_columns, read_table
from driftpace.campaign.state import CampaignState
from driftpace.campaign.status import status
from driftpace.campaign.undo import UndoTarget, undo
from driftpace.errors import ConflictError, ParameterError, StorageError
from driftpace.storage import open_store
from driftpace.storage.base import Refusal
from driftpace.tracing import span
from driftpace.tracker import Tracker
from driftpace.tracker.inputs import is_frame, read_weights

DRAW_ATTEMPTS = 6
"""How often rows are drawn again where a concurrent writer drew first."""


class Campaign(CampaignReader):
    """A tracker with a name and a log, kept in a store.

    :meth:`create` starts a campaign, :meth:`open` opens an existing one. One object can be used by several threads. Methods that
    change the campaign take ``who`` (recorded in the log) and ``dry_run`` (return the result without writing it).

    Parameters
    ----------
    name : str
        Name of an existing campaign.
    store : Store
        The store that holds it.
    clock : callable, optional
        Returns the time that the log records; the current UTC time by default.

    Examples
    --------
    >>> from driftpace.campaign import Campaign
    >>> from driftpace.storage import MemoryStore
    >>> store = MemoryStore()
    >>> campaign = Campaign.create({"name": "prices", "target": "price", "epsilon": 0.1, "seed": 0}, storage=store)
    >>> order = campaign.ask(key="2026-W46")
    >>> order.samples, Campaign.open("prices", storage=store).ask(key="2026-W46") == order
    (10, True)
    """

    @classmethod
    def create(  # noqa: PLR0913  public API
        cls,
        what: "Definition | dict[str, Any] | Tracker",
        *,
        storage: Any,
        name: str | None = None,
        keep_rows: bool | None = None,
        model: Any = None,
        pool: Any = None,
        load_if_exists: bool = False,
        who: str = "",
        clock: Callable[[], str] | None = None,
    ) -> Self:
        """Create a campaign.

        Parameters
        ----------
        what : Definition, dict or Tracker
            The definition, its values, or a tracker between two periods, which needs a ``name``.
        storage : str, path-like or Store
            Where to keep it; see :func:`driftpace.storage.open_store`.
        name : str, optional
            Replaces the name of the definition.
        keep_rows : bool, optional
            Replaces that of the definition. With False the rows of a period are deleted when it is closed; the tracker continues
            as before, but the log cannot be replayed.
        model : model or path, optional
            A model that was trained elsewhere, or its file, as :meth:`Tracker.for_model` and :func:`driftpace.models.read_model`
            take them: the campaign follows it by a head on top of it, and :meth:`retrain` trains it again. The store keeps it,
            at most 64 MiB. Features, loss and classes are read from it where the definition leaves them out.
        pool : frame, path, mapping of arrays, or columns, optional
            Unlabelled rows for a campaign of texts or of many columns, as :meth:`fit_pool` takes them. How many rows can be
            labelled in a period is ``pool`` of the definition.
        load_if_exists : bool, default False
            Open the campaign of that name if there is one, whatever its definition.
        who, clock
            Recorded in the log; see the class.

        Raises
        ------
        ParameterError
            If the name is taken, or the definition is invalid.
        """
        store = open_store(storage)
        tracker, values = _tracker_and_values(what, name=name, keep_rows=keep_rows, model=model, pool=pool)
        packed = None
        if model is not None:
            values, adapter, packed = with_model(values, model)
        definition = Definition.of(values)
        if definition.segment is not None:
            raise ParameterError(
                f"must be left out, or given to FleetCampaign.create; got {definition.segment!r}.",
                owner="Campaign",
                name="segment",
            )
        if definition.model is not None and packed is None:
            raise ParameterError(
                "must be given with a definition that has a model (init --model); got None.",
                owner="Campaign.create",
                name="model",
            )
        campaign = cls(definition.name, store, clock=clock)
        if load_if_exists and store.head(definition.name) is not None:
            return campaign
        if packed is not None:
            tracker = make_tracker(definition, adapter, rng=secrets.randbits(63))
        tracker = definition.make_tracker(rng=secrets.randbits(63)) if tracker is None else tracker
        change = first_change(definition, tracker, at=campaign._handle.clock(), who=who, model=packed)
        if pool is not None:
            change = with_pool(change, definition, pool, who=who)
        try:
            store.create(definition.name, change)
        except ConflictError:
            if not load_if_exists:
                problem = f"must not be taken; a campaign named {definition.name!r} exists."
                raise ParameterError(problem, owner="Campaign.create", name="name") from None
        return campaign

    def fit_pool(self, pool: Any, *, source: str = "", who: str = "", dry_run: bool = False) -> PoolComponents:
        """Learn from unlabelled rows along which directions texts or many columns vary, before the first order.

        The model then follows the leading principal components of the pool, and the first period needs far fewer labels than
        where its own rows have to show them. The pool also shows how columns are encoded, such as how rare words are. Its rows
        are not kept.

        Parameters
        ----------
        pool : frame, path, mapping of arrays, or columns as :mod:`driftpace.tables` reads them
            Rows like those that will be labelled, some thousands; a target that they have is ignored.
        source : str
            A name of the pool, for the log.
        who, dry_run
            See the class.

        Returns
        -------
        PoolComponents

        Raises
        ------
        ProtocolError
            After the first order, or where the components were learned before.
        ParameterError
            If the campaign is neither one of texts nor of more than a hundred columns.

        Examples
        --------
        >>> import numpy as np
        >>> from driftpace.storage import MemoryStore
        >>> rng = np.random.default_rng(0)
        >>> words = ["late", "broken", "refund", "quick", "thanks", "great"]
        >>> mails = {"mail": [" ".join(rng.choice(words, 4)) for _ in range(500)]}
        >>> definition = {"name": "mails", "target": "angry", "text": ["mail"], "features": ["mail"], "epsilon": 0.1, "seed": 0}
        >>> campaign = Campaign.create(definition, storage=MemoryStore())
        >>> campaign.fit_pool(mails).rows, campaign.ask().samples < 300
        (500, True)
        """
        found = components_of(self.definition, pool, source=source)
        with span("campaign.fit_pool", campaign=self._name):
            return self._handle.change(lambda state, draft: fit_pool(state, draft, found, who=who), dry_run=dry_run)

    def ask(self, *, key: str | None = None, pool: int | None = None, who: str = "", dry_run: bool = False) -> Order:
        """Return the order of the current period: how many rows to label, and why. Asking again returns the same order.

        Parameters
        ----------
        key : str, optional
            Your name of the period, such as 2026-W46. A known key returns the order of its period, open or closed. A new key
            opens the next period; with a ``delay`` in the definition, whether or not rows of the open one are missing.
        pool : int, optional
            Number of rows that can be labelled in this period.
        who, dry_run
            See the class.

        Raises
        ------
        ProtocolError
            If the key is new and rows of the open period are missing, without a ``delay``.
        """
        key = check_key("Campaign.ask", "key", key)
        if pool is not None:
            validation.count("Campaign.ask", least=0, pool=pool)
            pool = int(pool)  # NumPy integers are not JSON
        with span("campaign.ask", campaign=self._name):
            return self._handle.change(
                lambda state, draft: ask(self._store, state, draft, key=key, pool=pool, who=who), dry_run=dry_run
            )

    def tell(  # noqa: PLR0913  public API
        self,
        X: Any = None,
        y: Any = None,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        exposure: Any = None,
        ids: Sequence[Any] | None = None,
        annotators: Sequence[Any] | None = None,
        final: bool | None = None,
        key: str | None = None,
        delivery: str | None = None,
        digest: str | None = None,
        again: bool = False,
        source: str = "",
        unlabelled: int = 0,
        other_period_rows: int = 0,
        period: int | None = None,
        accept_others: bool = False,
        balance: bool = False,
        who: str = "",
        dry_run: bool = False,
    ) -> Receipt:
        """Deliver labelled rows; the open period is closed and the model fitted when no more are missing.

        Rows whose ids were drawn for a closed period arrive late: they are absorbed into it.

        Parameters
        ----------
        X, y : array-like, optional
            Features and targets. ``tell()`` without rows closes the period. A frame with texts or missing cells is read as
            :meth:`tell_table` reads it, with the targets as in a table.
        groups : array-like, optional
            Group of each row, where rows belong together (a person, a shop); see :meth:`Tracker.tell`.
        sample_weight : array-like, optional
            What each row counts for; see :meth:`Tracker.tell`.
        exposure : array-like, optional
            What each count or amount is a total over; see :meth:`Tracker.tell`.
        ids : sequence, optional
            Ids of the rows; a row delivered twice in a period counts once.
        annotators : sequence, optional
            Who labelled each row. Labels of one id by several people are then labels of one row, whose target is their mean, in
            one delivery or several; see :meth:`Tracker.tell`.
        final : bool, optional
            None closes the period when no rows are missing, True closes it with the rows received, False leaves it open.
        key : str, optional
            The period that the rows are meant for. Rows for a closed period are absorbed into it, and the periods since again.
        period : int, optional
            Refuse the rows unless this is the open period.
        accept_others : bool, default False
            Take rows that were not drawn for the period, which are refused where its draw is known; the ledger counts them.
        balance : bool, default False
            Weight the rows of the period, those delivered before included, so that they look like the pool they were drawn from;
            for rows that were not labelled at random. Refused where fewer than 25 % of the rows would be effective.
        delivery : str, optional
            Name of the delivery; by default a hash of its rows. A delivery counts once; with ``final=True`` a repeated one
            still closes its period.
        digest : str, optional
            Hash of what was delivered under that name; the same name with another digest is refused.
        again : bool, default False
            Count the delivery even if it was delivered before.
        source, unlabelled, other_period_rows
            Recorded in the log: where the rows are from, and how many were left out.
        who, dry_run
            See the class.

        Returns
        -------
        Receipt
        """
        validation.switch("Campaign.tell", accept_others=accept_others, balance=balance)
        validation.count("Campaign.tell", unlabelled=unlabelled, other_period_rows=other_period_rows)
        plain = groups is None and sample_weight is None and exposure is None
        if plain and not unlabelled + other_period_rows and y is not None and is_frame(X, "Campaign.tell"):
            state = self._handle.load()
            columns = frame_columns(
                X,
                y,
                ids,
                definition=state.definition,
                encoding=current_encoding(state.definition, state.encoding),
                owner="Campaign.tell",
                annotators=annotators,
            )
            if columns is not None:
                return self.tell_table(
                    columns,
                    final=final,
                    key=key,
                    delivery=delivery,
                    digest=digest,
                    again=again,
                    source=source,
                    period=period,
                    accept_others=accept_others,
                    balance=balance,
                    who=who,
                    dry_run=dry_run,
                )
        rows = Delivery(
            X=X,
            y=y,
            groups=groups,
            weights=sample_weight,
            exposure=exposure,
            ids=ids,
            name=check_key("Campaign.tell", "delivery", delivery),
            digest=check_key("Campaign.tell", "digest", digest),
            source=source,
            left_out={"unlabelled": int(unlabelled), "other_period_rows": int(other_period_rows)},
            who=who,
            accept_others=accept_others,
            annotators=annotators,
            balance=balance,
        )
        target = Target.checked(final=final, key=key, period=period, again=again)
        return self._tell(lambda _: rows, target, dry_run=dry_run)

    def tell_table(  # noqa: PLR0913  public API
        self,
        table: Any,
        *,
        final: bool | None = None,
        key: str | None = None,
        delivery: str | None = None,
        digest: str | None = None,
        again: bool = False,
        source: str = "",
        period: int | None = None,
        accept_others: bool = False,
        balance: bool = False,
        who: str = "",
        dry_run: bool = False,
    ) -> Receipt:
        """Deliver the labelled rows of a table, read as the definition says.

        Rows without a target are ignored and counted, and rows drawn for a closed period are absorbed into it; a table of such
        rows only does not close the open period.

        Parameters
        ----------
        table : frame, path, mapping of arrays, or columns as :mod:`driftpace.tables` reads them
            A pandas, polars or pyarrow frame, a file, or columns by name.
        final, key, delivery, digest, again, source, period, accept_others, balance
            As in :meth:`tell`.
        who, dry_run
            See the class.

        Returns
        -------
        Receipt
        """
        validation.switch("Campaign.tell", accept_others=accept_others, balance=balance)
        columns = read_table(table, owner="Campaign.tell", definition=self.definition, encoding=self.encoding)
        name = check_key("Campaign.tell", "delivery", delivery)
        digest = check_key("Campaign.tell", "digest", digest)
        target = Target.checked(final=final, key=key, period=period, again=again)
        return self._tell(
            lambda state: read_delivery(
                self._store,
                state,
                columns,
                name=name,
                digest=digest,
                source=source,
                who=who,
                accept_others=accept_others,
                balance=balance,
            ),
            target,
            dry_run=dry_run,
        )

    def _tell(self, read: Callable[[CampaignState], Delivery], target: Target, *, dry_run: bool) -> Receipt:
        """Deliver rows to the state that is written to, which may differ from the one that was current when called."""
        told: list[Delivery] = []

        def change(state: CampaignState, draft: Draft) -> tuple[CampaignState, Receipt]:
            told.append(read(state))
            return tell(self._store, state, draft, told[-1], target)

        with span("campaign.tell", campaign=self._name):
            receipt = self._handle.change(change, dry_run=dry_run)
        if receipt.contradictions is not None and not dry_run:
            with suppress(StorageError):  # the delivery itself is written
                self.note_refusal(f"{receipt.contradictions.sentence}.", told[-1].source, told[-1].who)
        return receipt

    def note_refusal(self, sentence: str, source: str = "", who: str = "") -> None:
        """Note a delivery that was refused, beside the log; the command line and the service do.

        Parameters
        ----------
        sentence : str
            Why it was refused.
        source : str
            Its file.
        who : str
            Who sent it.
        """
        refusal = Refusal(at=self._handle.clock(), who=who, source=source, sentence=sentence)
        self._store.add_refusal(self._name, refusal)

    def forget(self, *, reason: str, period: int | None = None, who: str = "", dry_run: bool = False) -> Order:
        """Discard the rows delivered in the open period, such as a wrong file.

        Parameters
        ----------
        reason : str
            Recorded in the log.
        period : int, optional
            Must be the open period.
        who, dry_run
            See the class.
        """
        reason = check_reason("Campaign.forget", reason)

        return self._handle.change(
            lambda state, draft: forget(state, draft, period=period, reason=reason, who=who), dry_run=dry_run
        )

    def undo(
        self,
        entry: int | None = None,
        *,
        delivery: str | None = None,
        period: int | str | None = None,
        reason: str,
        refund: bool = False,
        who: str = "",
        dry_run: bool = False,
    ) -> Undone:
        """Take back a delivery, a decision, a draw or the closing of a period; the log keeps it and its undo.

        The state becomes the one that the log leads to without what is undone: closed periods are absorbed again from the first
        that changed, with the orders that were placed, and the open order is computed again. An undo can be undone.

        Parameters
        ----------
        entry : int, optional
            Number of the log entry to undo. Give this, ``delivery`` or ``period``.
        delivery : str, optional
            Name or source of a delivery; the last one that counts.
        period : int or str, optional
            Number or key of the period closed last, which is opened again.
        reason : str
            Recorded in the log.
        refund : bool, default False
            Whether the money for the rows of a delivery comes back, because it was recorded in error. By default labels that
            were paid for stay paid.
        who, dry_run
            See the class.

        Raises
        ------
        ProtocolError
            If later entries depend on it, or the rows were not kept.

        Examples
        --------
        >>> from driftpace.storage import MemoryStore
        >>> campaign = Campaign.create({"name": "a", "epsilon": 0.1, "seed": 0}, storage=MemoryStore())
        >>> order = campaign.ask()
        >>> receipt = campaign.tell([[1.0], [2.0]], [1.0, 2.5], delivery="monday")
        >>> undone = campaign.undo(delivery="monday", reason="wrong week")
        >>> undone.rows, undone.order.received
        (2, 0)
        """
        validation.switch("Campaign.undo", refund=refund)
        why = check_reason("Campaign.undo", reason)
        target = UndoTarget(entry=entry, delivery=delivery, period=period, refund=refund)
        return self._handle.change(
            lambda state, draft: undo(self._store, state, draft, target, reason=why, who=who), dry_run=dry_run
        )

    def release(self, *, reason: str, who: str = "", dry_run: bool = False) -> Undone:
        """Release the rows drawn for labelling in the open period, such as those of a wrong pool; labels that arrived stay.

        Parameters
        ----------
        reason : str
            Recorded in the log.
        who, dry_run
            See the class.
        """
        why = check_reason("Campaign.release", reason)
        return self._handle.change(
            lambda state, draft: undo(self._store, state, draft, UndoTarget(draws=True), reason=why, who=who),
            dry_run=dry_run,
        )

    def override(
        self, samples: int, *, reason: str, period: int | None = None, who: str = "", dry_run: bool = False
    ) -> Order:
        """Replace the number of rows of the open order; the override applies until the period is closed.

        Parameters
        ----------
        samples : int
            Rows of the whole period.
        reason : str
            Recorded in the log.
        period : int, optional
            Must be the open period.
        who, dry_run
            See the class.

        Returns
        -------
        Order
            With the expected excess loss for that number of rows.
        """
        validation.count("Campaign.override", samples=samples)
        body = {"samples": int(samples), "reason": check_reason("Campaign.override", reason), "who": who}
        return self._decide("overridden", body, period, dry_run)

    def approve(self, *, reason: str = "", period: int | None = None, who: str = "", dry_run: bool = False) -> Order:
        """Approve the open order as the tracker computed it; an override is withdrawn. Parameters as in :meth:`override`."""
        body = {"samples": None, "reason": check_text("Campaign.approve", "reason", reason), "who": who}
        return self._decide("approved", body, period, dry_run)

    def erase(
        self,
        ids: Sequence[Any] | None = None,
        *,
        before: int | str | None = None,
        older_than: int | None = None,
        reason: str,
        who: str = "",
        dry_run: bool = False,
    ) -> Erasure:
        """Erase the content of stored rows: those of persons by their ids, or all rows of old periods. It cannot be undone.

        The log keeps the salted hash of each row and stays verifiable; the model and what was computed stay as they are, except
        that a base model is not trained again on rows of the periods concerned. Periods up to the last one that lost rows cannot
        be absorbed again: late rows for them do not count, and what happened in them cannot be undone. Notes of refused
        deliveries are deleted. Backups, exports and models made before still have what they had.

        Parameters
        ----------
        ids : sequence, optional
            Ids of rows. Give this, ``before`` or ``older_than``.
        before : int or str, optional
            Number or key of a period: all rows of earlier ones are erased.
        older_than : int, optional
            Days: all rows of periods closed longer ago are erased.
        reason : str
            Recorded in the log, without the ids; must not name a person.
        who, dry_run
            See the class.

        Raises
        ------
        ProtocolError
            If a row was delivered in the open period.

        Examples
        --------
        >>> from driftpace.storage import MemoryStore
        >>> campaign = Campaign.create({"name": "a", "epsilon": 0.1, "seed": 0}, storage=MemoryStore())
        >>> order = campaign.ask()
        >>> receipt = campaign.tell([[1.0], [2.0]], [1.0, 2.5], ids=["ada", "bob"], final=True)
        >>> erasure = campaign.erase(["ada"], reason="request of 19 November")
        >>> erasure.rows, erasure.periods, campaign.erase(["ada"], reason="again").rows
        (1, (1,), 0)
        """
        why = check_reason("Campaign.erase", reason)
        target = ErasureTarget.checked(ids, before, older_than)
        erasure = self._handle.change(
            lambda state, draft: erase(self._store, state, draft, target, reason=why, who=who),
            dry_run=dry_run,
            archived=True,
        )
        return erasure if dry_run or erasure.entry is None else replace(erasure, purged=self._store.purge())

    def archive(self, *, reason: str = "", who: str = "", dry_run: bool = False) -> Status:
        """Archive the campaign: it can be read and its rows erased, all other changes are refused, and lists leave it out.

        Parameters
        ----------
        reason : str
            Recorded in the log.
        who, dry_run
            See the class.
        """
        return self._archive(True, "Campaign.archive", reason, who, dry_run)

    def unarchive(self, *, reason: str = "", who: str = "", dry_run: bool = False) -> Status:
        """Open an archived campaign again, as it was. Parameters as in :meth:`archive`."""
        return self._archive(False, "Campaign.unarchive", reason, who, dry_run)

    def _archive(self, archived: bool, owner: str, reason: str, who: str, dry_run: bool) -> Status:
        why = check_text(owner, "reason", reason)

        def decide(state: CampaignState, draft: Draft) -> tuple[CampaignState, Status]:
            state = archive(state, draft, period=state.state.period, archived=archived, reason=why, who=who)
            return state, self._status_after(state, draft) if draft.entries else self.status()

        return self._handle.change(decide, dry_run=dry_run, archived=True)

    def _decide(self, kind: str, decision: dict[str, Any], period: int | None, dry_run: bool) -> Order:
        return self._handle.change(lambda state, draft: decide(state, draft, kind, decision, period), dry_run=dry_run)

    def add_money(
        self, money: Any, *, reason: str, periods: int = 0, who: str = "", dry_run: bool = False, **prices: Any
    ) -> Status:
        """Add money to the budget; the order of an open period is computed again.

        Parameters
        ----------
        money : number, str or Decimal
            The amount.
        reason : str
            Recorded in the log.
        periods : int, default 0
            Added to the horizon. A campaign without a budget gets one for that many periods, the open one included.
        **prices
            New prices from now on: ``fixed``, ``per_sample``, ``tiers``, ``minimum``, ``currency``.
        who, dry_run
            See the class.
        """
        validation.count("Campaign.add_money", periods=periods)
        why = check_reason("Campaign.add_money", reason)

        def decide(state: CampaignState, draft: Draft) -> tuple[CampaignState, Status]:
            state = fund(state, draft, money, periods=int(periods), prices=prices, reason=why, who=who)
            return state, self._status_after(state, draft)

        return self._handle.change(decide, dry_run=dry_run)

    def retrain(self, model: Any = None, *, reason: str, who: str = "", dry_run: bool = False) -> Status:
        """Train the base again on the rows that were bought, or replace it, for a head that then begins anew.

        No label is bought for it, and an open order without rows is computed again. The store keeps the new base beside the
        earlier ones, so that it can be undone.

        Parameters
        ----------
        model : model or path, optional
            A model that was trained elsewhere, on rows that will not be delivered again, in place of one that is trained here.
        reason : str
            Recorded in the log.
        who, dry_run
            See the class.

        Raises
        ------
        ProtocolError
            If the campaign has no model, rows of the open period were delivered, or there are too few to train on.
        """
        owner = "Campaign.retrain"
        why = check_reason(owner, reason)
        given = None if model is None else adapter_of(model, owner=owner)

        def decide(state: CampaignState, draft: Draft) -> tuple[CampaignState, Status]:
            state = retrain(state, draft, given, reason=why, who=who)
            return state, self._status_after(state, draft)

        return self._handle.change(decide, dry_run=dry_run)

    def amend(
        self,
        *,
        unknown_categories: Mapping[str, str] | None = None,
        new_classes: Sequence[str] = (),
        reason: str,
        who: str = "",
        dry_run: bool = False,
    ) -> Status:
        """Map categories that the definition does not list, or add classes of the target that have appeared.

        By default categories that are not listed count as ``other``, or as the reference category. Earlier deliveries and the open
        order do not change. If the mapping is already in effect, nothing is written.

        Parameters
        ----------
        unknown_categories : mapping of str to str, optional
            For each column the listed category that unknown ones count as, such as ``{"city": "Milan"}``.
        new_classes : sequence of str, default ()
            Classes to add to those of the definition, where the loss is one for several; they cannot be removed.
        reason : str
            Recorded in the log.
        who, dry_run
            See the class.
        """
        why = check_reason("Campaign.amend", reason)

        def decide(state: CampaignState, draft: Draft) -> tuple[CampaignState, Status]:
            state = amend(state, draft, unknown_categories or {}, new_classes, reason=why, who=who)
            if not draft.entries:
                return state, self.status()
            return state, self._status_after(state, draft)

        return self._handle.change(decide, dry_run=dry_run)

    def _status_after(self, state: CampaignState, draft: Draft) -> Status:
        lateness = lateness_of(self._store, state)
        return status(replace(state, seq=draft.next_seq - 1), updated_at=draft.at, lateness=lateness)

    def sample(
        self,
        pool: Any,
        *,
        order: Order | None = None,
        strata: str | None = None,
        choose: str = "uniform",
        replace: bool = False,
        source: str = "",
        who: str = "",
        dry_run: bool = False,
    ) -> Sample:
        """Draw the rows to label from a pool and record them in the log, so that none is drawn twice in a period.

        Rows that ``tell`` would refuse are not drawn. If all rows of the order are drawn, those without a label are returned again.

        Parameters
        ----------
        pool : frame, path, mapping of arrays, or columns as :mod:`driftpace.tables` reads them
            The rows to draw from.
        order : Order, optional
            The order to draw for: the open one, or in a dry run that of the next period.
        strata : str, optional
            Draw in proportion to the values of this column.
        choose : {"uniform", "stratified", "informative"}
            Draw all rows alike, in proportion to their predictions, or those more often that tell more about the model; see
            :meth:`Tracker.choose`. The weights of informative rows are recorded with the draw, and count when labels arrive.
        replace : bool
            Draw other rows for those drawn before that are still without a label.
        source : str
            A name of the pool, for the log and for messages.
        who, dry_run
            See the class.

        Examples
        --------
        >>> from driftpace.storage import MemoryStore
        >>> definition = {"name": "prices", "target": "price", "features": ["area"], "epsilon": 0.1, "seed": 0}
        >>> campaign = Campaign.create(definition, storage=MemoryStore())
        >>> order = campaign.ask()
        >>> sample = campaign.sample({"area": list(range(100))})
        >>> len(sample), sample.new, len(campaign.sample({"area": list(range(100))}).rows()["area"])
        (6, 6, 6)
        """
        draw = partial(self._sample, pool, order, source, who, dry_run, strata=strata, choose=choose, replace=replace)
        for _ in range(DRAW_ATTEMPTS - 1):
            with suppress(ConflictError):  # the rows of a concurrent writer are in the log now: draw again
                return draw()
        return draw()

    def _sample(self, pool: Any, order: Order | None, source: str, who: str, dry_run: bool, **options: Any) -> Sample:
        state = self._handle.load()
        order = open_order(state, "sample") if order is None else order
        sample = draw_sample(self._store, state, order, pool, source=source, **options)
        if sample.new and not dry_run:
            draw = Draw(
                ids=sample.ids,
                before=find_shortfall(self._store, state, order).drawn,
                source=source,
                pool_rows=sample.eligible,
                who=who,
                weights=None if sample.weights is None else sample.weights.tolist(),
                profile=profile_of(state, sample),
                dayfirst=day_order_of(state, sample),
            )
            self._record_draw(draw, period=order.period, dry_run=False)
        return sample

    def record_draw(
        self,
        ids: Sequence[str],
        *,
        period: int | None = None,
        before: Sequence[str] | None = None,
        source: str = "",
        pool_rows: int = 0,
        weights: Any = None,
        who: str = "",
        dry_run: bool = False,
    ) -> None:
        """Record which rows were drawn for labelling by your own procedure, so that they are not drawn twice.

        Parameters
        ----------
        ids : sequence of str
            Ids of the rows.
        period : int, optional
            Must be the open period.
        before : sequence of str, optional
            What :meth:`drawn` returned when the rows were chosen.
        source, pool_rows
            Recorded in the log: the pool and its size.
        weights : array-like, optional
            What each row counts for when its label arrives, such as one over the probability that it was drawn.
        who, dry_run
            See the class.

        Raises
        ------
        ConflictError
            If other rows were drawn since ``before``.
        """
        owner = "Campaign.record_draw"
        values = None if weights is None else read_weights(weights, owner=owner, rows=len(ids), name="weights").tolist()
        drawn = Draw(ids=ids, before=before, source=source, pool_rows=pool_rows, who=who, weights=values)
        self._record_draw(drawn, period=period, dry_run=dry_run)

    def _record_draw(self, draw: Draw, *, period: int | None, dry_run: bool) -> None:
        self._handle.change(
            lambda state, draft: (record_draw(self._store, state, draft, draw, period=period), None), dry_run=dry_run
        )

    def __repr__(self) -> str:
        return f"Campaign({self._name!r}, storage={self._store.url!r})"


def _tracker_and_values(
    what: Any, *, name: str | None, keep_rows: bool | None, **parts: Any
) -> tuple[Tracker | None, dict[str, Any]]:
    """Return the tracker that a campaign begins with, if it is given, and the values of its definition."""
    tracker = what if isinstance(what, Tracker) else None
    if tracker is None and not isinstance(what, Definition | dict):
        raise ParameterError(
            f"must be a definition or a tracker; got {what!r:.80}.", owner="Campaign.create", name="what"
        )
    given = next((part for part, value in parts.items() if value is not None), None)
    if tracker is not None and given is not None:
        raise ParameterError("must be None with a tracker; got one.", owner="Campaign.create", name=given)
    values = what.to_values() if isinstance(what, Definition) else {} if tracker is not None else dict(what)
    settings = {"name": name, "keep_rows": keep_rows}
    return tracker, values | {key: value for key, value in settings.items() if value is not None}
