"""What a tracker is made of and what it remembers, both frozen: the engine maps one state to the next."""

from dataclasses import dataclass
from typing import Any

from driftpace.drift import DriftEstimator
from driftpace.evidence import Evidence
from driftpace.learners import Learner
from driftpace.losses import Loss
from driftpace.records import Constants, Outcome
from driftpace.rules import Rule
from driftpace.sets import Set
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Settings:
    """The parts of a tracker, and the numbers only its user can know.

    ``constants`` are those the user gave; ``evidence`` estimates the rest. ``start`` is the model before the first period,
    by default the point of the set nearest to zero. ``entropy`` seeds the order in which rows are visited: period n uses the
    stream (entropy, n), so a replay gives the same bits.
    """

    loss: Loss
    epsilon: float
    learner: Learner
    drift: DriftEstimator
    rule: Rule
    evidence: Evidence
    constants: Constants
    domain: Set
    fit_intercept: bool
    features: int | None
    start: FloatArray | None
    cap: int
    pool: int | None
    entropy: int

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
    say. ``risk`` is what they promise.
    """

    total: int
    theory: int
    pool: int | None
    risk: float
    interval: tuple[int, int]
    outcome: Outcome
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Part:
    """Rows of the period that were told and are not fitted yet; ``y`` is encoded."""

    X: FloatArray
    y: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class State:
    """Everything a tracker remembers between calls; its size does not grow with the number of periods.

    ``constants`` are those known after the last period, given or estimated, kept so that asking does not compute them anew.
    ``features`` and what depends on it are None until the first rows tell the number of columns. ``gram`` sums x x' over
    everything seen until the columns are known to be linearly independent, then it is dropped. ``first_rows`` is True while
    the first period that has rows is being closed.
    """

    period: int
    rule: Any
    features: int | None = None
    columns: tuple[str, ...] | None = None
    coef: FloatArray | None = None
    gradient: FloatArray | None = None
    drift: Any = None
    evidence: Any = None
    constants: Constants | None = None
    gram: FloatArray | None = None
    rows_seen: int = 0
    first_rows: bool = False
    order: Order | None = None
    parts: tuple[Part, ...] = ()

    @property
    def gathered(self) -> int:
        """The rows told so far in this period."""
        return sum(len(part.y) for part in self.parts)
