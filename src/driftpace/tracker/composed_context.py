"""What the composed method knows of a period: its constants, the context of the rule, the outlook and the watch on its columns."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from driftpace.bounds import Factors, Nature, RiskBound
from driftpace.constants import ConstantsEstimator, dependent_columns
from driftpace.drift import DriftEstimator
from driftpace.errors import CollinearColumnsError, ParameterError, TooEarlyError, UnknownConstantError
from driftpace.learners import Learner
from driftpace.planning import Outlook
from driftpace.records import Constants, Estimate
from driftpace.rules import Rule, RuleContext
from driftpace.tracker.state import MethodState, ModelSpec
from driftpace.typing import FloatArray, IntArray

ROWS_PER_COLUMN = 10
"""Rows for each column from which columns are called dependent: fewer rows than columns, or a column that is constant in a few
rows, are common."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ComposedConfig:
    """A learner with its bound, an estimate of the drift and a rule.

    ``constants`` are those the user gave; ``constants_estimator`` estimates the rest. ``budgeted`` says whether a budget decides
    how many rows a period has.
    """

    spec: ModelSpec
    epsilon: float
    learner: Learner
    drift: DriftEstimator
    rule: Rule
    constants_estimator: ConstantsEstimator
    constants: Constants
    budgeted: bool = False


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ComposedState(MethodState):
    """The states of the rule, the drift estimate and the constants, and what follows from them.

    ``constants`` are those known after the last period, given or estimated, kept so that asking does not compute them again.
    ``gram`` sums x x' over all rows until the columns are known to be linearly independent, then it is dropped. ``first_rows``
    is True while the first period that has rows is being closed. ``idle_distance`` is how far the model was proven to be from
    the minimiser of the last period, where that had no rows.
    """

    rule: Any = None
    gradient: FloatArray | None = None
    drift: Any = None
    constants_state: Any = None
    constants: Constants | None = None
    gram: FloatArray | None = None
    first_rows: bool = False
    idle_distance: float | None = None


def context_of(config: ComposedConfig, state: ComposedState) -> RuleContext:
    """Return the context of the rule: the bound with the constants as known, the drift, and what limits distances.

    A diameter that the user gave, by the set or as a constant, limits every distance. An estimated one says only where the
    minimiser of the first rows was.
    """
    constants = constants_of(config, state)
    diameter = constants.diameter
    given = diameter is not None and diameter.is_given
    first_rows = state.first_rows and not given
    return RuleContext(
        period=state.period,
        epsilon=config.epsilon,
        bound=_bound(config, state, constants),
        m=constants.m.lower if constants.m is not None else 0.0,
        drift=None if state.drift is None else config.drift.estimate(state.drift),
        diameter=diameter.value if diameter is not None and given else math.inf,
        first_distance=diameter.upper if diameter is not None and first_rows else math.inf,
        cap=config.spec.cap,
    )


def constants_of(config: ComposedConfig, state: ComposedState) -> Constants:
    """Return the constants as far as they are known."""
    return with_settled(config, config.constants if state.constants is None else state.constants)


def with_settled(config: ComposedConfig, constants: Constants) -> Constants:
    """Return constants with those that follow from the model: the diameter of the set, and what a penalty gives to any rows."""
    if math.isfinite(config.spec.domain.diameter):
        constants = replace(constants, diameter=Estimate.given(config.spec.domain.diameter))
    objective = config.spec.objective
    if objective.l2 > 0.0 and objective.unpenalised == 0:
        constants = replace(constants, m_rows=Estimate.given(objective.l2))
    return constants


def _bound(config: ComposedConfig, state: ComposedState, constants: Constants) -> RiskBound | None:
    """Return what the learner promises, or None while a constant it needs is unknown or the curvature is not yet seen."""
    if state.features is None or constants.m is None or constants.m.lower <= 0.0:
        return None
    try:
        return config.learner.bound(constants, config.spec.dimension(state.features))
    except UnknownConstantError:
        return None


def outlook_of(config: ComposedConfig, state: ComposedState, context: RuleContext) -> Outlook:
    """Return the outlook: the bound, the drift at its upper end, and the start that is proven."""
    if context.bound is None:
        raise TooEarlyError("the constants of the problem are not known yet")
    if context.drift is None:
        raise TooEarlyError("the drift is not estimated yet")
    start = proven_distance(config, state, context)
    if not math.isfinite(start):
        raise TooEarlyError("nothing limits yet how far the model is (a set of finite diameter would)")
    share = config.drift.held_out
    by_risk = getattr(config.rule, "track", "risk") == "risk" or not math.isfinite(context.bound.reach(1.0))
    return _outlook_away(
        context.bound if share == 0.0 else HeldOutBound(bound=context.bound, share=share),
        rho=context.drift.upper,
        start=start,
        diameter=context.diameter,
        m=context.m if by_risk else None,
    )


def _outlook_away(bound: RiskBound, *, rho: float, start: float, diameter: float, m: float | None) -> Outlook:
    """Return the outlook in which every step is straight away from the model; the reason, where a bound allows none."""
    try:
        return Outlook(bound=bound, rho=rho, start=min(start, diameter), diameter=diameter, m=m)
    except ParameterError as error:
        raise TooEarlyError(f"this learner's bound does not allow it ({error})") from None


def proven_distance(config: ComposedConfig, state: ComposedState, context: RuleContext) -> float:
    """Return how far the last model may be from this period's minimiser.

    With a budget periods may pass without rows though the target is missed. The model did not move then, so besides what the rule
    proves by its risk, its distance of the last period plus one step holds too, without the loss of M/m at every step (theory S1).
    """
    start = config.rule.start(state.rule, context)
    drift = context.drift
    if not config.budgeted or state.idle_distance is None or drift is None or drift.measures != "rho":
        return start
    return min(start, state.idle_distance + drift.upper)


def watch_columns(config: ComposedConfig, state: ComposedState, X: FloatArray) -> FloatArray | None:
    """Return the watched sum after more rows, None once the columns are independent; else CollinearColumnsError."""
    if state.gram is None:
        return None
    gram = state.gram + X.T @ X
    dependent = dependent_columns(gram)
    if not dependent:
        return None
    rows = state.rows_seen + len(X)
    if rows >= ROWS_PER_COLUMN * len(gram):
        names = " and ".join(_column_name(config, state, column) for column in dependent)
        raise CollinearColumnsError(
            f"must have linearly independent columns when l2=0; over the {rows} rows seen, {names} "
            "are collinear: drop one, or set l2 above 0.",
            owner="Tracker.tell",
            name="X",
            columns=tuple(int(column) for column in dependent),
            rows=rows,
        )
    return gram


def _column_name(config: ComposedConfig, state: ComposedState, column: int) -> str:
    if config.spec.fit_intercept and column == state.features:
        return "the intercept"
    return f"column {state.columns[column]!r}" if state.columns else f"column {column}"


def rows_for(held_out: float, training: int) -> int:
    """Return how many rows to bring so that ``training`` are left when the held-out share is taken off."""
    total = math.ceil(training / (1.0 - held_out))
    while total - int(held_out * total) < training:
        total += 1
    return total


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldOutBound:
    """A bound in terms of all rows of a period where a ``share`` of them is kept apart from training.

    >>> from driftpace.bounds import OrdinaryLeastSquares
    >>> bound = HeldOutBound(bound=OrdinaryLeastSquares(noise=0.5, features=2), share=0.25)
    >>> bound(1.4, 10), bound.smallest(1.4, 0.1, cap=100)  # 8 of 10 rows train
    (0.1, 10)
    """

    bound: RiskBound
    share: float

    @property
    def name(self) -> str:
        """That of the bound."""
        return self.bound.name

    @property
    def nature(self) -> Nature:
        """That of the bound."""
        return self.bound.nature

    @property
    def rate(self) -> float:
        """That of the bound."""
        return self.bound.rate

    @property
    def conditions(self) -> tuple[str, ...]:
        """Those of the bound, and the share."""
        return (*self.bound.conditions, f"a share of {self.share:.3g} of the rows is held out")

    @property
    def concave(self) -> bool:
        """Whether the bound is concave in the squared distance."""
        return getattr(self.bound, "concave", False) is True

    def training(self, samples: int) -> int:
        """Return how many rows are left to train on."""
        return samples - int(self.share * samples)

    def __call__(self, distance: float, samples: int) -> float:
        """Return what is promised when so many rows come."""
        return self.bound(distance, self.training(samples))

    def factors(self, samples: int) -> Factors | None:
        """Return those of the rows that train."""
        return self.bound.factors(self.training(samples))

    def rows(self, training: int) -> int:
        """Return the fewest rows that leave so many to train on."""
        rows = rows_for(self.share, training)
        while rows > 0 and self.training(rows - 1) >= training:
            rows -= 1
        return rows

    def used(self, distance: float, samples: int) -> int:
        """Return how many rows must come for what is promised."""
        return self.rows(self.bound.used(distance, self.training(samples)))

    def reach(self, risk: float) -> float:
        """Return that of the bound."""
        return self.bound.reach(risk)

    def smallest(self, distance: float, epsilon: float, cap: int) -> int | None:
        """Return the least number of rows that meets a target."""
        training = self.bound.smallest(distance, epsilon, self.training(cap))
        return None if training is None else self.rows(training)

    def table(self, distances: FloatArray, samples: IntArray) -> FloatArray:
        """Return the bound from each distance (a row) after each number of samples (a column)."""
        training = samples - (self.share * samples).astype(np.int64)
        table = getattr(self.bound, "table", None)
        if table is not None:
            return np.asarray(table(distances, training), dtype=np.float64)
        return np.array([[self.bound(float(d), int(count)) for count in training] for d in distances])
