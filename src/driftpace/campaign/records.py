"""What a campaign answers: frozen facts, which the command line prints and the service sends."""

import math
from dataclasses import dataclass
from enum import Enum

from driftpace.records import Money, Outcome, Request, StepReport, Verdict

BUY, SKIP, EXHAUSTED, FAILED = 0, 10, 20, 30
"""How a command that asks ends: rows to label, none this period, no money for those needed, an assumption that failed."""


class Stage(Enum):
    """What a campaign waits for; the value is the word that machines see."""

    ASK = "ask"
    LABELS = "labels"
    CLOSE = "close"


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """What a person decided about an order: ``samples`` rows for the whole period (as asked, where they approved), and why.

    ``asked`` is how many the tracker asked for when it was decided. ``risk_bound`` is the risk that the tracker foretells for an
    override's own number of rows, anew whenever it is asked; None where it can foretell none.
    """

    samples: int
    reason: str
    who: str
    at: str
    asked: int | None = None
    risk_bound: float | None = None


_ROUNDING = 1.0 + 1e-12  # by which a bound that meets its target may exceed it in floating point

DECIDED = ("approved", "overridden")
"""What a person may have decided about an order, by its name in it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """How many rows a period is to have, and what became of it.

    ``samples`` is the whole period, ``came`` what was told so far, ``missing`` what is still to come. ``request`` is what the
    tracker said and why; where a person decided otherwise, ``overridden`` says so and ``samples`` is theirs. ``cost`` is what the
    missing rows cost, None without a budget. ``key`` is the name the user gave the period, such as 2026-W46.
    """

    campaign: str
    period: int
    key: str | None
    samples: int
    came: int
    missing: int
    closed: bool
    request: Request
    approved: Decision | None = None
    overridden: Decision | None = None
    cost: Money | None = None

    @property
    def risk_bound(self) -> float:
        """The risk foretold for the order as it stands: for a person's number, where they decided otherwise; inf where none is."""
        if self.overridden is None:
            return self.request.risk_bound
        return math.inf if self.overridden.risk_bound is None else self.overridden.risk_bound

    @property
    def outcome(self) -> Outcome:
        """How the order comes out as it stands: a person's number promises the target, or falls short of it."""
        request = self.request
        if self.overridden is None:
            return request.outcome
        if self.risk_bound <= request.epsilon * _ROUNDING:
            return Outcome.MET if self.samples else Outcome.ENOUGH
        if not request.outcome.promised:
            return request.outcome
        return Outcome.SHORT if math.isfinite(self.risk_bound) else Outcome.PILOT

    @property
    def resolves(self) -> tuple[str, ...]:
        """The checks whose failure the order itself resolves: too few rows while more are to be labelled, too little money."""
        return ("budget", "enough rows") if self.missing > 0 else ("budget",)

    @property
    def code(self) -> int:
        """How a command that asks ends, so that a script knows what to do; there is nothing to do in a closed period.

        Few rows are no failure while the order brings more, and little money has an ending of its own.
        """
        if self.closed:
            return SKIP
        if self.missing == 0 and self.overridden is None and self.request.outcome is Outcome.BUDGET:
            return EXHAUSTED
        if any(check.verdict is Verdict.FAIL and check.name not in self.resolves for check in self.request.assumptions):
            return FAILED
        return BUY if self.missing > 0 else SKIP


@dataclass(frozen=True, kw_only=True, slots=True)
class CountedAs:
    """Rows with a word in ``column`` that the definition does not list, and that counts as ``word``.

    ``words`` is how many different ones they hold, and ``found`` the first few of them.

    >>> CountedAs(column="city", word="Milan", rows=3, words=2, found=("Bari", "Turin")).sentence
    '3 rows with another city than those listed (Bari, Turin) count as Milan'
    """

    column: str
    word: str
    rows: int
    words: int
    found: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What became of them, in words."""
        more = f" and {self.words - len(self.found):,} more" if self.words > len(self.found) else ""
        rows, count = ("row", "counts") if self.rows == 1 else ("rows", "count")
        which = f"another {self.column} than those listed ({', '.join(self.found)}{more})"
        return f"{self.rows:,} {rows} with {which} {count} as {self.word}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """What became of a delivery.

    ``rows`` were counted. Left out are those that were told before in this period (``repeated``, by their id), that had no target
    (``unlabelled``), or that were drawn for another period (``elsewhere``). ``duplicate`` is the number of the entry that brought
    the same delivery before, and then nothing was counted. ``report`` is there when the delivery closed its period, and
    ``order`` is the order as it stands after it. ``others`` are the counted rows whose words count as another one.
    """

    rows: int
    order: Order
    report: StepReport | None = None
    repeated: int = 0
    unlabelled: int = 0
    elsewhere: int = 0
    duplicate: int | None = None
    others: tuple[CountedAs, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """The model of the period before, tried on the fresh rows of this one before they were learnt from.

    ``loss`` is its mean loss without any penalty and ``error`` the standard error of that; ``accuracy`` the share of classes it
    got right, None for numbers.
    """

    rows: int
    loss: float
    error: float
    accuracy: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LedgerRow:
    """One closed period: what was promised and what was measured; ``overridden`` where a person had put their number in."""

    key: str | None
    closed_at: str
    report: StepReport
    served: Served | None = None
    overridden: Decision | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Status:
    """Where a campaign stands: what to do now in a sentence, the open order, the last report, and the money.

    Of the money, ``spent`` is what the closed periods cost, ``committed`` what the rows cost that came in the open one, and
    ``money_left`` what is left when they are paid. A plan from this period on, all of its rows included, may spend ``to_plan``.
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
