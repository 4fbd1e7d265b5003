"""The least of several bounds."""

from dataclasses import dataclass

from driftpace.bounds.base import Factors, Nature, RiskBound
from driftpace.errors import ParameterError

_STRENGTH = (Nature.EXACT, Nature.UPPER, Nature.ASYMPTOTIC, Nature.THESE_ROWS)


@dataclass(frozen=True, kw_only=True, slots=True)
class LeastBound:
    """Least of several bounds, with the name of the one that decides (theory 0).

    Valid for ONE learner only if every member is valid for that learner. Bounds of different learners may be compared to
    choose a learner before a period; the chosen learner must then be the one that runs: see :meth:`decided_by` and, for the
    number of samples it uses, :meth:`used`.

    Parameters
    ----------
    bounds : tuple[RiskBound, ...]
        Bounds to compare, one or more.

    Examples
    --------
    >>> from driftpace.bounds import Anchored, OrdinaryLeastSquares
    >>> bound = LeastBound(bounds=(OrdinaryLeastSquares(noise=0.5, features=2), Anchored(noise=0.5, features=2)))
    >>> bound(1.0, 20), bound.decided_by(1.0, 20)
    (0.0277778, 'least squares anchored at the last model')
    >>> bound.smallest(1.0, 0.1, cap=100), bound.nature.name
    (7, 'UPPER')
    """

    bounds: tuple[RiskBound, ...]

    def __post_init__(self) -> None:
        if not self.bounds or not all(isinstance(bound, RiskBound) for bound in self.bounds):
            raise ParameterError(
                f"must be one or more bounds in a tuple; got {self.bounds!r}.",
                owner="LeastBound",
                name="bounds",
            )

    @property
    def name(self) -> str:
        """The names of the members."""
        return "the least of: " + "; ".join(bound.name for bound in self.bounds)

    @property
    def nature(self) -> Nature:
        """The weakest of the members' natures."""
        return max((bound.nature for bound in self.bounds), key=_STRENGTH.index)

    @property
    def unconstrained(self) -> bool:
        """Whether a member holds only without a constraint set."""
        return any(getattr(bound, "unconstrained", False) for bound in self.bounds)

    @property
    def rate(self) -> float:
        """The fastest of the members' rates: it is the least in the end."""
        return min(bound.rate for bound in self.bounds)

    @property
    def conditions(self) -> tuple[str, ...]:
        """Those of every member, each once."""
        return tuple(dict.fromkeys(sentence for bound in self.bounds for sentence in bound.conditions))

    def __call__(self, distance: float, samples: int) -> float:
        """Return the least of the members' envelopes."""
        return self._decider(distance, samples)(distance, samples)

    def factors(self, samples: int) -> Factors | None:
        """Return those of a single member; the least of several does not factor."""
        return self.bounds[0].factors(samples) if len(self.bounds) == 1 else None

    def decided_by(self, distance: float, samples: int) -> str:
        """Return the name of the member whose value it is (the first, among equals)."""
        return self._decider(distance, samples).name

    def used(self, distance: float, samples: int) -> int:
        """Return how many samples the deciding member uses."""
        return self._decider(distance, samples).used(distance, samples)

    def reach(self, risk: float) -> float:
        """Return the largest of the members' reaches, valid whichever of them gave ``risk``."""
        return max(bound.reach(risk) for bound in self.bounds)

    def floor(self, distance: float) -> float:
        """Return the least of the members' floors, 0 for one that has none."""
        return min(float(getattr(bound, "floor", _no_floor)(distance)) for bound in self.bounds)

    def smallest(self, distance: float, epsilon: float, cap: int) -> int | None:
        """Return the least of the members' answers, each searched up to the best so far."""
        best: int | None = None
        for bound in self.bounds:
            samples = bound.smallest(distance, epsilon, cap if best is None else best)
            if samples is not None:
                best = samples if best is None else min(best, samples)
        return best

    def _decider(self, distance: float, samples: int) -> RiskBound:
        return min(self.bounds, key=lambda bound: bound(distance, samples))


def _no_floor(distance: float) -> float:
    del distance
    return 0.0
