"""Do not update past excess risk bounds (section II-E2 of the paper)."""

from dataclasses import dataclass

from driftpace import require
from driftpace.rules.deciding import Last, decide, next_risk
from driftpace.rules.distance import Track
from driftpace.rules.protocol import Decision, Terms


@dataclass(frozen=True, kw_only=True, slots=True)
class DoNotUpdate:
    """K_n = min{K : b(sqrt(2 eps/m) + rho_upper, K) <= eps}: size as if the last model just met the target.

    The printed formula passes a squared distance to b; the distance is meant (theory I1). ``first_samples`` fixes the sizes
    of the first periods (K_1, K_2 in the paper); without it they are sized from the diameter. Zero samples is chosen when
    the last model still meets the target (theory I22). ``track`` is how a risk becomes a distance: "risk" as in the paper,
    "distance" without its loss of M/m (theory S1).

    >>> DoNotUpdate(first_samples=(50, 50)).init()
    Last(risk=None, skipped=0)
    """

    first_samples: tuple[int, ...] = ()
    track: Track = "risk"

    def __post_init__(self) -> None:
        require.choice("DoNotUpdate", ("risk", "distance"), track=self.track)
        for samples in self.first_samples:
            require.count("DoNotUpdate", least=1, first_samples=samples)

    def init(self) -> Last:
        """Return the state before the first period."""
        return Last()

    def size(self, state: Last, terms: Terms) -> Decision:
        """Return how many samples this period needs."""
        return decide(terms, state, first_samples=self.first_samples, assumed_risk=terms.epsilon, track=self.track)

    def close(self, state: Last, terms: Terms, samples: int) -> tuple[Last, float]:
        """Return the state after the period, and the risk now promised: eps_n from eps_{n-1} as it was, not revised."""
        risk = next_risk(terms, state, samples, period=terms.period, track=self.track)
        return Last(risk=risk, skipped=state.skipped + 1 if samples == 0 else 0), risk
