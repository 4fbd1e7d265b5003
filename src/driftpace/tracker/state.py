"""What a tracker is made of and what it remembers, both frozen: the engine maps one state to the next."""

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from driftpace.adaptive import AdaptiveConfig, AdaptiveState, Judgement, PeriodRows
from driftpace.constants import ConstantsEstimator
from driftpace.constraints import ConstraintSet
from driftpace.drift import DriftEstimator
from driftpace.learners import Learner
from driftpace.losses import Loss
from driftpace.planning import Budget
from driftpace.records import Assumption, Constants, Outcome, Plan
from driftpace.rules import Rule
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Parts:
    """A method put together from parts: a learner with its bound, an estimate of the drift, a rule.

    ``constants`` are those the user gave; ``constants_estimator`` estimates the rest.
    """

    epsilon: float
    learner: Learner
    drift: DriftEstimator
    rule: Rule
    constants_estimator: ConstantsEstimator
    constants: Constants


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Settings:
    """How a tracker works, and the numbers only its user can know.

    ``method`` is an :class:`AdaptiveConfig` or one made of parts. ``start`` is the model before the first period,
    by default the point of the set nearest to zero. ``entropy`` seeds the order in which rows are visited: period n uses the
    stream (entropy, n), so a replay gives the same bits. ``budget`` is None where money is no object.
    """

    loss: Loss
    method: Parts | AdaptiveConfig
    domain: ConstraintSet
    fit_intercept: bool
    features: int | None
    start: FloatArray | None
    cap: int
    pool: int | None
    entropy: int
    budget: Budget | None = None

    @property
    def parts(self) -> Parts:
        """The parts, of a tracker that is made of them."""
        assert isinstance(self.method, Parts)
        return self.method

    @property
    def epsilon(self) -> float:
        """The target of a tracker made of parts."""
        return self.parts.epsilon

    @property
    def learner(self) -> Learner:
        """What fits."""
        return self.parts.learner

    @property
    def drift(self) -> DriftEstimator:
        """What estimates the drift."""
        return self.parts.drift

    @property
    def rule(self) -> Rule:
        """What sizes."""
        return self.parts.rule

    @property
    def constants_estimator(self) -> ConstantsEstimator:
        """What estimates the constants."""
        return self.parts.constants_estimator

    @property
    def constants(self) -> Constants:
        """The constants the user gave."""
        return self.parts.constants

    @property
    def objective(self) -> Loss:
        """The loss in the coordinates of the model: an intercept comes last and is not penalised."""
        return self.loss.with_unpenalised(1) if self.fit_intercept else self.loss

    def dimension(self, features: int) -> int:
        """Return the number of coefficients, the intercept included."""
        return features + (1 if self.fit_intercept else 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """What was decided for a period when it was first asked for.

    ``total`` are the rows to bring and ``theory`` those the rule asks for, before the pool and the drift estimate had their
    say. ``risk`` is what they promise. A practical tracker decides anew when rows came: ``after`` is how many had come when this
    was decided, ``batch`` the how manieth decision of the period it is, and ``asked`` how many rows were asked for in all, which
    those that came on top are no part of. ``plan`` is what a budget led to, this period first.
    """

    total: int
    theory: int
    pool: int | None
    risk: float
    interval: tuple[int, int]
    outcome: Outcome
    reason: str
    epsilon: float
    assumptions: tuple[Assumption, ...] = ()
    after: int = 0
    batch: int = 0
    asked: int = 0
    status: str | None = None
    plan: Plan | None = None

    def following(self, before: "Order | None", came: int) -> "Order":
        """Return this order behind the one ``before``: where it wants no more than came, that one says what was asked for."""
        return replace(self, asked=self.total if before is None or self.total > came else before.asked)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Part:
    """Rows of the period that were told and are not fitted yet; ``y`` is encoded."""

    X: FloatArray
    y: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Looked:
    """What a practical tracker saw of some rows: the pace with its place, the rows as it sees them, and what is known with them."""

    parts: tuple[Part, ...]
    pace: AdaptiveState
    rows: PeriodRows
    judged: Judgement


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class State:
    """Everything a tracker remembers between calls; its size does not grow with the number of periods.

    ``constants`` are those known after the last period, given or estimated, kept so that asking does not compute them anew.
    ``features`` and what depends on it are None until the first rows tell the number of columns. ``gram`` sums x x' over
    everything seen until the columns are known to be linearly independent, then it is dropped. ``first_rows`` is True while
    the first period that has rows is being closed. ``pace`` is the state of the default method, in place of
    rule, drift and constants.

    ``spent`` is what the rows of the closed periods cost, where there is a budget, and ``bought`` whether the last one had rows;
    where it had none, ``idle_distance`` is how far the model of parts was proven to be from its minimiser. ``looked`` is what was
    last seen of the open period: it follows from the rest, is kept to be seen once only, and is not saved.
    """

    period: int
    rule: Any = None
    features: int | None = None
    columns: tuple[str, ...] | None = None
    coef: FloatArray | None = None
    gradient: FloatArray | None = None
    drift: Any = None
    constants_state: Any = None
    constants: Constants | None = None
    gram: FloatArray | None = None
    rows_seen: int = 0
    first_rows: bool = False
    pace: AdaptiveState | None = None
    order: Order | None = None
    parts: tuple[Part, ...] = ()
    spent: Decimal = Decimal(0)
    bought: bool = False
    idle_distance: float | None = None
    looked: Looked | None = None

    @property
    def gathered(self) -> int:
        """The rows told so far in this period."""
        return sum(len(part.y) for part in self.parts)
