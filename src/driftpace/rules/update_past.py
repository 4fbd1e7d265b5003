"""Update past excess risk bounds (section II-E1 of the paper)."""

import math
from dataclasses import dataclass

from driftpace import require
from driftpace.bounds import Factors, RiskBound
from driftpace.rules.deciding import Last, decide, next_risk, risk_at
from driftpace.rules.distance import Track
from driftpace.rules.protocol import Decision, Terms


@dataclass(frozen=True, kw_only=True, slots=True)
class PastSizes:
    """State: the samples of the last periods, oldest first, and the number of periods before them."""

    samples: tuple[int, ...] = ()
    forgotten: int = 0


class _Remembered:
    """b(distance, samples) with the factors of each number of samples looked up once: sizes repeat from period to period.

    Where b factors (C.2) this is the less of b at all the samples and at none, which is the envelope or above it.
    """

    def __init__(self) -> None:
        self._factors: dict[int, Factors | None] = {}

    def __call__(self, bound: RiskBound, distance: float, samples: int) -> float:
        for count in (0, samples):
            if count not in self._factors:
                self._factors[count] = bound.factors(count)
        none, some = self._factors[0], self._factors[samples]
        if none is None or some is None or not math.isfinite(distance):
            return risk_at(bound, distance, samples)
        squared = distance * distance
        return min(none.alpha * squared + none.beta, some.alpha * squared + some.beta)


@dataclass(frozen=True, kw_only=True, slots=True)
class UpdatePast:
    """Revise every past risk bound with the newest drift, then size: eps_i = b(sqrt(2 eps_{i-1}/m) + rho_upper, K_i).

    K_n = min{K : b(sqrt(2 max(eps_{n-1}, eps)/m) + rho_upper, K) <= eps}, with eps_{n-1} revised by the newest drift (theory
    I1, I19). The revision goes back at most ``window`` periods, so that its cost does not grow with n: beyond them it
    starts from the diameter, which is always true, and the recursion forgets its start geometrically fast. With no more
    than ``window`` periods it is exactly the paper's.

    >>> UpdatePast(first_samples=(50, 50)).init()
    PastSizes(samples=(), forgotten=0)
    """

    first_samples: tuple[int, ...] = ()
    track: Track = "risk"
    window: int = 256

    def __post_init__(self) -> None:
        require.choice("UpdatePast", ("risk", "distance"), track=self.track)
        require.count("UpdatePast", least=2, window=self.window)
        for samples in self.first_samples:
            require.count("UpdatePast", least=1, first_samples=samples)

    def init(self) -> PastSizes:
        """Return the state before the first period."""
        return PastSizes()

    def size(self, state: PastSizes, terms: Terms) -> Decision:
        """Return how many samples this period needs."""
        last = self.revised(state, terms)
        assumed = terms.epsilon if last.risk is None else max(last.risk, terms.epsilon)
        return decide(terms, last, first_samples=self.first_samples, assumed_risk=assumed, track=self.track)

    def close(self, state: PastSizes, terms: Terms, samples: int) -> tuple[PastSizes, float]:
        """Return the state after the period, and the risk now promised, every past bound revised."""
        kept = (*state.samples, samples)
        extra = max(0, len(kept) - self.window)
        after = PastSizes(samples=kept[extra:], forgotten=state.forgotten + extra)
        risk = self.revised(after, terms).risk
        return after, float("inf") if risk is None else risk

    def revised(self, state: PastSizes, terms: Terms) -> Last:
        """Return the last model with its risk revised by the drift in ``terms``, from the oldest period kept on."""
        last, remembered = Last(), _Remembered()
        for index, samples in enumerate(state.samples):
            period = state.forgotten + index + 1
            risk = next_risk(terms, last, samples, period=period, track=self.track, risk=remembered)
            last = Last(risk=risk, skipped=last.skipped + 1 if samples == 0 else 0)
        return last
