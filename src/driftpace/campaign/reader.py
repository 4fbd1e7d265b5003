"""The read-only side of a campaign: status, orders, ledger, log, plans and predictions."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np

from driftpace.campaign.definition import Definition, check_name, of_segments
from driftpace.campaign.handle import CampaignHandle, unknown_campaign
from driftpace.campaign.late import outstanding_ids, outstanding_rows
from driftpace.campaign.lateness import lateness_of
from driftpace.campaign.ledger import Ledger
from driftpace.campaign.ledger_log import read_ledger
from driftpace.campaign.method_change import answers_alike
from driftpace.campaign.orders import awaited_in, drawn_in, not_open, open_order, order_of_period, past_order
from driftpace.campaign.prediction import CampaignModel, predicted
from driftpace.campaign.records import Lateness, Order, Predicted, Status
from driftpace.campaign.replay import replay
from driftpace.campaign.sampling import Shortfall, find_shortfall
from driftpace.campaign.schema import current_encoding, encoding_for, read_table, text_columns
from driftpace.campaign.state import CampaignState, arrays_agree, fingerprint
from driftpace.campaign.status import annotators, status
from driftpace.errors import DataError, ParameterError, ProtocolError, StateFileError
from driftpace.losses import find_loss_spec, loss_spec
from driftpace.records import AnnotatorReport, Plan
from driftpace.storage import open_store
from driftpace.storage.base import Entry, Refusal, Store
from driftpace.storage.codec import METHOD
from driftpace.tables.encoding import Encoding
from driftpace.tracker import Tracker
from driftpace.tracker.head_method import HeadMethod
from driftpace.tracker.inputs import InputRows, read_rows
from driftpace.typing import FloatArray


class CampaignReader:
    """Read a campaign of a store; :class:`~driftpace.campaign.Campaign` adds the methods that change it."""

    def __init__(self, name: str, store: Store, *, clock: Callable[[], str] | None = None) -> None:
        self._name = name
        self._store = store
        self._handle = CampaignHandle(name, store, clock=clock, alike=partial(answers_alike, store, name))
        self._lateness: tuple[CampaignState, Lateness | None] | None = None

    @classmethod
    def open(cls, name: str, *, storage: Any, clock: Callable[[], str] | None = None) -> Self:
        """Open an existing campaign.

        Raises
        ------
        UnknownCampaignError
            If the store has no campaign of that name.
        """
        store = open_store(storage, create=False)
        check_name(name)
        head = store.head(name)
        if head is None:
            raise unknown_campaign(name, store)
        if head.summary.get("segments") is not None:
            raise of_segments(name, owner="Campaign.open")
        return cls(name, store, clock=clock)

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
        """The current definition."""
        return self._handle.load().definition

    @property
    def encoding(self) -> Encoding | None:
        """How columns are encoded; None before the first rows, unless the definition says it."""
        state = self._handle.load()
        return current_encoding(state.definition, state.encoding)

    @property
    def text_columns(self) -> list[str]:
        """The columns to be read as text: ids, groups, classes and categories."""
        state = self._handle.load()
        return text_columns(state.definition, current_encoding(state.definition, state.encoding))

    def order(self, key: str | None = None) -> Order:
        """Return the order of a period.

        Parameters
        ----------
        key : str, optional
            Key of the period; by default the open period, else the one closed last.

        Raises
        ------
        ProtocolError
            If there is no such period.
        """
        state = self._handle.load()
        order = state.order
        if order is None or key not in (None, order.key):
            last = state.state.period - 1
            order = order_of_period(self._store, state, last) if key is None else past_order(self._store, state, key)
        if order is None:
            raise not_open(self._store, state, key)
        return order

    def status(self) -> Status:
        """Return the current status, with the next step as a sentence."""
        head = self._store.head(self._name)
        if head is None:
            raise unknown_campaign(self._name, self._store)
        state = self._handle.load(head)
        return status(state, updated_at=head.updated_at, lateness=self._lateness_of(state))

    def drawn(self) -> tuple[str, ...]:
        """Return the ids of the rows drawn for labelling in the open period."""
        return drawn_in(self._store, self._handle.load())

    def awaited(self) -> tuple[str, ...]:
        """Return the ids of the rows drawn in the open period that are not labelled yet."""
        return awaited_in(self._store, self._handle.load())

    def refusals(self) -> list[Refusal]:
        """Return the last deliveries that were refused, the oldest first: when, who, which file, and why."""
        return self._store.refusals(self._name)

    def outstanding(self, *, first: int = 1) -> dict[int, int]:
        """Return how many rows drawn for each closed period are not labelled yet; they are absorbed when they arrive.

        Parameters
        ----------
        first : int, default 1
            Leave out the periods before this one.
        """
        return outstanding_rows(self._store, self._handle.load(), first=first)

    def outstanding_ids(self) -> frozenset[str]:
        """Return the ids of the rows drawn for closed periods that are not labelled yet."""
        return outstanding_ids(self._store, self._handle.load())

    def lateness(self) -> Lateness | None:
        """Return how late the labels of the last periods arrived, and what that costs; None where they arrived in time."""
        return self._lateness_of(self._handle.load())

    def _lateness_of(self, state: CampaignState) -> Lateness | None:
        """Return how late labels arrived, read from the log once for each state."""
        known = self._lateness
        if known is None or known[0] is not state:
            known = self._lateness = state, lateness_of(self._store, state)
        return known[1]

    def annotators(self) -> AnnotatorReport | None:
        """Return how much of the noise is the annotators', and whether a second label or another row is the better buy.

        None where the definition has no ``annotator`` and no labels had one.
        """
        state = self._handle.load()
        return annotators(state.definition.to_values(), state.label_sums)

    def shortfall(self, order: Order | None = None, *, replace: bool = False) -> Shortfall:
        """Return how many rows of an order (default: the open one) :meth:`Campaign.sample` has still to draw."""
        state = self._handle.load()
        return find_shortfall(
            self._store, state, open_order(state, "sample") if order is None else order, replace=replace
        )

    def plan(self, **options: Any) -> Plan:
        """Return a plan that starts with this period; nothing is changed.

        Parameters
        ----------
        **options
            Those of :meth:`driftpace.Tracker.plan`: cost, epsilon, budget, horizon, gap.
        """
        return self._tracker().plan(**options)

    def predict(self, X: Any) -> FloatArray:
        """Predict the target of rows with the current model.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The features, encoded as for `tell`; `predict_table` reads tables with categories.

        Returns
        -------
        numpy.ndarray of shape (n_rows,)
            Numbers for regression, -1 or 1 for two classes, the classes themselves for several.

        Raises
        ------
        ProtocolError
            If no period has been closed: there is no model yet.
        """
        state = self._require_model("predict")
        try:
            if isinstance(state.method, HeadMethod):
                scores = _head_scores(state, X, "Campaign.predict")
                spec = loss_spec(state.definition.loss)
                return np.asarray(
                    predicted(state.definition, scores).values if scores.ndim == 2 else spec.predictions(scores)
                )
            return np.asarray(self._tracker().predict(X))
        except DataError as error:
            raise error.renamed(owner="Campaign.predict") from None

    def predict_proba(self, X: Any) -> FloatArray:
        """Predict class probabilities of rows with the current model.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The features.

        Returns
        -------
        numpy.ndarray of shape (n_rows, n_classes)
            Probability of each class, in the order of the definition.

        Raises
        ------
        ProtocolError
            If no period has been closed: there is no model yet.
        ParameterError
            If the loss does not estimate probabilities.
        """
        state = self._require_model("predict_proba")
        spec = find_loss_spec(type(state.method.spec.loss))
        try:
            scores = self._scores(state, X, "Campaign.predict_proba")
        except DataError as error:
            raise error.renamed(owner="Campaign.predict_proba") from None
        if spec is not None and spec.task == "multiclass":
            each = predicted(state.definition, scores).probability
            assert each is not None
            return each
        second = None if spec is None else spec.probabilities(scores)
        if second is None:
            problem = f"must be one that estimates probabilities, such as 'logistic'; got {state.definition.loss!r}."
            raise ParameterError(problem, owner="Campaign.predict_proba", name="loss")
        return np.column_stack([1.0 - second, second])

    def predict_table(self, table: Any) -> Predicted:
        """Predict the target of the rows of a table.

        Parameters
        ----------
        table : frame, path, mapping of arrays, or columns as :mod:`driftpace.tables` reads them
            Must have the feature columns of the definition.

        Returns
        -------
        Predicted
            Values as the definition names them, scores, and probabilities where the loss estimates them.
        """
        state = self._require_model("predict_table")
        owner = "Campaign.predict"
        definition = state.definition
        columns = read_table(table, owner=owner, definition=definition, encoding=state.encoding)
        rows = encoding_for(definition, state.encoding, columns, owner=owner).encode(columns, owner=owner)
        scores = self._scores(state, InputRows(X=rows.X, columns=rows.names), owner)
        return replace(
            predicted(definition, scores), unknown_categories=rows.mapped_categories(), filled=rows.filled_cells()
        )

    def model(self) -> CampaignModel:
        """Return the current model without the labelled rows; it predicts tables, and is saved as one file.

        Raises
        ------
        ProtocolError
            If no period has been closed: there is no model yet.
        """
        return CampaignModel.of(self._require_model("model"))

    def tracker(self) -> Tracker:
        """Return a tracker in the current state, with its history; the campaign does not follow it."""
        state = self._handle.load()
        if isinstance(state.method, HeadMethod):
            raise ProtocolError("tracker() requires a campaign without a model; Tracker.for_model tracks one.")
        return self.planning_tracker()

    def planning_tracker(self) -> Tracker:
        """Return a tracker in the current state that plans; of a campaign of a model, that of its head."""
        state = self._handle.load()
        reports = [row.report for row in self.ledger()]
        return Tracker.from_snapshot(state.method, state.state, reports, classes=_learned(state.definition))

    def ledger(self) -> Ledger:
        """Return the closed periods: expected excess loss, upper bound, and measured loss of the previous model.

        Returns
        -------
        Ledger
            A tuple of rows; ``.to_frame()`` converts it to a data frame, ``.table()`` to text.
        """
        ledger = read_ledger(self._store, self._name)
        if not ledger:
            self._require_campaign()
        return ledger

    def log(self, *, after: int = 0, limit: int | None = None, kinds: Sequence[str] | None = None) -> tuple[Entry, ...]:
        """Return entries of the log in order.

        Parameters
        ----------
        after : int, default 0
            Skip entries up to this number.
        limit : int, optional
            Return at most this many.
        kinds : sequence of str, optional
            Return only these kinds, such as ``"asked"`` or ``"delivered"``.
        """
        entries = tuple(self._store.entries(self._name, after=after, limit=limit, kinds=kinds))
        if not entries:
            self._require_campaign()
        return entries

    def replay(self) -> Iterator[tuple[Entry, CampaignState]]:
        """Rebuild the state from the log, and yield each entry with the state it leads to.

        Every fit is compared with the one in the log. The last digits may differ where another machine or library wrote the log,
        and a log of another version of the method is not compared.

        Raises
        ------
        StateFileError
            If rows were not kept, or a fit leads to another state than the log says.
        """
        log = self.log()
        verified = log[0].kind == "created" and log[0].body["tracker"]["numbers"]["method"] == METHOD
        for entry, state in replay(log, self._rows_of):
            if verified and entry.kind in ("fitted", "revised") and not _leads_to(entry, state):
                raise StateFileError(f"entry {entry.seq} led to another state than its replay does.")
            yield entry, state

    def _tracker(self) -> Tracker:
        """Return a tracker without history, which plans and predictions do not need."""
        state = self._handle.load()
        return Tracker.from_snapshot(state.method, state.state, classes=_learned(state.definition))

    def _scores(self, state: CampaignState, X: Any, owner: str) -> FloatArray:
        """Return the scores of rows by the current model."""
        if isinstance(state.method, HeadMethod):
            return _head_scores(state, X, owner)
        return self._tracker().decision_function(X)

    def _require_model(self, method: str) -> CampaignState:
        state = self._handle.load()
        if state.last is None and state.definition.model is None:
            raise ProtocolError(
                f"{method}() requires a closed period; campaign {self._name!r} has no model yet. Deliver rows with tell() first."
            )
        return state

    def _require_campaign(self) -> None:
        if self._store.head(self._name) is None:
            raise unknown_campaign(self._name, self._store)

    def _rows_of(self, seq: int) -> bytes | None:
        return self._store.rows(self._name, [seq]).get(seq)


def _head_scores(state: CampaignState, X: Any, owner: str) -> FloatArray:
    """Return the scores of rows by a head and its base; before the first fit, by the base alone."""
    held = state.state
    rows = read_rows(X, owner=owner, features=held.features, columns=held.columns, missing=True)
    assert isinstance(state.method, HeadMethod)
    return state.method.scores(held, rows.X)


def _learned(definition: Definition) -> tuple[str, ...]:
    """Return the classes whose labels a tracker numbers as they appear."""
    return definition.classes if definition.task == "multiclass" and definition.classes is not None else ()


def _leads_to(entry: Entry, state: CampaignState) -> bool:
    """Return whether a fit in the log led to this state, or to its model up to rounding."""
    coef = state.state.coef
    return entry.body["sha256"] == fingerprint(state) or arrays_agree(entry.body["coef"], () if coef is None else coef)
