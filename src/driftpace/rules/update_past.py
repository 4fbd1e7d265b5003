"""Update past excess risk bounds (section II-E1 of the paper)."""

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from driftpace import validation
from driftpace.bounds import Factors, RiskBound
from driftpace.rules.decision import Track, decide, is_blind, proven_start, risk_at
from driftpace.rules.protocol import RuleContext, RuleDecision, TrainedPeriod


@dataclass(frozen=True, kw_only=True, slots=True)
class Past:
    """State: the last periods, oldest first; the number of periods before them, and the risk promised for the last of those."""

    periods: tuple[TrainedPeriod, ...] = ()
    forgotten: int = 0
    risk: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class UpdatePast:
    """Revise every past risk bound with the newest drift, then size: eps_i = b(sqrt(2 eps_{i-1}/m) + rho_upper, K_i).

    K_n = min{K : b(sqrt(2 max(eps_{n-1}, eps)/m) + rho_upper, K) <= eps}, with eps_{n-1} revised by the newest drift (theory
    I1, I19). A fit that was tuned to the distance it then relied on (greedy steps, an anchor) is revised as what it was.

    The revision goes back at most ``window`` periods, so that its cost does not grow with n: the period before them starts
    from the diameter, which is always true, and the recursion forgets its start geometrically fast. (Without a diameter it
    starts from the risk promised when it was forgotten.) With no more than ``window`` periods it is exactly the paper's.

    >>> UpdatePast(first_samples=(50, 50)).init()
    Past(periods=(), forgotten=0, risk=None)
    """

    first_samples: tuple[int, ...] = ()
    track: Track = "risk"
    window: int = 256

    def __post_init__(self) -> None:
        validation.choice("UpdatePast", ("risk", "distance"), track=self.track)
        validation.count("UpdatePast", least=2, window=self.window)
        object.__setattr__(
            self, "first_samples", validation.counts("UpdatePast", least=1, first_samples=self.first_samples)
        )

    def init(self) -> Past:
        """Return the state before the first period."""
        return Past()

    def size(self, state: Past, terms: RuleContext) -> RuleDecision:
        """Return how many samples this period needs."""
        risk = self.revised(state, terms)
        assumed = terms.epsilon if risk is None else max(risk, terms.epsilon)
        return decide(terms, risk, first_samples=self.first_samples, assumed_risk=assumed, track=self.track)

    def start(self, state: Past, terms: RuleContext) -> float:
        """Return how far the last model may be from this period's minimiser, past bounds revised."""
        return proven_start(terms, self.revised(state, terms), period=terms.period, track=self.track)

    def close(self, state: Past, terms: RuleContext, trained: TrainedPeriod) -> tuple[Past, float]:
        """Return the state after the period, and the risk now promised."""
        risk = math.inf if terms.bound is None else risk_at(terms.bound, trained.distance, trained.samples)
        periods = (*state.periods, trained)
        if len(periods) <= self.window:
            return Past(periods=periods, forgotten=state.forgotten, risk=state.risk), risk
        oldest = Past(periods=periods[:1], forgotten=state.forgotten, risk=state.risk)
        return Past(periods=periods[1:], forgotten=state.forgotten + 1, risk=self.revised(oldest, terms)), risk

    def revised(self, state: Past, terms: RuleContext) -> float | None:
        """Return the risk of the last model in ``state``, revised by the drift in ``terms``; None when there is none."""
        if terms.bound is None:
            return None
        risk = state.risk
        if risk is not None and math.isfinite(terms.diameter):
            risk = risk_at(terms.bound, terms.diameter, 0)
        factors = _Factors(terms.bound)
        for index, trained in enumerate(state.periods):
            period = state.forgotten + index + 1
            blind = is_blind(terms.drift, period)
            distance = trained.distance if blind else proven_start(terms, risk, period=period, track=self.track)
            risk = factors.risk(trained, distance)
        return risk


@runtime_checkable
class _Tunable(Protocol):
    """A bound of a learner that is tuned to a distance, and knows what that costs from another."""

    def tuned_factors(self, tuned: float, samples: int) -> Factors | None:
        """Return alpha, beta of a fit on ``samples`` that was tuned to the distance ``tuned``."""
        ...


class _Factors:
    """The risk of a fit from a distance it need not have known, with the factors of equal fits looked up once."""

    def __init__(self, bound: RiskBound) -> None:
        self._bound = bound
        self._tunable = bound if isinstance(bound, _Tunable) else None
        self._found: dict[tuple[float, int], Factors | None] = {}

    def risk(self, trained: TrainedPeriod, distance: float) -> float:
        """Return b for the samples that were used from ``distance``, as the fit was tuned."""
        if trained.used == 0 or not math.isfinite(distance):
            return risk_at(self._bound, distance, trained.used)
        if self._tunable is not None and not math.isfinite(trained.distance):
            return math.inf  # tuned to nothing in particular: nothing is known of it
        key = (trained.distance if self._tunable is not None else 0.0, trained.used)
        if key not in self._found:
            tunable = self._tunable
            self._found[key] = self._bound.factors(key[1]) if tunable is None else tunable.tuned_factors(*key)
        factors = self._found[key]
        if factors is None:
            return self._bound(distance, trained.used)
        return factors.alpha * distance * distance + factors.beta
