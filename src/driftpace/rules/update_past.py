"""Update past excess risk bounds (section II-E1 of the paper)."""

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from driftpace import validation
from driftpace.bounds import Factors, RiskBound
from driftpace.rules.decision import Track, decide, only_diameter_known, proven_start, risk_at
from driftpace.rules.protocol import RuleContext, RuleDecision, TrainedPeriod


@dataclass(frozen=True, kw_only=True, slots=True)
class Past:
    """State of :class:`UpdatePast`.

    Parameters
    ----------
    periods : tuple[TrainedPeriod, ...], default ()
        The last periods, oldest first.
    forgotten : int, default 0
        Number of periods before them.
    risk : float, optional
        Bound on the risk after the last of those.
    """

    periods: tuple[TrainedPeriod, ...] = ()
    forgotten: int = 0
    risk: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class UpdatePast:
    """Revise every past risk bound with the newest drift, then size the period (section II-E1 of the paper).

    eps_i = b(sqrt(2 eps_{i-1}/m) + rho_upper, K_i), and K_n = min{K : b(sqrt(2 max(eps_{n-1}, eps)/m) + rho_upper, K) <= eps} with
    eps_{n-1} revised by the newest drift (theory I1, I19). A fit tuned to the distance it then relied on (greedy steps, an
    anchor) is revised with that tuning.

    The revision goes back at most ``window`` periods, so that its cost does not grow with n: the period before them starts
    from the diameter, which is always valid, and the recursion forgets its start geometrically fast. (Without a diameter it
    starts from the risk bound at the time it was forgotten.) With at most ``window`` periods it is exactly the paper's rule.

    Parameters
    ----------
    first_samples : tuple[int, ...], default ()
        Sizes of the first periods (K_1, K_2 in the paper); without it they are sized from the diameter.
    track : {'risk', 'distance'}, default 'risk'
        How a risk becomes a distance: ``'risk'`` by strong convexity as in the paper, ``'distance'`` without its loss of
        M/m (theory S1).
    window : int, default 256
        Number of past periods that are revised.

    Examples
    --------
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

    def size(self, state: Past, context: RuleContext) -> RuleDecision:
        """Return how many samples this period needs."""
        risk = self.revised(state, context)
        assumed = context.epsilon if risk is None else max(risk, context.epsilon)
        return decide(context, risk, first_samples=self.first_samples, assumed_risk=assumed, track=self.track)

    def start(self, state: Past, context: RuleContext) -> float:
        """Return how far the last model may be from this period's minimiser, past bounds revised."""
        return proven_start(context, self.revised(state, context), period=context.period, track=self.track)

    def close(self, state: Past, context: RuleContext, trained: TrainedPeriod) -> tuple[Past, float]:
        """Return the state after the period, and the risk now promised."""
        risk = math.inf if context.bound is None else risk_at(context.bound, trained.distance, trained.samples)
        periods = (*state.periods, trained)
        if len(periods) <= self.window:
            return Past(periods=periods, forgotten=state.forgotten, risk=state.risk), risk
        oldest = Past(periods=periods[:1], forgotten=state.forgotten, risk=state.risk)
        return Past(periods=periods[1:], forgotten=state.forgotten + 1, risk=self.revised(oldest, context)), risk

    def revised(self, state: Past, context: RuleContext) -> float | None:
        """Return the risk of the last model in ``state``, revised by the drift in ``context``; None when there is none."""
        if context.bound is None:
            return None
        risk = state.risk
        if risk is not None and math.isfinite(context.diameter):
            risk = risk_at(context.bound, context.diameter, 0)
        factors = _Factors(context.bound)
        for index, trained in enumerate(state.periods):
            period = state.forgotten + index + 1
            blind = only_diameter_known(context.drift, period)
            distance = trained.distance if blind else proven_start(context, risk, period=period, track=self.track)
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
