"""What a tracker foresees: how the risk of its model develops from the period at hand on, which plans are made from."""

import math
from dataclasses import dataclass, replace

import numpy as np

from driftpace.adaptive import AdaptiveConfig, AdaptiveState, Judgement, PeriodRows, judge, outlook_of
from driftpace.bounds import Factors, Nature, RiskBound
from driftpace.drift import KnownDrift
from driftpace.errors import ParameterError, TooEarlyError
from driftpace.planning import Outlook
from driftpace.rules import RuleContext
from driftpace.tracker.ordering import rows_for
from driftpace.tracker.practical import finite, in_pilot, placed
from driftpace.tracker.state import Parts, Settings, State
from driftpace.tracker.terms import terms_of
from driftpace.typing import FloatArray, IntArray


def outlook_now(settings: Settings, state: State) -> Outlook:
    """Return the outlook of the period at hand, before any row of it; ProtocolError while too little is known for one."""
    if not isinstance(settings.method, AdaptiveConfig):
        return outlook_of_parts(settings, state, terms_of(settings, state))
    pace, rows, judged = _look(settings, settings.method, state)
    return outlook_of(settings.method, pace, rows, judged)


def target_now(settings: Settings, state: State) -> float:
    """Return the target of the period at hand; ProtocolError while a tolerance cannot be turned into one yet."""
    method = settings.method
    if method.epsilon is not None:
        return method.epsilon
    assert isinstance(method, AdaptiveConfig)
    return _look(settings, method, state)[2].epsilon


def _look(settings: Settings, pacing: AdaptiveConfig, state: State) -> tuple[AdaptiveState, PeriodRows, Judgement]:
    """Return what a practical tracker knows before the rows of a period; of a first period, with its pilot."""
    if state.pace is not None and state.pace.banks:
        state = replace(state, parts=())
    if state.pace is None or (not state.pace.banks and in_pilot(state.pace, state.gathered)):
        raise TooEarlyError("the pilot did not come yet, which shows the noise")
    pace, rows = placed(settings, state, state.pace)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        judged = judge(pacing, pace, rows)
    if not finite(judged):
        raise TooEarlyError("the rows that came cannot be fitted")
    return pace, rows, judged


def outlook_of_parts(settings: Settings, state: State, terms: RuleContext) -> Outlook:
    """Return the outlook of a tracker made of parts: its bound, its drift at the upper end, and the start that is proven."""
    if terms.bound is None:
        raise TooEarlyError("the constants of the problem are not known yet")
    if terms.drift is None:
        raise TooEarlyError("the drift was not seen yet")
    start = proven_distance(settings, state, terms)
    if not math.isfinite(start):
        raise TooEarlyError("nothing limits yet how far the model is (a set of finite diameter would)")
    share = settings.drift.held_out
    by_risk = getattr(settings.rule, "track", "risk") == "risk" or not math.isfinite(terms.bound.reach(1.0))
    return foresee(
        terms.bound if share == 0.0 else HeldOutBound(bound=terms.bound, share=share),
        rho=terms.drift.upper,
        start=start,
        diameter=terms.diameter,
        m=terms.m if by_risk else None,
    )


def foresee(bound: RiskBound, *, rho: float, start: float, diameter: float, m: float | None) -> Outlook:
    """Return the outlook in which every step is straight away from the model; the reason, where a bound allows none."""
    try:
        return Outlook(bound=bound, rho=rho, start=min(start, diameter), diameter=diameter, m=m)
    except ParameterError as error:
        raise TooEarlyError(f"this learner's bound does not allow it ({error})") from None


def proven_distance(settings: Settings, state: State, terms: RuleContext) -> float:
    """Return how far the last model may be from this period's minimiser.

    With a budget periods may pass without rows though the target is missed. The model did not move then, so besides what the rule
    proves by its risk, its distance of the last period plus one step holds too, without the loss of M/m at every step (theory S1).
    """
    start = settings.rule.start(state.rule, terms)
    drift = terms.drift
    if settings.budget is None or state.idle_distance is None or drift is None or drift.measures != "rho":
        return start
    return min(start, state.idle_distance + drift.upper)


def needs_neighbours(settings: Settings) -> bool:
    """Whether the drift is estimated by comparing neighbouring periods, which then both must have rows."""
    if not isinstance(settings.method, Parts) or isinstance(settings.drift, KnownDrift):
        return False
    return bool(getattr(settings.drift, "measures", "rho") == "rho")


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
