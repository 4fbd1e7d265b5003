"""Several passes over the fresh rows: exact minimisers of strongly convex losses, and gradient descent (theory 1.8).

A minimiser here is that of the mean loss of the K rows alone, its penalty included; what makes the mean loss strongly
convex for every draw of the rows is a penalty (l2 = m), or features that cannot be degenerate.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from driftpace import validation
from driftpace.bounds.base import Factors, FormulaBound, Nature
from driftpace.errors import ParameterError

_ROWS = "rows are independent draws of the period's distribution"


@dataclass(frozen=True, kw_only=True, slots=True)
class StableMinimiser(FormulaBound):
    """Bound on the minimiser of Lipschitz losses, by stability (theory 1.8a).

    b = 2 G^2/(mK). Replacing row i moves the minimiser by at most (G_i + G_i')/(mK), G_i the Lipschitz constant of that row's
    loss; the gap between risk and mean loss is E[l(w^(i), z_i) - l(w, z_i)] <= E G_i (G_i + G_i')/(mK) <= 2 E G_i^2/(mK). So ``G``
    may be the root mean square over rows, and the penalty (m/2)||w||^2, which is the same for every row, does not count in it.
    (At the start it does: f(w) - f* <= <grad phi(w) - grad phi(w*), w - w*> + (m/2) d0^2 for the rest phi of the risk.)

    Parameters
    ----------
    m : float
        Strong convexity of the mean loss of any K rows.
    G : float
        Root mean square over rows of the Lipschitz constant.
    M : float, optional
        Smoothness of the risk.

    Examples
    --------
    >>> bound = StableMinimiser(m=0.1, G=1.0)
    >>> bound(3.0, 0), bound(3.0, 200), bound.smallest(3.0, 0.1, cap=1_000)
    (6.45, 0.1, 200)
    """

    m: float
    G: float
    M: float | None = None

    name: ClassVar[str] = "minimiser of Lipschitz losses, by stability"
    nature: ClassVar[Nature] = Nature.UPPER
    rate: ClassVar[float] = -1.0

    def __post_init__(self) -> None:
        validation.positive("StableMinimiser", m=self.m)
        validation.nonnegative("StableMinimiser", G=self.G)

    @property
    def conditions(self) -> tuple[str, ...]:
        """Lipschitz rows, strong convexity of every sample's mean loss."""
        return (
            _ROWS,
            f"but for a penalty ({self.m:.4g}/2)||w||^2 or less, the same for every row, a row's loss is Lipschitz",
            f"its Lipschitz constant has a root mean square of {self.G:.4g} over rows",
            f"the mean loss of any K rows is {self.m:.4g}-strongly convex (for instance by that penalty)",
            "the mean loss of the rows is minimised exactly",
        )

    def start(self, distance: float) -> float:
        """Return 2 G d0 + (m/2) d0^2, or (M/2) d0^2 where that is known and less."""
        squared = distance * distance
        steep = 2.0 * self.G * distance + 0.5 * self.m * squared
        return steep if self.M is None else min(steep, 0.5 * self.M * squared)

    def raw(self, distance: float, samples: int) -> float:
        """Return 2 G^2/(mK)."""
        del distance
        return 2.0 * self.G**2 / (self.m * samples)

    def factors(self, samples: int) -> Factors | None:
        """Return alpha = 0 and beta."""
        if samples == 0:
            return None  # the risk of the start is not a multiple of the squared distance
        return Factors(alpha=0.0, beta=self.raw(0.0, samples))

    def guess(self, distance: float, epsilon: float) -> float:
        """Return 2 G^2/(m epsilon)."""
        del distance
        return 2.0 * self.G**2 / (self.m * epsilon)

    def reach(self, risk: float) -> float:
        """Return sqrt(2 risk/m), by strong convexity."""
        validation.nonnegative("StableMinimiser.reach", risk=risk)
        return math.sqrt(2.0 * risk / self.m)


@dataclass(frozen=True, kw_only=True, slots=True)
class PenalisedMinimiser(FormulaBound):
    """Bound on the minimiser of a penalised, strongly convex mean loss (theory 1.8b).

    b = M trace_sigma/(2 m^2 K): m||w - w*|| is at most the length of the mean loss's gradient at w*, whose mean square is
    trace_sigma/K. It holds for any K >= 1, but only if the mean loss is m-strongly convex for EVERY draw of the rows: not for
    least squares without a penalty.

    Parameters
    ----------
    m : float
        Strong convexity of the mean loss of any K rows.
    M : float
        Smoothness of the risk.
    trace_sigma : float
        tr Cov g(w*), the constant sigma_star squared.

    Examples
    --------
    >>> bound = PenalisedMinimiser(m=0.1, M=1.6, trace_sigma=0.2)
    >>> bound(1.0, 0), bound(1.0, 160), bound.smallest(1.0, 0.1, cap=1_000)
    (0.8, 0.1, 160)
    """

    m: float
    M: float
    trace_sigma: float

    name: ClassVar[str] = "minimiser of a penalised loss"
    nature: ClassVar[Nature] = Nature.UPPER
    rate: ClassVar[float] = -1.0

    def __post_init__(self) -> None:
        _check_curvature("PenalisedMinimiser", self.m, self.M)
        validation.nonnegative("PenalisedMinimiser", trace_sigma=self.trace_sigma)

    @property
    def conditions(self) -> tuple[str, ...]:
        """Strong convexity of every sample's mean loss, smoothness of the risk."""
        return (*_minimised(self.m, self.M, self.trace_sigma), "the mean loss of the rows is minimised exactly")

    def start(self, distance: float) -> float:
        """Return (M/2) d0^2."""
        return 0.5 * self.M * distance * distance

    def raw(self, distance: float, samples: int) -> float:
        """Return M trace_sigma/(2 m^2 K)."""
        del distance
        return 0.5 * self.M * self.trace_sigma / (self.m**2 * samples)

    def factors(self, samples: int) -> Factors:
        """Return alpha = 0 and beta."""
        if samples == 0:
            return Factors(alpha=self.start(1.0), beta=0.0)
        return Factors(alpha=0.0, beta=self.raw(0.0, samples))

    def guess(self, distance: float, epsilon: float) -> float:
        """Return M trace_sigma/(2 m^2 epsilon)."""
        return self.raw(distance, 1) / epsilon

    def reach(self, risk: float) -> float:
        """Return sqrt(2 risk/M): the bound is (M/2) times one on the squared distance (theory S1)."""
        validation.nonnegative("PenalisedMinimiser.reach", risk=risk)
        return math.sqrt(2.0 * risk / self.M)


@dataclass(frozen=True, kw_only=True, slots=True)
class FullPasses(FormulaBound):
    """Bound on full passes of gradient descent from the last model (theory 1.8c).

    b = (M/2)(q^(T/2) d0 + (1 + q^(T/2)) r_K)^2 after T passes, where r_K = sqrt(trace_sigma/(m^2 K)) bounds the distance from the
    minimiser of the rows to w* and q = 1 - m/L is the contraction of a pass with step 1/L. With ``eta`` it is split as
    (1+eta) x^2 + (1+1/eta) y^2, which factors as C.2; without, the best eta is taken at each distance. More rows do not reduce
    the part q^T (M/2) d0^2, so the bound levels off: :meth:`passes_needed` gives the number of passes that makes it small.

    Parameters
    ----------
    m : float
        Strong convexity of the mean loss of any K rows.
    M : float
        Smoothness of the risk.
    trace_sigma : float
        tr Cov g(w*), the constant sigma_star squared.
    passes : int
        Number of passes T.
    L : float, optional
        Smoothness of the mean loss of any K rows, M by default.
    eta : float, optional
        Weight of the split; None for the best at each distance.
    contraction : float, optional
        Contraction q of one pass, for methods such as SVRG or SAGA; 1 - m/L by default.

    Examples
    --------
    >>> bound = FullPasses(m=0.1, M=1.6, trace_sigma=0.2, passes=100)
    >>> bound(1.0, 400), bound.floor(1.0), bound.passes_needed(1.0, 0.1)
    (0.0592563, 0.00126, 104)
    >>> FullPasses(m=0.1, M=1.6, trace_sigma=0.2, passes=100, eta=5.0).factors(400).alpha
    0.00755
    """

    m: float
    M: float
    trace_sigma: float
    passes: int
    L: float | None = None
    eta: float | None = None
    contraction: float | None = None

    nature: ClassVar[Nature] = Nature.UPPER

    def __post_init__(self) -> None:
        _check_curvature("FullPasses", self.m, self.M)
        validation.nonnegative("FullPasses", trace_sigma=self.trace_sigma)
        validation.count("FullPasses", least=1, passes=self.passes)
        if self.L is not None and not self.M <= self.L < math.inf:
            raise ParameterError(
                f"must be at least M={self.M!r}, and finite; got {self.L!r}.",
                owner="FullPasses",
                name="L",
            )
        if self.eta is not None:
            validation.positive("FullPasses", eta=self.eta)
        if self.contraction is not None:
            validation.fraction("FullPasses", contraction=self.contraction)

    @property
    def name(self) -> str:
        """Short description for reports."""
        return f"{self.passes} passes of gradient descent over the fresh rows"

    @property
    def rate(self) -> float:
        """0: at a fixed number of passes it levels off."""
        return 0.0 if self.q > 0.0 else -1.0

    @property
    def conditions(self) -> tuple[str, ...]:
        """Strong convexity and smoothness of every sample's mean loss, and the steps."""
        return (
            *_minimised(self.m, self.M, self.trace_sigma),
            f"the mean loss of any K rows is {self.smoothness:.4g}-smooth, for every draw",
            f"{self.passes} passes of gradient descent start at the last model",
            f"a pass leaves {self.q:.4g} of the squared distance to the rows' minimiser (1 - m/L with step 1/L)",
        )

    @property
    def smoothness(self) -> float:
        """L, or M where that was not given."""
        return self.M if self.L is None else self.L

    @property
    def q(self) -> float:
        """What a pass leaves of the squared distance to the minimiser of the rows."""
        return 1.0 - self.m / self.smoothness if self.contraction is None else self.contraction

    def start(self, distance: float) -> float:
        """Return (M/2) d0^2."""
        return 0.5 * self.M * distance * distance

    def raw(self, distance: float, samples: int) -> float:
        """Return the bound with the eta given, or the best."""
        if self.eta is None:
            kept, apart = self._parts(samples)
            return 0.5 * self.M * (kept * distance + apart) ** 2
        factors = self.factors(samples)
        assert factors is not None
        return factors.alpha * distance * distance + factors.beta

    def factors(self, samples: int) -> Factors | None:
        """Return alpha, beta for the eta given; None when it is chosen at each distance."""
        if self.eta is None:
            return None
        if samples == 0:
            return Factors(alpha=self.start(1.0), beta=0.0)
        kept, apart = self._parts(samples)
        return Factors(
            alpha=0.5 * self.M * (1.0 + self.eta) * kept**2, beta=0.5 * self.M * (1.0 + 1.0 / self.eta) * apart**2
        )

    def floor(self, distance: float) -> float:
        """Return what the passes leave of the start, however many the rows."""
        left = 0.5 * self.M * self.q**self.passes * distance * distance
        return min(self.start(distance), left if self.eta is None else (1.0 + self.eta) * left)

    def guess(self, distance: float, epsilon: float) -> float:
        """Return the K at which the bound is epsilon; infinity under the floor."""
        floor = self.floor(distance)
        if not floor < epsilon:
            return math.inf
        one = self.raw(0.0, 1)
        return one / (math.sqrt(epsilon) - math.sqrt(floor)) ** 2 if self.eta is None else one / (epsilon - floor)

    def passes_needed(self, distance: float, epsilon: float, *, share: float = 0.1) -> int:
        """Return the least T with q^(T/2) d0 <= share sqrt(2 epsilon/M): passes then add little to the root of the risk."""
        validation.nonnegative("FullPasses.passes_needed", distance=distance)
        validation.positive("FullPasses.passes_needed", epsilon=epsilon, share=share)
        left = share * math.sqrt(2.0 * epsilon / self.M)
        if distance <= left:
            return 0
        if self.q == 0.0:
            return 1
        return math.ceil(2.0 * math.log(left / distance) / math.log(self.q))

    def reach(self, risk: float) -> float:
        """Return sqrt(2 risk/M): the bound is (M/2) times one on the squared distance (theory S1)."""
        validation.nonnegative("FullPasses.reach", risk=risk)
        return math.sqrt(2.0 * risk / self.M)

    def _parts(self, samples: int) -> tuple[float, float]:
        kept = self.q ** (0.5 * self.passes)
        return kept, (1.0 + kept) * math.sqrt(self.trace_sigma / samples) / self.m


def _check_curvature(owner: str, m: float, M: float) -> None:
    validation.positive(owner, m=m, M=M)
    if m > M:
        raise ParameterError(f"must be at most M={M!r}; got {m!r}.", owner=owner, name="m")


def _minimised(m: float, M: float, trace_sigma: float) -> tuple[str, ...]:
    return (
        _ROWS,
        f"the risk is {M:.4g}-smooth, and its gradient is zero at the minimiser (it is not on the boundary of the set)",
        f"the mean loss of any K rows is {m:.4g}-strongly convex, for every draw (for instance by its penalty)",
        f"the covariance of a row's gradient at the minimiser has a trace of at most {trace_sigma:.4g}",
    )
