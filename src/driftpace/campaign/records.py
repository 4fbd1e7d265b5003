"""Frozen records that a campaign returns: orders, receipts, status, and closed periods."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any

from driftpace.formatting import known_number, plural, rows_and_labels
from driftpace.records import AnnotatorReport, Assumption, DelayPrice, Money, Outcome, Request, StepReport, Verdict
from driftpace.tables.cell_counts import FilledCells, MappedCategories
from driftpace.tables.pool_mismatch import PoolMismatch
from driftpace.typing import FloatArray

BUY, SKIP, EXHAUSTED, FAILED = 0, 10, 20, 30
"""Exit codes of an order: rows to label, none this period, no money for the rows needed, an assumption failed."""
CHECKPOINT_VERSION = 1
"""Layout of the checkpoints of campaigns."""


class Stage(Enum):
    """What a campaign waits for; the value is its name in JSON."""

    ASK = "ask"
    LABELS = "labels"
    CLOSE = "close"


class CheckVerdict(StrEnum):
    """The result of a check of a store or a campaign."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, kw_only=True, slots=True)
class Verification:
    """The result of verifying a campaign.

    Attributes
    ----------
    verdict : CheckVerdict
        Pass, warn where something cannot be recomputed, or fail.
    sentence : str
        What was found.
    entry : int, optional
        The first log entry that does not fit.
    """

    verdict: CheckVerdict
    sentence: str
    entry: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """A person's decision about an order: an approval or an override.

    Parameters
    ----------
    samples : int
        Rows of the whole period.
    reason, who, at : str
        Why, by whom, and when (UTC).
    asked : int
        Rows that the tracker requested at that time.
    risk_bound : float, optional
        Expected excess loss for an override's number of rows, updated with every delivery; None where it cannot be predicted.
    """

    samples: int
    reason: str
    who: str
    at: str
    asked: int
    risk_bound: float | None = None


_ROUNDING = 1.0 + 1e-12  # a bound that meets its target may exceed it by this factor in floating point

DECISIONS = ("approved", "overridden")
"""The fields of an order that hold a :class:`Decision`."""


def resolved_checks(missing: int, checks: Iterable[Assumption]) -> tuple[str, ...]:
    """Return the checks whose failure an order resolves: too few rows while more are to be labelled, too little money.

    Columns may be collinear in rows that are too few: a category that one row has and a flag of the same row.
    """
    if missing == 0:
        return ("budget",)
    few = any(check.name == "enough rows" and check.verdict is not Verdict.PASS for check in checks)
    return ("budget", "enough rows", "curvature") if few else ("budget", "enough rows")


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """How many rows a period needs, and how far it is.

    Parameters
    ----------
    campaign : str
        Name of the campaign.
    period : int
        Number of the period.
    key : str, optional
        Your name of the period, such as 2026-W46.
    samples : int
        Rows of the whole period: ``received`` plus ``missing``.
    received : int
        Labelled rows delivered so far.
    missing : int
        Rows still to be labelled.
    closed : bool
        Whether the period is closed.
    request : Request
        The tracker's answer with its reason.
    approved, overridden : Decision, optional
        A person's decision; ``samples`` follows an override.
    cost : Money, optional
        Cost of the missing rows; None without a budget.
    """

    campaign: str
    period: int
    key: str | None
    samples: int
    received: int
    missing: int
    closed: bool
    request: Request
    approved: Decision | None = None
    overridden: Decision | None = None
    cost: Money | None = None

    @property
    def risk_bound(self) -> float:
        """Expected excess loss of the order as it stands, an override included; inf where it cannot be predicted."""
        if self.overridden is None:
            return self.request.risk_bound
        return math.inf if self.overridden.risk_bound is None else self.overridden.risk_bound

    @property
    def outcome(self) -> Outcome:
        """Outcome of the order as it stands, an override included."""
        request = self.request
        if self.overridden is None:
            return request.outcome
        if self.risk_bound <= request.epsilon * _ROUNDING:
            return Outcome.MET if self.samples else Outcome.ENOUGH
        if not request.outcome.promised:
            return request.outcome
        return Outcome.SHORT if math.isfinite(self.risk_bound) else Outcome.PILOT

    @property
    def unsupported(self) -> bool:
        """Whether all rows are received, and show a larger excess loss than the target."""
        return not self.closed and self.missing == 0 and self.outcome is Outcome.UNSUPPORTED

    @property
    def resolves(self) -> tuple[str, ...]:
        """The checks whose failure the order itself may resolve."""
        return resolved_checks(self.missing, self.request.assumptions)

    @property
    def failure(self) -> str | None:
        """What keeps the target from being supported: the first check that fails and that the order does not resolve."""
        failed = (check for check in self.request.assumptions if check.verdict is Verdict.FAIL)
        first = next((check for check in failed if check.name not in self.resolves), None)
        if self.closed or (first is None and not self.unsupported):
            return None
        return f"{first.name}: {first.sentence}" if first else "all rows are received, and show a larger excess loss."

    @property
    def code(self) -> int:
        """Exit code for scripts: BUY, SKIP, EXHAUSTED or FAILED.

        Too few rows are not a failure while the order requests more, and too little money has its own code. Rows that are all
        received and do not support the target are a failure.
        """
        if self.closed:
            return SKIP
        if self.missing == 0 and self.overridden is None and self.request.outcome is Outcome.BUDGET:
            return EXHAUSTED
        if self.unsupported:
            return FAILED
        if any(check.verdict is Verdict.FAIL and check.name not in self.resolves for check in self.request.assumptions):
            return FAILED
        return BUY if self.missing > 0 else SKIP


@dataclass(frozen=True, kw_only=True, slots=True)
class Revision:
    """Closed periods that were absorbed again, and what that did to the current model.

    Parameters
    ----------
    periods : tuple of int
        The periods, in order.
    risk_before, risk_after : float, optional
        Expected excess loss of the current model before and after; None where there was none.
    """

    periods: tuple[int, ...]
    risk_before: float | None
    risk_after: float | None

    @property
    def sentence(self) -> str:
        """The revision as a sentence, without a full stop."""
        first, last = self.periods[0], self.periods[-1]
        which = f"period {first}" if first == last else f"periods {first} to {last}"
        before, after = (
            known_number(risk) if risk is not None else "unknown" for risk in (self.risk_before, self.risk_after)
        )
        return f"{which} recomputed: expected excess loss of the current model {before} before, {after} now"


@dataclass(frozen=True, kw_only=True, slots=True)
class LateRows:
    """Rows that arrived after their period was closed, and were absorbed into it."""

    period: int
    key: str | None
    rows: int
    more_labels: int = 0

    @property
    def sentence(self) -> str:
        """The rows as a sentence, without a full stop."""
        name = f"period {self.period}" if self.key is None else f"period {self.period} ({self.key})"
        return f"{rows_and_labels(self.rows, self.more_labels)} for {name} arrived late"


@dataclass(frozen=True, kw_only=True, slots=True)
class Lateness:
    """How late the labels of the last periods arrived.

    Parameters
    ----------
    shares : mapping of int to float
        Share of the rows that arrived so many periods after their own; 0 is in time.
    median : int
        Median over rows; rows that are still outstanding count with the time since their period.
    outstanding : mapping of int to int
        Rows drawn for closed periods that are without a label.
    price : DelayPrice, optional
        How many times as many labels the median delay takes; None where it is 0.
    classes : tuple of float, optional
        Share of a class among labels in time and among late ones, where they differ; None otherwise.
    late_class : str
        Which class, where there are several; the second of two is not named.
    delay : int, optional
        How many periods late labels may be, as the definition says.
    delay_price : DelayPrice, optional
        How many times as many labels that takes.
    overdue : int
        Outstanding rows that are later than the delay.
    """

    shares: Mapping[int, float]
    median: int
    outstanding: Mapping[int, int]
    price: DelayPrice | None = None
    classes: tuple[float, float] | None = None
    late_class: str = ""
    delay: int | None = None
    delay_price: DelayPrice | None = None
    overdue: int = 0

    @property
    def sentence(self) -> str:
        """What the delay means, as a sentence without a full stop; "" where labels arrive in time."""
        price = self.price if self.delay_price is None else self.delay_price
        parts = (self._allowed, self._learned, "" if price is None else price.sentence)
        return "; ".join(part for part in parts if part)

    @property
    def _allowed(self) -> str:
        return "" if self.delay is None else f"labels may arrive up to {plural(self.delay, 'period')} late"

    @property
    def _learned(self) -> str:
        late = sum(share for periods, share in self.shares.items() if periods)
        if late == 0.0 or self.median == 0:
            return f"{100.0 * late:.0f} % of the labels arrive after their period was closed" if late else ""
        return f"half of the labels arrive {plural(self.median, 'period')} late or later"

    @property
    def warning(self) -> str:
        """What to look at: overdue rows, and a class that arrives later; "" where there is nothing."""
        return "; ".join(part for part in (self._overdue, self._classes) if part)

    @property
    def _overdue(self) -> str:
        if not self.overdue:
            return ""
        are = "is" if self.overdue == 1 else "are"
        return (
            f"overdue labels: {plural(self.overdue, 'row')} {are} without a label more than {plural(self.delay or 0, 'period')} "
            "after the order"
        )

    @property
    def _classes(self) -> str:
        if self.classes is None:
            return ""
        early, late = (f"{100.0 * share:.0f} %" for share in self.classes)
        which = f"class {self.late_class}" if self.late_class else "the second class"
        return (
            f"late classes: {which} has {early} of the labels in time and {late} of the late ones; while rows are "
            "outstanding the model sees too few of the later one"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolComponents:
    """What a pool has shown of the directions in which rows vary.

    Parameters
    ----------
    rows : int
        Rows of the pool that were used.
    columns : int
        Columns of encoded rows.
    components : int
        Principal components that the model follows.
    explained : float
        Their share of the variance of rows.
    """

    rows: int
    columns: int
    components: int
    explained: float

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "PoolComponents":
        """Return what a log entry says."""
        facts = body["components"]
        return cls(
            rows=facts["rows"], columns=facts["columns"], components=facts["count"], explained=facts["explained"]
        )

    @property
    def sentence(self) -> str:
        """What the pool has shown, in words.

        >>> PoolComponents(rows=4000, columns=2048, components=900, explained=0.62).sentence
        '900 components of 4,000 rows have 62 % of the variance of 2,048 columns'
        """
        return (
            f"{plural(self.components, 'component')} of {plural(self.rows, 'row')} "
            f"{'has' if self.components == 1 else 'have'} {100 * self.explained:.0f} % of the variance of "
            f"{plural(self.columns, 'column')}"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Undone:
    """The result of an undo.

    Parameters
    ----------
    entry : int
        Number of the log entry that records the undo; undoing that entry restores what was undone.
    entries : tuple of int
        Numbers of the entries that no longer count.
    kind : str
        What was undone, as the kind of its log entry, such as ``"delivered"``.
    period : int
        The period it belonged to.
    rows : int
        Rows that it had delivered or drawn.
    reopened : int, optional
        The period that is open again.
    written_off : Money, optional
        What was paid for rows that no longer count, and stays paid.
    revision : Revision, optional
        Closed periods that were absorbed again.
    order : Order, optional
        The open order afterwards.
    trained : int, optional
        Number of the entry by which the base was trained on rows that no longer count.
    """

    entry: int
    entries: tuple[int, ...]
    kind: str
    period: int
    rows: int = 0
    reopened: int | None = None
    written_off: Money | None = None
    revision: Revision | None = None
    order: Order | None = None
    trained: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Contradictions:
    """Rows that came again with another label or other cells than were counted; they do not count.

    Parameters
    ----------
    rows : int
        How many.
    examples : tuple of str
        The first cells, such as "row '7' has y 2.5, counted as 1.5"; none where rows are not kept.
    sources : tuple of str
        The deliveries that counted them.
    """

    rows: int
    examples: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """What differs, and how to correct it.

        >>> print(Contradictions(rows=1, examples=("row '7' has y 2.5, counted as 1.5",), sources=("w46.csv",)).sentence)
        1 row contradicts what was counted: row '7' has y 2.5, counted as 1.5. If it is a correction, undo the delivery 'w46.csv'
        and deliver the rows again
        """
        verb, they = ("contradicts", "it is a correction") if self.rows == 1 else ("contradict", "they are corrections")
        cells = "; ".join([*self.examples, *(["..."] if self.rows > len(self.examples) > 0 else [])])
        named = " and ".join(repr(source) for source in self.sources[:3])
        what = f"the deliver{'y' if len(self.sources) == 1 else 'ies'} {named}" if named else "their delivery"
        return (
            f"{plural(self.rows, 'row')} {verb} what was counted{': ' if cells else ''}{cells}. If {they}, undo {what} and "
            "deliver the rows again"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Erasure:
    """The result of an erasure.

    Parameters
    ----------
    entry : int, optional
        Number of the log entry that records it; None where no rows were found.
    rows : int
        Delivered rows whose content was erased, labels of further annotators included.
    drawn : int
        Ids erased from lists of drawn rows.
    entries : tuple of int
        Log entries that lost rows.
    periods : tuple of int
        Their periods.
    settled : int
        The last period that cannot be absorbed again, because rows that it needs were erased; 0 where there is none.
    missing : tuple of str
        Ids of which no row was found.
    purged : bool
        Whether nothing of the rows is left in the files of the store.
    """

    entry: int | None = None
    rows: int = 0
    drawn: int = 0
    entries: tuple[int, ...] = ()
    periods: tuple[int, ...] = ()
    settled: int = 0
    missing: tuple[str, ...] = ()
    purged: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """The result of a delivery.

    Parameters
    ----------
    rows : int
        Rows that count.
    order : Order
        The order after the delivery.
    report : StepReport, optional
        The report, if the delivery closed its period.
    repeated : int
        Rows ignored because their id was already delivered in their period.
    unlabelled : int
        Rows ignored because they have no target.
    other_period_rows : int
        Rows ignored because they were drawn for another period, or belong to one.
    other_periods : mapping of str to int
        How many of them belong to each other period, where a column of the definition says so.
    duplicate : int, optional
        Number of the log entry with the same delivery; then no row counts.
    unknown_categories : tuple of MappedCategories
        Rows that count with a category that is not listed.
    filled : tuple of FilledCells
        Missing cells of the rows that count.
    incomplete : int
        Rows ignored because a feature is missing, with ``missing="drop"``.
    without : mapping of str to int
        Rows ignored because they have no id, weight or exposure, by the column.
    others : int
        Rows that count and were not drawn for the period.
    mismatch : PoolMismatch, optional
        How the rows of the period differ from the pool they were drawn from, where they do.
    effective : float, optional
        Effective rows of the period, where its rows were balanced.
    late : tuple of LateRows
        Rows for closed periods, absorbed into them.
    revision : Revision, optional
        The periods that were absorbed again because of late rows.
    more_labels : int
        Labels that count and are of rows that have one already, where rows may have several annotators.
    features : str
        Which columns are features from now on, where these are the first rows of a campaign without ``features``.
    warnings : tuple of str
        What looks wrong in rows of the first period: a target of classes that is predicted as a number, and features that give
        the target away.
    contradictions : Contradictions, optional
        How repeated rows differ from those that were counted, where they do.
    """

    rows: int
    order: Order
    report: StepReport | None = None
    repeated: int = 0
    unlabelled: int = 0
    other_period_rows: int = 0
    other_periods: Mapping[str, int] = field(default_factory=dict)
    duplicate: int | None = None
    unknown_categories: tuple[MappedCategories, ...] = ()
    filled: tuple[FilledCells, ...] = ()
    incomplete: int = 0
    without: Mapping[str, int] = field(default_factory=dict)
    others: int = 0
    mismatch: PoolMismatch | None = None
    effective: float | None = None
    late: tuple[LateRows, ...] = ()
    revision: Revision | None = None
    more_labels: int = 0
    features: str = ""
    warnings: tuple[str, ...] = ()
    contradictions: Contradictions | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """Evaluation of the previous model on the new rows, before training on them.

    Parameters
    ----------
    rows : int
        Number of rows.
    loss, error : float
        Mean loss without penalty, and its standard error.
    accuracy : float, optional
        Share of correct classes; None for regression.
    metrics : mapping of str to float
        Other metrics of :mod:`driftpace.metrics` that the rows show, by name.
    """

    rows: int
    loss: float
    error: float
    accuracy: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class LedgerRow:
    """One closed period: the report, the evaluation of the previous model, and an override if there was one.

    ``late`` are its rows that arrived after it was closed, ``others`` those that were not drawn for it, ``mismatch`` says how
    its rows differ from their pool, ``revised`` that it was absorbed again since.
    """

    key: str | None
    closed_at: str
    report: StepReport
    served: Served | None = None
    overridden: Decision | None = None
    late: int = 0
    others: int = 0
    mismatch: PoolMismatch | None = None
    revised: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Status:
    """The current status of a campaign: what to do next, the open order, the last report, and the money.

    ``spent`` is the cost of the closed periods, ``committed`` that of the rows received in the open one, ``money_left`` what
    remains after both. A plan that starts with this period, all of its rows included, can spend ``to_plan``. ``lateness`` says
    which rows of closed periods are without a label and what their delay costs; None where labels arrive in time. ``annotators``
    says how much of the noise is theirs; None where rows have one label each. An ``archived`` campaign can only be read.
    """

    name: str
    period: int
    stage: Stage
    todo: str
    target: str
    order: Order | None
    last: StepReport | None
    rows: int
    spent: Money | None
    committed: Money | None
    money_left: Money | None
    to_plan: Money | None
    keep_rows: bool
    entries: int
    created_at: str
    updated_at: str
    lateness: Lateness | None = None
    annotators: AnnotatorReport | None = None
    archived: bool = False


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Predicted:
    """Predictions: a number for each row, or one of the classes as the definition names them.

    ``score`` is the linear score and ``probability`` that of the second class, where the loss estimates it; None elsewhere. Of
    several ``classes`` both are (rows, classes).
    ``unknown_categories`` counts rows with categories that are mapped to a listed one, ``filled`` missing cells.
    """

    values: list[Any]
    score: FloatArray
    probability: FloatArray | None
    unknown_categories: tuple[MappedCategories, ...] = ()
    filled: tuple[FilledCells, ...] = ()
    classes: tuple[str, ...] = ()

    def columns(self, target: str) -> dict[str, list[Any]]:
        """Return the predictions as columns of a table, with probabilities where the loss estimates them.

        >>> import numpy as np
        >>> Predicted(values=["yes"], score=np.array([1.1]), probability=np.array([0.75])).columns("sold")
        {'sold_predicted': ['yes'], 'sold_probability': [0.75]}
        """
        made = {f"{target}_predicted": list(self.values)}
        if self.probability is None:
            return made
        if not self.classes:
            return {**made, f"{target}_probability": self.probability.tolist()}
        shares = zip(self.classes, self.probability.T, strict=True)
        return {**made, **{f"{target}_probability_{name}": column.tolist() for name, column in shares}}
